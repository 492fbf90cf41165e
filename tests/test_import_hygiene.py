"""What starts fast stays fast: heavy libraries are loaded by those who need them only."""

import os
import subprocess
import sys

from engine.config import ROOT

PUBLIC = "import engine; [getattr(engine, name) for name in engine.__all__]"
HEAVY = ("streamlit", "torch", "lancedb", "transformers", "sentence_transformers", "pylate")


def loaded_after(*steps, **environment):
    """Top-level modules of a fresh interpreter after each step."""
    listing = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    process = subprocess.run(
        [sys.executable, "-c", "".join(f"{step}\n{listing}\n" for step in steps)],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [set(line.split()) for line in process.stdout.splitlines()]


def test_storage_knows_neither_engine_nor_pages():
    modules = "storage, storage.vectors, storage.ledger, storage.parquet_files"
    [loaded] = loaded_after(f"import {modules}")
    assert {"storage", "lancedb", "sqlalchemy"} <= loaded
    assert loaded.isdisjoint({"engine", "pages", "streamlit", "torch", "psycopg", "duckdb"})


def test_commands_public_names_and_searches_load_what_they_need_alone(small_home):
    search = """
from engine.explorer import Explorer
from engine.types.searches import Query
explorer = Explorer()
for system in explorer.systems:
    query = Query("small", seed="bees-network", aspect="method", system=system)
    assert explorer.search(query).results
pasted = Query("small", text="How bees find food.", instruction="the same question, no robots")
assert explorer.search(pasted).results
"""
    commands, public, searches = loaded_after(
        "import engine.cli", PUBLIC, search, SEEDLENS_HOME=str(small_home)
    )
    assert commands.isdisjoint({*HEAVY, "sqlalchemy", "duckdb", "plotly", "pages"})
    assert public.isdisjoint({*HEAVY, "plotly", "pages"} - {"lancedb"})
    assert "lancedb" in searches
    assert searches.isdisjoint({*HEAVY, "openvino", "boto3", "psycopg", "ray"} - {"lancedb"})
