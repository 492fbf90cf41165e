"""What each person had a language model do today, kept beyond a restart."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from storage.errors import StorageError
from storage.locks import alone
from storage.removal import delete

DAYS_KEPT = 7
"""Files of days before are deleted after so many."""
LOCK_SECONDS = 10.0
"""Longer than any number of requests that begin at once take to be counted."""


@dataclass(slots=True)
class Spent:
    """Requests, and tokens of what was asked and answered."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Spending:
    """The requests of a day by person, in one file a day of a folder, a line each. Safe to share
    between threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._day = ""
        self._read = 0
        self._spent: defaultdict[str, Spent] = defaultdict(Spent)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Look and add while no other thread or process does.

        Raises:
            StorageError: others held it all the while, or it cannot be written to.
        """
        busy = "What a model is asked today is being counted by another program."
        with self._lock, alone(self._folder / "spending.lock", busy, "Try again.", LOCK_SECONDS):
            yield

    def of(self, person: str) -> Spent:
        """What a person spent today, whichever process asked.

        Raises:
            StorageError: nobody knows.
        """
        with self._lock:
            file = self._today()
            try:
                with file.open("rb") as lines:
                    lines.seek(self._read)
                    for line in lines:
                        if not line.endswith(b"\n"):
                            break  # it is being written
                        if line.endswith(b"]\n"):  # else it is empty, or a full disk cut it off
                            self._take(line)
                        self._read += len(line)
            except FileNotFoundError:
                pass
            except (OSError, ValueError) as error:
                raise StorageError(
                    f"What was spent today cannot be read from {file}.", "Remove the file."
                ) from error
            return self._spent[person]

    def add(self, person: str, calls: int, input_tokens: int, output_tokens: int) -> None:
        """A person spent more.

        Raises:
            StorageError: it cannot be written.
        """
        # It begins a line: what a full disk left of another may be the last one.
        line = f"\n{json.dumps([person, calls, input_tokens, output_tokens])}\n".encode()
        with self._lock:
            file = self._today()
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    if os.write(handle, line) < len(line):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                finally:
                    os.close(handle)
            except OSError as error:
                raise StorageError(
                    f"What a model is asked cannot be counted in {file}: {error.strerror}.",
                    "Check its permissions and the room on that disk.",
                ) from error

    def _take(self, line: bytes) -> None:
        person, *numbers = json.loads(line)
        calls, input_tokens, output_tokens = map(int, numbers)
        spent = self._spent[person]
        spent.calls += calls
        spent.input_tokens += input_tokens
        spent.output_tokens += output_tokens

    def _today(self) -> Path:
        """The file of today; another day begins with nothing."""
        day = date.today().isoformat()
        if day != self._day:
            self._day, self._read = day, 0
            self._spent.clear()
            # Days to come are of a clock that was wrong: they do not push today's out.
            files = self._folder.glob("????-??-??.jsonl")
            for old in sorted(file for file in files if file.stem < day)[:-DAYS_KEPT]:
                delete(old)
        return self._folder / f"{day}.jsonl"
