"""Imports in their own processes: they go on when a page is left or the app is restarted.

The app and the process of a job (:mod:`engine.job_process`) share only a record of the ledger.
"""

from __future__ import annotations

import logging
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.config import ROOT
from engine.errors import (
    BadInputError,
    CorpusBusyError,
    SeedLensError,
    StorageError,
    UnknownNameError,
)
from engine.jobs.runner import UNEXPECTED, check_ends
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import (
    ImportJob,
    ImportReport,
    ImportRequest,
    NamedDataset,
    Progress,
    ServiceQueries,
)
from engine.types.people import ForPerson, Person
from storage.documents import Documents, Stored
from storage.files import file_errors
from storage.home import Home, check_corpus_name
from storage.ledger import Ledger
from storage.locks import MACHINE, is_alive, repeating
from storage.removal import delete

log = logging.getLogger("seedlens.jobs")
STORE_SECONDS = 0.4  # Between two updates of the row
_NOTHING_YET = Progress("checking", 0, 0, 0.0)


class ImportJobs(ForPerson):
    """The imports of one ledger, running and past. Safe to share between threads.

    ``check`` raises NotAllowedError where a person may not import what is requested.
    """

    def __init__(
        self,
        home: Home,
        ledger: Ledger,
        check: Callable[[Person, ImportRequest], object] = lambda *_: None,
    ) -> None:
        self._home, self._locks, self._check = home, ledger.locks, check
        self._titles = ledger.corpus_titles
        self._jobs: Documents[ImportJob] = ledger.documents("import", ImportJob)
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
            self._start(job, process=os.getpid())
            with self._reported(job.id, on_progress, cancelled) as reported:
                yield reported
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
        ended: dict[str, Any]
        try:
            with self._reported(id_, tell_nobody, cancelled) as reported:
                report = work(self.job(id_).request, *reported)
            ended = {"state": "cancelled" if report.cancelled else "done", "report": report}
        except SeedLensError as error:
            ended = {"state": "failed", "error": error.message, "remedy": error.remedy}
        except Exception:
            log.exception("The import failed unexpectedly")
            remedy = f"The details are in {self._log(id_)}."
            ended = {"state": "failed", "error": UNEXPECTED, "remedy": remedy}
        self._change(id_, lambda job: replace(job, **ended))
        return self.job(id_)

    @contextmanager
    def _reported(self, id_: str, on_progress: Tell, cancelled: Ask) -> Iterator[tuple[Tell, Ask]]:
        """Keep the record of a running job up to date; yields functions to report progress and to
        ask whether to stop."""
        progress, stopping = _NOTHING_YET, False

        def update(job: ImportJob) -> ImportJob:
            nonlocal stopping
            stopping |= job.stopping
            return replace(job, progress=progress)

        def tell(now: Progress) -> None:
            nonlocal progress
            progress = now
            on_progress(now)

        with repeating(lambda: self._change(id_, update), STORE_SECONDS):
            try:
                yield tell, lambda: stopping or cancelled()
            finally:
                with suppress(StorageError):
                    self._change(id_, update)

    def resume(self, id_: str) -> ImportJob:
        """Run the same import again: what is stored is kept, the rest is indexed."""
        job = self.job(id_)
        check_ends(self.person, job.owner)
        self._check(self.person, job.request)
        return self._start(replace(_new_job(job.request, job.owner), id=id_))

    def cancel(self, id_: str) -> None:
        """Stop a job after the current batch; nothing happens when it has ended."""
        job = self.job(id_)
        check_ends(self.person, job.owner)
        if job.running:  # a change of one whose process is gone would renew it
            self._change(id_, lambda job: replace(job, stopping=True))

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
        jobs = map(self._job, self._jobs.newest())
        return sorted(jobs, key=lambda job: (job.started_at, job.id), reverse=True)

    def job(self, id_: str) -> ImportJob:
        """One job as it is now, or UnknownNameError."""
        stored = self._jobs.get(id_)
        if stored is None:
            raise UnknownNameError(f"There is no import '{id_}'.")
        return self._job(stored)

    def running(self, corpus: str) -> ImportJob | None:
        """The job that is importing into a corpus, None when there is none."""
        return next((j for j in self.list() if j.request.name == corpus and j.running), None)

    def check_idle(self, corpus: str) -> None:
        """Raise CorpusBusyError while a job, of any owner, imports into a corpus."""
        if job := self.running(corpus):
            by = f" (started by {job.owner})" if job.owner else ""
            raise CorpusBusyError(
                f"The corpus '{self._titles().get(corpus, corpus)}' is being indexed{by}.",
                "Wait until it is done, or cancel it.",
            )

    # -- inside ------------------------------------------------------------------------

    def _start(self, job: ImportJob, process: int = 0) -> ImportJob:
        """Add a job, and begin its process unless this one does the work."""
        name = job.request.name
        # The lock of the corpus keeps others out only once they have read the whole source.
        title = self._titles().get(name, name)
        with self._locks.hold("import", name, what=f"The corpus '{title}' is being indexed"):
            self.check_idle(name)
            self._jobs.put(job.id, replace(job, pid=process), job.owner)
        if not process:
            try:
                process = self._spawn(job.id)
            except StorageError:
                self._jobs.remove(job.id)
                raise
            self._change(job.id, lambda job: replace(job, pid=process))
        return replace(job, pid=process)

    def _change(self, id_: str, change: Callable[[ImportJob], ImportJob]) -> None:
        """Change a job, if it is there, which is a sign of life."""
        self._jobs.change(id_, lambda old: change(old.value) if old else None, durable=False)

    def _spawn(self, id_: str) -> int:
        log = self._log(id_)
        with file_errors(log), log.open("ab") as out:
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

    def _job(self, stored: Stored[ImportJob]) -> ImportJob:
        job = replace(stored.value, seconds=stored.value.progress.seconds)
        if isinstance(source := job.request.source, Path):
            here = Path(self._home.located(str(source)))
            job = replace(job, request=replace(job.request, source=here))
        if job.running and not is_alive(job.machine, job.pid, stored.time):
            job = replace(
                job,
                state="interrupted",
                error="The import was interrupted: its process ended before it was done.",
                remedy="Resume goes on where it stopped.",
            )
        return job if job.running else replace(job, stopping=False)

    def _log(self, id_: str) -> Path:
        return self._home.jobs.resolve() / f"{id_}.log"


def _new_job(request: ImportRequest, owner: str) -> ImportJob:
    check_corpus_name(request.name)
    source = request.source
    if not isinstance(source, ServiceQueries | NamedDataset):
        source = Path(os.path.realpath(source if isinstance(source, Path) else "rows in memory"))
    id_ = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
    request = replace(request, source=source)
    now = datetime.now(UTC).isoformat()
    return ImportJob(
        id_, request, "running", _NOTHING_YET, owner=owner, started_at=now, machine=MACHINE
    )
