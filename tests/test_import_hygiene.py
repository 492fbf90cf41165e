"""What starts fast stays fast: heavy libraries are loaded by those who need them only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from engine.config import ROOT

PUBLIC = "import engine; [getattr(engine, name) for name in engine.__all__]"
HEAVY = ("streamlit", "torch", "lancedb", "transformers", "sentence_transformers", "pylate")


def loaded_after(code: str, **environment: str) -> set[str]:
    """Top-level modules in a fresh interpreter after ``code``."""
    listing = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    process = subprocess.run(
        [sys.executable, "-c", f"{code}\n{listing}"],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(process.stdout.split())


def test_importing_the_engine_and_its_commands_loads_no_heavy_library() -> None:
    loaded = loaded_after("import engine.cli")
    assert loaded.isdisjoint({*HEAVY, "sqlalchemy", "duckdb", "plotly", "pages"})


def test_the_public_names_load_no_model_library_and_no_user_interface() -> None:
    loaded = loaded_after(PUBLIC)
    assert loaded.isdisjoint({*HEAVY, "plotly", "pages"} - {"lancedb"})


def test_storage_knows_neither_engine_nor_pages() -> None:
    loaded = loaded_after("import storage, storage.vectors, storage.ledger, storage.parquet_files")
    assert {"storage", "lancedb", "sqlalchemy"} <= loaded
    assert loaded.isdisjoint({"engine", "pages", "streamlit", "torch", "psycopg", "duckdb"})


def test_searching_with_the_embedded_model_imports_no_model_library(small_home: Path) -> None:
    code = """
from engine.explorer import Explorer
from engine.types.searches import Query
explorer = Explorer()
for system in explorer.systems:
    query = Query("small", seed="bees-network", aspect="method", system=system)
    assert explorer.search(query).results
pasted = Query("small", text="How bees find food.", instruction="the same question, no robots")
assert explorer.search(pasted).results
"""
    loaded = loaded_after(code, SEEDLENS_HOME=str(small_home))
    assert "lancedb" in loaded
    models = {"torch", "transformers", "sentence_transformers", "pylate", "openvino"}
    assert loaded.isdisjoint({*models, "streamlit", "boto3", "psycopg", "ray"})
