"""Reranking against the clock: the real client, and an endpoint that takes 300 ms to answer.

The endpoint is the tests' model server in a process of its own; 16 requests are under way at
once. The floor is what its answers alone take: in every round the questions, 16 at a time, 300 ms
each. What the wall time is above it is SeedLens's own: prompts, requests, reading, the ledger and
the algorithm.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.sources import CSFCUBE
from engine.assist.reranking import Assignment, Finished, Plan, rerank_one
from engine.config import ROOT
from engine.llm.client import Client, complete
from engine.llm.endpoints import Connection, Endpoint
from engine.rerank import Progress
from storage.answers import Answers
from storage.ledger import Ledger

LATENCY, CONCURRENCY, DEPTH = 0.3, 16, 100
MODEL = "judge"
JUDGE = ("--noise", "0.6", "--pair-noise", "0.6", "--bias", "0.4")
"""Middling, and never without an answer: a question asked twice would not be our time."""


@dataclass(frozen=True)
class Clocked:
    """One ranking reranked.

    Attributes:
        calls: requests sent; those that try the endpoint out were sent before.
        seconds: on the clock, until the answers are in the ledger.
        floor: those of them that the endpoint alone takes.
        again: requests that the same took once more.
    """

    mode: str
    calls: int
    rounds: int
    seconds: float
    floor: float
    again: int

    @property
    def own(self) -> float:
        """The share of the wall time that was not waiting for the endpoint, in percent."""
        return 100 * (self.seconds - self.floor) / self.seconds


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


def clock(mode: str, assignments: Sequence[Assignment], at: Endpoint) -> list[Clocked]:
    """The rankings one after the other, each asked for twice; the first time is on the clock."""
    with tempfile.TemporaryDirectory() as folder:
        store = Ledger(Path(folder) / "ledger.sqlite").answers
        connection = Connection(at, concurrency=CONCURRENCY)
        complete(connection, store, _try_out)
        return [_clocked(mode, assignment, connection, store) for assignment in assignments]


async def _try_out(client: Client) -> None:
    await client.context()


def _clocked(mode: str, assignment: Assignment, connection: Connection, store: Answers) -> Clocked:
    rounds: list[Progress] = []

    async def work(client: Client) -> Finished:
        return await rerank_one(client, assignment, Plan(mode, DEPTH), rounds.append)

    started = time.perf_counter()
    done = complete(connection, store, work)
    seconds = time.perf_counter() - started
    floor, before = 0.0, 0
    for progress in rounds:
        floor += math.ceil((progress.calls - before) / CONCURRENCY) * LATENCY
        before = progress.calls
    again = complete(connection, store, work).usage.calls
    clocked = Clocked(mode, done.usage.calls, done.usage.rounds, seconds, floor, again)
    print(f"  {mode}: {seconds:.1f} s, {clocked.own:.1f} % our own", file=sys.stderr)
    return clocked
