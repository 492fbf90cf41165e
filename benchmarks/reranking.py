"""Reranking: what every mode costs and gains, with simulated judges.

CSFCube's open half, its judged pools ranked by the dense system, the first 100 reranked for the
first 20. Judges are simulated (``benchmarks/simulated_judges.py``): the figures compare
algorithms under the same errors, they do not predict a model's.

Wall times are those of the real client at the tests' model server in a process of its own, where
every request takes 300 ms, lists too: a model takes longer for those. The floor of a time is what
the answers alone take: in every round the questions, 16 at a time. What is above it is SeedLens's
own: prompts, requests, reading, the ledger and the algorithm.
"""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import homes
from benchmarks.figures import Figure
from benchmarks.homes import CORPUS, CSFCUBE
from benchmarks.simulated_judges import CHARACTERS, MIDDLE, Character, SimulatedJudge
from engine.collections.readers import read_collection
from engine.config import ROOT
from engine.evaluate.evaluation_run import topic_criterion
from engine.llm.client import Client, complete
from engine.llm.endpoints import Connection, Endpoint
from engine.measures.metrics import csfcube_ndcg
from engine.rerank.modes import MODES, rerank
from engine.rerank.protocols import Options, Progress
from engine.search.model.reranking import Assignment, Finished, Plan, rerank_one, texts_of
from engine.types.evaluations import CSFCUBE_NDCG, Grades, Topic
from engine.types.searches import Query
from storage.answers import Answers
from storage.ledger import Ledger

OPTIONS = Options(depth=100, top=20)
MOST_CALLS, MOST_SECONDS, MOST_OVERHEAD = 0.55, 0.1, 5.0
DEFAULT, PUBLISHED, DENSE = "pairwise", "heapsort", "dense alone"
NOT_CLOCKED = ("allpair", "sliding")
"""They take minutes, as their questions and rounds tell."""
LATENCY, CONCURRENCY = 0.3, 16
MODEL = "judge"
JUDGE = ("--noise", "0.6", "--pair-noise", "0.6", "--bias", "0.4")
"""Middling, and never without an answer: a question asked twice would not be our time."""


class Pool(NamedTuple):
    """The first stage's ranking of one query and what its documents are worth."""

    query_id: str
    doc_ids: list[str]
    grades: Grades


class Row(NamedTuple):
    """One mode with one judge: means over queries and repeats."""

    judge: str
    mode: str
    calls: float
    rounds: float
    per_query: list[float]  # CSFCube's nDCG@20 of each query, 0 to 1

    @property
    def ndcg(self) -> float:
        """Mean of all queries."""
        return float(np.mean(self.per_query))


class Clocked(NamedTuple):
    """One ranking reranked by a model."""

    mode: str
    seconds: float  # on the clock, until the answers are in the ledger
    floor: float  # those of them that the endpoint alone takes
    again: int  # requests that the same took once more

    @property
    def own(self) -> float:
        """The share of the wall time that was not waiting for the endpoint, in percent."""
        return 100 * (self.seconds - self.floor) / self.seconds


class Bench:
    """CSFCube's open half: its queries, and what the dense system finds for them."""

    def __init__(self) -> None:
        self._searcher = homes.explorer().searcher(CORPUS)
        self._collection = read_collection(CSFCUBE)

    def pools(self) -> list[Pool]:
        """Of every query."""
        qrels, topics = self._collection.qrels, self._collection.topics
        return [Pool(t.query_id, self._ranked(t), qrels[t.query_id]) for t in topics]

    def assignments(self, count: int) -> list[Assignment]:
        """The first ``count`` queries as they are given to a model."""
        load, searcher = texts_of(self._searcher), self._searcher
        return [
            Assignment(t.query_id, topic_criterion(searcher, t), tuple(self._ranked(t)), load)
            for t in self._collection.topics[:count]
        ]

    def _ranked(self, topic: Topic) -> list[str]:
        query = Query(CORPUS, seed=topic.seed, aspect=topic.aspect, system="dense")
        ranking = self._searcher.rank(query, self._searcher.seed(query), topic.pool)
        return ranking[: OPTIONS.depth].doc_ids


def measure(repeats: int = 1, clock: bool = True) -> list[Figure]:
    """All modes with all judges; the default beside heapsort. No figures without CSFCube.

    `repeats`: of every query and judge. `clock`: wall times, too.
    """
    if not CSFCUBE.is_dir():
        print(f"Reranking is not measured: CSFCube is not at {CSFCUBE}.", file=sys.stderr)
        return []
    bench = Bench()
    pools = bench.pools()
    rows = [Row("", DENSE, 0, 0, [csfcube_ndcg(p.doc_ids, p.grades) for p in pools])]
    for character in CHARACTERS:
        for mode in MODES:
            rows.append(judged(mode, character, pools, repeats))
            print(f"  {character.name}: {mode}", file=sys.stderr)
    clocked = clock_all(bench) if clock else []
    print(shown(rows, clocked))
    figures = []
    for character in CHARACTERS:
        by_mode = {row.mode: row for row in rows if row.judge == character.name}
        figures += _beside(by_mode[DEFAULT], by_mode[PUBLISHED])
    return figures + (_clock_figures(clocked) if clocked else [])


