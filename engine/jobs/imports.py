"""Imports in their own processes: they go on when a page is left or the app is restarted.

The app and the process of a job (:mod:`engine.job_process`) share only a row of the ledger.
"""

from __future__ import annotations

import logging
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter

from engine.config import ROOT
from engine.errors import (
    BadInputError,
    CorpusBusyError,
    SeedLensError,
    StorageError,
    UnknownNameError,
)
from engine.jobs.runner import UNEXPECTED, check_ends
from engine.types.callbacks import Ask, Tell, never
from engine.types.corpora import (
    ImportJob,
    ImportReport,
    ImportRequest,
    NamedDataset,
    Progress,
    ServiceQueries,
)
from engine.types.jobs import JobState
from engine.types.people import ForPerson, Person
from storage.files import file_errors
from storage.home import Home, check_corpus_name
from storage.jobs import JobRow, Jobs
from storage.locks import MACHINE, repeating
from storage.removal import delete

log = logging.getLogger("seedlens.jobs")
STORE_SECONDS = 0.4  # Between two updates of the row
_NOTHING_YET = Progress("checking", 0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class _Stored:
    """What a row has of an import beside its columns."""

    request: ImportRequest
    progress: Progress = _NOTHING_YET
    report: ImportReport | None = None
    error: str = ""
    remedy: str = ""


_STORED = TypeAdapter(_Stored)


class ImportJobs(ForPerson):
    """The imports of one ledger, running and past. Safe to share between threads.

    ``check`` raises NotAllowedError where a person may not import what is requested.
    """

    def __init__(
        self,
        home: Home,
        jobs: Jobs,
        check: Callable[[Person, ImportRequest], object] = lambda *_: None,
    ) -> None:
        self._home, self._jobs, self._check = home, jobs, check
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self, request: ImportRequest, owner: str = "") -> ImportJob:
        """Begin an import in its own process; ``owner`` starts it where nobody is logged in."""
        self._check(self.person, request)
        return self._start(_new_job(request, self._own(owner)))

    @contextmanager
    def here(
        self, request: ImportRequest, owner: str, on_progress: Tell, cancelled: Ask
    ) -> Iterator[tuple[Tell, Ask]]:
        """List an import of this process while it runs; interrupted ones of the same source go.

        Yields functions to report progress and to ask for cancellation.
        """
        self._check(self.person, request)
        job = _new_job(request, owner)
        for old in self.list():
            same = (old.request.name, old.request.source) == (job.request.name, job.request.source)
            if same and old.state == "interrupted":
                self.dismiss(old.id)
        try:
            running = _Running(self._start(job, process=os.getpid()), self._jobs)

            def tell(progress: Progress) -> None:
                running.tell(progress)
                on_progress(progress)

            with running.stored():
                yield tell, lambda: running.stop or cancelled()
        finally:
            with suppress(StorageError):  # the import is over
                self._jobs.remove(job.id)

    def run(
        self,
        id_: str,
        work: Callable[[ImportRequest, Tell, Ask], ImportReport],
        cancelled: Ask = never,
    ) -> ImportJob:
        """Do the work of a job in its own process, and store how it ended."""
        running = _Running(self.job(id_), self._jobs)
        try:
            with running.stored():
                report = work(
                    running.job.request, running.tell, lambda: running.stop or cancelled()
                )
            state: JobState = "cancelled" if report.cancelled else "done"
            job = replace(running.job, state=state, report=report)
        except SeedLensError as error:
            job = replace(running.job, state="failed", error=error.message, remedy=error.remedy)
        except Exception:
            log.exception("The import failed unexpectedly")
            remedy = f"The details are in {self._log(id_)}."
            job = replace(running.job, state="failed", error=UNEXPECTED, remedy=remedy)
        self._jobs.change(id_, state=job.state, content=stored_content(job))
        return job

    def resume(self, id_: str) -> ImportJob:
        """Run the same import again: what is stored is kept, the rest is indexed."""
        job = self.job(id_)
        check_ends(self.person, job.owner)
        self._check(self.person, job.request)
        return self._start(replace(_new_job(job.request, job.owner), id=id_))

    def cancel(self, id_: str) -> None:
        """Stop a job after the current batch; nothing happens when it has ended."""
        check_ends(self.person, self.job(id_).owner)
        self._jobs.stop(id_)

    def dismiss(self, id_: str) -> None:
        """Remove a job that has ended from the list; its documents stay."""
        job = self.job(id_)
        check_ends(self.person, job.owner)
        if job.state == "running":
            raise BadInputError("The import is still running.", "Cancel it first.")
        delete(self._log(id_))
        self._jobs.remove(id_)

    def list(self) -> list[ImportJob]:
        """All jobs, newest first."""
        self._children = [child for child in self._children if child.poll() is None]
        return [self._job(row) for row in self._jobs.all()]

    def job(self, id_: str) -> ImportJob:
        """One job as it is now, or UnknownNameError."""
        row = self._jobs.find(id_)
        if row is None:
            raise UnknownNameError(f"There is no import '{id_}'.")
        return self._job(row)

    def running(self, corpus: str) -> ImportJob | None:
        """The job that is importing into a corpus, None when there is none."""
        return next(
            (j for j in self.list() if j.request.name == corpus and j.state == "running"), None
        )

    def check_idle(self, corpus: str) -> None:
        """Raise CorpusBusyError while a job, of any owner, imports into a corpus."""
        _check_idle(corpus, [row for row in self._jobs.all() if row.is_alive])

    # -- inside ------------------------------------------------------------------------

    def _start(self, job: ImportJob, process: int = 0) -> ImportJob:
        """Add a job, and begin its process unless this one does the work."""
        now, name = datetime.now(UTC), job.request.name
        row = JobRow(
            *(job.id, name, "running", stored_content(job), job.owner),
            *(MACHINE, process, False, now, now),
        )
        # The lock of the corpus keeps others out only once they have read the whole source.
        self._jobs.start(row, lambda running: _check_idle(name, running))
        if not process:
            try:
                with file_errors(self._log(job.id)):
                    process = self._spawn(job.id)
            except StorageError:
                self._jobs.remove(job.id)
                raise
            self._jobs.change(job.id, process=process)
        return self._job(replace(row, process=process))

    def _spawn(self, id_: str) -> int:
        with self._log(id_).open("ab") as out:
            child = subprocess.Popen(
                [sys.executable, "-m", "engine.job_process", id_],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=ROOT,
                env={**os.environ, "SEEDLENS_HOME": str(self._home.root.resolve())},
                start_new_session=True,  # Ctrl-C in the app's terminal is not meant for it
            )
        self._children.append(child)
        return child.pid

    def _job(self, row: JobRow) -> ImportJob:
        stored = _STORED.validate_json(row.content)
        request, state = stored.request, row.state
        if isinstance(request.source, Path):
            request = replace(request, source=Path(self._home.located(str(request.source))))
        error, remedy = stored.error, stored.remedy
        if state == "running" and not row.is_alive:
            state = "interrupted"
            error = "The import was interrupted: its process ended before it was done."
            remedy = "Resume goes on where it stopped."
        return ImportJob(
            id=row.job_id,
            request=request,
            state=cast(JobState, state),
            progress=stored.progress,
            report=stored.report,
            error=error,
            remedy=remedy,
            owner=row.owner,
            seconds=stored.progress.seconds,
            stopping=row.stop and state == "running",
            started_at=row.started.isoformat(),
            pid=row.process,
        )

    def _log(self, id_: str) -> Path:
        return self._home.jobs.resolve() / f"{id_}.log"


