"""Reranking: what every mode costs and gains, with simulated judges.

``python -m benchmarks.reranking [--repeats 1] [--without-clock] [--json FILE]``

CSFCube's open half, its judged pools ranked by the dense system, the first 100 reranked for the
first 20. Judges are simulated (``benchmarks/simulated_judges.py``): the figures compare
algorithms under the same errors, they do not predict a model's. Wall times are those of the real
client at an endpoint of loopback (``benchmarks/reranking_clock.py``), where every request takes
300 ms, lists too: a model takes longer for those.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, as_json, table
from benchmarks.reranking_clock import CONCURRENCY, LATENCY, Clocked, clock, endpoint
from benchmarks.simulated_judges import CHARACTERS, MIDDLE, Character, SimulatedJudge
from benchmarks.sources import CSFCUBE, cache
from engine.assist.reranking import Assignment, texts_of
from engine.collections.readers import read_collection
from engine.config import Settings
from engine.evaluate.evaluation_run import topic_criterion
from engine.explorer import Explorer
from engine.measures.metrics import csfcube_ndcg
from engine.rerank import MODES, Options, rerank
from engine.types.corpora import ImportRequest
from engine.types.evaluations import CSFCUBE_NDCG, Grades, Topic
from engine.types.searches import Query

PART = "reranking"
CORPUS = "abstracts"
OPTIONS = Options(depth=100, top=20)
MOST_CALLS, MOST_SECONDS, MOST_OVERHEAD = 0.55, 0.1, 5.0
DEFAULT, PUBLISHED, DENSE = "pairwise", "heapsort", "dense alone"
NOT_CLOCKED = ("allpair", "sliding")
"""They take minutes, as their questions and rounds tell."""


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
        per_query: CSFCube's nDCG@20 of each query, 0 to 1.
    """

    judge: str
    mode: str
    calls: float
    rounds: float
    ndcg: float
    per_query: list[float]


class Bench:
    """CSFCube's open half: its queries, and what the dense system finds for them."""

    def __init__(self) -> None:
        explorer = Explorer(Settings(home=cache() / "home"))
        explorer.library.import_documents(ImportRequest(CSFCUBE, CORPUS))
        self._searcher = explorer.searcher(CORPUS)
        self._collection = read_collection(CSFCUBE)

    def pools(self) -> list[Pool]:
        """Of every query."""
        qrels = self._collection.qrels
        return [
            Pool(topic.query_id, self._ranked(topic), qrels[topic.query_id])
            for topic in self._collection.topics
        ]

    def assignments(self, count: int) -> list[Assignment]:
        """The first ``count`` queries as they are given to a model."""
        load = texts_of(self._searcher)
        return [
            Assignment(
                topic.query_id,
                topic_criterion(self._searcher, topic),
                tuple(self._ranked(topic)),
                load,
            )
            for topic in self._collection.topics[:count]
        ]

    def _ranked(self, topic: Topic) -> list[str]:
        query = Query(CORPUS, seed=topic.seed, aspect=topic.aspect, system="dense")
        ranking = self._searcher.rank(query, self._searcher.seed(query), topic.pool)
        return ranking[: OPTIONS.depth].doc_ids


def judged(mode: str, character: Character, of: Sequence[Pool], repeats: int) -> Row:
    """Every query reranked ``repeats`` times, each with other answers of the same judge."""
    calls, rounds, values = [], [], []
    for pool in of:
        scores = []
        for repeat in range(repeats):
            judge = SimulatedJudge(character, pool.query_id, pool.grades, repeat)
            outcome = asyncio.run(rerank(pool.doc_ids, judge, mode, OPTIONS))
            calls.append(outcome.calls)
            rounds.append(outcome.rounds)
            scores.append(pool.ndcg(outcome.order))
        values.append(float(np.mean(scores)))
    return Row(character.name, mode, float(np.mean(calls)), float(np.mean(rounds)),
               float(np.mean(values)), values)  # fmt: skip


def clock_all(bench: Bench) -> list[Clocked]:
    """The modes whose wall time matters: three queries of the default, one of each other."""
    with endpoint() as at:
        taken = clock(DEFAULT, bench.assignments(3), at)
        for mode in MODES:
            if mode not in (DEFAULT, *NOT_CLOCKED):
                taken += clock(mode, bench.assignments(1), at)
    return taken


def measure(repeats: int = 1, timed: bool = True) -> list[Figure]:
    """The figures that have targets; none, with the reason on stderr, without CSFCube."""
    return figures(*run(repeats, timed))


