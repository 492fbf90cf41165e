"""What an endpoint sends, up to so many bytes: then reading stops, and the connection is closed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from engine.llm.endpoint_errors import RefusedError
from engine.types.limits import REPLY_BYTES

PLAIN = {"Accept-Encoding": "identity"}
"""The header by which answers come as they are: a compressed one tells its size too late."""


class BoundedBody(httpx2.AsyncByteStream):
    """A body that raises RefusedError beyond ``most`` bytes.

    Args:
        where: the address that sends it.
    """

    def __init__(self, body: httpx2.AsyncByteStream, where: str, most: int) -> None:
        self._body, self._where = body, where
        self._read = 0
        self.most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            self._read += len(piece)
            if self._read > self.most:
                raise RefusedError(
                    f"{self._where} sent more than {self.most:,} bytes for one answer, many times "
                    "what was asked for.",
                    "Check that the address is that of a language model, or choose another model.",
                )
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


def bound(response: httpx2.Response, where: str, most: int = REPLY_BYTES) -> None:
    """Let no more than ``most`` bytes of a response be read.

    Raises:
        RefusedError: it is compressed, although it was asked not to be.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise RefusedError(
            f"{where} compresses what it sends, although it was asked not to.",
            "Turn compression off there, or use another endpoint.",
        )
    body = response.stream
    if isinstance(body, BoundedBody):
        body.most = most
    elif isinstance(body, httpx2.AsyncByteStream):
        response.stream = BoundedBody(body, where, most)
