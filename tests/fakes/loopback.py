"""HTTP servers on loopback, in threads of their own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Handler(BaseHTTPRequestHandler):
    """A handler over connections that are kept; it prints nothing. ``owner`` is its server."""

    owner: Any
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def raw(
        self, status: int, content: bytes, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a whole response."""
        self.send_response(status)
        sent = {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # clients may hang up
            super().handle_error(request, client_address)


class Loopback:
    """A server that runs while its block does; ``gone`` is set when it stops."""

    def __init__(self, handler: type[Handler], port: int = 0) -> None:
        self.gone = threading.Event()
        bound = type("Bound", (handler,), {"owner": self})
        self._http = _Server(("127.0.0.1", port), bound)
        self.root = f"http://127.0.0.1:{self._http.server_address[1]}"

    def start(self) -> None:
        serve, often = self._http.serve_forever, {"poll_interval": 0.05}
        threading.Thread(target=serve, kwargs=often, daemon=True).start()

    def stop(self) -> None:
        """Gone: connections that are open are cut, new ones refused."""
        self.gone.set()
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
