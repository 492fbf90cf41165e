"""Annotators at work at once: from a key to the judgment stored and the next items, and its cost.

Threads of one process, as in the app, without the pages; then the same while another process
writes, too.
"""

from __future__ import annotations

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

from benchmarks.figures import Figure, spread
from engine.config import DEMO, DEMO_CORPUS, ROOT, Settings
from engine.explorer import Explorer
from engine.types.annotating import Judgment, Project
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage.projects import PoolRow

PROJECT = "many"
STORED = 51_000
"""Judgments that the project holds already, two for each item, which needs three."""
PEOPLE = 25
KEY_EVERY, WRITE_EVERY = 2.0, 1.0
"""Seconds between two keys of one annotator, and between two judgments of the other process."""
MOST_WAITED, MOST_CPU = 1.0, 0.03
"""Seconds: from key to stored for 95 of 100 keys, and of CPU for each."""


class AtWork(NamedTuple):
    """What the keys of some seconds took."""

    waits: list[float]  # seconds, of each key
    cpu: float  # seconds of this process for each key
    grown: float  # MiB of memory


def measure(people: int = PEOPLE, seconds: float = 30.0) -> list[Figure]:
    """Everybody at one key every two seconds."""
    with tempfile.TemporaryDirectory(prefix="seedlens-annotators-") as folder:
        explorer = Explorer(Settings(home=Path(folder)))
        project = filled(explorer)
        _at_work(explorer, project, people, 2 * KEY_EVERY)  # what the first look costs is apart
        figures = []
        for what, beside in (
            ("alone", nullcontext()),
            ("another process writing", _another_process(folder)),
        ):
            with beside:
                done = _at_work(explorer, project, people, seconds)
            note = f"{STORED:,} judgments stored, {len(done.waits)} keys"
            name = f"{people} annotators, {what}"
            figures += [
                *spread(f"{name}, key to stored", done.waits, "s", p95=MOST_WAITED, note=note),
                Figure(f"{name}: CPU per key", done.cpu, "s", most=MOST_CPU),
                Figure(f"{name}: memory grown", done.grown, "MiB"),
            ]
    return figures


def filled(explorer: Explorer, stored: int = STORED) -> Project:
    """A project in which two of three annotations are given, ``stored`` in all."""
    explorer.library.import_documents(ImportRequest(DEMO / "corpus.jsonl", DEMO_CORPUS))
    annotation = explorer.annotation
    project = annotation.save(Project(DEMO_CORPUS, PROJECT, per_item=3), "lead")
    doc_ids = explorer.library.open(DEMO_CORPUS).doc_ids
    seeds = doc_ids[: -(-stored // 2 // (len(doc_ids) - 1))]
    queries = [Query(DEMO_CORPUS, seed=seed, aspect="method") for seed in seeds]
    annotation.add_queries(project, queries)
    items = [
        (query_id, doc_id)
        for query_id, query in annotation.queries(project).items()
        for doc_id in doc_ids
        if doc_id != query.seed
    ][: stored // 2]
    now = datetime.now(UTC)
    explorer.ledger.projects.add_to_pool(
        PoolRow(*project.key, query_id, doc_id, "bm25", 1, now) for query_id, doc_id in items
    )
    of_project = {"corpus": project.corpus, "project": project.name}
    explorer.ledger.judging.add(
        Judgment(*item, f"person {(n + again) % PEOPLE}", relevance=n % 4, **of_project)
        for again in range(2)
        for n, item in enumerate(items)
    )
    return project


def _at_work(explorer: Explorer, project: Project, people: int, seconds: float) -> AtWork:
    """Everybody at a desk of their own, at one key every :data:`KEY_EVERY`."""
    process = psutil.Process()
    before, cpu = process.memory_info().rss, time.process_time()
    begun = time.perf_counter()
    with ThreadPoolExecutor(people) as pool:

        def desk(n: int) -> list[float]:
            first = begun + KEY_EVERY * n / people
            return _desk(explorer, project, f"person {n}", first, begun + seconds)

        waits = [took for taken in pool.map(desk, range(people)) for took in taken]
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
def _another_process(home: str) -> Iterator[None]:
    """It judges in the same project, now and then."""
    code = "import sys; from benchmarks.annotators import judge_often; judge_often(sys.argv[1])"
    command = [sys.executable, "-c", code, home]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            process.stdout.readline()  # its first judgment
            yield
        finally:
            process.kill()


def judge_often(home: str) -> None:
    """Be the other process."""
    annotation = Explorer(Settings(home=Path(home))).annotation
    project = annotation.project(DEMO_CORPUS, PROJECT)
    for item in annotation.pool(project):
        annotation.judge(project, Judgment(*item.item, "somebody else", relevance=1))
        print("stored", flush=True)
        time.sleep(WRITE_EVERY)
