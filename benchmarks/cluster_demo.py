"""All of a small cluster on this machine, to look at: ``make cluster-demo``.

PostgreSQL holds the ledger and SeaweedFS the corpora, a collection is imported by the workers of a
Ray cluster of two nodes, and two app servers, each with a home of its own, stand behind a proxy.
The address is printed; Ctrl-C ends everything and deletes what it was kept in. A part that this
machine lacks is left out, and that is said; only PostgreSQL has to be there.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.homes import CSFCUBE, app, proxy, seedlens
from engine.config import DEMO, DEMO_CORPUS
from tests.fakes import postgres_server, ray_cluster, s3_server

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
        folder = tempfile.TemporaryDirectory(prefix="seedlens-cluster-", ignore_cleanup_errors=True)
        homes = Path(stack.enter_context(folder))
        shared = stack.enter_context(_ledger()) | stack.enter_context(_store())
        # Without a store, the servers share a home.
        own = [str(number) for number in range(options.servers)]
        if "SEEDLENS_STORE" not in shared:
            own = [own[0]] * options.servers
        with _workers() as ray:
            _import(options.source, homes / own[0], {**shared, **ray})
        for number in (signal.SIGINT, signal.SIGTERM):  # Ray has handlers of its own
            signal.signal(number, lambda *_: over.set())
        apps = [stack.enter_context(app(homes / name, **shared)) for name in own]
        for server, name in zip(apps, own, strict=True):
            _say(f"App server: {server.url} (process {server.pid}, home {homes / name})")
        front = stack.enter_context(proxy(apps, options.port))
        _say(f"Open {front.url} (Ctrl-C ends all)")
        over.wait()
        _say("Ending ...")


@contextmanager
def _ledger() -> Iterator[dict[str, str]]:
    """PostgreSQL; its data lies where its account may enter."""
    with postgres_server.running(postgres_server.LASTING) as server:
        _say(f"Ledger: PostgreSQL on port {server.port}")
        yield {"SEEDLENS_LEDGER_URL": server.database()}


@contextmanager
def _store() -> Iterator[dict[str, str]]:
    if why := s3_server.missing():
        _say(f"No store, the servers share a home: {why}")
        yield {}
        return
    with s3_server.running() as server:
        _say(f"Store: SeaweedFS at {server.endpoint}")
        yield {"SEEDLENS_STORE": server.store(), **server.environment()}


@contextmanager
def _workers() -> Iterator[dict[str, str]]:
    if why := ray_cluster.missing():
        _say(f"No workers, the import encodes by itself: {why}")
        yield {}
        return
    with ray_cluster.running() as cluster:
        _say(f"Workers: Ray at {cluster.address}")
        yield {"SEEDLENS_RAY": cluster.address}


def _import(source: Path | None, home: Path, settings: dict[str, str]) -> None:
    """Import a collection, as every program of the cluster would."""
    if source is None:
        source = CSFCUBE if CSFCUBE.is_dir() else DEMO / "corpus.jsonl"
    name = DEMO_CORPUS if source == DEMO / "corpus.jsonl" else source.name.split(".")[0]
    _say(f"Importing {source} as '{name}'")
    seedlens("import", source, "--name", name, home=home, **settings)


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    main()
