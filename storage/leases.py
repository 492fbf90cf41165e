"""Which items lie before whom, so that no more people judge an item than it needs.

They are of no use later, so they lie in small files of their own beside the ledger: nobody has to
read the ledger anew because of them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

from storage.errors import CorpusBusyError, StorageError
from storage.files import write_whole
from storage.locks import alone

SECONDS = 300.0
"""How long a lease lasts that nobody renews."""
WAIT_SECONDS = 10.0
MOST_LINES = 256
"""Lines of these files that are kept as read and as written: of 25 people each key changes one."""
BUSY = "The queue stayed locked by others; nothing was changed."


def _token() -> str:
    return secrets.token_hex(6)


@dataclass(frozen=True, slots=True)
class Lease:
    """What one visit of an annotator has before it, or may have next.

    Attributes:
        items: (query_id, doc_id). A visit that waits for items has none.
        token: another one whenever the lease is renewed.
    """

    annotator: str
    items: tuple[tuple[str, str], ...]
    token: str = field(default_factory=_token)


class Leases:
    """The leases of one home. Safe to share between threads and processes.

    A lease has run out when this process has seen it for :data:`SECONDS` without a change: no
    clock of the day is asked, which may jump, and which other machines may have set otherwise.

    Args:
        folder: made with the first lease.
        clock: seconds that never go back.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        # Threads wait here: with many who ask for the file's lock again and again, it stays free
        # for most of the time.
        self._turn = threading.Lock()
        self._seen: dict[Path, dict[str, tuple[str, float]]] = {}
        """By file and visit: the token that was seen last, and when it was seen first."""

    @contextmanager
    def of(self, *project: str) -> Iterator[dict[str, Lease]]:
        """The leases of a project by visit, alone among all threads and processes; what is changed
        of them is kept. Where the home cannot be written to, there are none.

        Raises:
            StorageError: others kept them locked, or there is no room on the disk.
        """
        digest = hashlib.sha256("\x00".join(project).encode()).hexdigest()[:16]
        file = self._folder / f"{digest}.json"
        with ExitStack() as held:
            if not self._turn.acquire(timeout=WAIT_SECONDS):
                raise CorpusBusyError(BUSY, "Try again.")
            held.callback(self._turn.release)
            content, write = held.enter_context(self._kept(file))
            stored = _parsed(content)
            leases = self._standing(file, stored)
            yield leases
            if leases != stored:
                write(b"".join(itertools.starmap(_line, leases.items())))

    @contextmanager
    def _kept(self, file: Path) -> Iterator[tuple[bytes, Callable[[bytes], object]]]:
        """What is kept under this name, and what keeps something else, alone among all processes;
        that does nothing where the home cannot be written to."""
        with ExitStack() as held:
            writable = _lock(file.with_suffix(".lock"), held)
            content = b""
            with suppress(OSError):
                content = file.read_bytes()
            yield content, partial(_write, file) if writable else len

    def _standing(self, file: Path, leases: dict[str, Lease]) -> dict[str, Lease]:
        """Those that have not run out."""
        now, before = self._clock(), self._seen.get(file, {})
        seen = {}
        for visit, lease in leases.items():
            token, since = before.get(visit, ("", now))
            seen[visit] = (lease.token, since if token == lease.token else now)
        self._seen[file] = seen
        return {visit: leases[visit] for visit, (_, since) in seen.items() if now - since < SECONDS}


def _lock(file: Path, held: ExitStack) -> bool:
    """Lock a file until ``held`` is closed; False where it cannot be written to."""
    try:
        held.enter_context(alone(file, BUSY, "Try again.", WAIT_SECONDS))
    except CorpusBusyError:
        raise
    except StorageError:
        return False
    return True


@lru_cache(MOST_LINES)
def _line(visit: str, lease: Lease) -> bytes:
    return json.dumps([visit, lease.annotator, lease.items, lease.token]).encode() + b"\n"


def _write(file: Path, content: bytes) -> None:
    try:
        write_whole(file, content)
    except OSError as error:
        raise StorageError(
            f"{file} cannot be written to: {error.strerror or error}.",
            "Check its permissions, and free some space on that disk.",
        ) from error


def _parsed(content: bytes) -> dict[str, Lease]:
    """The leases; none when they are damaged: then items are leased anew."""
    with suppress(ValueError, TypeError, AttributeError, RecursionError):
        return dict(map(_lease, content.splitlines()))
    return {}


@lru_cache(MOST_LINES)
def _lease(line: bytes) -> tuple[str, Lease]:
    visit, who, items, token = json.loads(line)
    return str(visit), Lease(str(who), tuple((str(q), str(d)) for q, d in items), str(token))
