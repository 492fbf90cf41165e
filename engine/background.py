"""Work in threads of its own, for pages that come back to look."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from engine.callbacks import Ask
from engine.errors import SeedLensError

log = logging.getLogger("seedlens")
UNEXPECTED = "Something went wrong in SeedLens itself; its log says what."
POLL_SECONDS = 0.1
RunState = Literal["running", "done", "cancelled", "failed"]


class Report(Protocol):
    """What work leaves: ``stopped`` says why it ended early, "" when it did not."""

    @property
    def stopped(self) -> str: ...


R = TypeVar("R", bound=Report)


@dataclass(frozen=True, slots=True)
class Standing(Generic[R]):
    """How work stands: its report once it has one, or what went wrong."""

    state: RunState
    report: R | None = None
    error: str = ""
    remedy: str = ""


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
        """How it stands now. Never raises: a page that polls must not die of what went wrong,
        and the person must learn of it."""
        if not self.done:
            return Standing("running")
        try:
            report = self.result()
        except SeedLensError as error:
            return Standing("failed", error=error.message, remedy=error.remedy)
        except Exception:
            log.exception("Work in the background failed.")
            return Standing("failed", error=UNEXPECTED)
        return Standing("cancelled" if report.stopped == "cancelled" else "done", report)
