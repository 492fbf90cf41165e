"""Sessions that end with the login they began with.

Streamlit runs callbacks before the page, and fragments without it, where a gate in the page comes
too late. So a login that ended, or whose person lost the name or role that its pages were drawn
for, loses its connection at the next message, and begins as nobody. Uploads and Streamlit's own
figures are for those only whom the gate let in. Messages that no page of ours sends, such as to
clear all caches or to install files, get no further.
"""

from __future__ import annotations

import asyncio
import time

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.types.limits import MOST_STRANGERS, STRANGERS_BYTES, STRANGERS_VALUES
from pages._login import login
from pages._login.streamlit_private import message_of

GUARDED = ("/_stcore/upload_file", "/_stcore/metrics")  # answered without a session's script
LOGOUT = "/auth/logout"
OWN_LINKS = ("same-origin", "none")  # Sec-Fetch-Site of our pages and of an entered address
FROM_STRANGERS = ("rerun_script", "stop_script", "app_heartbeat")  # kinds of messages, of logins
FROM_PAGES = (*FROM_STRANGERS, "file_urls_request")
OPERATIONS = ("deferred_file", "dataframe_chunk")  # of ours: downloads, more rows of a table


def _stands(name: str) -> bool:
    """Whether the gate would let in now whom it let in before; anybody where there is no gate."""
    admitted = login.admitted_as(name)
    if admitted is None:
        return not login.is_wanted()
    return not login.is_over(admitted) and login.would_admit(admitted.claims) == admitted.person


def _was_other(name: str, since: float) -> bool:
    """Whether the gate let in a login by another name or role after monotonic seconds."""
    admitted = login.admitted_as(name)
    until = None if admitted is None else admitted.other_until
    return until is not None and until >= since


class GuardSessions:
    """Closes connections whose login stands no longer, and the oldest of too many without one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._strangers: dict[asyncio.Event, str] = {}
        """What ends a connection that began without a login -> its name; the oldest first."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._watch(scope, receive, send)
        elif scope["type"] == "http" and (why := _closed_to(scope)):
            await PlainTextResponse(why, 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _watch(self, scope: Scope, receive: Receive, send: Send) -> None:
        cookies, opened = HTTPConnection(scope).cookies, time.monotonic()
        name = login.login_name(cookies)
        stood, over = _stands(name), asyncio.Event()
        goes_on = stood and not _was_other(name, 0.0)
        began = 0.0 if goes_on else opened  # its session may be older than the connection
        if not goes_on:
            scope = {**scope, "headers": _without_session(scope["headers"])}
        if not stood:
            self._strangers[over] = name
            self._end_oldest()

        async def checked() -> Message:
            while True:
                message = await receive() if stood else await _unless(over, receive)
                if message is None:
                    await send({"type": "websocket.close", "code": 1013})
                    return {"type": "websocket.disconnect", "code": 1013}
                if message["type"] != "websocket.receive":
                    return message
                let_in = _stands(name)
                admitted = login.admitted_as(name)
                was_in = stood or (admitted is not None and admitted.at >= opened)
                if (was_in and not let_in) or _was_other(name, began):
                    await send({"type": "websocket.close", "code": 1008})
                    return {"type": "websocket.disconnect", "code": 1008}
                if _is_of_a_page(message, let_in=let_in):
                    return message
                # After a restart, what a page that was open sends first is all that it holds.
                if not let_in and login.is_proven(cookies) and _is_of_a_page(message, let_in=True):
                    return message

        try:
            await self._app(scope, checked, send)
        finally:
            self._strangers.pop(over, None)

    def _end_oldest(self) -> None:
        """A message that is never finished takes memory for as long as it is waited for."""
        strangers = [over for over, name in self._strangers.items() if not _stands(name)]
        for over in strangers[: max(0, len(strangers) - MOST_STRANGERS)]:
            over.set()
            del self._strangers[over]


async def _unless(over: asyncio.Event, receive: Receive) -> Message | None:
    """The next message; None where that is over before it comes."""
    coming: asyncio.Future[Message] = asyncio.ensure_future(receive())
    ending: asyncio.Future[bool] = asyncio.ensure_future(over.wait())
    try:
        await asyncio.wait((coming, ending), return_when=asyncio.FIRST_COMPLETED)
        return coming.result() if coming.done() else None
    finally:
        coming.cancel()
        ending.cancel()


def _is_of_a_page(message: Message, *, let_in: bool) -> bool:
    """Whether a page of ours may have sent a message, before the login the login page: to read one
    takes up to 100 times its size in memory."""
    data = message.get("bytes")
    if data is None or (not let_in and len(data) > STRANGERS_BYTES):
        return False
    said = message_of(data)
    if said is None:
        return False
    if let_in:
        kind = said.WhichOneof("type")
        if kind == "backend_operation_request":
            return said.backend_operation_request.WhichOneof("payload") in OPERATIONS
        return kind in FROM_PAGES
    state = said.rerun_script
    values = len(state.widget_states.widgets) + len(state.cached_message_hashes)
    values += state.query_string.count("&")
    return said.WhichOneof("type") in FROM_STRANGERS and values <= STRANGERS_VALUES


def _closed_to(scope: Scope) -> str:
    """Why a request is not answered; "" for one that is."""
    headers = Headers(scope=scope)
    if scope["path"].endswith(LOGOUT) and headers.get("sec-fetch-site", "none") not in OWN_LINKS:
        return "Cross-site logout blocked."
    if not any(part in scope["path"] for part in GUARDED):
        return ""
    return "" if _stands(login.login_name(HTTPConnection(scope).cookies)) else "Log in first."


def _without_session(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers without the session to go on with, which Streamlit sends as a third protocol."""
    key = b"sec-websocket-protocol"
    return [(k, b",".join(v.split(b",")[:2]) if k == key else v) for k, v in headers]
