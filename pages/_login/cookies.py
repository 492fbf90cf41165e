"""Two cookies of pages that are opened: the visit's id, and where somebody was going.

A visit is known again after a reload by a random id, nothing else. And Streamlit comes back from
a provider to the start page: the address of the page that was opened last goes along in a cookie
that scripts cannot read.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Callable
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.types.people import CALLBACK

VISIT_COOKIE, RETURN_COOKIE = "seedlens_visit", "seedlens_return"
VISIT = re.compile(r"[A-Za-z0-9_-]{43}")
"""What :class:`VisitCookie` gives out: 256 random bits."""
SECONDS = 1800
LONGEST = 2000
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""An address on this server: no second slash, which would begin another host's name."""


def changing(send: Send, change: Callable[[Message, MutableHeaders], object]) -> Send:
    """``send``, in which the beginning of a response and its headers are changed first."""

    async def send_on(message: Message) -> None:
        if message["type"] == "http.response.start":
            change(message, MutableHeaders(scope=message))
        await send(message)

    return send_on


def _is_page(headers: MutableHeaders) -> bool:
    return headers.get("content-type", "").startswith("text/html")


class VisitCookie:
    """Gives browsers that open a page an id, which they forget when they are closed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def give(_: Message, headers: MutableHeaders) -> None:
            if _is_page(headers):
                # A proxy that speaks https for this server says so in a header.
                asked = Headers(scope=scope)
                scheme = asked.get("x-forwarded-proto", scope["scheme"])
                value = f"{VISIT_COOKIE}={secrets.token_urlsafe(32)}; Path=/; HttpOnly"
                secure = "; Secure" if scheme == "https" else ""
                headers.append("set-cookie", f"{value}; SameSite=Lax{secure}")

        if scope["type"] == "http":
            known = HTTPConnection(scope).cookies.get(VISIT_COOKIE, "")
            send = send if VISIT.fullmatch(known) else changing(send, give)
        await self._app(scope, receive, send)


class ReturnAfterLogin:
    """Remembers the page that was opened, and sends people there after they logged in."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from pages._login.login import is_wanted

        if scope["type"] == "http" and scope["method"] == "GET" and is_wanted():
            query = parse_qs(scope["query_string"].decode("latin-1"))
            # From logging in, and not from logging out.
            comes_back = scope["path"].endswith(CALLBACK) and "state" in query
            cookie = _return_cookie(scope)

            def change(message: Message, headers: MutableHeaders) -> None:
                if comes_back and message["status"] in (302, 303, 307):
                    headers["location"] = returning_to(scope) or headers["location"]
                elif cookie and _is_page(headers):
                    headers.append("set-cookie", cookie)

            send = changing(send, change)
        await self._app(scope, receive, send)


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
