"""Short questions beside the page: one that waits for a server is one that does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from pages._common.visit_memory import memory

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_MOST_KEPT = 200


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


def answers(name: str) -> dict[Any, Future[Any]]:
    """What was asked on this visit under a name, over reloads."""
    known: dict[Any, Future[Any]] = memory().setdefault(name, {})
    return known


def once(
    name: str, keys: Sequence[Key], do: Callable[[list[Key]], Value]
) -> dict[Key, Future[Value]]:
    """The answers to some questions, each asked once in a visit. ``name``: of the store. ``do``:
    answers those that are new, all together."""
    known = answers(name)
    if new := [key for key in dict.fromkeys(keys) if key not in known]:
        known |= dict.fromkeys(new, beside(partial(do, new)))
        while len(known) > _MOST_KEPT:
            del known[next(iter(known))]
    return {key: known[key] for key in keys if key in known}
