"""The cookie by which a visit is known again after a reload: a random id, nothing else."""

from __future__ import annotations

import re
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "seedlens_visit"
VISIT = re.compile(r"[A-Za-z0-9_-]{43}")
"""What :class:`VisitCookie` gives out: 256 random bits."""


class VisitCookie:
    """Gives browsers that open a page an id, which they forget when they are closed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or VISIT.fullmatch(
            HTTPConnection(scope).cookies.get(COOKIE, "")
        ):
            await self._app(scope, receive, send)
            return

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("set-cookie", _cookie(scope))
            await send(message)

        await self._app(scope, receive, send_with_cookie)


def _cookie(scope: Scope) -> str:
    """A new id. A proxy that speaks https for this server says so in a header."""
    scheme = Headers(scope=scope).get("x-forwarded-proto", scope["scheme"])
    secure = "; Secure" if scheme == "https" else ""
    return f"{COOKIE}={secrets.token_urlsafe(32)}; Path=/; HttpOnly; SameSite=Lax{secure}"
