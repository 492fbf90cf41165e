"""Jobs in threads of this process, for pages that come back to look and for commands that wait."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from engine.errors import CorpusBusyError, NotAllowedError, SeedLensError, UnknownNameError
from engine.types.callbacks import Ask
from engine.types.jobs import Job, JobState
from engine.types.people import ForPerson, Person

log = logging.getLogger("seedlens")
P = TypeVar("P")
R = TypeVar("R")
Perform = Callable[[Callable[[P], None], Ask], R]
"""The work of a job: told how to report progress, and whom to ask whether it was cancelled."""
UNEXPECTED = "Something went wrong in SeedLens itself; its log says what."
POLL_SECONDS = 0.1
"""Between two looks at a job that somebody waits for: so soon is Ctrl-C heard."""
KEPT = 64
"""Jobs that have ended and can still be looked at."""


def new_job_id() -> str:
    """An id that no other job has."""
    return secrets.token_hex(8)


class CancelledWorkError(Exception):
    """Raised by work that was cancelled and leaves no report: its job is a cancelled one."""


class _Thread(Generic[P, R]):
    """One job's thread. The attributes are written by the thread, and read by everyone."""

    def __init__(self, work: Perform[P, R], progress: P) -> None:
        self.progress = progress
        self.report: R | None = None
        self.error: BaseException | None = None
        self.stop, self.ended = threading.Event(), threading.Event()
        self.started = time.monotonic()
        self.seconds: float | None = None
        # A daemon: closing the program ends it, and the next run goes on where it stopped.
        # What the work holds, corpora among it, goes when it has ended: jobs are kept for longer.
        threading.Thread(target=self._main, args=(work,), name="seedlens-job", daemon=True).start()

    def _main(self, work: Perform[P, R]) -> None:
        try:
            self.report = work(self._tell, self.stop.is_set)
        except BaseException as error:  # raised again by result(), or shown by a page
            self.error = error
            if isinstance(error, (SeedLensError, CancelledWorkError)):
                # Words say it all, and the frames hold what the work held.
                error.__traceback__ = error.__cause__ = error.__context__ = None
            else:
                log.debug("A job failed.", exc_info=True)
        finally:
            del work
            self.seconds = time.monotonic() - self.started
            self.ended.set()

    def _tell(self, progress: P) -> None:
        self.progress = progress

    def result(self) -> R:
        """What the work returned, or raise what it raised; waits, in steps that hear Ctrl-C."""
        while not self.ended.wait(POLL_SECONDS):
            pass
        if self.error is not None:
            raise self.error
        return self.report  # type: ignore[return-value]  # R may be None


class JobRunner(ForPerson):
    """The jobs of one process that run in threads. Safe to share between threads.

    A job is known by its id, and by a key: what it is about (a kind, a corpus, a request).
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._jobs: dict[str, tuple[Hashable, Any, str, _Thread[Any, Any]]] = {}

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

        Args:
            work: reports progress and asks whether it was cancelled; what it returns is the
                report. A report whose ``stopped`` is "cancelled" makes the job a cancelled one,
                and so does a :class:`CancelledWorkError`.
            progress: before the work has told any.
            owner: who asks for it, where nobody is logged in.
            job_id: of a job whose id somebody has given already; "" for a new one.
            busy: what is said where that job has another request; "" where it will do.

        Returns:
            the job's id; of the one that runs where none was begun.
        """
        with self._lock:
            running = self.running(key)
            if running is not None:
                if busy and self._jobs[running][1] != request:
                    raise CorpusBusyError(busy, "Wait until that is done, or cancel it.")
                return running
            job_id = job_id or new_job_id()
            owner = self._own(owner)
            self._jobs[job_id] = (key, request, owner, _Thread(work, progress))
            ended = [i for i, (*_, thread) in self._jobs.items() if thread.ended.is_set()]
            for old in ended[: max(0, len(ended) - KEPT)]:
                del self._jobs[old]
            return job_id

    def job(self, job_id: str) -> Job[Any, Any]:
        """The job as it stands now."""
        if job_id not in self._jobs:
            raise UnknownNameError(
                "This run is not known any more.", "Start it again: what was done is kept."
            )
        _, request, owner, thread = self._jobs[job_id]
        ended = thread.ended.is_set()  # before the rest is read: it is written before this is set
        state, error, remedy = _state(thread) if ended else ("running", "", "")
        seconds = (
            thread.seconds if thread.seconds is not None else time.monotonic() - thread.started
        )
        return Job(
            id=job_id,
            request=request,
            state=state,
            progress=thread.progress,
            report=thread.report if ended else None,
            error=error,
            remedy=remedy,
            owner=owner,
            seconds=seconds,
            stopping=not ended and thread.stop.is_set(),
        )

    def running(self, key: Hashable) -> str | None:
        """The id of the job with this key that runs and was not cancelled, or None."""
        with self._lock:
            return next(
                (
                    job_id
                    for job_id, (other, _, _, thread) in self._jobs.items()
                    if other == key and not thread.ended.is_set() and not thread.stop.is_set()
                ),
                None,
            )

    def latest(self, key: Hashable) -> Job[Any, Any] | None:
        """The job with this key that was started last, running or ended; None without one."""
        with self._lock:
            ids = [job_id for job_id, (other, *_) in self._jobs.items() if other == key]
            return self.job(ids[-1]) if ids else None

    def cancel(self, job_id: str) -> None:
        """End a job after the step at hand; nothing happens when it has ended or is unknown."""
        if job_id in self._jobs:
            *_, owner, thread = self._jobs[job_id]
            check_ends(self.person, owner)
            thread.stop.set()

    def dismiss(self, job_id: str) -> None:
        """Forget a job that has ended. Raises as :meth:`cancel`."""
        with self._lock:
            if job_id in self._jobs and self._jobs[job_id][-1].ended.is_set():
                check_ends(self.person, self._jobs[job_id][-2])
                del self._jobs[job_id]

    def result(self, job_id: str) -> Any:
        """Wait for a job and return its report, or raise what it raised; UnknownNameError."""
        self.job(job_id)
        return self._jobs[job_id][-1].result()


def check_ends(person: Person, owner: str) -> None:
    """Raise NotAllowedError unless a person may end, or resume, a job that ``owner`` started."""
    if not person.may_end(owner):
        by = f"{owner} started it, and" if owner else "It was started by somebody else;"
        raise NotAllowedError(f"{by} only they and leads can end it.", "Ask one of them.")


def in_foreground(work: Callable[[Ask], R]) -> R:
    """Run ``work`` to its end for a command. Ctrl-C asks it to stop, and its report is returned.

    A second Ctrl-C is a KeyboardInterrupt. Raises what the work raises.
    """
    thread: _Thread[None, R] = _Thread(lambda _, cancelled: work(cancelled), None)
    try:
        return thread.result()
    except KeyboardInterrupt:
        if thread.ended.is_set():
            raise
        thread.stop.set()
    return thread.result()


def _state(thread: _Thread[Any, Any]) -> tuple[JobState, str, str]:
    """How a job ended. A page that polls must not die of what went wrong: it says so instead."""
    error = thread.error
    if error is None:
        stopped = getattr(thread.report, "stopped", "")
        return ("cancelled" if stopped == "cancelled" else "done"), "", ""
    if isinstance(error, CancelledWorkError):
        return "cancelled", "", ""
    if isinstance(error, SeedLensError):
        return "failed", error.message, error.remedy
    log.error("A job failed.", exc_info=error)
    return "failed", UNEXPECTED, ""
