"""Requests as they come in: by which name, from where, over https alone; the cookies of pages.

Streamlit compares names of hosts without ports, and for WebSockets only. After a login it opens the
start page: the address of the page that was opened last goes along in a cookie.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.types.people import CALLBACK
from pages._login import login
from pages._login.streamlit_private import is_host_allowed

VISIT_COOKIE, RETURN_COOKIE = "seedlens_visit", "seedlens_return"
VISIT = re.compile(r"[A-Za-z0-9_-]{43}")  # what visit_cookie gives out: 256 random bits
SECONDS = 1800
LONGEST = 2000
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")  # on this server: no second slash, as of a host


Change = Callable[[Message, MutableHeaders], object]
"""What changes the beginning of a response and its headers."""


class Responses:
    """Changes the beginning of responses; ``change``: of a request, None leaves its response."""

    def __init__(self, app: ASGIApp, change: Callable[[Scope], Change | None]) -> None:
        self._app, self._change = app, change

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        change = self._change(scope) if scope["type"] == "http" else None

        async def send_on(message: Message) -> None:
            if change is not None and message["type"] == "http.response.start":
                change(message, MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, send_on)


def is_page(headers: MutableHeaders) -> bool:
    """Whether a response is a page."""
    return headers.get("content-type", "").startswith("text/html")


def visit_cookie(scope: Scope) -> Change | None:
    """Gives browsers that open a page an id, which they forget when they are closed."""
    if VISIT.fullmatch(HTTPConnection(scope).cookies.get(VISIT_COOKIE, "")):
        return None
    # A proxy that speaks https for this server says so in a header.
    scheme = Headers(scope=scope).get("x-forwarded-proto", scope["scheme"])
    value = f"{VISIT_COOKIE}={secrets.token_urlsafe(32)}; Path=/; HttpOnly; SameSite=Lax"
    cookie = f"{value}; Secure" if scheme == "https" else value

    def give(_: Message, headers: MutableHeaders) -> None:
        if is_page(headers):
            headers.append("set-cookie", cookie)

    return give


def return_after_login(scope: Scope) -> Change | None:
    """Remembers the page that was opened, and sends people there after they logged in."""
    if scope["method"] != "GET" or not login.is_wanted():
        return None
    query = parse_qs(scope["query_string"].decode("latin-1"))
    # From logging in, and not from logging out.
    comes_back = scope["path"].endswith(CALLBACK) and "state" in query
    cookie = _return_cookie(scope)

    def change(message: Message, headers: MutableHeaders) -> None:
        if comes_back and message["status"] in (302, 303, 307):
            headers["location"] = returning_to(scope) or headers["location"]
        elif cookie and is_page(headers):
            headers.append("set-cookie", cookie)

    return change


def _return_cookie(scope: Scope) -> str:
    """What a page that is being opened leaves behind; "" for anything else."""
    opens = Headers(scope=scope).get("sec-fetch-dest", "document") == "document"
    path = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0]
    query = scope["query_string"]
    target = path + (b"?" + query if query else b"")
    if not opens or scope["path"].endswith(CALLBACK) or len(target) > LONGEST:
        return ""
    value = base64.urlsafe_b64encode(target).decode().rstrip("=")
    return f"{RETURN_COOKIE}={value}; Path=/; Max-Age={SECONDS}; HttpOnly; SameSite=Lax"


def returning_to(scope: Scope) -> str:
    """The address on this server that the cookie of a request names; "" for none."""
    value = HTTPConnection(scope).cookies.get(RETURN_COOKIE, "")
    try:
        target = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    return target if _OWN_PATH.fullmatch(target) and len(target) <= LONGEST else ""


UNKNOWN = "Host not allowed. An administrator can add it to allowedHosts in .streamlit/config.toml."
_PORTS = {"http": 80, "https": 443}


class SameOrigin:
    """Refuses requests by a foreign name (DNS rebinding), and WebSockets of other pages."""

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
    """The headers of a page's own request, with the server named as ``Origin`` writes it."""
    origin = dict(headers).get(b"origin")
    if origin is None:
        return headers
    own = urlsplit(origin.decode("latin-1")).netloc.encode("latin-1")
    return [(key, own if key == b"host" else value) for key, value in headers]


def is_same_origin(origin: str | None, host: str) -> bool:
    """Whether a page of ``origin``, None of programs, is one of the server that was asked as
    ``host``, where a proxy may have taken the port off.

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


def only_https(_: Scope) -> Change | None:
    """Keeps cookies and browsers to https where ``redirect_uri`` says that people come by it."""

    def change(message: Message, headers: MutableHeaders) -> None:
        headers["strict-transport-security"] = "max-age=31536000"  # a year
        message["headers"] = [(k, _secure(v) if k == b"set-cookie" else v) for k, v in headers.raw]

    return change if login.is_https() else None


def _secure(cookie: bytes) -> bytes:
    attributes = {part.strip().lower() for part in cookie.split(b";")}
    return cookie if b"secure" in attributes else cookie + b"; Secure"
