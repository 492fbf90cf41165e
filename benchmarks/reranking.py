"""Reranking: what every mode costs and gains, with simulated judges.

``python -m benchmarks.reranking [--repeats 1] [--without-clock] [--json FILE]``

CSFCube's open half, its judged pools ranked by the dense system, the first 100 reranked for the
first 20. Judges are simulated (``benchmarks/simulated_judges.py``): the figures compare
algorithms under the same errors, they do not predict a model's. For the clock every request
takes 300 ms, lists too (a model takes longer for those), and 16 are under way at once; one
query is reranked so, by each mode.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, as_json, table
from benchmarks.simulated_judges import CHARACTERS, MIDDLE, Character, SimulatedJudge
from benchmarks.sources import CSFCUBE, cache
from engine.collections import read_collection
from engine.config import Settings
from engine.explorer import Explorer
from engine.importing import ImportRequest
from engine.metrics import Grades, csfcube_ndcg
from engine.rerank import MODES, Options, estimate, rerank
from engine.types import Query

PART = "reranking"
CORPUS = "abstracts"
OPTIONS = Options(depth=100, top=20)
LATENCY, CONCURRENCY = 0.3, 16
MOST_CALLS, MOST_SECONDS, MOST_OVERHEAD = 0.55, 0.1, 5.0
DEFAULT, PUBLISHED, DENSE = "pairwise", "heapsort", "dense alone"


@dataclass(frozen=True)
class Pool:
    """The first stage's ranking of one query and what its documents are worth."""

    query_id: str
    doc_ids: list[str]
    grades: Grades

    def ndcg(self, order: Sequence[str]) -> float:
        return csfcube_ndcg(order, self.grades)


@dataclass(frozen=True)
class Row:
    """One mode with one judge: means over queries and repeats.

    Attributes:
        per_query: nDCG@20 of each query, 0 to 1.
    """

    judge: str
    mode: str
    calls: float
    rounds: float
    ndcg: float
    per_query: list[float]


@dataclass(frozen=True)
class Clocked:
    """One query reranked by one mode.

    Attributes:
        seconds: on the clock.  own: those of them that were not spent in the judge.
    """

    mode: str
    calls: int
    rounds: int
    seconds: float
    own: float


def pools() -> list[Pool]:
    """Of every query of CSFCube's open half."""
    explorer = Explorer(Settings(home=cache() / "home"))
    explorer.library.import_documents(ImportRequest(CSFCUBE, CORPUS))
    searcher = explorer.searcher(CORPUS)
    collection = read_collection(CSFCUBE)
    found = []
    for topic in collection.topics:
        query = Query(CORPUS, seed=topic.seed, aspect=topic.aspect, system="dense")
        ranked = searcher.rank(query, searcher.seed(query), topic.pool)
        ids = [scored.doc_id for scored in ranked][: OPTIONS.depth]
        found.append(Pool(topic.query_id, ids, collection.qrels[topic.query_id]))
    return found


def judged(mode: str, character: Character, of: Sequence[Pool], repeats: int) -> Row:
    """Every query reranked ``repeats`` times, each with other answers of the same judge."""
    calls, rounds, values = [], [], []
    for pool in of:
        scores = []
        for repeat in range(repeats):
            judge = SimulatedJudge(character, pool.query_id, pool.grades, repeat)
            found = asyncio.run(rerank(pool.doc_ids, judge, mode, OPTIONS))
            calls.append(found.calls)
            rounds.append(found.rounds)
            scores.append(pool.ndcg(found.order))
        values.append(float(np.mean(scores)))
    return Row(character.name, mode, float(np.mean(calls)), float(np.mean(rounds)),
               float(np.mean(values)), values)  # fmt: skip


async def clocked(mode: str, pool: Pool) -> Clocked:
    """One reranking against the clock."""
    judge = SimulatedJudge(
        MIDDLE, pool.query_id, pool.grades, latency=LATENCY, concurrency=CONCURRENCY
    )
    started = time.perf_counter()
    found = await rerank(pool.doc_ids, judge, mode, OPTIONS)
    seconds = time.perf_counter() - started
    return Clocked(mode, found.calls, found.rounds, seconds, seconds - judge.inside)


