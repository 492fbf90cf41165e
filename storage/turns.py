"""Threads of one process, one after the other, at something that takes a while to open."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Generic, TypeVar

Opened = TypeVar("Opened")


class Turns(Generic[Opened]):
    """One thread at a time has what is opened; it stays open for the next that waits already.

    Threads have it in the order in which they came: one that comes again at once does not get
    ahead of those that wait.

    Nothing is open while no thread has it or waits for it. Other processes, which can only open
    it while it is closed here, get their turn: it is closed after a while, for a moment.

    Args:
        open_: opens it, given what is to be closed again and the deadline
            (of :func:`time.monotonic`). May raise.
        seconds: how long it stays open at most for threads that follow one another.
        pause: seconds in which other processes notice that it is closed.
    """

    def __init__(
        self, open_: Callable[[ExitStack, float], Opened], seconds: float, pause: float
    ) -> None:
        self._open, self._seconds, self._pause = open_, seconds, pause
        self._lock = threading.Lock()
        self._taken = False  # as long as a thread waits, too
        self._waiting: deque[threading.Event] = deque()
        self._held: tuple[Opened, ExitStack] | None = None
        self._since = 0.0

    @contextmanager
    def take(self, deadline: float) -> Iterator[Opened]:
        """What is opened, for this thread alone. An error closes it.

        Raises:
            TimeoutError: other threads had it until the deadline.
        """
        self._enter(deadline)
        try:
            yield self._opened(deadline)
        except BaseException as error:
            self._close(error)
            raise
        finally:
            self._leave()

    def _opened(self, deadline: float) -> Opened:
        if self._held is None:
            with ExitStack() as stack:
                opened = self._open(stack, deadline)
                self._held = (opened, stack.pop_all())
            self._since = time.monotonic()
        return self._held[0]

    def _enter(self, deadline: float) -> None:
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            turn = threading.Event()
            self._waiting.append(turn)
        try:
            turn.wait(max(0.0, deadline - time.monotonic()))
        except BaseException:
            if not self._gives_up(turn):
                self._leave()
            raise
        if self._gives_up(turn):
            raise TimeoutError

    def _gives_up(self, turn: threading.Event) -> bool:
        """Wait no longer; False when the turn has come."""
        with self._lock:
            if not turn.is_set():
                self._waiting.remove(turn)
            return not turn.is_set()

    def _leave(self) -> None:
        """Hand over to the thread that has waited longest, or close."""
        try:
            kept = self._waiting and time.monotonic() - self._since < self._seconds
            if not kept and self._held is not None:
                self._close()
                if self._waiting:
                    time.sleep(self._pause)
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._taken = False
                    self._close()

    def _close(self, error: BaseException | None = None) -> None:
        if self._held is not None:
            (_, stack), self._held = self._held, None
            stack.__exit__(None if error is None else type(error), error, None)
