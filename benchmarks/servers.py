"""Annotators on several app servers behind one proxy, over one home and one PostgreSQL ledger.

``python -m benchmarks.servers [--people N] [--seconds S] [--servers N]``: from a key on the
Annotate page to its answer, through the proxy, by Streamlit's protocol without a browser; then the
same while PostgreSQL is restarted in the middle, and while a server is killed, whose annotators go
on with another. What was acknowledged is compared with what the ledger holds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import secrets
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import psutil
from pydantic import SecretStr
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from benchmarks.annotators import KEY_EVERY, MOST_WAITED, PEOPLE, STORED, filled
from benchmarks.figures import Figure, percentile, table
from benchmarks.load import OPENING, Page, connected, cookies
from benchmarks.serving import App, app, proxy
from engine.config import Settings
from engine.explorer import Explorer
from engine.types.annotating import Project
from tests.fakes.postgres_server import LASTING, missing, running

PART = "servers"
SERVERS = 2
SECONDS = 60.0
COMPONENT = "seedlens_annotate"
RECONNECT = 0.5
"""Seconds from a lost connection to the next try, as Streamlit's page waits at least."""
PATIENCE = 120.0
"""Seconds after which a key counts as lost: a failure of the run."""


class Key(NamedTuple):
    """A key that was pressed.

    Attributes:
        event: its id.
        waited: seconds until it was acknowledged.
        again: it was sent more than once, since its server was gone.
    """

    event: str
    waited: float
    again: bool


def measure(
    people: int = PEOPLE, seconds: float = SECONDS, servers: int = SERVERS, stored: int = STORED
) -> list[Figure]:
    """All figures of this part; none where there can be no PostgreSQL."""
    if why := missing():
        print(f"Servers: {why}", file=sys.stderr)
        return []
    with ExitStack() as stack:
        postgres = stack.enter_context(running(LASTING))
        url = postgres.database()
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="seedlens-servers-")))
        explorer = Explorer(Settings(home=home, ledger_url=SecretStr(url)))
        project = filled(explorer, stored)
        apps = [
            stack.enter_context(app(home, SEEDLENS_LEDGER_URL=url, SEEDLENS_MAPS="0"))
            for _ in range(servers)
        ]
        front = stack.enter_context(proxy(apps))
        figures = [Figure(PART, "a judgment in the ledger, with its indexes", _size(url), "B")]

        def restart() -> None:
            postgres.stop("immediate")
            postgres.start()

        for what, fault in (
            ("all servers up", None),
            ("PostgreSQL restarted in the middle", restart),
            ("one killed in the middle", lambda: os.killpg(apps[0].pid, signal.SIGKILL)),
        ):
            figures += asyncio.run(
                _at_work(explorer, project, front, apps, people, seconds, what, fault)
            )
    return figures


async def _at_work(
    explorer: Explorer, project: Project, front: App, apps: Sequence[App], people: int,
    seconds: float, what: str, fault: Callable[[], object] | None,
) -> list[Figure]:  # fmt: skip
    """Everybody at a page of their own, at one key every :data:`KEY_EVERY`."""
    before = explorer.annotation.history(project)
    everybody = [Annotator(front.url, project, f"person {number}") for number in range(people)]
    places = asyncio.Semaphore(OPENING)

    async def opened(one: Annotator) -> None:
        async with places:
            await one.connect()

    await asyncio.gather(*map(opened, everybody))
    on = Counter(one.server for one in everybody)
    cpu, begun = _cpu(front, apps), time.monotonic()
    work = [
        asyncio.ensure_future(one.work(begun + KEY_EVERY * number / people, begun + seconds))
        for number, one in enumerate(everybody)
    ]
    if fault is not None:
        await asyncio.sleep(seconds / 2)
        await asyncio.to_thread(fault)
    keys = [key for one in await asyncio.gather(*work) for key in one]
    taken = _cpu(front, apps) - cpu if fault is None else 0.0
    for one in everybody:
        await one.close()
    history = explorer.annotation.history(project)[len(before) :]
    stored = Counter(said.event for said in history)
    lost = [key for key in keys if not stored[key.event]]
    doubled = [event for event, times in stored.items() if times > 1]
    unknown = stored.keys() - {key.event for key in keys}
    waits = [key.waited for key in keys]
    again = sum(key.again for key in keys)
    each = "+".join(str(on[name]) for name in sorted(on))
    note = (f"{len(before):,} judgments stored before, {len(keys)} keys, one every {KEY_EVERY:g} s "
            f"each, annotators {each}, {again} keys sent again")  # fmt: skip
    name = f"{people} annotators, {len(apps)} servers, {what}"
    figures = [
        Figure(PART, f"{name}: key to stored, median", statistics.median(waits), "s", note=note),
        Figure(PART, f"{name}: key to stored, p95", percentile(waits, 0.95), "s",
               target=None if "restarted" in what else MOST_WAITED, at_least=False),
        Figure(PART, f"{name}: key to stored, longest", max(waits), "s"),
        Figure(PART, f"{name}: judgments lost, doubled or not said",
               len(lost) + len(doubled) + len(unknown), "", target=0, at_least=False),
    ]  # fmt: skip
    if fault is None:
        figures.append(
            Figure(PART, f"{name}: CPU per key, servers and proxy", taken / len(keys), "s")
        )
    return figures


