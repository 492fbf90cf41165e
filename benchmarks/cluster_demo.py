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
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.homes import CSFCUBE, app, proxy, seedlens
from engine.config import DEMO, DEMO_CORPUS
from tests.fakes import postgres_server, ray_cluster, s3_server

say = partial(print, flush=True)


def main() -> None:
    """Start all parts, import, print the address, and wait for Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8501, help="of the proxy; 0 for a free one")
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--source", type=Path, help="a file or collection to import")
    options = parser.parse_args()
    if why := postgres_server.missing():
        sys.exit(f"There can be no ledger on a server here: {why}.")
    try:
        _run(options.port, options.servers, options.source)
    except KeyboardInterrupt:
        say("Ended before all was there.")
    except subprocess.CalledProcessError as error:  # which has said why
        sys.exit(error.returncode)


def _run(port: int, servers: int, source: Path | None) -> None:
    over = threading.Event()
    with ExitStack() as stack:
        folder = tempfile.TemporaryDirectory(prefix="seedlens-cluster-", ignore_cleanup_errors=True)
        homes = Path(stack.enter_context(folder))
        postgres = stack.enter_context(postgres_server.running(postgres_server.LASTING))
        say(f"Ledger: PostgreSQL on port {postgres.port}")
        settings = {"SEEDLENS_LEDGER_URL": postgres.database()}
        own = [homes / str(number) for number in range(servers)]
        if why := s3_server.missing():
            say(f"No store, the servers share a home: {why}")
            own = [own[0]] * servers
        else:
            s3 = stack.enter_context(s3_server.running())
            say(f"Store: SeaweedFS at {s3.endpoint}")
            settings |= {"SEEDLENS_STORE": s3.store(), **s3.environment()}
        _import(source, own[0], settings)
        for number in (signal.SIGINT, signal.SIGTERM):  # Ray has handlers of its own
            signal.signal(number, lambda *_: over.set())
        apps = [stack.enter_context(app(home, **settings)) for home in own]
        for server, home in zip(apps, own, strict=True):
            say(f"App server: {server.url} (process {server.pid}, home {home})")
        front = stack.enter_context(proxy(apps, port))
        say(f"Open {front.url} (Ctrl-C ends all)")
        over.wait()
        say("Ending ...")


def _import(source: Path | None, home: Path, settings: dict[str, str]) -> None:
    """Import a collection, by the workers of a cluster where there can be one."""
    if source is None:
        source = CSFCUBE if CSFCUBE.is_dir() else DEMO / "corpus.jsonl"
    name = DEMO_CORPUS if source == DEMO / "corpus.jsonl" else source.name.split(".")[0]
    with ExitStack() as workers:
        ray = {}
        if why := ray_cluster.missing():
            say(f"No workers, the import encodes by itself: {why}")
        else:
            cluster = workers.enter_context(ray_cluster.running())
            say(f"Workers: Ray at {cluster.address}")
            ray = {"SEEDLENS_RAY": cluster.address}
        say(f"Importing {source} as '{name}'")
        seedlens("import", source, "--name", name, home=home, **settings, **ray)


if __name__ == "__main__":
    main()