class _Running:
    """An import at work: stores its progress, and reads whether it should stop."""

    def __init__(self, job: ImportJob, jobs: Jobs) -> None:
        self.job, self.stop = job, False
        self._jobs, self._stored = jobs, job

    def tell(self, progress: Progress) -> None:
        self.job = replace(self.job, progress=progress)

    def stored(self) -> AbstractContextManager[None]:
        """Keep the row up to date until the block ends."""
        return repeating(self._store, STORE_SECONDS)

    def _store(self) -> None:
        job = self.job
        values = {} if job is self._stored else {"content": stored_content(job)}
        self.stop |= self._jobs.change(job.id, **values)
        self._stored = job


def stored_content(job: ImportJob) -> str:
    """What a row has of a job beside its columns."""
    stored = _Stored(job.request, job.progress, job.report, job.error, job.remedy)
    return _STORED.dump_json(stored).decode()


def _new_job(request: ImportRequest, owner: str) -> ImportJob:
    check_corpus_name(request.name)
    source = request.source
    if not isinstance(source, ServiceQueries | NamedDataset):
        source = Path(os.path.realpath(source if isinstance(source, Path) else "rows in memory"))
    id_ = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
    request = replace(request, source=source)
    return ImportJob(id_, request, "running", _NOTHING_YET, owner=owner)


def _check_idle(corpus: str, running: Sequence[JobRow]) -> None:
    for row in running:
        if row.about == corpus:
            by = f" (started by {row.owner})" if row.owner else ""
            raise CorpusBusyError(
                f"The corpus '{corpus}' is being indexed{by}.",
                "Wait until it is done, or cancel it.",
            )
