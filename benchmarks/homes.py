"""Corpora that are measured on, and programs that run beside a benchmark.

Nothing of the documents is kept in this repository.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx2 as httpx

from engine.config import DEMO, ROOT, Settings
from engine.explorer import Explorer
from engine.types.corpora import ImportRequest

CSFCUBE = ROOT.parent / "shared" / "data" / "csfcube-open"
CORPUS = "abstracts"
ASPECTS = ("background", "method", "result")
COUNT = 4205
"""Documents of CSFCube; the demo is repeated up to as many where CSFCube is missing."""


def cache() -> Path:
    """Where indexed corpora stay between runs: ``SEEDLENS_BENCH_CACHE`` or a temporary folder."""
    named = os.environ.get("SEEDLENS_BENCH_CACHE")
    folder = Path(named) if named else Path(tempfile.gettempdir()) / "seedlens-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def abstracts() -> Path:
    """CSFCube's 4,205 abstracts, or the demo's, repeated to as many."""
    if CSFCUBE.is_dir():
        return CSFCUBE
    path = cache() / "repeated-demo.jsonl"
    rows = [json.loads(line) for line in (DEMO / "corpus.jsonl").open(encoding="utf-8")]
    with path.open("w", encoding="utf-8") as lines:
        for number in range(COUNT):
            row = rows[number % len(rows)]
            named = {**row, "doc_id": f"{row['doc_id']}-{number // len(rows)}"}
            lines.write(json.dumps(named, ensure_ascii=False) + "\n")
    return path


def explorer(**settings: Any) -> Explorer:
    """The benchmarks' home, with :func:`abstracts` as the corpus ``abstracts``."""
    opened = Explorer(Settings(home=cache() / "home", **settings))
    print(f"Corpus: {abstracts()}", file=sys.stderr)
    opened.library.import_documents(ImportRequest(abstracts(), CORPUS))
    return opened


# -- programs --------------------------------------------------------------------------------


def called(function: str, *arguments: object, cwd: Path = ROOT, **environment: str) -> Any:
    """What "module:function" gives, as JSON, in a process of its own.

    `arguments`: passed as strings. `environment`: variables beside those of this process.
    """
    module, _, name = function.partition(":")
    code = f"import sys, json, {module} as m; print(json.dumps(m.{name}(*sys.argv[1:])))"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    run = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(cwd), **environment},
        cwd=cwd,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(run.stdout.splitlines()[-1])


def seedlens(*arguments: object, home: Path, cwd: Path = ROOT, **environment: str) -> None:
    """Run a command of the command line with a home, of the version in ``cwd``."""
    subprocess.run(
        [sys.executable, "-m", "engine.cli", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(cwd), "SEEDLENS_HOME": str(home), **environment},
        cwd=cwd,
        check=True,
        stdout=subprocess.DEVNULL,
    )


class App(NamedTuple):
    """A server that answers: its address, and the process that serves and searches."""

    url: str
    pid: int


@contextmanager
def app(home: Path, **environment: str) -> Iterator[App]:
    """The app over a home, until the block ends."""
    with _server(["engine.cli", "app", "--port"], 0, SEEDLENS_HOME=str(home), **environment) as one:
        yield one


@contextmanager
def proxy(servers: Sequence[App], port: int = 0) -> Iterator[App]:
    """A proxy before these servers (:mod:`benchmarks.sticky_proxy`), until the block ends."""
    places = [server.url.removeprefix("http://") for server in servers]
    with _server(["benchmarks.sticky_proxy", *places, "--port"], port) as one:
        yield one


@contextmanager
def _server(module: Sequence[str], port: int, **environment: str) -> Iterator[App]:
    """A module with its arguments on a port, 0 for a free one."""
    if not port:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", *module, str(port)],
        env={**os.environ, **environment},
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # an import may run beside it, and all have to end
    )
    try:
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 120
        while True:
            with suppress(httpx.HTTPError):
                httpx.get(url, trust_env=False)
                break
            if time.monotonic() > deadline:
                raise TimeoutError(f"{url} did not answer within 120 s.")
            time.sleep(0.1)
        yield App(url, process.pid)
    finally:
        with suppress(ProcessLookupError):  # it was killed
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=30)
