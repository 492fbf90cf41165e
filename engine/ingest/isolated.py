"""Functions called in a process of its own, whose memory and time are limited.

A file from outside may be made to fill the memory, or to take for ever: that ends the process, and
nobody who uses the app notices.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from engine.config import ROOT

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

P = ParamSpec("P")
T = TypeVar("T")

_START_SECONDS = 20.0
"""For the process to come up, on a machine that is busy."""
_LATE_SECONDS = 2.0
"""For a function that is over its time to notice, unless no Python runs in it."""
_ALONE = {
    # Each thread and each allocator of its own would take from the memory that is allowed.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


class OutOfTimeError(BaseException):
    """The seconds of a call are over: raised in the function, and by :meth:`Isolated.call`."""


class Isolated:
    """Calls functions one after the other. A context manager, which ends the process.

    Args:
        memory: bytes that it may take.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def call(
        self, function: Callable[P, T], seconds: float | None, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What a function of a module returns for arguments that can be pickled.

        Raises:
            OutOfTimeError: it took longer than ``seconds``.
            MemoryError: it took more memory, or ended the process; the next call starts another.
            Exception: what the function raises.
        """
        fresh = self._process is None
        process = self._process = self._process or self._start()
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("The process has no pipes.")
        late = threading.Event()

        def end_late() -> None:
            late.set()
            process.kill()

        more = _START_SECONDS if fresh else _LATE_SECONDS
        timer = threading.Timer((seconds or 0) + more, end_late)
        timer.daemon = True
        if seconds:
            timer.start()
        try:
            pickle.dump((function, seconds, args, kwargs), process.stdin)
            process.stdin.flush()
            returned, value = pickle.load(process.stdout)  # noqa: S301 - our own process
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            returned, value = False, OutOfTimeError() if late.is_set() else MemoryError()
        finally:
            timer.cancel()
        if not returned:
            self.end()
            raise value
        return value  # type: ignore[no-any-return]

    def _start(self) -> subprocess.Popen[bytes]:
        code = "from engine.ingest.isolated import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, **_ALONE},
        )

    def end(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError):  # what was not sent yet
                process.communicate()


# -- in the process ---------------------------------------------------------------------------


def main() -> None:
    """Answer each call on standard input on what was standard output; see :class:`Isolated`."""
    calls, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    if resource is not None:
        _limit(resource.RLIMIT_DATA, int(sys.argv[1]))
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _stop)
    while True:
        try:
            function, seconds, args, kwargs = pickle.load(calls)  # noqa: S301 - our own process
        except EOFError:
            return
        answer: tuple[bool, Any]
        try:
            _allow(seconds)
            answer = True, function(*args, **kwargs)
            _allow(None)
        except MemoryError:
            answer = False, MemoryError()
        except OutOfTimeError as error:
            answer = False, error
        except Exception as error:
            error.add_note(traceback.format_exc())
            answer = False, error
        pickle.dump(answer, answers)
        answers.flush()


def _allow(seconds: float | None) -> None:
    """Stop after so many seconds; None for never."""
    if seconds and resource is not None:
        # Where no Python runs that could be stopped, and whoever started the process is gone.
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 10)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds or 0)


def _limit(what: int, most: int) -> None:
    """Set a limit, below one that the process has from whoever started it."""
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _stop(*_: object) -> None:
    raise OutOfTimeError
