"""The corpora that large sizes are measured on are searched like any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.scale import CORPUS, run_make
from engine.config import Settings
from engine.explorer import Explorer
from engine.queries import parse_filters
from engine.types.searches import Query

COUNT = 400


def test_documents_made_of_a_corpus_are_imported_and_searched(
    small_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEEDLENS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SEEDLENS_BENCH_CACHE", str(tmp_path))
    made = run_make(COUNT, small_home, "small")
    assert made["added"] == COUNT
    assert made["disk"] > 0
    assert run_make(COUNT, small_home, "small")["added"] == 0
    explorer = Explorer(Settings())
    opened = explorer.library.open(CORPUS)
    seed = opened.seed("made-000000000")
    assert np.linalg.norm(seed.vector) == pytest.approx(1.0, abs=1e-2)
    assert len(seed.sentences) == len(seed.document.sentences) > 0
    assert len(seed.tokens) == len(seed.token_starts)
    filters = parse_filters("part=third")
    query = Query(CORPUS, seed="made-000000000", aspect="method", filters=filters)
    found = explorer.search(query)
    assert 0.2 * COUNT < found.total < 0.4 * COUNT
    assert all(result.document.metadata["part"] == "third" for result in found.results)
    assert found.results[0].evidence
