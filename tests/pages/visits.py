"""Opening a page under AppTest, acting on it, and reading what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.testing.v1 import AppTest

from engine.config import ROOT
from engine.explorer import Explorer
from pages._login.guard import GuardSessions
from tests.support import wait_until

Serve = Callable[[Explorer], Explorer]
"""What the fixture ``serve`` is: it gives the pages an explorer."""
Connect = Callable[[str], None]
"""What the fixture ``connect`` is: it sets up the endpoint at an address."""
APP = "_router"
"""The script of the whole app: all pages, the gate before them."""
BROKEN = "Unexpected error"
"""What a page says of an error that is nobody's mistake but its own."""
SECONDS = 120
"""The longest that one run of a page may take, on a busy machine too."""


def script(name: str) -> str:
    """The file of a page by its name, such as ``annotate``."""
    return str(ROOT / "pages" / f"{name}.py")


def address(name: str, **params: str) -> AppTest:
    """A page at a link with these parameters, before its first run."""
    page = AppTest.from_file(script(name), default_timeout=SECONDS)
    for param_name, value in params.items():
        page.query_params[param_name] = value
    return page


def visit(name: str, **params: str) -> AppTest:
    """A visit of its own to a page at a link with these parameters."""
    return run(address(name, **params))


def run(page: AppTest) -> AppTest:
    """The page after one more run, in which nothing went wrong that it did not catch."""
    page.run()
    assert not page.exception, page.exception
    return page


def click(page: AppTest, key: str) -> AppTest:
    """The page after a click on the button of this key."""
    page.button(key=key).click()
    return run(page)


def run_until(page: AppTest, condition: Callable[[], object], *, what: str) -> AppTest:
    """Run the page, as its fragments do by themselves, until ``condition`` is true of it."""

    def looked() -> object:
        run(page)
        return condition()

    wait_until(looked, what=what, pause=0.1)
    return page


def shown(page: AppTest, *also: str) -> str:
    """All HTML of the page; ``also`` names kinds of elements whose words count too."""
    return "\n".join(element.value for kind in ("html", *also) for element in page.get(kind))


def param(page: AppTest, name: str) -> str:
    """A parameter of the page's address; empty when it has none of this name."""
    found = page.query_params.get(name, "")
    return found[0] if isinstance(found, list) else found


def facets_of(page: AppTest) -> dict[str, Any]:
    """What the facets of a page show; {} while they are folded."""
    found = [
        one.proto.json
        for one in page.get("bidi_component")
        if one.proto.component_name == "seedlens_facets"
    ]
    return json.loads(found[0]) if found else {}


def judged_on(page: AppTest) -> bool:
    """Whether the judging view of Annotate is there."""
    return any(
        one.proto.component_name == "seedlens_annotate" for one in page.get("bidi_component")
    )


LAST = BackMsg(app_heartbeat=True)
"""What anybody may send."""


def passed_on(*messages: bytes | str, cookies: dict[str, str] | None = None) -> list[str]:
    """Kinds of those messages that get to Streamlit, sent over one connection."""
    kinds = []

    async def page(socket: WebSocket) -> None:
        await socket.accept()
        with suppress(WebSocketDisconnect):
            while True:
                said = BackMsg.FromString(await socket.receive_bytes())
                if said == LAST:
                    await socket.close()
                    return
                kinds.append(str(said.WhichOneof("type")))

    routes, layers = [WebSocketRoute("/", page)], [Middleware(GuardSessions)]
    client = TestClient(Starlette(routes=routes, middleware=layers), cookies=cookies)
    with client.websocket_connect("/") as socket:
        for one in messages:
            socket.send_text(one) if isinstance(one, str) else socket.send_bytes(one)
        socket.send_bytes(LAST.SerializeToString())
        socket.receive()  # closing at once would overtake what was sent
    return kinds
