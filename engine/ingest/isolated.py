"""Functions called in another process, whose memory and time are limited.

A file from outside may fill the memory, or take for ever: that ends the process.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from engine.config import ROOT
from engine.types.limits import MEGABYTE

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

T = TypeVar("T")
AT_ONCE = 2  # Processes with one limit of memory at the same time; other calls wait
_ALONE = {
    # Threads and allocators take from the memory that is allowed.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_slots: dict[int, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(AT_ONCE))
_idle: dict[int, list[subprocess.Popen[bytes]]] = defaultdict(list)


class OutOfTimeError(Exception):
    """A call took longer than its seconds."""


def isolated(
    function: Callable[..., T],
    *args: Any,
    seconds: float | None,
    megabytes: int,
    keep: bool = False,
) -> T:
    """The value that a function of a module returns for arguments that can be pickled, or its
    exception; OutOfTimeError after `seconds`, MemoryError where it took more memory, or ended the
    process. `keep`: the process stays for the next call with the same limit of memory."""
    with _slots[megabytes]:
        try:
            process = _idle[megabytes].pop()
        except IndexError:
            process = _started(megabytes)
        late = threading.Event()

        def end_late() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(seconds or 0, end_late)
        timer.daemon = True
        if seconds:
            timer.start()
        returned, value = False, cast("Any", None)
        try:
            pickle.dump((function, args), process.stdin)  # type: ignore[arg-type]
            process.stdin.flush()  # type: ignore[union-attr]
            returned, value = pickle.load(process.stdout)  # type: ignore[arg-type]  # noqa: S301
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            value = OutOfTimeError() if late.is_set() else MemoryError()
        finally:
            timer.cancel()
            if keep and returned:
                _idle[megabytes].append(process)
            else:
                _end(process)
    if not returned:
        raise value
    return cast("T", value)


def _started(megabytes: int) -> subprocess.Popen[bytes]:
    code = "from engine.ingest.isolated import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(megabytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, **_ALONE},
    )
    process.stdout.read(1)  # type: ignore[union-attr]  # it is ready
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with suppress(BrokenPipeError):  # what was not sent yet
        process.communicate()


@atexit.register
def _end_idle() -> None:
    for processes in _idle.values():
        while processes:
            _end(processes.pop())


# -- in the process ---------------------------------------------------------------------------


def main() -> None:
    """Answer each call on standard input on what was standard output; see :func:`isolated`."""
    calls, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    if resource is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = int(sys.argv[1]) * MEGABYTE
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    answers.write(b" ")
    answers.flush()
    with suppress(EOFError):
        while True:
            function, args = pickle.load(calls)  # noqa: S301 - our own process
            try:
                answer = True, function(*args)
            except MemoryError:
                answer = False, MemoryError()
            except Exception as error:
                answer = False, error
            pickle.dump(answer, answers)
            answers.flush()
