"""Which requests are answered at all, and what goes over https alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from streamlit import net_util
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.web.server.starlette.starlette_websocket import create_websocket_handler

from engine.config import ROOT
from engine.types.limits import STRANGERS_BYTES, STRANGERS_VALUES
from pages._login import guard, login
from pages._login.guard import GuardSessions
from pages._login.requests import (
    Responses,
    SameOrigin,
    is_same_origin,
    only_https,
    visit_cookie,
)
from tests.pages.visits import passed_on


async def _welcome(socket):
    await socket.accept()
    await socket.send_text("welcome")
    await socket.close()


def client(base="http://localhost:8501"):
    routes = [
        Route("/", lambda _: HTMLResponse("<p>a page</p>")),
        Route("/_stcore/metrics", lambda _: HTMLResponse("figures")),
        Route("/auth/logout", lambda _: HTMLResponse("logged out")),
        WebSocketRoute("/_stcore/stream", _welcome),
    ]
    layers = [
        Middleware(SameOrigin),
        Middleware(Responses, only_https),
        Middleware(GuardSessions),
        Middleware(Responses, visit_cookie),
    ]
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
def test_another_port_or_name_is_another_origin(origin, host, same):
    assert is_same_origin(origin, host) is same


def test_a_websocket_of_a_page_on_another_port_is_refused():
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


SERVED = """
import json
from starlette.testclient import TestClient
import app

client, found = TestClient(app.app, base_url="http://localhost:8501"), {}
for path, headers in (("/", {}), ("/_stcore/metrics", {}), ("/_stcore/upload_file/a/b", {}),
                      ("/", {"host": "evil.example"})):
    answer = client.get(path, headers=headers)
    found[path + headers.get("host", "")] = (answer.status_code, dict(answer.headers))
print(json.dumps(found))
"""
ASKS_FOR_LOGIN = """
[auth]
redirect_uri = "https://localhost:8501/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "seedlens"
client_secret = "keep-this-quiet"
server_metadata_url = "https://login.example.org/.well-known/openid-configuration"
[people]
"ada@example.org" = { name = "Ada", role = "lead" }
"""


def test_the_app_as_it_is_served_keeps_to_its_login_its_name_and_https(tmp_path):
    secrets = tmp_path / ".streamlit" / "secrets.toml"
    secrets.parent.mkdir()
    secrets.write_text(ASKS_FOR_LOGIN)
    env = {**os.environ, "HOME": str(tmp_path), "SEEDLENS_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", SERVED], check=True, capture_output=True, text=True, cwd=ROOT,
        env=env,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert {path: status for path, (status, _) in found.items()} == {
        "/": 200, "/_stcore/metrics": 403, "/_stcore/upload_file/a/b": 403, "/evil.example": 403,
    }  # fmt: skip
    page = found["/"][1]
    assert "default-src 'self'" in page["content-security-policy"]
    assert "frame-ancestors 'none'" in page["content-security-policy"]
    assert page["x-content-type-options"] == "nosniff"
    assert "strict-transport-security" in page
    cookies = re.split(", (?=[a-z_]+=)", page["set-cookie"])
    assert {cookie.partition("=")[0] for cookie in cookies} == {"seedlens_return", "seedlens_visit"}
    assert all("; Secure" in cookie for cookie in cookies)


def test_figures_of_the_server_are_for_those_whom_the_gate_let_in(monkeypatch):
    monkeypatch.setattr(login, "is_wanted", bool)
    assert client().get("/_stcore/metrics").text == "figures"
    monkeypatch.setattr(login, "is_wanted", lambda: True)
    assert client().get("/_stcore/metrics").status_code == 403


@pytest.mark.parametrize(
    ("site", "answered"),
    [
        ("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200), (None, 200),
    ],
)  # fmt: skip
def test_a_page_of_another_origin_logs_nobody_out(site, answered):
    headers = {} if site is None else {"sec-fetch-site": site}
    assert client().get("/auth/logout", headers=headers).status_code == answered


RUN = BackMsg(rerun_script=ClientState(query_string="corpus=demo"))
UPLOAD = BackMsg()
UPLOAD.file_urls_request.file_names.append("own.csv")
DOWNLOAD, TABLE, INSTALL, DISMISS = (BackMsg() for _ in range(4))
DOWNLOAD.backend_operation_request.deferred_file.file_id = "f"
TABLE.backend_operation_request.dataframe_chunk.source_id = "s"
INSTALL.backend_operation_request.install_skills.SetInParent()
DISMISS.backend_operation_request.dismiss_skills_nudge.SetInParent()


@pytest.mark.parametrize("let_in", [True, False])
def test_what_no_page_asks_for_does_not_reach_streamlit(let_in, monkeypatch):
    """It would clear the caches of all sessions, tell names of the server's files, and add some."""
    monkeypatch.setattr(guard, "_stands", lambda _: let_in)
    orders = [
        BackMsg(clear_cache=True), BackMsg(load_git_info=True), BackMsg(set_run_on_save=True),
        BackMsg(debug_shutdown_runtime=True), UPLOAD, BackMsg(), DOWNLOAD, TABLE, INSTALL, DISMISS,
        RUN,
    ]  # fmt: skip
    sent = passed_on(*(one.SerializeToString() for one in orders), b"\xff", "words")
    of_pages = ["file_urls_request", "backend_operation_request", "backend_operation_request"]
    assert sent == [*(of_pages if let_in else []), "rerun_script"]