def judged(mode: str, character: Character, pools: Sequence[Pool], repeats: int) -> Row:
    """Every query reranked ``repeats`` times, each with other answers of the same judge."""
    calls, rounds, values = [], [], []
    for pool in pools:
        scores = []
        for repeat in range(repeats):
            judge = SimulatedJudge(character, pool.query_id, pool.grades, repeat)
            outcome = asyncio.run(rerank(pool.doc_ids, judge, mode, OPTIONS))
            calls.append(outcome.calls)
            rounds.append(outcome.rounds)
            scores.append(csfcube_ndcg(outcome.order, pool.grades))
        values.append(float(np.mean(scores)))
    return Row(character.name, mode, float(np.mean(calls)), float(np.mean(rounds)), values)


def _beside(ours: Row, theirs: Row) -> list[Figure]:
    gained = [100 * (a - b) for a, b in zip(ours.per_query, theirs.per_query, strict=True)]
    better, worse = sum(g > 0 for g in gained), sum(g < 0 for g in gained)
    note = f"{100 * ours.ndcg:.1f} against {100 * theirs.ndcg:.1f}; better on {better} queries, "
    note += f"worse on {worse} of {len(gained)}"
    calls, share = f"calls, judge {ours.judge}", ours.calls / theirs.calls
    above = f"{CSFCUBE_NDCG} x 100 above heapsort's, judge {ours.judge}"
    return [
        Figure(calls, ours.calls, most=MOST_CALLS, ratio=share, baseline=PUBLISHED),
        Figure(above, float(np.mean(gained)), "", note, least=0.0),
    ]


def shown(rows: Sequence[Row], clocked: Sequence[Clocked]) -> str:
    """All modes, for reading."""
    times = {row.mode: f"{row.seconds:9.1f}{row.own:7.1f}" for row in clocked}
    head = f"{'judge':24}{'mode':20}{'calls':>8}{'rounds':>8}{CSFCUBE_NDCG:>19}"
    lines = [f"{head}{'wall s':>9}{'own %':>7}"]
    for row in rows:
        line = f"{row.judge:24}{row.mode:20}{row.calls:8.0f}{row.rounds:8.1f}{row.ndcg:19.4f}"
        lines.append(line + times.get(row.mode, "") * (row.judge == MIDDLE.name))
    return "\n".join(lines)


# -- against the clock -------------------------------------------------------------------------


def clock_all(bench: Bench) -> list[Clocked]:
    """The modes whose wall time matters: three queries of the default, one of each other."""
    modes = [mode for mode in MODES if mode not in (DEFAULT, *NOT_CLOCKED)]
    taken = []
    with endpoint() as at:
        for mode in (DEFAULT, *modes):
            with tempfile.TemporaryDirectory() as folder:
                store = Ledger(Path(folder) / "ledger.sqlite").answers
                connection = Connection(at, concurrency=CONCURRENCY)
                complete(connection, store, _try_out)
                some = bench.assignments(3 if mode == DEFAULT else 1)
                taken += [_clocked(mode, one, connection, store) for one in some]
    return taken


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """The server; gone when the block ends."""
    command = [sys.executable, "-m", "tests.fakes.model_server", "--qrels", str(CSFCUBE)]
    command += ["--port", "0", "--latency", str(LATENCY), *JUDGE, "--model", MODEL]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split("OPENAI_BASE_URL=")[1].split()[0]
            yield Endpoint(address, MODEL)
        finally:
            process.terminate()


async def _try_out(client: Client) -> None:
    await client.context()


def _clocked(mode: str, assignment: Assignment, connection: Connection, store: Answers) -> Clocked:
    """A ranking asked for twice; the first time is on the clock."""
    rounds: list[Progress] = []

    async def work(client: Client) -> Finished:
        return await rerank_one(client, assignment, Plan(mode, OPTIONS.depth), rounds.append)

    started = time.perf_counter()
    complete(connection, store, work)
    seconds = time.perf_counter() - started
    floor, before = 0.0, 0
    for progress in rounds:
        floor += math.ceil((progress.calls - before) / CONCURRENCY) * LATENCY
        before = progress.calls
    again = complete(connection, store, work).usage.calls
    clocked = Clocked(mode, seconds, floor, again)
    print(f"  {mode}: {seconds:.1f} s, {clocked.own:.1f} % our own", file=sys.stderr)
    return clocked


def _clock_figures(taken: Sequence[Clocked]) -> list[Figure]:
    ours = [row for row in taken if row.mode == DEFAULT]
    [theirs] = [row for row in taken if row.mode == PUBLISHED]
    seconds = float(np.median([row.seconds for row in ours]))
    wall = f"{1000 * LATENCY:.0f} ms a request, {CONCURRENCY} at once; heapsort took "
    wall += f"{theirs.seconds:.1f} s"
    own = "above the endpoint's own time, the ledger included; the least of "
    own += ", ".join(f"{row.own:.1f}" for row in ours)
    share, least = seconds / theirs.seconds, min(row.own for row in ours)
    return [
        Figure("wall time", seconds, "s", wall, None, MOST_SECONDS, share, PUBLISHED),
        Figure("own time, of the wall time", least, "%", own, most=MOST_OVERHEAD),
        Figure("requests of a repeat", float(sum(row.again for row in taken)), most=0.0),
    ]