def _size(url: str) -> float:
    """Bytes on the server of each judgment."""
    import psycopg  # of the extra, which missing() looks for

    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT pg_total_relation_size('judgment_events')::float8 / count(*) "
            "FROM judgment_events"
        ).fetchone()
    return float(row[0]) if row else 0.0


def _cpu(front: App, apps: Sequence[App]) -> float:
    """CPU seconds of the servers and the proxy so far."""
    return sum(sum(psutil.Process(one.pid).cpu_times()[:2]) for one in (front, *apps))


class Annotator:
    """One annotator's page on Annotate, and what it holds until that is acknowledged.

    Args:
        url: of the proxy.
        who: their name.
    """

    def __init__(self, url: str, project: Project, who: str) -> None:
        self._url, self._project, self._who = url, project, who
        self._cookie = f"seedlens_annotator={quote(who)}"
        self._said: set[str] = set()
        self._held: dict[str, Any] = {}
        self._turn = 0
        self._socket: ClientConnection | None = None
        self._page: AnnotatePage | None = None

    @property
    def server(self) -> str:
        """The one that the proxy has them stay with."""
        return next(part for part in self._cookie.split("; ") if part.startswith("server="))

    async def connect(self) -> None:
        """Open the page."""
        given = await asyncio.to_thread(cookies, self._url) if "server=" not in self._cookie else ""
        self._cookie = "; ".join(filter(None, (self._cookie, given)))
        self._socket = await connected(self._url, self._cookie)
        answer = self._socket.response
        for cookie in answer.headers.get_all("set-cookie") if answer else ():
            name, _, value = cookie.partition(";")[0].partition("=")
            parts = [p for p in self._cookie.split("; ") if not p.startswith(f"{name}=")]
            self._cookie = "; ".join([*parts, f"{name}={value}"])
        query = urlencode({"corpus": self._project.corpus, "project": self._project.name})
        self._page = AnnotatePage(self._socket, query, COMPONENT, "annotate")
        await self._page.open()

    async def close(self) -> None:
        """Close the page."""
        if self._socket is not None:
            await self._socket.close()

    async def work(self, key_at: float, end: float) -> list[Key]:
        """Press keys until ``end`` (monotonic), the first at ``key_at``."""
        keys = []
        while key_at < end:
            await asyncio.sleep(max(0.0, key_at - time.monotonic()))
            event = self._judged()
            again = await asyncio.wait_for(self._acknowledged(event), PATIENCE)
            # A key that had to wait for the one before was pressed in time.
            keys.append(Key(event["event"], time.monotonic() - key_at, again))
            key_at += KEY_EVERY
        return keys

    def _judged(self) -> dict[str, Any]:
        """The next item with a grade."""
        assert self._page is not None
        data = self._page.data()
        self._held |= {item["key"]: item for item in data["items"]}
        key = next(key for key in data["next"] if key not in self._said)
        self._said.add(key)
        query_id, doc_id = json.loads(key)
        return {
            "event": secrets.token_hex(12), "kind": "judge", "key": key, "query_id": query_id,
            "doc_id": doc_id, "verdict": "grade", "relevance": random.randrange(4), "note": "",
            "marks": [], "seconds": KEY_EVERY, "first": True,
        }  # fmt: skip

    async def _acknowledged(self, event: dict[str, Any]) -> bool:
        """Send an event until it is settled; True when it took more than one time."""
        again = False
        while True:
            try:
                assert self._page is not None
                self._turn += 1
                held = [key for key in self._page.data()["next"] if key in self._held]
                answer = await self._page.send(self._turn, [event], held)
                if event["event"] in answer["settled"]:
                    if answer["refused"]:
                        raise RuntimeError(f"Refused: {answer['message']}")
                    return again
            except (ConnectionClosed, OSError):
                await self._reconnected()
            again = True
            await asyncio.sleep(RECONNECT)

    async def _reconnected(self) -> None:
        while True:
            await asyncio.sleep(RECONNECT * random.uniform(1, 2))
            with suppress(ConnectionClosed, OSError, InvalidHandshake):
                await self.connect()
                return


class AnnotatePage(Page):
    """The Annotate page with its keys."""

    async def send(
        self, turn: int, events: Sequence[dict[str, Any]], held: Sequence[str]
    ) -> dict[str, Any]:
        """Send what was said; returns the page's answer."""
        message = BackMsg()
        sent = {
            "session": self.data()["id"], "held": held, "turn": turn, "events": events, "at": None,
        }  # fmt: skip
        message.rerun_script.fragment_id = self._fragment
        message.rerun_script.widget_states.widgets.add(
            id=self._shown.id, json_value=json.dumps({"sent": sent})
        )
        await self._run(message)
        answer: dict[str, Any] = self.data()["answer"]
        return answer


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--servers", type=int, default=SERVERS)
    options = parser.parse_args()
    figures = measure(options.people, options.seconds, options.servers)
    print(table(figures))
    sys.exit(any(figure.met is False for figure in figures))


if __name__ == "__main__":
    main()