@pytest.mark.parametrize("field", ["query_string", "cached_message_hashes", "widget_states"])
def test_a_message_of_a_stranger_holds_no_more_than_the_login_page_sends(field, monkeypatch):
    """Half a million empty values in a megabyte take a hundred of memory, and nothing else runs."""

    def of_values(number):
        many: dict[str, Any] = {
            "query_string": "&" * number,
            "cached_message_hashes": [""] * number,
            "widget_states": {"widgets": [{}] * number},
        }
        return BackMsg(rerun_script=ClientState(**{field: many[field]})).SerializeToString()

    few, many = of_values(STRANGERS_VALUES), of_values(STRANGERS_VALUES + 1)
    long = BackMsg(rerun_script=ClientState(page_name="x" * STRANGERS_BYTES)).SerializeToString()
    monkeypatch.setattr(guard, "_stands", lambda _: False)
    assert passed_on(many, long, few) == ["rerun_script"]
    monkeypatch.setattr(guard, "_stands", lambda _: True)
    assert len(passed_on(many, long, few)) == 3


def test_nothing_is_answered_by_a_name_that_the_server_does_not_have(monkeypatch):
    monkeypatch.setattr("streamlit.config.get_option", _allowing("localhost"))
    monkeypatch.setattr(login, "is_wanted", bool)
    for path in ("/", "/_stcore/metrics"):
        assert client().get(path).status_code == 200
        answer = client("http://evil.example:8501").get(path)
        assert answer.status_code == 403
        assert "allowedHosts" in answer.text
    host = {"host": "evil.example:8501"}
    for origin in ({}, {"origin": "http://evil.example:8501"}):
        with (
            pytest.raises(WebSocketDisconnect),
            client().websocket_connect("/_stcore/stream", headers={**host, **origin}),
        ):
            pass


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost.:8501", "LocalHost.:8501"),
        ("https://evil.example", "localhost:8501"),
    ],
)
def test_streamlit_asks_no_outside_service_who_it_is(origin, host, monkeypatch):
    """As it does where a page's address is not, letter by letter, the one that was asked."""
    asked = []
    for name in ("get_external_ip", "get_internal_ip"):
        monkeypatch.setattr(net_util, name, partial(asked.append, name))
    endpoint = create_websocket_handler(Mock())
    app = Starlette(
        routes=[WebSocketRoute("/_stcore/stream", endpoint)], middleware=[Middleware(SameOrigin)]
    )
    own = is_same_origin(origin, host)
    with suppress(WebSocketDisconnect):
        headers = {"origin": origin, "host": host}
        with TestClient(app).websocket_connect("/_stcore/stream", headers=headers):
            assert own
            own = False
    assert not own, "a page of its own is let in"
    assert not asked


def _allowing(host):
    return lambda name: [host] if name == "server.allowedHosts" else None
