"""Annotators on several app servers behind one proxy, over one home and one PostgreSQL ledger.

From a key on the Annotate page to its answer, through the proxy, by Streamlit's protocol without a
browser; then the same while PostgreSQL is restarted in the middle, and while a server is killed,
whose annotators go on with another. What was acknowledged is compared with what the ledger holds.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import psutil
from pydantic import SecretStr
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from benchmarks.annotators import KEY_EVERY, MOST_WAITED, PEOPLE, STORED, filled
from benchmarks.figures import Figure, spread
from benchmarks.homes import App, app, proxy
from benchmarks.load import OPENING, Page, connected, cookies
from engine.config import Settings
from engine.explorer import Explorer
from engine.types.annotating import Project
from tests.fakes.postgres_server import LASTING, missing, running

COMPONENT = "seedlens_annotate"
RECONNECT = 0.5
"""Seconds from a lost connection to the next try, as Streamlit's page waits at least."""
PATIENCE = 120.0
"""Seconds after which a key counts as lost: a failure of the run."""


class Key(NamedTuple):
    """A key that was pressed."""

    event: str  # its id
    waited: float  # seconds until it was acknowledged
    again: bool  # it was sent more than once, since its server was gone


def measure(
    people: int = PEOPLE, seconds: float = 60.0, servers: int = 2, stored: int = STORED
) -> list[Figure]:
    """Everybody at one key every two seconds; no figures where there can be no PostgreSQL."""
    if why := missing():
        print(f"Servers: {why}", file=sys.stderr)
        return []
    with ExitStack() as stack:
        postgres = stack.enter_context(running(LASTING))
        url = postgres.database()
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="seedlens-servers-")))
        explorer = Explorer(Settings(home=home, ledger_url=SecretStr(url)))
        project = filled(explorer, stored)
        settings = {"SEEDLENS_LEDGER_URL": url, "SEEDLENS_MAPS": "0"}
        apps = [stack.enter_context(app(home, **settings)) for _ in range(servers)]
        front = stack.enter_context(proxy(apps))
        figures: list[Figure] = []

        def restart() -> None:
            postgres.stop("immediate")
            postgres.start()

        for what, fault in (
            ("all servers up", None),
            ("PostgreSQL restarted in the middle", restart),
            ("one killed in the middle", lambda: os.killpg(apps[0].pid, signal.SIGKILL)),
        ):
            trial = Trial(explorer, project, front, apps, f"{servers} servers, {what}", fault)
            figures += asyncio.run(trial.run(people, seconds))
    return figures


@dataclass
class Trial:
    """Annotators at work for some seconds, with a fault in the middle."""

    explorer: Explorer
    project: Project
    front: App
    apps: Sequence[App]
    what: str
    fault: Callable[[], object] | None

    async def run(self, people: int, seconds: float) -> list[Figure]:
        """Everybody at a page of their own, at one key every :data:`KEY_EVERY`."""
        before = self.explorer.annotation.history(self.project)
        everybody = [
            Annotator(self.front.url, self.project, f"person {number}") for number in range(people)
        ]
        places = asyncio.Semaphore(OPENING)

        async def opened(one: Annotator) -> None:
            async with places:
                await one.connect()

        await asyncio.gather(*map(opened, everybody))
        on = Counter(one.server for one in everybody)
        cpu, begun = self._cpu(), time.monotonic()
        work = [
            asyncio.ensure_future(one.work(begun + KEY_EVERY * number / people, begun + seconds))
            for number, one in enumerate(everybody)
        ]
        if self.fault is not None:
            await asyncio.sleep(seconds / 2)
            await asyncio.to_thread(self.fault)
        keys = [key for one in await asyncio.gather(*work) for key in one]
        cpu = self._cpu() - cpu if self.fault is None else 0.0
        for one in everybody:
            await one.close()
        history = self.explorer.annotation.history(self.project)[len(before) :]
        stored = Counter(judgment.event for judgment in history)
        known = {key.event for key in keys}
        wrong = len(known - stored.keys()) + len(stored.keys() - known)
        wrong += sum(times > 1 for times in stored.values())
        each = "+".join(str(on[name]) for name in sorted(on))
        note = f"{len(before):,} judgments stored before, {len(keys)} keys, annotators {each}, "
        note += f"{sum(key.again for key in keys)} keys sent again"
        name = f"{people} annotators, {self.what}"
        waits = [key.waited for key in keys]
        p95 = None if "restarted" in self.what else MOST_WAITED
        figures = [
            *spread(f"{name}, key to stored", waits, "s", p95=p95, note=note),
            Figure(f"{name}: key to stored, longest", max(waits), "s"),
            Figure(f"{name}: judgments lost, doubled or not made", wrong, most=0),
        ]
        if self.fault is None:
            figures.append(Figure(f"{name}: CPU per key, servers and proxy", cpu / len(keys), "s"))
        return figures

    def _cpu(self) -> float:
        """CPU seconds of the servers and the proxy so far."""
        return sum(sum(psutil.Process(one.pid).cpu_times()[:2]) for one in (self.front, *self.apps))


