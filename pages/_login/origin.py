"""Requests of other pages and by other names, and what is sent over https alone.

Streamlit accepts WebSockets of every page on this machine: it compares the names of hosts, not
their ports, and asks an outside service for its own public address when a name is foreign, or
only written otherwise. Requests that open no WebSocket it answers by whatever name.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages._login import login
from pages._login.cookies import changing
from pages._login.streamlit_private import is_host_allowed

UNKNOWN = "Host not allowed. An administrator can add it to allowedHosts in .streamlit/config.toml."
_PORTS = {"http": 80, "https": 443}
ONE_YEAR = "max-age=31536000"


class SameOrigin:
    """Refuses requests by a name that this server does not have, as when another page's name leads
    here by now (DNS rebinding), and WebSockets that another page opened, by name or port."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            headers = Headers(scope=scope)
            known = is_host_allowed(headers.get("host"))
            if scope["type"] == "http":
                if not known:
                    await PlainTextResponse(UNKNOWN, 403)(scope, receive, send)
                    return
            elif known and is_same_origin(headers.get("origin"), headers.get("host", "")):
                scope = {**scope, "headers": _named_alike(scope["headers"])}
            else:
                await receive()  # websocket.connect
                await send({"type": "websocket.close", "code": 1008})
                return
        await self._app(scope, receive, send)


def _named_alike(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of a page's own request, with the server named as in ``Origin``: Streamlit
    compares letter by letter."""
    origin = dict(headers).get(b"origin")
    if origin is None:
        return headers
    own = urlsplit(origin.decode("latin-1")).netloc.encode("latin-1")
    return [(key, own if key == b"host" else value) for key, value in headers]


def is_same_origin(origin: str | None, host: str) -> bool:
    """Whether a page of ``origin`` is one of the server that was asked as ``host``.

    Programs send no origin: None is the same. A host without a port has that of the origin's
    scheme, which a proxy may have taken off.

    >>> is_same_origin("https://seedlens.example.org", "seedlens.example.org")
    True
    >>> is_same_origin("http://localhost:3000", "localhost:8501")
    False
    """
    if origin is None:
        return True
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{host}")
        port = _PORTS[theirs.scheme]
        return bool(theirs.hostname) and (theirs.hostname, theirs.port or port) == (
            ours.hostname,
            ours.port or port,
        )
    except (ValueError, KeyError):  # "null", or no address at all
        return False


class OnlyHttps:
    """Keeps cookies and browsers to https where ``redirect_uri`` says that people come by it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def change(message: Message, headers: MutableHeaders) -> None:
            headers["strict-transport-security"] = ONE_YEAR
            message["headers"] = [
                (k, _secure(v) if k == b"set-cookie" else v) for k, v in headers.raw
            ]

        if scope["type"] == "http" and login.is_https():
            send = changing(send, change)
        await self._app(scope, receive, send)


def _secure(cookie: bytes) -> bytes:
    attributes = {part.strip().lower() for part in cookie.split(b";")}
    return cookie if b"secure" in attributes else cookie + b"; Secure"
