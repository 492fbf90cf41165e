"""Imports in processes of their own: they go on when a page is left or the app is restarted.

One JSON file per job in ``home.jobs`` is all that the app and a job's process share; next to it
lie the process's log and, when somebody asked it to stop, a flag. The process itself is
:mod:`engine.job_process`.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import ROOT
from engine.errors import (
    BadInputError,
    CorpusBusyError,
    StorageError,
    UnknownNameError,
)
from engine.jobs.job_files import (
    HOST,
    Note,
    is_to_stop,
    parsed_job,
    process_runs,
    process_started,
    read_job,
    running,
    stop_flag,
    write_job,
)
from engine.jobs.runner import check_ends
from engine.types.callbacks import Ask, Tell
from engine.types.corpora import ImportJob, ImportRequest, NamedDataset, Progress, ServiceQueries
from engine.types.people import ForPerson, Person
from storage.home import Home, check_corpus_name
from storage.locks import alone
from storage.removal import delete

if TYPE_CHECKING:
    from storage.postgres import SharedJob, SharedJobs

log = logging.getLogger("seedlens.jobs")

STARTING_SECONDS = 30.0
"""A process that has not put its name into the file by then never came up."""
WAIT_SECONDS = 10.0
"""For others who start an import: longer than many of them take."""
Spawn = Callable[[str], "subprocess.Popen[bytes]"]
_ID = re.compile(r"[0-9]{8}T[0-9]{6}[0-9]{6}-[0-9a-f]{6}\Z")


class ImportJobs(ForPerson):
    """The imports of one home, running and past. Safe to share between threads.

    Args:
        check: raises NotAllowedError where a person may not import what is asked for.
        shared: where other homes with the same ledger find them, and have them stopped; None where
            there are none.
    """

    def __init__(
        self,
        home: Home,
        check: Callable[[Person, ImportRequest], object] = lambda *_: None,
        shared: SharedJobs | None = None,
    ) -> None:
        self._home, self._check, self._shared = home, check, shared
        self._lock = threading.Lock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, request: ImportRequest, owner: str = "") -> ImportJob:
        """Begin an import in a process of its own.

        Args:
            owner: who asks for it, where nobody is logged in.
        """
        self._check(self.person, request)
        job = _new_job(request, self._own(owner))
        return self._start(job, self._spawn)

    @contextmanager
    def here(
        self, request: ImportRequest, owner: str, on_progress: Tell, cancelled: Ask
    ) -> Iterator[tuple[Tell, Ask]]:
        """List an import that this process runs, for as long as it runs it.

        Of one that was killed the entry stays, so that it can be resumed; it goes when the same
        source is imported again.

        Yields:
            what the import is to tell its progress, and to ask whether it is cancelled.
        """
        self._check(self.person, request)
        pid = os.getpid()
        job = replace(_new_job(request, owner), pid=pid, pid_started=process_started(pid))
        note = Note(self._file(job.id), self._start(job), self._shared)
        for old in self.list():
            same = (old.request.name, old.request.source) == (job.request.name, job.request.source)
            if same and old.state == "interrupted":
                self.dismiss(old.id)

        def tell(progress: Progress) -> None:
            note.tell(progress)
            on_progress(progress)

        try:
            with running(self._shared, job.id):
                yield tell, lambda: cancelled() or is_to_stop(self._flag(job.id), self._shared)
        finally:
            self._file(job.id).unlink(missing_ok=True)
            self._flag(job.id).unlink(missing_ok=True)
            self._forget(job.id)

    def resume(self, id_: str) -> ImportJob:
        """Run the same import again: what is stored is kept, the rest is indexed."""
        job = self.job(id_)
        check_ends(self.person, job.owner)
        self._check(self.person, job.request)
        job = replace(
            job,
            state="running",
            progress=_NOTHING_YET,
            report=None,
            error="",
            remedy="",
            started_at=_now(),
            pid=0,
            pid_started=None,
            host=HOST,
            stopping=False,
        )
        return self._start(job, self._spawn)

    def cancel(self, id_: str) -> None:
        """Ask a job to stop after the batch at hand; nothing happens when it runs no more."""
        job = self.job(id_)
        check_ends(self.person, job.owner)
        if job.state != "running":
            return
        if seen := self._file(id_).exists():
            self._flag(id_).touch()
        if self._shared is not None and not (seen and job.host in ("", HOST)):
            self._shared.ask_to_stop(id_)  # another machine may see our files late, or never

    def dismiss(self, id_: str) -> None:
        """Take a job that has ended off the list. What it indexed stays. Raises as cancel."""
        job = self.job(id_)
        check_ends(self.person, job.owner)
        if job.state == "running":
            raise BadInputError("The import is still running.", "Cancel it first.")
        for path in (self._file(id_), self._flag(id_), self._log(id_)):
            delete(path)
        self._children.pop(id_, None)
        self._forget(id_)

    def list(self) -> list[ImportJob]:
        """All jobs, newest first; a file that holds none is left out, with a line in the log."""
        jobs = []
        for path in self._home.jobs.glob("*.json"):
            try:
                jobs.append(self.job(path.stem))
            except (ValueError, OSError) as error:
                log.warning("Left out of the list of imports: %s", error)
            except UnknownNameError:
                continue  # forgotten while we looked
        known = {job.id for job in jobs}
        jobs += [job for job in self._of_others() if job.id not in known]
        return sorted(jobs, key=lambda job: (job.started_at, job.id), reverse=True)

    def job(self, id_: str) -> ImportJob:
        """One job as it is now, or UnknownNameError."""
        if not _ID.match(id_):
            raise UnknownNameError(f"There is no import '{id_}'.")
        try:
            job = read_job(self._file(id_))
        except FileNotFoundError as error:
            for other in self._of_others():
                if other.id == id_:
                    return other
            raise UnknownNameError(f"There is no import '{id_}'.") from error
        if job.state != "running":
            return job
        if job.host not in ("", HOST):  # a machine that has this home, too, or had it
            found = None if self._shared is None else self._shared.all().get(id_)
            return _elsewhere(job) if found is None else self._as_shared(job, found)
        if not self._runs(job):
            # It may have ended between the two looks: then the file has its last word by now.
            job = read_job(self._file(id_))
            return job if job.state != "running" else _interrupted(job)
        return replace(job, stopping=self._flag(id_).exists())

    def running(self, corpus: str) -> ImportJob | None:
        """The job that is importing into a corpus, None when there is none."""
        return next(
            (j for j in self.list() if j.request.name == corpus and j.state == "running"), None
        )

    def check_idle(self, corpus: str) -> None:
        """Raise CorpusBusyError while a job, whoever started it, imports into a corpus."""
        if (job := self.running(corpus)) is not None:
            by = f" (started by {job.owner})" if job.owner else ""
            raise CorpusBusyError(
                f"The corpus '{corpus}' is being indexed{by}.",
                "Wait until it is done, or cancel it.",
            )

    # -- inside ------------------------------------------------------------------------

    def _start(self, job: ImportJob, spawn: Spawn | None = None) -> ImportJob:
        # The corpus's own lock keeps other processes out, but only once they have read the
        # whole source: two clicks on "Index" should hear of it at once, also on two servers.
        with self._lock, self._alone():
            self.check_idle(job.request.name)
            job = replace(job, updated_at=_now())
            try:
                self._flag(job.id).unlink(missing_ok=True)
                write_job(self._file(job.id), job, self._shared)
                if self._shared is not None:
                    self._shared.ask_to_stop(job.id, False)
                if spawn is not None:
                    self._children[job.id] = spawn(job.id)
            except OSError as error:
                raise StorageError(
                    f"The import could not be started: {error.strerror or error}.",
                    f"Check that {self._home.jobs} can be written to.",
                ) from error
        return job

    def _alone(self) -> AbstractContextManager[None]:
        """Among all who could start an import now."""
        locked = alone if self._shared is None else self._shared.alone
        busy = "Another import is just being started."
        file = self._home.root / "locks" / "start-import.lock"
        return locked(file, busy, "Try again.", WAIT_SECONDS)

    def _of_others(self) -> Iterator[ImportJob]:
        """Jobs of other homes that share the ledger, as they are now."""
        for id_, found in ({} if self._shared is None else self._shared.all()).items():
            try:
                job = parsed_job(found.content, id_, self._home)
            except ValueError as error:
                log.warning("Left out of the list of imports: %s", error)
                continue
            if self._file(id_).exists():
                continue
            yield self._as_shared(job, found)

    def _as_shared(self, job: ImportJob, found: SharedJob) -> ImportJob:
        """A job of another machine, as it is now."""
        if job.state == "running" and not found.runs and not self._starts(job):
            job = _interrupted(job)
        return replace(job, stopping=found.stopping and job.state == "running")

    def _forget(self, id_: str) -> None:
        if self._shared is not None:
            try:
                self._shared.remove(id_)
            except StorageError as error:  # it is listed as interrupted, and can be dismissed
                log.warning("%s", error)

    def _spawn(self, id_: str) -> subprocess.Popen[bytes]:
        with self._log(id_).open("ab") as out:
            return subprocess.Popen(
                [sys.executable, "-m", "engine.job_process", str(self._file(id_))],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=ROOT,
                env={**os.environ, "SEEDLENS_HOME": str(self._home.root.resolve())},
                start_new_session=True,  # Ctrl-C in the app's terminal is not meant for it
            )

    def _runs(self, job: ImportJob) -> bool:
        child = self._children.get(job.id)
        if child is not None and child.poll() is None:  # which also reaps one that has ended
            return True
        if child is not None and job.pid in (0, child.pid):  # no server resumed it since
            return False
        if job.pid:
            return process_runs(job.pid, job.pid_started)
        return self._starts(job)

    def _starts(self, job: ImportJob) -> bool:
        waited = datetime.now(UTC) - datetime.fromisoformat(job.updated_at)
        return waited.total_seconds() < STARTING_SECONDS

    def _file(self, id_: str) -> Path:
        return self._home.jobs.resolve() / f"{id_}.json"

    def _flag(self, id_: str) -> Path:
        return stop_flag(self._file(id_))

    def _log(self, id_: str) -> Path:
        return self._file(id_).with_suffix(".log")


_NOTHING_YET = Progress("checking", 0, 0, 0.0)


def _new_job(request: ImportRequest, owner: str) -> ImportJob:
    check_corpus_name(request.name)
    now = _now()
    source = request.source
    if not isinstance(source, ServiceQueries | NamedDataset):
        text = source if isinstance(source, Path) else "rows in memory"
        source = Path(os.path.realpath(text))
    return ImportJob(
        id=f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}",
        request=replace(request, source=source),
        state="running",
        progress=_NOTHING_YET,
        owner=owner,
        started_at=now,
        updated_at=now,
        host=HOST,
    )


def _elsewhere(job: ImportJob) -> ImportJob:
    return replace(
        job,
        state="elsewhere",
        error=f"The import was started on another machine ({job.host}); whether it still runs "
        "there cannot be told from here.",
        remedy="If it does not, Resume goes on where it stopped.",
    )


def _interrupted(job: ImportJob) -> ImportJob:
    return replace(
        job,
        state="interrupted",
        error="The import was interrupted: its process ended before it was done.",
        remedy="Resume goes on where it stopped.",
    )


def _now() -> str:
    return datetime.now(UTC).isoformat()
