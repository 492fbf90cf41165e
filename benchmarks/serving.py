"""The app as ``seedlens app`` starts it, on a free port, for as long as a figure takes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.config import ROOT


@dataclass(frozen=True)
class App:
    """An app that answers.

    Attributes:
        url: without a slash at its end.
        pid: of the one process that serves and searches.
    """

    url: str
    pid: int


@contextmanager
def app(home: Path) -> Iterator[App]:
    """The app over a home, until the block ends.

    Raises:
        TimeoutError: it did not answer.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.cli", "app", "--port", str(port)],
        env={**os.environ, "SEEDLENS_HOME": str(home)},
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # an import may run beside it, and all have to end
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url)
        yield App(url, process.pid)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=30)


def _wait_for(url: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise TimeoutError(f"The app at {url} did not answer within {seconds:.0f} s.")
