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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
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
def app(home: Path, port: int = 0, **environment: str) -> Iterator[App]:
    """The app over a home, until the block ends.

    Args:
        port: 0 for a free one.
        environment: variables beside those of this process.

    Raises:
        TimeoutError: it did not answer.
    """
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    variables = {**environment, "SEEDLENS_HOME": str(home)}
    with program("-m", "engine.cli", "app", "--port", str(port), **variables) as pid:
        _wait_for(url)
        yield App(url, pid)


@contextmanager
def proxy(servers: Sequence[App], port: int = 0) -> Iterator[App]:
    """A proxy before these servers (:mod:`benchmarks.sticky_proxy`), until the block ends.

    Raises:
        TimeoutError: it did not answer.
    """
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    places = [server.url.removeprefix("http://") for server in servers]
    with program("-m", "benchmarks.sticky_proxy", "--port", str(port), *places) as pid:
        _wait_for(url)
        yield App(url, pid)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def program(*arguments: str, **environment: str) -> Iterator[int]:
    """A Python program, until the block ends; gives its process's number."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # an import may run beside it, and all have to end
    )
    try:
        yield process.pid
    finally:
        with suppress(ProcessLookupError):  # it was killed
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
