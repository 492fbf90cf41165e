"""A reverse proxy for several app servers on one machine: sessions stay with their server.

``python -m benchmarks.sticky_proxy --port PORT SERVER [SERVER ...]``, each server as HOST:PORT. A
cookie names the server of a browser; when that server is gone, the next request goes to another
one and stays there. For trials and figures: a team has its own web server do this.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress

import httpx2 as httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

COOKIE = "server"
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
_OF_ONE_HOP = {b"connection", b"keep-alive", b"transfer-encoding", b"upgrade"}
_OF_SOCKETS = ("cookie", "origin", "user-agent")
GOING_AWAY = 1001
_NOT_SENT = (None, 1005, 1006, 1015)
"""What a connection ended with that was not closed, or without a reason."""
Headers = list[tuple[bytes, bytes]]


class StickyProxy:
    """Passes requests and WebSockets on to servers, each as HOST:PORT."""

    def __init__(self, servers: Sequence[str]) -> None:
        self._servers = list(servers)
        self._turn = itertools.cycle(self._servers)
        # A page loads many files at once, and some answers wait for the app.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        self._client = httpx.AsyncClient(timeout=None, limits=limits, trust_env=False)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Close the connections to the servers at the end."""
        async with self._client:
            yield

    def _choices(self, asked: HTTPConnection) -> Iterator[tuple[str, Headers]]:
        """The server that a browser has, then the others, with what has it come back there."""
        own = asked.cookies.get(COOKIE)
        first = own if own in self._servers else next(self._turn)
        for server in sorted(self._servers, key=lambda one: one != first):
            cookie = f"{COOKIE}={server}; Path=/; HttpOnly; SameSite=Lax"
            yield server, [(b"set-cookie", cookie.encode())] if own != server else []

    async def pass_on(self, request: Request) -> Response:
        """Answer a request with what a server answers."""
        scope, headers = request.scope, _passed_on(request.headers.raw)
        path = (scope["raw_path"] + b"?" + scope["query_string"]).rstrip(b"?")
        has_body = {"content-length", "transfer-encoding"} & {*request.headers}
        body = request.stream() if has_body else None
        for server, cookie in self._choices(request):
            target = httpx.URL(f"http://{server}", raw_path=path)
            sent = self._client.build_request(request.method, target, headers=headers, content=body)
            try:
                got = await self._client.send(sent, stream=True)
            except httpx.ConnectError:  # nothing of it was sent
                continue
            except httpx.TransportError:
                break
            task = BackgroundTask(got.aclose)
            answer = StreamingResponse(got.aiter_raw(), got.status_code, background=task)
            answer.raw_headers = [*_passed_on(got.headers.raw), *cookie]
            return answer
        return PlainTextResponse("No app server answers.", 502)

    async def connect(self, socket: WebSocket) -> None:
        """Pass messages on, both ways, until one side ends."""
        asked = socket.headers.get("sec-websocket-protocol", "").replace(" ", "").split(",")
        scope = socket.scope
        address = f"ws://{socket.headers['host']}{scope['path']}?{scope['query_string'].decode()}"
        headers = {k: v for k, v in socket.headers.items() if k in _OF_SOCKETS}
        open_ended = {"max_size": None, "compression": None, "proxy": None}
        for server, cookie in self._choices(socket):
            host, _, port = server.rpartition(":")
            place = {"host": host, "port": int(port), "additional_headers": headers}
            try:
                app = await connect(address, subprotocols=asked, **place, **open_ended)
            except (OSError, InvalidHandshake):
                continue
            await socket.accept(app.subprotocol, cookie)
            async with app:
                await _join(socket, app)
            return
        await socket.close(GOING_AWAY)


def _passed_on(headers: Headers) -> Headers:
    return [(name.lower(), value) for name, value in headers if name.lower() not in _OF_ONE_HOP]


async def _join(browser: WebSocket, app: ClientConnection) -> None:
    async def to_app() -> None:
        with suppress(ConnectionClosed):
            while (message := await browser.receive())["type"] == "websocket.receive":
                text = message.get("text")
                await app.send(message["bytes"] if text is None else text)

    async def to_browser() -> None:
        async for message in app:
            await (browser.send_text if isinstance(message, str) else browser.send_bytes)(message)

    ways = [asyncio.ensure_future(way()) for way in (to_app, to_browser)]
    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    for way in ways:
        way.cancel()
    await asyncio.gather(*ways, return_exceptions=True)
    code = app.close_code
    with suppress(RuntimeError, WebSocketDisconnect):  # it has gone already
        await browser.close(GOING_AWAY if code in _NOT_SENT else code)


def main() -> None:
    """Pass on what comes until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="on 127.0.0.1")
    parser.add_argument("servers", nargs="+", metavar="SERVER", help="HOST:PORT")
    options = parser.parse_args()
    proxy = StickyProxy(options.servers)
    routes = [
        Route("/{path:path}", proxy.pass_on, methods=METHODS),
        WebSocketRoute("/{path:path}", proxy.connect),
    ]
    front = Starlette(routes=routes, lifespan=proxy.lifespan)
    quiet = {"log_level": "warning", "server_header": False, "date_header": False}
    uvicorn.run(front, port=options.port, ws_max_size=2**30, **quiet)


if __name__ == "__main__":
    main()
