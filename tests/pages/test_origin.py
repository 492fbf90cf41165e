"""Which requests are answered at all, and what goes over https alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from pages._login import login
from pages._login.guard import GuardSessions
from pages._login.origin import OnlyHttps, SameOrigin, is_same_origin
from pages._login.visit_cookie import VisitCookie

Switch = Callable[[bool], None]


async def _welcome(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("welcome")
    await socket.close()


def client(base: str = "http://localhost:8501") -> TestClient:
    routes = [
        Route("/", lambda _: HTMLResponse("<p>a page</p>")),
        Route("/_stcore/metrics", lambda _: HTMLResponse("figures")),
        WebSocketRoute("/_stcore/stream", _welcome),
    ]
    layers = [Middleware(m) for m in (SameOrigin, OnlyHttps, GuardSessions, VisitCookie)]
    return TestClient(Starlette(routes=routes, middleware=layers), base_url=base)


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        (None, "localhost:8501", True),
        ("http://localhost:8501", "localhost:8501", True),
        ("https://seedlens.example.org", "seedlens.example.org", True),
        ("https://seedlens.example.org", "seedlens.example.org:443", True),
        ("http://[::1]:8501", "[::1]:8501", True),
        ("http://localhost:3000", "localhost:8501", False),
        ("http://localhost", "localhost:8501", False),
        ("http://127.0.0.1:8501", "localhost:8501", False),
        ("https://localhost:8501.evil.example", "localhost:8501", False),
        ("https://evil.example", "seedlens.example.org", False),
        ("null", "localhost:8501", False),
        ("http://localhost:x", "localhost:8501", False),
        ("", "localhost:8501", False),
    ],
)
def test_another_port_or_name_is_another_origin(origin: str | None, host: str, same: bool) -> None:
    assert is_same_origin(origin, host) is same


def test_a_websocket_of_a_page_on_another_port_is_refused() -> None:
    with client().websocket_connect(
        "/_stcore/stream", headers={"origin": "http://localhost:8501", "host": "localhost:8501"}
    ) as own:
        assert own.receive_text() == "welcome"
    with (
        pytest.raises(WebSocketDisconnect),
        client().websocket_connect(
            "/_stcore/stream", headers={"origin": "http://localhost:3000", "host": "localhost:8501"}
        ),
    ):
        pass


@pytest.mark.parametrize("https", [True, False])
def test_cookies_and_browsers_keep_to_https_where_people_come_by_it(
    https: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "is_https", lambda: https)
    answer = client().get("/")
    assert ("; Secure" in answer.headers["set-cookie"]) is https
    assert ("strict-transport-security" in answer.headers) is https


def test_figures_of_the_server_are_for_those_who_ask_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("streamlit.config.get_option", _allowing("localhost"))
    monkeypatch.setattr(login, "is_wanted", bool)
    assert client().get("/_stcore/metrics").text == "figures"
    assert client("http://evil.example:8501").get("/_stcore/metrics").status_code == 403
    monkeypatch.setattr(login, "is_wanted", lambda: True)
    assert client().get("/_stcore/metrics").status_code == 403


def _allowing(host: str) -> Callable[[str], object]:
    return lambda name: [host] if name == "server.allowedHosts" else None
