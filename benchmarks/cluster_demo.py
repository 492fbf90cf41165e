"""All of a small cluster on this machine, to look at: ``make cluster-demo``.

PostgreSQL holds the ledger, two app servers stand behind a proxy, and a collection is imported with
the settings that they have. The address is printed; Ctrl-C ends everything and deletes what it was
kept in.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.serving import app, free_port, proxy
from engine.config import DEMO, DEMO_CORPUS, ROOT
from tests import postgres_server

CSFCUBE = ROOT.parent / "shared" / "data" / "csfcube-open"
PORT = 8501
SERVERS = 2


def main() -> None:
    """Start all parts, import, print the address, and wait for Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help="of the proxy; 0 for a free one")
    parser.add_argument("--servers", type=int, default=SERVERS)
    parser.add_argument("--source", type=Path, help="a file or collection to import")
    options = parser.parse_args()
    if why := postgres_server.missing():
        sys.exit(f"There can be no ledger on a server here: {why}.")
    try:
        _run(options)
    except KeyboardInterrupt:
        _say("Ended before all was there.")
    except subprocess.CalledProcessError as error:  # which has said why
        sys.exit(error.returncode)


def _run(options: argparse.Namespace) -> None:
    over = threading.Event()
    with ExitStack() as stack:
        home = Path(stack.enter_context(_folder()))
        # What each program of the cluster is told; the parts below add to it.
        settings = {"SEEDLENS_HOME": str(home)}
        settings |= stack.enter_context(_ledger())
        _import(options.source, settings)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: over.set())
        apps = [stack.enter_context(app(home, **settings)) for _ in range(options.servers)]
        for number, server in enumerate(apps, start=1):
            _say(f"App server {number}: {server.url} (process {server.pid})")
        front = stack.enter_context(proxy(apps, options.port or free_port()))
        _say(f"Open {front.url} (Ctrl-C ends all)")
        over.wait()
        _say("Ending ...")


@contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(
        prefix="seedlens-cluster-", ignore_cleanup_errors=True
    ) as path:
        yield path


@contextmanager
def _ledger() -> Iterator[dict[str, str]]:
    """PostgreSQL; its data lies where its account may enter."""
    with postgres_server.running(postgres_server.LASTING) as server:
        _say(f"Ledger: PostgreSQL on port {server.port}")
        yield {"SEEDLENS_LEDGER_URL": server.database()}


def _import(source: Path | None, settings: dict[str, str]) -> None:
    """Import a collection, as every program of the cluster would."""
    if source is None:
        source = CSFCUBE if CSFCUBE.is_dir() else DEMO / "corpus.jsonl"
    name = DEMO_CORPUS if source == DEMO / "corpus.jsonl" else source.name.split(".")[0]
    _say(f"Importing {source} as '{name}'")
    command = [sys.executable, "-m", "engine.cli", "import", str(source), "--name", name]
    subprocess.run(command, env={**os.environ, **settings}, cwd=ROOT, check=True)


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    main()