async def clock_all(pool: Pool) -> list[Clocked]:
    """The quick modes one by one, the slow ones side by side: those wait nearly all the time."""
    slow = [m for m in MODES if estimate(m, 100).rounds > 50 or estimate(m, 100).calls > 5000]
    quick = [await clocked(mode, pool) for mode in MODES if mode not in slow]
    return quick + list(await asyncio.gather(*(clocked(mode, pool) for mode in slow)))


def measure(repeats: int = 1, clock: bool = True) -> list[Figure]:
    """The figures that have targets; none, with the reason on stderr, without CSFCube."""
    return figures(*run(repeats, clock))


def run(repeats: int, clock: bool) -> tuple[list[Row], list[Clocked]]:
    """All rows of both tables; empty, with the reason on stderr, without CSFCube."""
    if not CSFCUBE.is_dir():
        print(f"Reranking is not measured: CSFCube is not at {CSFCUBE}.", file=sys.stderr)
        return [], []
    of = pools()
    dense = [pool.ndcg(pool.doc_ids) for pool in of]
    rows = [Row("", DENSE, 0, 0, float(np.mean(dense)), dense)]
    for character in CHARACTERS:
        for mode in MODES:
            rows.append(judged(mode, character, of, repeats))
            print(f"  {character.name}: {mode}", file=sys.stderr)
    return rows, asyncio.run(clock_all(of[0])) if clock else []


def figures(rows: Sequence[Row], clock: Sequence[Clocked]) -> list[Figure]:
    """The default mode beside heapsort."""
    found = []
    for character in CHARACTERS:
        by_mode = {row.mode: row for row in rows if row.judge == character.name}
        if by_mode:
            found += _beside(by_mode[DEFAULT], by_mode[PUBLISHED])
    seconds = {row.mode: row for row in clock}
    if seconds:
        ours, theirs = seconds[DEFAULT], seconds[PUBLISHED]
        found += [
            Figure(PART, "wall time", ours.seconds, "s", ours.seconds / theirs.seconds, PUBLISHED,
                   MOST_SECONDS, at_least=False, note=f"{1000 * LATENCY:.0f} ms a request, "
                   f"{CONCURRENCY} at once; heapsort took {theirs.seconds:.1f} s"),
            Figure(PART, "own time, of the wall time", 100 * ours.own / ours.seconds, "%",
                   target=MOST_OVERHEAD, at_least=False),
        ]  # fmt: skip
    return found


def _beside(ours: Row, theirs: Row) -> list[Figure]:
    gained = [100 * (a - b) for a, b in zip(ours.per_query, theirs.per_query, strict=True)]
    better, worse = sum(g > 0 for g in gained), sum(g < 0 for g in gained)
    return [
        Figure(PART, f"calls, judge {ours.judge}", ours.calls, "", ours.calls / theirs.calls,
               PUBLISHED, MOST_CALLS, at_least=False),
        Figure(PART, f"nDCG@20 x 100 above heapsort's, judge {ours.judge}",
               float(np.mean(gained)), "", target=0.0,
               note=f"{100 * ours.ndcg:.1f} against {100 * theirs.ndcg:.1f}; "
               f"better on {better} queries, worse on {worse} of {len(gained)}"),
    ]  # fmt: skip


def shown(rows: Sequence[Row], clock: Sequence[Clocked]) -> str:
    """Both tables for reading."""
    seconds = {row.mode: row for row in clock}
    lines = [f"{'judge':24}{'mode':20}{'calls':>8}{'rounds':>8}{'nDCG@20':>9}{'wall s':>9}"
             f"{'own %':>7}"]  # fmt: skip
    for row in rows:
        line = f"{row.judge:24}{row.mode:20}{row.calls:8.0f}{row.rounds:8.1f}{row.ndcg:9.4f}"
        if row.judge == MIDDLE.name and row.mode in seconds:
            taken = seconds[row.mode]
            line += f"{taken.seconds:9.1f}{100 * taken.own / taken.seconds:7.1f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Measure and print; write JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1, help="of every query and judge")
    parser.add_argument("--without-clock", action="store_true", help="counts and nDCG only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    options = parser.parse_args()
    rows, clock = run(options.repeats, not options.without_clock)
    if not rows:
        return
    found = figures(rows, clock)
    print(f"{shown(rows, clock)}\n\n{table(found)}")
    if options.json:
        report = {
            "figures": as_json(found),
            "modes": [asdict(row) for row in rows],
            "clock": [asdict(row) for row in clock],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
