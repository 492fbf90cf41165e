"""Many documents on one machine: time, disk, memory, and what the shortcuts lose.

``python -m benchmarks.scale [--documents N] [--base HOME CORPUS]``: the corpus is
made of abstracts that were really encoded (:mod:`benchmarks.made_corpus`), those of CORPUS in HOME
or of the benchmarks' own, and stays in their cache. Each step runs in a process of its own, so
that its memory can be read.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.figures import Figure, peak_memory, percentile
from benchmarks.query import draw, milliseconds
from benchmarks.sources import abstracts, cache
from engine.config import ROOT, Settings
from engine.corpora.contracts import DEPTH, RankedDocuments
from engine.corpora.schema import matrix, rows_of
from engine.explorer import Explorer
from engine.search.queries import parse_filters
from engine.search.systems.late_interaction import max_similarities
from engine.types.corpora import ImportRequest, Progress
from engine.types.searches import PAGE_SIZE, Query

PART = "scale"
CORPUS = "scale"
RECALL = 0.98
MEDIAN, SLOW = 250.0, 400.0
"""Milliseconds of a page of the default system, at the median and in 95 % of the queries."""
OPENING = 1.0
DISK = 25_000
"""Bytes on disk a document beyond its text."""
GIB, MIB = 2**30, 2**20
QUERIES, WARM_UP = 40, 5
FILTERS = {"30 %": "part=third", "3 %": "part=few", "0.04 %": "part=rare"}
SYSTEMS = ("aspect", "dense", "bm25", "late-interaction", "hybrid")
MOST_TOKENS = 100_000
"""Documents up to which late interaction is compared with MaxSim over all."""
Taken = dict[str, Any]


def measure(documents: int = 60_000, base: tuple[Path, str] | None = None) -> list[Figure]:
    """All figures of this part.

    Args:
        base: home and name of the corpus to make documents of; None: the benchmarks' abstracts.
    """
    folder, corpus = base or (cache() / "home", "abstracts")
    made = _step(documents, 0, "make", str(documents), str(folder), corpus)
    figures = _make_figures(made, documents)
    figures += _scan_figures(_step(documents, 0, "scan"))
    for resident, how in ((None, "by default"), (0, "through the vector index")):
        figures += _query_figures(_step(documents, resident, "query"), how)
    return figures


def _step(documents: int, resident: int | None, *command: str) -> Taken:
    environment = {
        **os.environ, "SEEDLENS_HOME": str(_home(documents)), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    environment.pop("SEEDLENS_RESIDENT_MEGABYTES", None)
    if resident is not None:
        environment["SEEDLENS_RESIDENT_MEGABYTES"] = str(resident)
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", *command],
        env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    taken: Taken = json.loads(run.stdout.splitlines()[-1])
    return taken


def _home(documents: int) -> Path:
    return cache() / f"scale-{documents}"


def _make_figures(done: Taken, documents: int) -> list[Figure]:
    disk = Figure(PART, "disk a document, beside its text", done["disk"], "B", target=DISK,
                  at_least=False)  # fmt: skip
    if not done["added"]:
        print("  indexed by an earlier run: its import is not timed", file=sys.stderr)
        return [disk]
    what, note = f"import of {documents:,} documents", "encoding left out, vector indexes included"
    return [
        Figure(PART, what, done["seconds"], "s", note=note),
        Figure(PART, f"{what}: compacting and indexing", done["finishing"], "s"),
        Figure(PART, f"{what}: peak memory", done["peak"] / GIB, "GiB", target=6.0,
               at_least=False),
        disk,
    ]  # fmt: skip


def _scan_figures(taken: Taken) -> list[Figure]:
    return [
        Figure(
            PART, f"{name} of one column", ms, "ms", note="beside: the 1,000 nearest, no evidence"
        )
        for name, ms in taken.items()
    ]


def _query_figures(taken: Taken, how: str) -> list[Figure]:
    figures = [
        Figure(PART, f"{how}: opening", taken["opening"], "s", target=OPENING, at_least=False,
               note=f"{taken['opened'] / MIB:.0f} MiB more than before"),
        Figure(PART, f"{how}: first query after it", taken["first"], "ms"),
        Figure(PART, f"{how}: first query with a filter", taken["first_filter"], "ms",
               target=1000.0, at_least=False),
        Figure(PART, f"{how}: peak memory", taken["peak"] / GIB, "GiB", target=3.0,
               at_least=False),
    ]  # fmt: skip
    for name, ms in taken["ms"].items():
        is_it = name == SYSTEMS[0]
        note = f"{len(ms)} queries, 20 results with evidence"
        if name in taken["busy"]:
            note += f", {taken['busy'][name]:.0f} ms of the processor each"
        figures += [
            Figure(PART, f"{how}: {name}, median", statistics.median(ms), "ms",
                   target=MEDIAN if is_it else None, at_least=False, note=note),
            Figure(PART, f"{how}: {name}, 95th percentile", percentile(ms, 0.95), "ms",
                   target=SLOW if is_it else None, at_least=False),
        ]  # fmt: skip
    for name, share in taken["recall"].items():
        what = f"{how}: recall@{PAGE_SIZE} of {name}"
        note = f"{share['queries']} queries, against exact scoring; lowest {share['lowest']:.2f}"
        figures.append(Figure(PART, what, share["mean"], "", target=RECALL, note=note))
    return figures


# -- in a process of their own ---------------------------------------------------------------


def run_make(documents: int, folder: Path, corpus: str) -> Taken:
    """Make the documents and import them; goes on where an earlier run stopped."""
    from benchmarks.made_corpus import MadeCorpus
    from engine.corpora.importing import Import

    base = Explorer(Settings(home=folder, maps=False))
    if corpus not in base.library.names():
        base.library.import_documents(ImportRequest(abstracts().path, corpus))
    made = MadeCorpus(base.library.open(corpus))
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
    text = sum(len(json.loads(line)["title"]) + sum(map(len, json.loads(line)["sentences"]))
               for line in path.open(encoding="utf-8"))  # fmt: skip
    size = explorer.library.corpus(CORPUS).bytes
    return {
        "added": report.added,
        "seconds": at["done"] - at["checking"],
        "finishing": at["done"] - at["finishing"],
        "peak": peak_memory(),
        "disk": (size - text) / documents,
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


def run_query(*, fast: bool = False) -> Taken:
    """Times first, then memory, then recall, whose exact side is no part of a search.

    Args:
        fast: without recall.
    """
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
    found: Taken = {
        "opening": opening, "opened": more, "first": first,
        "first_filter": first_filter, "ms": taken, "busy": busy,
        "peak": peak_memory(), "recall": {},
    }  # fmt: skip
    drawn = drawn[WARM_UP:]
    if fast:
        return found
    if not resident or not opened.resident:
        found["recall"] = _vector_recall(explorer, drawn[:20], filtered)
    if resident and len(opened) <= MOST_TOKENS:
        found["recall"]["late-interaction"] = _late_interaction_recall(explorer, drawn[:10])
    return found


def _memory() -> int:
    """Bytes that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class _Ranked:
    query: Query
    scored: RankedDocuments