class Annotator:
    """One annotator's page on Annotate, and what it holds until that is acknowledged."""

    _socket: ClientConnection
    _page: AnnotatePage

    def __init__(self, url: str, project: Project, who: str) -> None:
        self._url, self._project = url, project
        self._cookies = {"seedlens_annotator": quote(who)}
        self._judged: set[str] = set()
        self._held: set[str] = set()
        self._turn = 0

    @property
    def server(self) -> str:
        """The one that the proxy has them stay with."""
        return self._cookies["server"]

    async def connect(self) -> None:
        """Open the page."""
        if "server" not in self._cookies:
            self._take(await asyncio.to_thread(cookies, self._url))
        sent = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        self._socket = await connected(self._url, sent)
        answer = self._socket.response
        for cookie in answer.headers.get_all("set-cookie") if answer else ():
            self._take(cookie.partition(";")[0])
        query = urlencode({"corpus": self._project.corpus, "project": self._project.name})
        self._page = AnnotatePage(self._socket, query, COMPONENT, "annotate")
        await self._page.open()

    def _take(self, given: str) -> None:
        pairs = (cookie.partition("=") for cookie in given.split("; ") if cookie)
        self._cookies |= {name: value for name, _, value in pairs}

    async def close(self) -> None:
        """Close the page."""
        await self._socket.close()

    async def work(self, key_at: float, end: float) -> list[Key]:
        """Press keys until ``end`` (monotonic), the first at ``key_at``."""
        keys = []
        while key_at < end:
            await asyncio.sleep(max(0.0, key_at - time.monotonic()))
            event = self._next_judgment()
            again = await asyncio.wait_for(self._acknowledged(event), PATIENCE)
            # A key that had to wait for the one before was pressed in time.
            keys.append(Key(event["event"], time.monotonic() - key_at, again))
            key_at += KEY_EVERY
        return keys

    def _next_judgment(self) -> dict[str, Any]:
        """The next item with a grade."""
        data = self._page.data()
        self._held |= {item["key"] for item in data["items"]}
        key = next(key for key in data["next"] if key not in self._judged)
        self._judged.add(key)
        query_id, doc_id = json.loads(key)
        item = {"event": secrets.token_hex(12), "kind": "judge", "key": key, "query_id": query_id}
        grade = {"doc_id": doc_id, "verdict": "grade", "relevance": random.randrange(4)}
        return item | grade | {"note": "", "marks": [], "seconds": KEY_EVERY, "first": True}

    async def _acknowledged(self, event: dict[str, Any]) -> bool:
        """Send an event until it is settled; True when it took more than one time."""
        again = False
        while True:
            try:
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
        """Send judgments; returns the page's answer."""
        message, session = BackMsg(), self.data()["id"]
        sent = {"session": session, "held": held, "turn": turn, "events": events, "at": None}
        message.rerun_script.fragment_id = self._fragment
        message.rerun_script.widget_states.widgets.add(
            id=self._shown.id, json_value=json.dumps({"sent": sent})
        )
        await self._run(message)
        answer: dict[str, Any] = self.data()["answer"]
        return answer
