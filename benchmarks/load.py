"""The app with many people at once: until results are there, CPU and memory of the server.

Sessions are opened by Streamlit's WebSocket protocol, each as a browser of its own: what the
browser itself does is left out.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2 as httpx
import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from benchmarks import homes
from benchmarks.figures import Figure, spread
from benchmarks.homes import CORPUS, App, app
from engine.config import Settings
from engine.explorer import Explorer

AT_ONCE = (1, 10, 25)
PAUSE = 5.0
"""Seconds from one choice of a session to its next, give or take a fifth."""
OPENING = 4
"""Sessions that are opened at the same time: more would only wait for each other."""
KEPT = 128
"""Sessions that Streamlit holds after they were closed, for browsers that come back."""
LASTING = 3600.0
"""Seconds between two looks of a page at something, from which it does not renew itself here."""
RESULTS = "seedlens_results"
FINISHED = (
    ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY,
    ForwardMsg.ScriptFinishedStatus.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
)


def measure(
    home: Path | None = None,
    corpus: str = CORPUS,
    at_once: Sequence[int] = AT_ONCE,
    seconds: float = 30.0,
    closed: int = 0,
) -> list[Figure]:
    """Sessions that choose a new seed every few seconds, and sessions that are closed again.

    `home`: one that has ``corpus``; a copy of it is served. None: the benchmarks' own. `at_once`:
    how many sessions. `closed`: sessions that are opened and closed, a few at a time.
    """
    with _copy_of(home) as copied, app(copied) as served:
        process, explorer = psutil.Process(served.pid), Explorer(Settings(home=copied))
        # Choosing the document that the page opens with would change nothing.
        others = set(explorer.library.open(corpus).doc_ids) - {explorer.starting_point(corpus)[0]}
        doc_ids = sorted(others)

        def memory_after(sessions: int) -> float:
            """MiB of the server."""
            asyncio.run(_open_and_close(served, corpus, doc_ids, sessions))
            return process.memory_info().rss / 2**20

        memory_after(2 * OPENING)
        idle_by = time.monotonic() + 60  # the server loads things beside its first pages
        while process.cpu_percent(interval=1.0) > 5 and time.monotonic() < idle_by:
            pass
        figures = []
        for sessions in at_once:
            figures += asyncio.run(_together(served, corpus, doc_ids, sessions, seconds))
        figures.append(Figure("memory of the server", memory_after(0), "MiB"))
        if closed:
            before, after = memory_after(KEPT), memory_after(closed)
            what = f"memory that {closed} more sessions left behind"
            note = f"from {before:.0f} to {after:.0f} MiB"
            figures.append(Figure(what, after - before, "MiB", note, most=0.25 * closed))
    return figures


@contextmanager
def _copy_of(home: Path | None) -> Iterator[Path]:
    """A home that can be written to: searching adds to its trails."""
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "home"
        shutil.copytree(home or homes.explorer().home.root, copied)
        yield copied


async def _together(
    served: App, corpus: str, doc_ids: Sequence[str], sessions: int, seconds: float
) -> list[Figure]:
    """Sessions that choose seeds side by side."""
    dice = random.Random(sessions)
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(_session(served.url, corpus)) for _ in range(sessions)
        ]
        before, end = _cpu(served), time.monotonic() + seconds
        each = [random.Random(dice.random()) for _ in opened]
        taken = await asyncio.gather(
            *(_choose(one, doc_ids, dice, end) for one, dice in zip(opened, each, strict=True))
        )
        cpu, client, busy = (now - then for now, then in zip(_cpu(served), before, strict=True))
    waited = [one for many in taken for one in many]
    note = f"{len(waited)} searches; CPU: {cpu:.0f} s of the server, {client:.0f} s of its clients"
    note += f", {busy - cpu - client:.0f} s of others"
    many = f"{sessions} session{'s' if sessions > 1 else ''}"
    p95 = 2.0 if sessions == max(AT_ONCE) else None
    return [
        *spread(f"{many}, a new seed to its results", waited, "s", p95=p95, note=note),
        Figure(f"{many}: CPU a search", cpu / len(waited), "s"),
    ]


def _cpu(served: App) -> tuple[float, float, float]:
    """CPU seconds of the server, of this process, and of the whole machine so far."""
    server, own = (sum(psutil.Process(pid).cpu_times()[:2]) for pid in (served.pid, None))
    machine = psutil.cpu_times()
    return server, own, machine.user + machine.nice + machine.system


async def _choose(
    session: Session, doc_ids: Sequence[str], dice: random.Random, end: float
) -> list[float]:
    """Choose seeds until ``end`` (monotonic); the seconds that each took."""
    taken, seeds = [], iter(dice.sample(doc_ids, len(doc_ids)))
    due = time.monotonic() + dice.uniform(0, PAUSE)
    while due < end:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        started = time.monotonic()
        await session.choose(next(seeds))
        taken.append(time.monotonic() - started)
        due = max(time.monotonic(), started + PAUSE * dice.uniform(0.8, 1.2))
    return taken


async def _open_and_close(served: App, corpus: str, doc_ids: Sequence[str], sessions: int) -> None:
    """Open sessions, choose one seed in each, and close them."""
    places, dice = asyncio.Semaphore(OPENING), random.Random(sessions)

    async def one(doc_id: str) -> None:
        async with places, _session(served.url, corpus) as session:
            await session.choose(doc_id)

    await asyncio.gather(*(one(dice.choice(doc_ids)) for _ in range(sessions)))


# -- a session -------------------------------------------------------------------------------


class Page:
    """A browser's page with a component on it, as far as the server sees them.

    `query`: of its address. `component`: its name. `page`: its own part of the address.
    """

    def __init__(
        self, socket: ClientConnection, query: str, component: str, page: str = ""
    ) -> None:
        self._socket = socket
        self._query, self._component, self._name, self._page = query, component, page, ""
        self._cached: set[str] = set()
        self._shown: Any = None
        self._fragment = ""

    async def open(self) -> None:
        """Open the page; back when its component is there."""
        await self._run(BackMsg())

    def data(self) -> dict[str, Any]:
        """What the page gave its component."""
        data: dict[str, Any] = json.loads(self._shown.json or self._shown.mixed.json)
        return data

    async def _run(self, message: BackMsg) -> None:
        """Run the page and read what it sends, as a browser does."""
        state = message.rerun_script
        state.query_string, state.page_script_hash = self._query, self._page
        if not self._page:
            state.page_name = self._name
        state.cached_message_hashes.extend(self._cached)
        self._shown = None
        await self._socket.send(message.SerializeToString())
        while self._read(ForwardMsg.FromString(await self._socket.recv(decode=False))):
            pass
        if self._shown is None:
            raise RuntimeError(f"The page has no {self._component}: {self._query}")

    def _read(self, message: ForwardMsg) -> bool:
        """Take in one message; False when the page is whole."""
        kind = message.WhichOneof("type")
        if message.metadata.cacheable:
            self._cached.add(message.hash)
        if kind == "new_session":
            self._page = message.new_session.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            if element.bidi_component.component_name == self._component:
                self._shown = element.bidi_component
                self._fragment = message.delta.fragment_id
        elif kind == "auto_rerun" and message.auto_rerun.interval < LASTING:
            raise RuntimeError("The page renews itself, which these sessions do not.")
        return not (kind == "script_finished" and message.script_finished in FINISHED)


class Session(Page):
    """Explore, with the results of one seed."""

    async def choose(self, doc_id: str) -> None:
        """Click on "find similar" of a document; back when the page has its results."""
        message, results = BackMsg(), self._shown.id
        click = {"name": "seed", "doc_id": doc_id, "at": self.data()["received"] + 1}
        widgets = message.rerun_script.widget_states.widgets
        widgets.add(id=results, json_value="{}")
        widgets.add(
            id=f"$$STREAMLIT_INTERNAL_KEY_{results}__events",
            json_trigger_value=json.dumps([{"event": "events", "value": [click]}]),
        )
        await self._run(message)
        if doc_id not in self._query or not self.data()["results"]:
            raise RuntimeError(f"The page has no results for '{doc_id}': {self._query}")


@asynccontextmanager
async def _session(url: str, corpus: str) -> AsyncIterator[Session]:
    """An open page on a corpus, until the block ends."""
    async with connected(url, await asyncio.to_thread(cookies, url)) as socket:
        session = Session(socket, urlencode({"corpus": corpus}), RESULTS)
        await session.open()
        yield session


def connected(url: str, cookie: str) -> connect:
    """A WebSocket as a browser's page opens it."""
    return connect(
        f"ws{url.removeprefix('http')}/_stcore/stream",
        origin=url,
        subprotocols=["streamlit"],
        max_size=None,
        additional_headers={"Cookie": cookie},
    )


def cookies(url: str) -> str:
    """What the server knows a browser by."""
    given = httpx.get(url, timeout=60, trust_env=False).cookies
    return "; ".join(f"{name}={value}" for name, value in given.items())
