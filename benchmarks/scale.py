"""Many documents on one machine: time, disk, memory, and what the shortcuts lose.

The corpus is made of abstracts that were really encoded (:mod:`benchmarks.made_corpus`) and stays
in the benchmarks' cache. Each step runs in a process of its own, so that its memory can be read.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import homes
from benchmarks.figures import Figure, peak_memory, spread
from benchmarks.homes import cache, called
from benchmarks.query import draw, milliseconds
from engine.config import Settings
from engine.corpora.contracts import DEPTH, RankedDocuments
from engine.corpora.schema import matrix, rows_of
from engine.explorer import Explorer
from engine.queries import parse_filters
from engine.search.systems.late_interaction import max_similarities
from engine.types.corpora import ImportRequest, Progress
from engine.types.searches import PAGE_SIZE, Query

CORPUS = "scale"
RECALL = 0.98
MEDIAN, SLOW = 250.0, 400.0
"""Milliseconds of a page of the default system, at the median and in 95 % of the queries."""
OPENING, FIRST_FILTER = 1.0, 1000.0
DISK = 25_000
"""Bytes on disk a document beyond its text."""
GIB, MIB = 2**30, 2**20
QUERIES, WARM_UP = 40, 5
FILTERS = {"30 %": "part=third", "3 %": "part=few", "0.04 %": "part=rare"}
SYSTEMS = ("aspect", "dense", "bm25", "late-interaction", "hybrid")
MOST_TOKENS = 100_000
"""Documents up to which late interaction is compared with MaxSim over all."""
Taken = dict[str, Any]


def measure(documents: int = 60_000) -> list[Figure]:
    """Import, other ways to search, and searches in memory and through the vector index."""
    home = str(cache() / f"scale-{documents}")

    def step(name: str, *arguments: object, **settings: str) -> Taken:
        found: Taken = called(
            f"benchmarks.scale:run_{name}",
            *arguments,
            SEEDLENS_HOME=home,
            OMP_NUM_THREADS="1",
            **settings,
        )
        return found

    figures = _make_figures(step("make", documents), documents)
    note = "beside: the 1,000 nearest, no evidence"
    figures += [Figure(f"{way} of one column", ms, "ms", note) for way, ms in step("scan").items()]
    figures += _query_figures(step("query"), "by default")
    through = step("query", SEEDLENS_RESIDENT_MEGABYTES="0")
    return figures + _query_figures(through, "through the vector index")


def _make_figures(done: Taken, documents: int) -> list[Figure]:
    disk = Figure("disk a document, beside its text", done["disk"], "B", most=DISK)
    if not done["added"]:
        print("  indexed by an earlier run: its import is not timed", file=sys.stderr)
        return [disk]
    what, note = f"import of {documents:,} documents", "encoding left out, vector indexes included"
    return [
        Figure(what, done["seconds"], "s", note),
        Figure(f"{what}: compacting and indexing", done["finishing"], "s"),
        Figure(f"{what}: peak memory", done["peak"] / GIB, "GiB", most=6.0),
        disk,
    ]


def _query_figures(taken: Taken, how: str) -> list[Figure]:
    opened = f"{taken['opened'] / MIB:.0f} MiB more than before"
    first_filter = taken["first_filter"]
    figures = [
        Figure(f"{how}: opening", taken["opening"], "s", opened, most=OPENING),
        Figure(f"{how}: first query after it", taken["first"], "ms"),
        Figure(f"{how}: first query with a filter", first_filter, "ms", most=FIRST_FILTER),
        Figure(f"{how}: peak memory", taken["peak"] / GIB, "GiB", most=3.0),
    ]
    for name, ms in taken["ms"].items():
        limits = {"median": MEDIAN, "p95": SLOW} if name == SYSTEMS[0] else {}
        note = f"{len(ms)} queries, 20 results with evidence"
        if name in taken["busy"]:
            note += f", {taken['busy'][name]:.0f} ms of the processor each"
        figures += spread(f"{how}: {name}", ms, "ms", note=note, **limits)
    for name, shares in taken["recall"].items():
        note = f"{len(shares)} queries, against exact scoring; lowest {min(shares):.2f}"
        what = f"{how}: recall@{PAGE_SIZE} of {name}"
        figures.append(Figure(what, statistics.mean(shares), "", note, least=RECALL))
    return figures


# -- in a process of their own ---------------------------------------------------------------


def run_make(documents: int | str) -> Taken:
    """Make the documents and import them; goes on where an earlier run stopped."""
    from benchmarks.made_corpus import MadeCorpus
    from engine.corpora.importing import Import

    documents = int(documents)
    made = MadeCorpus(homes.explorer(maps=False).library.open(homes.CORPUS))
    path = cache() / f"made-{documents}.jsonl"
    if not path.is_file():
        made.write(path.with_suffix(".part"), documents)
        path.with_suffix(".part").replace(path)
    told, at = 0.0, {"checking": time.perf_counter()}

    def tell(progress: Progress) -> None:
        nonlocal told
        at.setdefault(progress.phase, time.perf_counter())
        if progress.phase != "indexing" or progress.seconds - told >= 15:
            told = progress.seconds
            print(f"  {progress.phase} {progress.done:,} of {progress.total:,}", file=sys.stderr)

    def load(source: str, *, bulk: bool, download: bool) -> MadeCorpus:
        del source, bulk, download
        return made

    explorer = Explorer(Settings())
    place = (explorer.home, explorer.ledger, explorer.settings, load)
    report = Import(*place, ImportRequest(path, CORPUS), tell).index()
    rows = map(json.loads, path.open(encoding="utf-8"))
    text = sum(len(row["title"]) + sum(map(len, row["sentences"])) for row in rows)
    return {
        "added": report.added,
        "seconds": at["done"] - at["checking"],
        "finishing": at["done"] - at["finishing"],
        "peak": peak_memory(),
        "disk": (explorer.library.corpus(CORPUS).bytes - text) / documents,
    }


def run_scan(queries: int = 20) -> Taken:
    """Milliseconds of other ways to the nearest of one column, which is in memory."""
    opened = Explorer(Settings()).library.open(CORPUS)
    vectors = np.concatenate(
        [matrix(b["vector"], opened.spec.dimension) for b in opened.table.columns(["vector"])]
    )
    asked = vectors[np.random.default_rng(11).choice(len(vectors), queries, replace=False)]

    def milliseconds_of(find: Callable[[np.ndarray], object]) -> float:
        taken = []
        for vector in asked:
            started = time.perf_counter()
            find(vector)
            taken.append(1000 * (time.perf_counter() - started))
        return statistics.median(taken)

    def by_index(vector: np.ndarray) -> np.ndarray:
        rows = opened.table.nearest_rows("vector", vector, DEPTH)
        stored = opened.table.take(rows, ["vector"])["vector"].combine_chunks()
        return rows[np.argsort(-(matrix(stored, opened.spec.dimension) @ vector))]

    taken = {
        "a NumPy scan": milliseconds_of(lambda v: np.argpartition(-(vectors @ v), DEPTH)[:DEPTH]),
        "the vector index, scored exactly from disk": milliseconds_of(by_index),
    }
    try:
        faiss: Any = importlib.import_module("faiss")
    except ImportError:
        print("  faiss is not installed: its scan is not timed", file=sys.stderr)
        return taken
    faiss.omp_set_num_threads(1)
    index = faiss.IndexRaBitQFastScan(vectors.shape[1], faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)

    def rescored(vector: np.ndarray) -> np.ndarray:
        _, rows = index.search(vector[None], 2 * DEPTH)
        order = np.argsort(-(vectors[rows[0]] @ vector))[:DEPTH]
        return np.asarray(rows[0][order])

    return {**taken, "faiss RaBitQFastScan, 2,000 scored exactly": milliseconds_of(rescored)}


def run_query() -> Taken:
    """Times first, then memory, then recall, whose exact side is no part of a search."""
    settings = Settings()
    resident = settings.resident_megabytes > 0
    explorer = Explorer(settings)
    explorer.library.corpora()
    before, started = _memory(), time.perf_counter()
    opened = explorer.library.open(CORPUS)
    opening, more = time.perf_counter() - started, _memory() - before
    drawn = draw(explorer, CORPUS, QUERIES + WARM_UP)
    first = milliseconds(explorer, drawn[:1], warm_up=0)[0]
    taken: dict[str, list[float]] = {}
    busy: dict[str, float] = {}
    for system in SYSTEMS:
        few = drawn if system == SYSTEMS[0] else drawn[: 15 + WARM_UP]
        asked = [replace(q, system=system) for q in few]
        milliseconds(explorer, asked[:WARM_UP], 0)
        started = time.process_time()
        taken[system] = milliseconds(explorer, asked[WARM_UP:], 0)
        busy[system] = 1000 * (time.process_time() - started) / len(taken[system])
    filtered = {
        f"{SYSTEMS[0]}, filter of {share}": [replace(q, filters=parse_filters(text)) for q in drawn]
        for share, text in FILTERS.items()
    }
    first_filter = milliseconds(explorer, filtered[next(iter(filtered))][:1], warm_up=0)[0]
    for name, asked in filtered.items():
        taken[name] = milliseconds(explorer, asked[: 15 + WARM_UP], WARM_UP)
    peak, recall = peak_memory(), {}
    drawn = drawn[WARM_UP:]
    if not resident or not opened.resident:
        recall = _vector_recall(explorer, drawn[:20], filtered)
    if resident and len(opened) <= MOST_TOKENS:
        recall["late-interaction"] = _late_interaction_recall(explorer, drawn[:10])
    times = {"opening": opening, "first": first, "first_filter": first_filter, "ms": taken}
    return {**times, "busy": busy, "opened": more, "peak": peak, "recall": recall}


def _memory() -> int:
    """Bytes that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _ranked(explorer: Explorer, queries: Sequence[Query]) -> list[RankedDocuments]:
    searcher = explorer.searcher(CORPUS)
    return [searcher.rank(query, searcher.seed(query)) for query in queries]


