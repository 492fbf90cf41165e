"""Jobs in threads of this process, for pages that return to look and for commands that wait."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from engine.errors import CorpusBusyError, NotAllowedError, SeedLensError, UnknownNameError
from engine.types.callbacks import Ask
from engine.types.jobs import Job
from engine.types.people import ForPerson, Person

log = logging.getLogger("seedlens")
P = TypeVar("P")
R = TypeVar("R")
Perform = Callable[[Callable[[P], None], Ask], R]
"""The work of a job: takes functions to report progress and to ask for cancellation."""
UNEXPECTED = "Something went wrong in SeedLens itself; its log says what."
POLL_SECONDS = 0.1  # Between two looks at a job that somebody waits for, to hear Ctrl-C
KEPT = 64  # Jobs that have ended and can still be looked at


def new_job_id() -> str:
    """An id that no other job has."""
    return secrets.token_hex(8)


class CancelledWorkError(Exception):
    """Raised by work that was cancelled and leaves no report: its job is a cancelled one."""


class _Thread(Generic[P, R]):
    """One job's thread; ``key`` is None for work that somebody waits for."""

    def __init__(self, work: Perform[P, R], job: Job[P, R], key: Hashable = None) -> None:
        self.key, self._job = key, job
        self.error: BaseException | None = None
        self.stop, self.ended = threading.Event(), threading.Event()
        self._started = time.monotonic()
        # A daemon: closing the program ends it, and the next run goes on where it stopped.
        threading.Thread(target=self._main, args=(work,), name="seedlens-job", daemon=True).start()

    @property
    def job(self) -> Job[P, R]:
        """The job as it is now."""
        if self.ended.is_set():
            return self._job
        seconds, stopping = time.monotonic() - self._started, self.stop.is_set()
        return replace(self._job, seconds=seconds, stopping=stopping)

    def _main(self, work: Perform[P, R]) -> None:
        ended: dict[str, Any] = {"state": "failed"}
        try:
            report = work(self._tell, self.stop.is_set)
            stopped = getattr(report, "stopped", "")
            ended = {"report": report, "state": "cancelled" if stopped == "cancelled" else "done"}
        except CancelledWorkError as error:
            self.error, ended = error, {"state": "cancelled"}
        except SeedLensError as error:  # raised again by result(), or shown by a page
            self.error, ended = error, {**ended, "error": error.message, "remedy": error.remedy}
        except BaseException as error:
            self.error, ended = error, {**ended, "error": UNEXPECTED}
            if self.key is not None:
                log.exception("A job failed.")
        if isinstance(self.error, (SeedLensError, CancelledWorkError)):
            # The frames hold what the work held.
            self.error.__traceback__ = self.error.__cause__ = self.error.__context__ = None
        # What the work holds, corpora among it, goes when it has ended: jobs are kept for longer.
        del work
        self._job = replace(self._job, seconds=time.monotonic() - self._started, **ended)
        self.ended.set()

    def _tell(self, progress: P) -> None:
        self._job = replace(self._job, progress=progress)

    def result(self) -> R:
        """What the work returned, or raise what it raised."""
        while not self.ended.wait(POLL_SECONDS):
            pass
        if self.error is not None:
            raise self.error
        return self._job.report  # type: ignore[return-value]  # R may be None


class JobRunner(ForPerson):
    """The jobs of one process that run in threads. Safe to share between threads.

    A job is known by its id, and by a key: what it is about (a kind, a corpus, a request).
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._jobs: dict[str, _Thread[Any, Any]] = {}

    def start(
        self,
        key: Hashable,
        work: Perform[P, R],
        progress: P,
        *,
        request: Any = None,
        owner: str = "",
        job_id: str = "",
        busy: str = "",
    ) -> str:
        """Begin ``work`` in a thread, unless a job with an equal key runs and is not stopping.

        A report whose ``stopped`` is "cancelled" makes the job a cancelled one. Returns the id of
        the new or of the running job.

        Args:
            progress: before the work has reported any.
            owner: who starts it where nobody is logged in.
            job_id: "" for a new one.
            busy: message of the error where the running job has another request; "" to join it.
        """
        with self._lock:
            running = self.running(key)
            if running is not None:
                if busy and self._jobs[running].job.request != request:
                    raise CorpusBusyError(busy, "Wait until that is done, or cancel it.")
                return running
            job: Job[P, R] = Job(
                job_id or new_job_id(), request, "running", progress, owner=self._own(owner)
            )
            self._jobs[job.id] = _Thread(work, job, key)
            ended = [i for i, thread in self._jobs.items() if thread.ended.is_set()]
            for old in ended[: max(0, len(ended) - KEPT)]:
                del self._jobs[old]
            return job.id

    def job(self, job_id: str) -> Job[Any, Any]:
        """The job as it is now."""
        return self._thread(job_id).job

    def _thread(self, job_id: str) -> _Thread[Any, Any]:
        if job_id not in self._jobs:
            raise UnknownNameError(
                "This run is not known any more.", "Start it again: what was done is kept."
            )
        return self._jobs[job_id]

    def running(self, key: Hashable) -> str | None:
        """The id of the job with this key that runs and was not cancelled, or None."""
        with self._lock:
            same = ((i, one) for i, one in self._jobs.items() if one.key == key)
            ids = (i for i, one in same if not one.ended.is_set() and not one.stop.is_set())
            return next(ids, None)

    def latest(self, key: Hashable) -> Job[Any, Any] | None:
        """The job with this key that was started last, running or ended; None without one."""
        with self._lock:
            threads = [thread for thread in self._jobs.values() if thread.key == key]
        return threads[-1].job if threads else None

    def cancel(self, job_id: str) -> None:
        """End a job after the current step; nothing happens when it has ended or is unknown."""
        if job_id in self._jobs:
            check_ends(self.person, self._jobs[job_id].job.owner)
            self._jobs[job_id].stop.set()

    def dismiss(self, job_id: str) -> None:
        """Forget a job that has ended."""
        with self._lock:
            if job_id in self._jobs and self._jobs[job_id].ended.is_set():
                check_ends(self.person, self._jobs[job_id].job.owner)
                del self._jobs[job_id]

    def result(self, job_id: str) -> Any:
        """Wait for a job and return its report, or raise what it raised."""
        return self._thread(job_id).result()


def check_ends(person: Person, owner: str) -> None:
    """Raise NotAllowedError unless a person may end, or resume, a job that ``owner`` started."""
    if not person.may_end(owner):
        by = f"{owner} started it, and" if owner else "It was started by somebody else;"
        raise NotAllowedError(f"{by} only they and leads can end it.", "Ask one of them.")


def in_foreground(work: Callable[[Ask], R]) -> R:
    """Run ``work`` to its end for a command. Ctrl-C asks it to stop, and its report is returned; a
    second one is a KeyboardInterrupt."""
    job: Job[None, R] = Job("", None, "running", None)
    thread = _Thread(lambda _, cancelled: work(cancelled), job)
    try:
        return thread.result()
    except KeyboardInterrupt:
        if thread.ended.is_set():
            raise
        thread.stop.set()
    return thread.result()
