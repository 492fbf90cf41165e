"""Commands in processes of their own, which may be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.config import ROOT

# The command as it is, in a process of its own each time. Only the libraries that take seconds to
# load are loaded before the fork, and the wish is read: where, what, how large a file may get.
LAUNCHER = """
import json, os, resource, sys
import lance_namespace, pylate.models, sentence_transformers
for line in sys.stdin:
    home, arguments, limit = json.loads(line)
    pid = os.fork()
    if not pid:
        os.environ["SEEDLENS_HOME"] = home
        log = os.open(home + ".log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        from engine.cli import main
        main(arguments)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


class Launcher:
    """Starts ``seedlens`` commands, one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, home: Path, *arguments: object, limit: int = 0) -> int:
        """Begin a command; returns its process id. What it says goes to ``<home>.log``."""
        assert self._process.stdin
        print(
            json.dumps([str(home), [str(a) for a in arguments], limit]),
            file=self._process.stdin,
            flush=True,
        )
        return self._number()

    def wait(self) -> int:
        """The exit code of the command begun last; negative for the signal that ended it."""
        return os.waitstatus_to_exitcode(self._number())

    def _number(self) -> int:
        assert self._process.stdout
        return int(self._process.stdout.readline())


@contextmanager
def launching(**environment: str) -> Iterator[Launcher]:
    """A launcher whose commands have these variables besides."""
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER],
        env={**os.environ, **environment},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Launcher(process)
        process.stdin.close()  # type: ignore[union-attr]