def _vector_recall(
    explorer: Explorer, queries: Sequence[Query], filtered: dict[str, list[Query]]
) -> dict[str, list[float]]:
    """Through the index, against the same scores over all documents."""
    exact = Explorer(Settings(resident_megabytes=1_000_000))
    asked = {system: [replace(q, system=system) for q in queries] for system in SYSTEMS[:2]}
    asked |= {name: some[WARM_UP : WARM_UP + 10] for name, some in filtered.items()}
    return {
        name: [
            recall(mine, dict(of_all))
            for mine, of_all in zip(_ranked(explorer, some), _ranked(exact, some), strict=True)
        ]
        for name, some in asked.items()
    }


def _late_interaction_recall(explorer: Explorer, queries: Sequence[Query]) -> list[float]:
    """Two stages, against MaxSim over every document."""
    searcher, opened = explorer.searcher(CORPUS), explorer.library.open(CORPUS)
    asked = [replace(query, system="late-interaction") for query in queries]
    tokens = [searcher.seed(query).tokens for query in asked]
    scores: list[dict[str, float]] = [{} for _ in asked]
    for batch in opened.table.columns(["doc_id", "token_vectors"], 1024):
        doc_ids = batch["doc_id"].to_pylist()
        tokens_of = pa.chunked_array([batch["token_vectors"]])
        documents = rows_of(tokens_of, opened.spec.token_dimension)
        for mine, seed in zip(scores, tokens, strict=True):
            values = max_similarities(seed, documents)
            mine.update(zip(doc_ids, map(float, values), strict=True))
    for query, mine in zip(asked, scores, strict=True):
        del mine[query.seed or ""]
    rankings = _ranked(explorer, asked)
    return [recall(ranking, exact) for ranking, exact in zip(rankings, scores, strict=True)]


def recall(ranking: RankedDocuments, exact: dict[str, float], k: int = PAGE_SIZE) -> float:
    """Share of the first ``k`` that score as the exact first ``k`` do (a tie is no loss).

    A document that ``exact`` does not hold stands behind all that it holds.
    """
    best = sorted(exact.values(), reverse=True)[:k]
    found = sum(exact.get(doc_id, -2.0) >= best[-1] - 1e-5 for doc_id in ranking[:k].doc_ids)
    return found / len(best)
