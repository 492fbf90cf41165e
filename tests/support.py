"""What several test modules call."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from filelock import FileLock

if TYPE_CHECKING:
    import pytest

    from engine.explorer import Explorer
    from engine.jobs.imports import ImportJobs
    from engine.types.corpora import ImportJob

Result = TypeVar("Result")

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


class HasState(Protocol):
    """A job of any kind."""

    @property
    def state(self) -> str: ...


Job = TypeVar("Job", bound=HasState)
SHARD = 32
"""Documents per shard of the corpora made here: small, so that they have several fragments."""


def make_explorer(home: Path, **settings: Any) -> Explorer:
    """An explorer over ``home`` whatever the environment says."""
    from engine.config import Settings
    from engine.explorer import Explorer

    return Explorer(Settings(**{"home": home, "shard_documents": SHARD, **settings}))


def stored_rows(explorer: Explorer, name: str, *, by_id: bool = True) -> Any:
    """Every row of a corpus with every column, in the order of the ids or as stored."""
    import pyarrow as pa

    from storage.vectors import DocumentTable

    table = DocumentTable.open(explorer.home.corpus(name))
    rows = pa.Table.from_batches(list(table.columns(table.schema.names)))
    return rows.sort_by("doc_id") if by_id else rows


def store_job(jobs: ImportJobs, job: ImportJob, renewed: datetime | None = None) -> ImportJob:
    """Store an import, heard of now unless ``renewed`` differs."""
    from storage.documents import DOCUMENTS

    jobs._jobs.put(job.id, job, job.owner)
    if renewed is not None:
        with jobs._jobs._database.write() as connection:
            own = DOCUMENTS.c.key == job.id
            connection.execute(DOCUMENTS.update().where(own).values(time=renewed))
    return job


def write_jsonl(path: Path, documents: Iterable[Mapping[str, Any]]) -> Path:
    """Documents as a JSONL file that ``seedlens import`` reads."""
    lines = (json.dumps(document, ensure_ascii=False) + "\n" for document in documents)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def root_of_all(factory: pytest.TempPathFactory) -> Path:
    """The temporary folder that holds those of all processes of a test run."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def made_once(name: str, factory: pytest.TempPathFactory, make: Callable[[Path], object]) -> Path:
    """A folder of this process, filled by ``make``: once for all processes of a test run."""
    own = factory.mktemp(name) / name
    root = root_of_all(factory)
    shared, half = root / f"{name}-of-all", root / f"{name}-unfinished"
    with FileLock(root / f"{name}.lock"):
        if not shared.exists():
            shutil.rmtree(half, ignore_errors=True)
            make(half)
            half.rename(shared)
    shutil.copytree(shared, own)
    return own


def wait_until(
    condition: Callable[[], Result | None],
    *,
    what: str,
    seconds: float = 180.0,
    pause: float = 0.02,
    sleep: Callable[[float], object] = time.sleep,
) -> Result:
    """What ``condition`` gives as soon as that is true.

    ``what`` says what is waited for. ``sleep`` is how to pass ``pause`` seconds between two
    looks: a Playwright page has a way of its own, in which it goes on listening.
    Raises AssertionError, which names ``what``, when it did not come within ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what}: did not come within {seconds:g} s"
        sleep(pause)
    return found


def ended(
    look: Callable[[], Job | None],
    *,
    enough: Callable[[Job], object] = lambda job: False,
    seconds: float = 180.0,
) -> Job:
    """The job that ``look`` finds, once it is not running any more, or ``enough`` of it is done.

    Raises AssertionError when it was still to come, or running, after ``seconds``.
    """

    def over() -> Job | None:
        job = look()
        return job if job is not None and (job.state != "running" or enough(job)) else None

    return wait_until(over, what="the end of a job, or enough of it", seconds=seconds)
