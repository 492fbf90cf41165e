"""Work on the machines of a Ray cluster, or on all cores of this one; the only importer of ``ray``,
which comes with the extra ``cluster``."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import secrets
import signal
import socket
import tempfile
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from engine.errors import BadInputError, ClusterError, SeedLensError
from engine.types.callbacks import Ask, never
from storage.home import keep_files_private

Piece = TypeVar("Piece")
Result = TypeVar("Result")

LOCAL = "local"  # In place of an address: the cores of this machine
_ADDRESS = re.compile(r"(ray://)?[^\s/:@]+:\d{1,5}\Z")
AHEAD = 4  # Pieces per worker that are under way, or done and waiting for one before them
RETRIES = 25  # Of a piece whose worker is gone; more means that the piece itself ends workers
GPU_SHARE = 0.25  # Of a GPU, for each worker: while one reads documents, others encode
OBJECT_MEGABYTES = 512  # Shared memory for pieces and results on this machine
_POLL_SECONDS, _ANSWER_SECONDS = 0.5, 5.0
_INSTALL = "Run: pip install 'seedlens[cluster]'"
_OURS = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray's name for a cluster that listens on the loopback interface alone.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
"""For a local Ray: private, and without usage reports."""


class Workers:
    """Processes that work on pieces of something; ``count``: one on each core or share of a GPU."""

    def __init__(self, whole_gpu: bool = False) -> None:
        import ray

        found = ray.cluster_resources()
        gpus = found.get("GPU", 0.0)
        self._gpu = (1.0 if whole_gpu else GPU_SHARE) if gpus else 0.0
        self.count = int(gpus / self._gpu if gpus else found.get("CPU", 0.0))
        if not self.count:
            raise ClusterError(
                "The Ray cluster has no cores to work on.", "Start a worker there: ray start."
            )

    def map(
        self,
        work: Callable[..., Result],
        pieces: Iterable[Piece],
        *shared: object,
        cancelled: Ask = never,
    ) -> Iterator[Result]:
        """``work(piece, *shared)`` of every piece, in their order; ends early when cancelled.

        Pieces are drawn as workers need them; a piece of a worker that is gone is given to another.
        The rest is not cancelled, as Ray 2.60 ends this process where a task is done meanwhile.
        ``work`` is a function that workers can import; its first SeedLensError is raised here.
        """
        import ray

        task = ray.remote(_work).options(
            num_cpus=1, num_gpus=self._gpu, max_retries=RETRIES, name=work.__name__
        )
        same = [ray.put(value) for value in shared]
        drawn = iter(pieces)
        ahead: deque[Any] = deque()
        while True:
            free = AHEAD * self.count - len(ahead)
            ahead.extend(task.remote(work, piece, *same) for piece in islice(drawn, free))
            if not ahead:
                return
            while not ray.wait([ahead[0]], timeout=_POLL_SECONDS)[0]:
                if cancelled():
                    return
            if cancelled():
                return
            with _explained():
                result, error = ray.get(ahead.popleft())
            if error is not None:
                raise error
            yield result


def _work(work: Callable[..., Result], piece: Any, *shared: Any) -> tuple[Any, Any]:
    """On a worker. Errors of ours come back as they are, not in what Ray makes of them."""
    keep_files_private()
    try:
        return work(piece, *shared), None
    except SeedLensError as error:
        return None, error


@contextmanager
def workers_at(address: str, threads: int = 0, *, whole_gpu: bool = False) -> Iterator[Workers]:
    """The workers of a cluster: ``local``, ``ray://HOST:10001``, or ``HOST:6379`` on a machine of
    the cluster. ``threads``: of this machine, 0 for all cores. ``whole_gpu``: for each worker.
    """
    if address != LOCAL and not _ADDRESS.match(address):
        raise BadInputError(
            f"'{address}' is no address of a Ray cluster.", "Write local, or ray://HOST:10001."
        )
    if address == LOCAL:
        os.environ.update(_OURS)
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    if not all(map(importlib.util.find_spec, ("ray", "lance"))):  # lance: to write what they did
        raise BadInputError("Work on Ray needs packages that are not installed.", _INSTALL)
    import ray

    if ray.is_initialized():  # by the program that we are a part of
        yield Workers(whole_gpu)
        return
    if address != LOCAL:
        _check_answers(address)
    short = "/tmp" if os.name == "posix" else None  # noqa: S108 - names of sockets have a limit
    with tempfile.TemporaryDirectory(
        prefix="seedlens-", dir=short, ignore_cleanup_errors=True
    ) as folder:
        own = {
            "num_cpus": threads or os.cpu_count() or 1,
            "include_dashboard": False,
            "object_store_memory": OBJECT_MEGABYTES * 2**20,
            "_temp_dir": folder,
        }
        try:
            with _own_signals(), _explained(), warnings.catch_warnings():
                # Ray forks to start its programs; nothing of LanceDB's is used in between.
                warnings.filterwarnings("ignore", "lancedb fork", RuntimeWarning)
                ray.init(
                    address,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **(own if address == LOCAL else {}),
                )
            yield Workers(whole_gpu)
        finally:
            ray.shutdown()


def _check_answers(address: str) -> None:
    """Ray itself would try for half a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"Nobody answers at {address}: {getattr(error, 'strerror', None) or error}.",
            "Check that the cluster runs, and that the port is open to this machine.",
        ) from error


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore the handler that Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _explained() -> Iterator[None]:
    """Ray's errors as ours; those of the work itself stay what they are."""
    from ray.exceptions import RayError, RayTaskError

    try:
        yield
    except RayTaskError:
        raise
    except (RayError, OSError, RuntimeError, ValueError) as error:
        text = " ".join(str(error).split()) or repr(error)
        raise ClusterError(
            f"Ray failed: {text[:300]}",
            "Check that the cluster runs, with the same versions of Python, Ray and SeedLens as "
            "here, and run the same command again: it goes on where it stopped.",
        ) from error
