"""Tens of thousands of documents on one machine: time, what the shortcuts lose, memory.

Each step runs in a process of its own, so that its memory can be read:
``python -m benchmarks.scale import PATH`` and ``python -m benchmarks.scale query``.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, peak_memory, percentile
from benchmarks.query import draw, milliseconds
from benchmarks.sources import cache, descriptions
from engine.config import ROOT, Settings
from engine.corpora.contracts import RankedDocuments
from engine.explorer import Explorer
from engine.search.systems.late_interaction import max_similarities
from engine.types.corpora import ImportRequest, Progress
from engine.types.searches import PAGE_SIZE, Query

PART = "scale"
CORPUS = "scale"
RECALL = 0.97
GIB = 2**30


def measure(documents: int = 60_000) -> list[Figure]:
    """All figures of this part."""
    source = descriptions(documents)
    print(f"Scale: {source.words}", file=sys.stderr)
    # Without room in memory the import builds the vector indexes that are taken below.
    done = _step(documents, 0, "import", str(source.path))
    figures = _import_figures(done, documents, source.words)
    for resident, how in ((None, "vectors in memory"), (0, "through the vector index")):
        taken = _step(documents, resident, "query")
        figures += _query_figures(taken, how, default=resident is None)
    return figures


def _step(documents: int, resident: int | None, *command: str) -> dict[str, Any]:
    environment = {**os.environ, "SEEDLENS_HOME": str(_home(documents))}
    environment.pop("SEEDLENS_RESIDENT_MEGABYTES", None)
    if resident is not None:
        environment["SEEDLENS_RESIDENT_MEGABYTES"] = str(resident)
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", *command],
        env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    taken: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return taken


def _home(documents: int) -> Path:
    return cache() / f"scale-{documents}"


def _import_figures(done: dict[str, Any], documents: int, words: str) -> list[Figure]:
    if not done["added"]:
        print("  already indexed by an earlier run: its import is not timed", file=sys.stderr)
        return []
    what, note = f"import of {documents:,} documents", f"{words}; vector indexes included"
    return [
        Figure(PART, what, done["seconds"], "s", note=note),
        Figure(PART, f"{what}: peak memory", done["peak"] / GIB, "GiB", target=6.0,
               at_least=False),
    ]  # fmt: skip


def _query_figures(taken: dict[str, Any], how: str, *, default: bool) -> list[Figure]:
    target = 250.0 if default else None
    figures = [
        Figure(PART, f"{how}: median", statistics.median(taken["ms"]), "ms", target=target,
               at_least=False, note=f"{len(taken['ms'])} queries, default system, with evidence"),
        Figure(PART, f"{how}: 95th percentile", percentile(taken["ms"], 0.95), "ms"),
        Figure(PART, f"{how}: first query", taken["first_ms"], "ms", note="opening included"),
        Figure(PART, f"{how}: peak memory", taken["peak"] / GIB, "GiB", target=6.0,
               at_least=False),
    ]  # fmt: skip
    for system, share in taken["recall"].items():
        what = f"{how}: recall@{PAGE_SIZE} of {system}"
        note = f"{share['queries']} queries, against exact scoring; lowest {share['lowest']:.2f}"
        figures.append(Figure(PART, what, share["mean"], "", target=RECALL, note=note))
    return figures


# -- in a process of their own ---------------------------------------------------------------


def run_import(path: Path) -> dict[str, Any]:
    """Import through the real path; goes on where an earlier run stopped."""
    told = 0.0

    def tell(progress: Progress) -> None:
        nonlocal told
        if progress.phase != "indexing" or progress.seconds - told >= 15:
            told = progress.seconds
            left = "" if not progress.seconds_left else f", {progress.seconds_left:.0f} s left"
            print(f"  {progress.phase} {progress.done:,} of {progress.total:,}{left}",
                  file=sys.stderr)  # fmt: skip

    explorer, started = Explorer(Settings()), time.perf_counter()
    report = explorer.library.import_documents(ImportRequest(path, CORPUS), tell)
    seconds = time.perf_counter() - started  # the report's own end before the indexes are built
    return {"added": report.added, "seconds": seconds, "peak": peak_memory()}


def run_query(queries: int = 50) -> dict[str, Any]:
    """Times first, then memory, then recall, whose exact side is no part of a search."""
    settings = Settings()
    resident = settings.resident_megabytes > 0
    if not resident:
        _always_approximate()
    explorer = Explorer(settings)
    drawn = draw(explorer, CORPUS, queries + 5)
    first, *taken = milliseconds(explorer, drawn, warm_up=0)
    peak = peak_memory()
    drawn = drawn[5:]
    if resident:
        recall = {"late-interaction": _late_interaction_recall(explorer, drawn[:10])}
    else:
        recall = _vector_recall(explorer, drawn)
    return {"ms": taken[4:], "first_ms": first, "peak": peak, "recall": recall}


def _always_approximate() -> None:
    """Small trial corpora take the path of large ones."""
    import engine.corpora.opened
    import engine.search.searcher

    engine.corpora.opened.EXACT_BELOW = engine.search.searcher.FULL_DEPTH_BELOW = 0


@dataclass(frozen=True)
class _Ranked:
    query: Query
    scored: RankedDocuments


def _ranked(explorer: Explorer, queries: Sequence[Query]) -> list[_Ranked]:
    searcher = explorer.searcher(CORPUS)
    return [_Ranked(q, searcher.rank(q, searcher.seed(q))) for q in queries]


def _vector_recall(explorer: Explorer, queries: Sequence[Query]) -> dict[str, dict[str, float]]:
    """Through the index, against the same scores over all documents."""
    exact = Explorer(Settings(resident_megabytes=1_000_000))
    recalls = {}
    for system in ("dense", "aspect"):
        asked = [replace(query, system=system) for query in queries]
        pairs = zip(_ranked(explorer, asked), _ranked(exact, asked), strict=True)
        recalls[system] = _summary([recall(mine.scored, dict(all_.scored)) for mine, all_ in pairs])
    return recalls


def _late_interaction_recall(explorer: Explorer, queries: Sequence[Query]) -> dict[str, float]:
    """Two stages, against MaxSim over every document."""
    searcher, opened = explorer.searcher(CORPUS), explorer.library.open(CORPUS)
    asked = [replace(query, system="late-interaction") for query in queries]
    tokens = [searcher.seed(query).tokens for query in asked]
    scores: list[dict[str, float]] = [{} for _ in asked]
    for batch in opened.table.columns(["doc_id", "token_vectors"], 1024):
        doc_ids = batch["doc_id"].to_pylist()
        documents = [_tokens(row, opened.spec.token_dimension) for row in batch["token_vectors"]]
        for mine, seed in zip(scores, tokens, strict=True):
            values = max_similarities(seed, documents)
            mine.update(zip(doc_ids, map(float, values), strict=True))
    for query, mine in zip(asked, scores, strict=True):
        del mine[query.seed or ""]
    pairs = zip(_ranked(explorer, asked), scores, strict=True)
    return _summary([recall(ranked.scored, exact) for ranked, exact in pairs])


def _tokens(row: Any, width: int) -> np.ndarray:
    values = row.values.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float32).reshape(-1, width)


def recall(ranking: RankedDocuments, exact: dict[str, float], k: int = PAGE_SIZE) -> float:
    """Share of the first ``k`` that score as the exact first ``k`` do (a tie is no loss).

    A document that ``exact`` does not hold stands behind all that it holds.
    """
    floor = sorted(exact.values(), reverse=True)[:k][-1] - 1e-5
    return sum(exact.get(doc_id, -2.0) >= floor for doc_id in ranking[:k].doc_ids) / min(
        k, len(exact)
    )


def _summary(values: Sequence[float]) -> dict[str, float]:
    return {"mean": statistics.mean(values), "lowest": min(values), "queries": len(values)}


def main() -> None:
    command, *arguments = sys.argv[1:]
    taken = run_import(Path(arguments[0])) if command == "import" else run_query()
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
