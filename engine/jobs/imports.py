"""Imports in processes of their own: they go on when a page is left or the app is restarted.

A row of the ledger is all that the app and a job's process (:mod:`engine.job_process`) share.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
from storage.home import Home, check_corpus_name
from storage.jobs import JobRow, Jobs
from storage.locks import MACHINE, is_alive
from storage.removal import delete

log = logging.getLogger("seedlens.jobs")
NOTE_SECONDS, LOOK_SECONDS = 0.2, 1.0
"""Between two notes of progress at least, and between two signs of life at most."""
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

    Args:
        check: raises NotAllowedError where a person may not import what is asked for.
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
        """Begin an import in a process of its own; ``owner`` is who asks for it, where nobody is
        logged in."""
        self._check(self.person, request)
        return self._start(_new_job(request, self._own(owner)))

    @contextmanager
    def here(
        self, request: ImportRequest, owner: str, on_progress: Tell, cancelled: Ask
    ) -> Iterator[tuple[Tell, Ask]]:
        """List an import of this process while it runs; interrupted ones of the same source go.

        Yields:
            Functions to report progress and to ask for cancellation.
        """
        self._check(self.person, request)
        job = _new_job(request, owner)
        for old in self.list():
            same = (old.request.name, old.request.source) == (job.request.name, job.request.source)
            if same and old.state == "interrupted":
                self.dismiss(old.id)
        try:
            note = _Note(self._start(job, process=os.getpid()), self)

            def tell(progress: Progress) -> None:
                note.tell(progress)
                on_progress(progress)

            with note.kept():
                yield tell, lambda: note.stop or cancelled()
        finally:
            with suppress(StorageError):  # the import is over, whatever is noted of it
                self._jobs.remove(job.id)

    def run(
        self,
        id_: str,
        work: Callable[[ImportRequest, Tell, Ask], ImportReport],
        cancelled: Ask = never,
    ) -> ImportJob:
        """Do the work of a job in its own process, and note how it ended."""
        note = _Note(self.job(id_), self)
        try:
            self._check(self.person, note.job.request)
            with note.kept():
                report = work(note.job.request, note.tell, lambda: note.stop or cancelled())
            state: JobState = "cancelled" if report.cancelled else "done"
            job = replace(note.job, state=state, report=report)
        except SeedLensError as error:
            job = replace(note.job, state="failed", error=error.message, remedy=error.remedy)
        except Exception:
            log.exception("The import failed in a way that SeedLens does not know")
            remedy = f"The details are in {self._log(id_)}."
            job = replace(note.job, state="failed", error=UNEXPECTED, remedy=remedy)
        self._jobs.change(id_, state=job.state, content=stored_content(job))
        return job

    def resume(self, id_: str) -> ImportJob:
        """Run the same import again: what is stored is kept, the rest is indexed."""
        job = self.job(id_)
        check_ends(self.person, job.owner)
        self._check(self.person, job.request)
        return self._start(replace(_new_job(job.request, job.owner), id=id_))

    def cancel(self, id_: str) -> None:
        """Ask a job to stop after the batch at hand; nothing happens when it runs no more."""
        check_ends(self.person, self.job(id_).owner)
        self._jobs.stop(id_)

    def dismiss(self, id_: str) -> None:
        """Take a job that has ended off the list. What it indexed stays. Raises as cancel."""
        job = self.job(id_)
        check_ends(self.person, job.owner)
        if job.state == "running":
            raise BadInputError("The import is still running.", "Cancel it first.")
        delete(self._log(id_))
        self._jobs.remove(id_)

    def list(self) -> list[ImportJob]:
        """All jobs, newest first."""
        self._take_files()
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
        """Raise CorpusBusyError while a job, whoever started it, imports into a corpus."""
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
                process = self._spawn(job.id)
            except OSError as error:
                self._jobs.remove(job.id)
                raise StorageError(
                    f"The import could not be started: {error.strerror or error}.",
                    f"Check that {self._home.jobs} can be written to.",
                ) from error
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

    def _take_files(self) -> None:
        """Take over the jobs of an earlier version, which had a file each."""
        for path in self._home.jobs.glob("*.json"):
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, StorageError):
                data = json.loads(path.read_bytes())
                heard = datetime.fromisoformat(data["updated_at"])
                here = data["state"] == "running" and data["host"] == MACHINE
                if here and is_alive(MACHINE, data["pid"], heard):
                    continue  # an app of the earlier version has it
                source = data.get("dataset") and {"name": data["dataset"]}
                source = source or (data.get("queries") and {"queries": data["queries"]})
                source = source or self._home.located(data["path"])
                data["request"] = {**data, "name": data["corpus"], "source": source}
                started = datetime.fromisoformat(data["started_at"])
                row = JobRow(
                    job_id=data["id"],
                    about=data["corpus"],
                    state=data["state"],
                    content=_STORED.dump_json(_STORED.validate_python(data)).decode(),
                    owner=data.get("owner", ""),
                    machine=MACHINE,
                    process=data["pid"],
                    stop=False,
                    started=started,
                    renewed=started,
                )
                self._jobs.start(row, lambda _: None)
                path.unlink()

    def _log(self, id_: str) -> Path:
        return self._home.jobs.resolve() / f"{id_}.log"


class _Note:
    """Stores the progress of a job and reads whether it should stop."""

    def __init__(self, job: ImportJob, jobs: ImportJobs) -> None:
        self.job, self.stop = job, False
        self._jobs, self._news, self._done = jobs, threading.Event(), threading.Event()

    def tell(self, progress: Progress) -> None:
        """Note how far the import is."""
        self.job = replace(self.job, progress=progress)
        self._news.set()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the row up to date for as long as this lasts."""
        thread = threading.Thread(target=self._keep, name="seedlens-note", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            self._news.set()
            thread.join()

    def _keep(self) -> None:
        while not self._done.wait(NOTE_SECONDS):
            news = self._news.wait(LOOK_SECONDS)
            self._news.clear()
            values = {"content": stored_content(self.job)} if news else {}
            with suppress(StorageError):  # a disk that is full is the import's to report
                self.stop |= self._jobs._jobs.change(self.job.id, **values)


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
