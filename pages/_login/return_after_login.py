"""Where somebody was going when they had to log in first.

Streamlit comes back from a provider to the start page. The address of the page that was opened
last goes along in a cookie that scripts cannot read.
"""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.types.people import CALLBACK

COOKIE = "seedlens_return"
SECONDS = 1800
LONGEST = 2000
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""An address on this server: no second slash, which would begin another host's name."""


class ReturnAfterLogin:
    """Remembers the page that was opened, and sends people there after they logged in."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from pages._login.login import is_wanted

        if scope["type"] != "http" or scope["method"] != "GET" or not is_wanted():
            await self._app(scope, receive, send)
            return
        cookie, comes_back = _cookie(scope), _comes_back(scope)

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if comes_back and message["status"] in (302, 303, 307):
                    headers["location"] = returning_to(scope) or headers["location"]
                elif cookie and headers.get("content-type", "").startswith("text/html"):
                    headers.append("set-cookie", cookie)
            await send(message)

        await self._app(scope, receive, send_on)


def _comes_back(scope: Scope) -> bool:
    """Whether a provider sends somebody back from logging in, and not from logging out."""
    asked = parse_qs(scope["query_string"].decode("latin-1"))
    return scope["path"].endswith(CALLBACK) and "state" in asked


def _cookie(scope: Scope) -> str:
    """What a page that is being opened leaves behind; "" for anything else."""
    opens = Headers(scope=scope).get("sec-fetch-dest", "document") == "document"
    path = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0]
    query = scope["query_string"]
    target = path + (b"?" + query if query else b"")
    if not opens or scope["path"].endswith(CALLBACK) or len(target) > LONGEST:
        return ""
    value = base64.urlsafe_b64encode(target).decode().rstrip("=")
    return f"{COOKIE}={value}; Path=/; Max-Age={SECONDS}; HttpOnly; SameSite=Lax"


def returning_to(scope: Scope) -> str:
    """The address on this server that the cookie of a request names; "" for none."""
    value = HTTPConnection(scope).cookies.get(COOKIE, "")
    try:
        target = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    return target if _OWN_PATH.fullmatch(target) and len(target) <= LONGEST else ""
