"""Annotators at work at once: from a key to the judgment stored and the next items, and its cost.

``python -m benchmarks.annotators [--people N] [--seconds S] [--worker HOME]``: threads of one
process, as in the app, without the pages; then the same while another process writes, too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.figures import Figure, percentile, table
from engine.config import DEMO, DEMO_CORPUS, ROOT, Settings
from engine.explorer import Explorer
from engine.types.annotating import Judgment, Project
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage.projects import PoolRow

PART = "annotators"
PROJECT = "many"
STORED = 51_000
"""Judgments that the project holds already, two for each item, which needs three."""
PEOPLE, SECONDS = 25, 30.0
KEY_EVERY = 2.0
"""Seconds between two keys of one annotator."""
WRITE_EVERY = 1.0
"""Seconds between two judgments of the other process."""
MOST_WAITED, MOST_CPU = 1.0, 0.03
"""Seconds: from key to stored for 95 of 100 keys, and of CPU for each."""


class AtWork(NamedTuple):
    """What the keys of some seconds took.

    Attributes:
        waits: seconds, of each key.
        cpu: seconds of this process for each key.
        grown: MiB of memory.
    """

    waits: list[float]
    cpu: float
    grown: float


def measure(people: int = PEOPLE, seconds: float = SECONDS) -> list[Figure]:
    """All figures of this part."""
    with tempfile.TemporaryDirectory(prefix="seedlens-annotators-") as folder:
        home = Path(folder)
        explorer = Explorer(Settings(home=home))
        project = filled(explorer)
        _at_work(explorer, project, people, 2 * KEY_EVERY)  # what the first look costs is apart
        figures = []
        for what, beside in (
            ("alone", nullcontext()),
            ("another process writing", _another_process(home)),
        ):
            with beside:
                done = _at_work(explorer, project, people, seconds)
            figures += _figures(f"{people} annotators, {what}", done)
    return figures


def _figures(what: str, done: AtWork) -> list[Figure]:
    note = f"{STORED:,} judgments stored, {len(done.waits)} keys, one every {KEY_EVERY:g} s each"
    p95 = percentile(done.waits, 0.95)
    return [
        Figure(PART, f"{what}: key to stored, median", statistics.median(done.waits), "s",
               note=note),
        Figure(PART, f"{what}: key to stored, p95", p95, "s", target=MOST_WAITED, at_least=False),
        Figure(PART, f"{what}: CPU per key", done.cpu, "s", target=MOST_CPU, at_least=False),
        Figure(PART, f"{what}: memory grown", done.grown, "MiB"),
    ]  # fmt: skip


def filled(explorer: Explorer, stored: int = STORED) -> Project:
    """A project in which two of three annotations are given.

    Args:
        stored: how many that are.
    """
    explorer.library.import_documents(ImportRequest(DEMO / "corpus.jsonl", DEMO_CORPUS))
    annotation = explorer.annotation
    project = annotation.save(Project(DEMO_CORPUS, PROJECT, per_item=3), "lead")
    doc_ids = explorer.library.open(DEMO_CORPUS).doc_ids
    queries = -(-stored // 2 // (len(doc_ids) - 1))
    annotation.add_queries(
        project, [Query(DEMO_CORPUS, seed=seed, aspect="method") for seed in doc_ids[:queries]]
    )
    asked = annotation.queries(project)
    items = [
        (query_id, doc_id)
        for query_id, query in asked.items()
        for doc_id in doc_ids
        if doc_id != query.seed
    ][: stored // 2]
    now = datetime.now(UTC)
    explorer.ledger.projects.add_to_pool(
        PoolRow(*project.key, query_id, doc_id, "bm25", 1, now) for query_id, doc_id in items
    )
    explorer.ledger.judging.add(
        Judgment(
            *item, f"person {(number + again) % PEOPLE}", relevance=number % 4,
            corpus=project.corpus, project=project.name,
        )
        for again in range(2)
        for number, item in enumerate(items)
    )  # fmt: skip
    return project


def _at_work(explorer: Explorer, project: Project, people: int, seconds: float) -> AtWork:
    """Everybody at a desk of their own, at one key every :data:`KEY_EVERY`."""
    process = psutil.Process()
    before, cpu = process.memory_info().rss, time.process_time()
    begun = time.perf_counter()
    with ThreadPoolExecutor(people) as pool:
        desks = [
            pool.submit(
                _desk, explorer, project, f"person {n}", begun + KEY_EVERY * n / people,
                begun + seconds,
            )
            for n in range(people)
        ]  # fmt: skip
        waits = [took for desk in desks for took in desk.result()]
    cpu = (time.process_time() - cpu) / len(waits)
    return AtWork(waits, cpu, (process.memory_info().rss - before) / 2**20)


def _desk(explorer: Explorer, project: Project, who: str, key_at: float, end: float) -> list[float]:
    """One annotator: a key, then the next items with their progress; what each key took."""
    annotation, taken = explorer.annotation, []
    share = annotation.share(project, who, who)
    while share.next and key_at < end:
        item, shown = share.next[0], frozenset(share.next)
        time.sleep(max(0.0, key_at - time.perf_counter()))
        annotation.judge(project, Judgment(*item, who, relevance=1))
        share = annotation.share(project, who, who, item, shown)
        taken.append(time.perf_counter() - key_at)  # a key that had to wait was pressed in time
        key_at += KEY_EVERY
    return taken


@contextmanager
def _another_process(home: Path) -> Iterator[None]:
    """It judges in the same project, now and then."""
    command = [sys.executable, "-m", "benchmarks.annotators", "--worker", str(home)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            process.stdout.readline()  # its first judgment
            yield
        finally:
            process.kill()


def _judge_now_and_then(home: Path) -> None:
    annotation = Explorer(Settings(home=home)).annotation
    project = annotation.project(DEMO_CORPUS, PROJECT)
    for item in annotation.pool(project):
        annotation.judge(project, Judgment(*item.item, "somebody else", relevance=1))
        print("stored", flush=True)
        time.sleep(WRITE_EVERY)


def main() -> None:
    """Measure and print; or be the other process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--worker", type=Path, metavar="HOME", help="judge there now and then")
    options = parser.parse_args()
    if options.worker:
        _judge_now_and_then(options.worker)
    else:
        print(table(measure(options.people, options.seconds)))


if __name__ == "__main__":
    main()