def run(repeats: int, timed: bool) -> tuple[list[Row], list[Clocked]]:
    """All rows of both tables; empty, with the reason on stderr, without CSFCube."""
    if not CSFCUBE.is_dir():
        print(f"Reranking is not measured: CSFCube is not at {CSFCUBE}.", file=sys.stderr)
        return [], []
    bench = Bench()
    of = bench.pools()
    dense = [pool.ndcg(pool.doc_ids) for pool in of]
    rows = [Row("", DENSE, 0, 0, float(np.mean(dense)), dense)]
    for character in CHARACTERS:
        for mode in MODES:
            rows.append(judged(mode, character, of, repeats))
            print(f"  {character.name}: {mode}", file=sys.stderr)
    return rows, clock_all(bench) if timed else []


def figures(rows: Sequence[Row], taken: Sequence[Clocked]) -> list[Figure]:
    """The default mode beside heapsort."""
    compared = []
    for character in CHARACTERS:
        by_mode = {row.mode: row for row in rows if row.judge == character.name}
        if by_mode:
            compared += _beside(by_mode[DEFAULT], by_mode[PUBLISHED])
    return compared + (_clock_figures(taken) if taken else [])


def _clock_figures(taken: Sequence[Clocked]) -> list[Figure]:
    ours = [row for row in taken if row.mode == DEFAULT]
    [theirs] = [row for row in taken if row.mode == PUBLISHED]
    seconds = float(np.median([row.seconds for row in ours]))
    return [
        Figure(PART, "wall time", seconds, "s", seconds / theirs.seconds, PUBLISHED,
               MOST_SECONDS, at_least=False, note=f"{1000 * LATENCY:.0f} ms a request, "
               f"{CONCURRENCY} at once; heapsort took {theirs.seconds:.1f} s"),
        Figure(PART, "own time, of the wall time", min(row.own for row in ours),
               "%", target=MOST_OVERHEAD, at_least=False,
               note="above the endpoint's own time, the ledger included; the least of "
               + ", ".join(f"{row.own:.1f}" for row in ours)
               + ": whatever else the machine does counts as ours"),
        Figure(PART, "requests of a repeat", float(sum(row.again for row in taken)), "",
               target=0.0, at_least=False),
    ]  # fmt: skip


def _beside(ours: Row, theirs: Row) -> list[Figure]:
    gained = [100 * (a - b) for a, b in zip(ours.per_query, theirs.per_query, strict=True)]
    better, worse = sum(g > 0 for g in gained), sum(g < 0 for g in gained)
    return [
        Figure(PART, f"calls, judge {ours.judge}", ours.calls, "", ours.calls / theirs.calls,
               PUBLISHED, MOST_CALLS, at_least=False),
        Figure(PART, f"{CSFCUBE_NDCG} x 100 above heapsort's, judge {ours.judge}",
               float(np.mean(gained)), "", target=0.0,
               note=f"{100 * ours.ndcg:.1f} against {100 * theirs.ndcg:.1f}; "
               f"better on {better} queries, worse on {worse} of {len(gained)}"),
    ]  # fmt: skip


def shown(rows: Sequence[Row], clocked: Sequence[Clocked]) -> str:
    """Both tables for reading."""
    seconds = {row.mode: row for row in clocked}
    lines = [f"{'judge':24}{'mode':20}{'calls':>8}{'rounds':>8}{CSFCUBE_NDCG:>19}{'wall s':>9}"
             f"{'own %':>7}"]  # fmt: skip
    for row in rows:
        line = f"{row.judge:24}{row.mode:20}{row.calls:8.0f}{row.rounds:8.1f}{row.ndcg:19.4f}"
        if row.judge == MIDDLE.name and row.mode in seconds:
            taken = seconds[row.mode]
            line += f"{taken.seconds:9.1f}{taken.own:7.1f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Measure and print; write JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1, help="of every query and judge")
    parser.add_argument("--without-clock", action="store_true", help="counts and nDCG only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    options = parser.parse_args()
    rows, clocked = run(options.repeats, not options.without_clock)
    if not rows:
        return
    summary = figures(rows, clocked)
    print(f"{shown(rows, clocked)}\n\n{table(summary)}")
    if options.json:
        report = {
            "figures": as_json(summary),
            "modes": [asdict(row) for row in rows],
            "clock": [asdict(row) for row in clocked],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