def _ranked(explorer: Explorer, queries: Sequence[Query]) -> list[_Ranked]:
    searcher = explorer.searcher(CORPUS)
    return [_Ranked(q, searcher.rank(q, searcher.seed(q))) for q in queries]


def _vector_recall(
    explorer: Explorer, queries: Sequence[Query], filtered: dict[str, list[Query]]
) -> dict[str, dict[str, float]]:
    """Through the index, against the same scores over all documents."""
    exact = Explorer(Settings(resident_megabytes=1_000_000))
    recalls = {}
    for name, asked in {
        **{system: [replace(q, system=system) for q in queries] for system in ("dense", "aspect")},
        **{name: asked[WARM_UP : WARM_UP + 10] for name, asked in filtered.items()},
    }.items():
        pairs = zip(_ranked(explorer, asked), _ranked(exact, asked), strict=True)
        shares = [recall(mine.scored, dict(all_.scored)) for mine, all_ in pairs]
        recalls[name] = _summary(shares)
    return recalls


def _late_interaction_recall(explorer: Explorer, queries: Sequence[Query]) -> dict[str, float]:
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
    pairs = zip(_ranked(explorer, asked), scores, strict=True)
    return _summary([recall(ranked.scored, exact) for ranked, exact in pairs])


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
    """Measure and print, or do one step."""
    if sys.argv[1:2] and sys.argv[1] in ("make", "scan", "query"):
        step, *given = sys.argv[1:]
        taken = (
            run_make(int(given[0]), Path(given[1]), given[2]) if step == "make"
            else run_scan() if step == "scan" else run_query(fast="--fast" in given)
        )  # fmt: skip
        print(json.dumps(taken))
        return
    from benchmarks.figures import table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--base", nargs=2, metavar=("HOME", "CORPUS"), help="what they are made of")
    options = parser.parse_args()
    base = (Path(options.base[0]), options.base[1]) if options.base else None
    print(table(measure(options.documents, base)))


if __name__ == "__main__":
    main()
