"""``seedlens gap`` prints both bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command_line import run_inside
from tests.fakes.model_answers import MODEL, read_knowledge
from tests.fakes.model_server import ModelServer, serving
from tests.fakes.small_corpus import write_collection


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("gap") / "tiny")


@pytest.fixture
def server(collection: Path) -> Iterator[ModelServer]:
    with serving(read_knowledge(collection)) as running:
        yield running


def test_the_terminal_shows_both_bounds_for_each_pool_size(
    home: Path, collection: Path, server: ModelServer
) -> None:
    settings = {"OPENAI_BASE_URL": server.url, "SEEDLENS_LLM_MODEL": MODEL}
    fixed = ("--verifier", "pointwise", "--pool-sizes", "5,20", "--sample", 1)
    run = run_inside(home, "gap", collection, *fixed, "--systems", "bm25,dense", **settings)
    assert run.code == 0, run.stderr
    heads, *rows = [line.split() for line in run.stdout.splitlines() if line[:8].strip()][1:]
    assert heads[:4] == ["pool", "found", "lower", "upper"]
    assert [row[0] for row in rows[:2]] == ["5", "20"]
