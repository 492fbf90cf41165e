"""Work in threads of its own, for pages that come back to look."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from engine.errors import SeedLensError, UnknownNameError
from engine.types.callbacks import Ask

log = logging.getLogger("seedlens")
UNEXPECTED = "Something went wrong in SeedLens itself; its log says what."
POLL_SECONDS = 0.1
RunState = Literal["running", "done", "cancelled", "failed"]
KEPT = 64
"""Jobs that are done and can still be looked at."""


class Report(Protocol):
    """What work leaves: ``stopped`` says why it ended early, "" when it did not."""

    @property
    def stopped(self) -> str: ...


R = TypeVar("R", bound=Report)
Value = TypeVar("Value")
Told = TypeVar("Told")
Job = TypeVar("Job")


@dataclass(frozen=True, slots=True)
class Standing(Generic[Value]):
    """How work stands: its report once it has one, or what went wrong."""

    state: RunState
    report: Value | None = None
    error: str = ""
    remedy: str = ""


def standing_of(
    done: bool, result: Callable[[], Value], stopped: Callable[[Value], str]
) -> Standing[Value]:
    """How work stands. Never raises: a page that polls must not die of what went wrong, and the
    person must learn of it.

    Args:
        result: asked only when it is done.
        stopped: says of a report why the work ended early.
    """
    if not done:
        return Standing("running")
    try:
        report = result()
    except SeedLensError as error:
        return Standing("failed", error=error.message, remedy=error.remedy)
    except Exception:
        log.exception("Work in the background failed.")
        return Standing("failed", error=UNEXPECTED)
    return Standing("cancelled" if stopped(report) == "cancelled" else "done", report)


class Background(Generic[R]):
    """Work under way in a thread. Safe to look at from any thread.

    Args:
        work: asks many times whether it was cancelled, and returns what it has then.
    """

    def __init__(self, work: Callable[[Ask], R]) -> None:
        self._work = work
        self._flag, self._ended = threading.Event(), threading.Event()
        self._report: R | None = None
        self._error: BaseException | None = None
        # A daemon: closing the program ends it, and the next run goes on where it stopped.
        threading.Thread(target=self._main, name="seedlens-work", daemon=True).start()

    def _main(self) -> None:
        try:
            self._report = self._work(self._flag.is_set)
        except BaseException as error:  # raised again by result()
            self._error = error
        finally:
            self._ended.set()

    def cancel(self) -> None:
        """End it soon; what is stored stays."""
        self._flag.set()

    @property
    def done(self) -> bool:
        """Whether :meth:`result` returns at once."""
        return self._ended.is_set()

    def result(self) -> R:
        """The outcome; waits for it, in short steps so that Ctrl-C is heard."""
        while not self._ended.wait(POLL_SECONDS):
            pass
        if self._error is not None:
            raise self._error
        if self._report is None:
            raise RuntimeError("a run ended with neither a report nor an error")
        return self._report

    def standing(self) -> Standing[R]:
        """How it stands now; never raises."""
        return standing_of(self.done, self.result, lambda report: report.stopped)


@dataclass(slots=True)
class Work(Generic[Told, R]):
    """One run in the background, and how far it is; for :class:`Jobs`.

    Attributes:
        progress: set by the run's thread.
    """

    progress: Told
    run: Background[R] = field(init=False)

    def note(self, progress: Told) -> None:
        """Told as the work goes on."""
        self.progress = progress

    def begin(
        self, perform: Callable[[Callable[[Told], None], Ask], R], tell: Callable[[Told], None]
    ) -> None:
        """Begin in a thread of its own.

        Args:
            perform: the work itself, by whom it tells how far it is, and whom it asks whether
                it was cancelled.
            tell: told too as it goes on.
        """

        def note(progress: Told) -> None:
            self.note(progress)
            tell(progress)

        self.run = Background(lambda stop: perform(note, stop))

    def outcome(self) -> R:
        """Wait for the report. Ctrl-C ends the work soon; a second one is a KeyboardInterrupt."""
        try:
            return self.run.result()
        except KeyboardInterrupt:
            self.run.cancel()
        return self.run.result()


class Jobs:
    """Jobs of this process, each with a ``run`` that is ``done`` or can be cancelled. Safe to
    share between threads."""

    def __init__(self) -> None:
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self._jobs: dict[str, Any] = {}
        self._cancelled: set[str] = set()

    def add(self, job: Any) -> str:
        """Keep a job; the oldest that are done are forgotten. Returns its id."""
        job_id = secrets.token_hex(8)
        with self._lock:
            done = [key for key, other in self._jobs.items() if other.run.done]
            for key in done[: max(0, len(self._jobs) + 1 - KEPT)]:
                del self._jobs[key]
                self._cancelled.discard(key)
            self._jobs[job_id] = job
        return job_id

    def start_unless_running(
        self, kind: type[Job], is_wanted: Callable[[Job], bool], begin: Callable[[], Job]
    ) -> tuple[str, bool]:
        """Begin a job, unless one that is wanted goes on: of callers at once, one begins it.

        Returns:
            the job's id, and whether it was begun now. Raises what ``begin`` does.
        """
        with self._starting:
            under_way = self.running(kind, is_wanted)
            return (under_way, False) if under_way is not None else (self.add(begin()), True)

    def get(self, job_id: str, kind: type[Job]) -> Job:
        """The job of this id; UnknownNameError when there is none of its kind."""
        found = self._jobs.get(job_id)
        if not isinstance(found, kind):
            raise UnknownNameError(
                "This run is not known any more.", "Start it again: what was done is kept."
            )
        return found

    def running(self, kind: type[Job], is_wanted: Callable[[Job], bool]) -> str | None:
        """The id of a job of a kind that goes on and is wanted; None when there is none."""
        with self._lock:
            going = {i: job for i, job in self._jobs.items() if i not in self._cancelled}
        found = (
            job_id
            for job_id, job in going.items()
            if not job.run.done and isinstance(job, kind) and is_wanted(job)
        )
        return next(found, None)

    def cancel(self, job_id: str) -> None:
        """End a job soon; nothing happens when it is done or unknown."""
        job = self._jobs.get(job_id)
        if job is not None:
            self._cancelled.add(job_id)
            job.run.cancel()
