"""Short work beside the page: a page that waits for a server is a page that does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Value = TypeVar("Value")


def beside(do: Callable[[], Value]) -> Future[Value]:
    """Run ``do`` in a thread that does not keep the server from stopping.

    It must not touch ``st``: what it needs of the visit is read before.
    """
    future: Future[Value] = Future()

    def run() -> None:
        try:
            future.set_result(do())
        except BaseException as error:  # raised again by result()
            future.set_exception(error)

    threading.Thread(target=run, name="seedlens-beside", daemon=True).start()
    return future
