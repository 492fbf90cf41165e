"""The one cache of what is read of corpora: the values used last, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values that were used last, by key. Safe to share between threads."""

    def __init__(
        self, most: int | None, size: Callable[[Value], int] = lambda _: 0, room: int = 0
    ) -> None:
        self._most, self._size, self._room = most, size, room
        self._kept: OrderedDict[Key, Value] = OrderedDict()
        self._taken = 0
        self._lock = Lock()

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def get(
        self, keys: Sequence[Key], read: Callable[[Sequence[Key]], dict[Key, Value]]
    ) -> list[Value]:
        """Values of ``keys`` in their order, each once; ``read`` gives those that are not kept."""
        wanted = list(dict.fromkeys(keys))
        with self._lock:
            found = {key: self._kept[key] for key in wanted if key in self._kept}
        missing = [key for key in wanted if key not in found]
        found.update(read(missing) if missing else {})
        with self._lock:
            for key in wanted:
                if key in found:
                    self._taken += 0 if key in self._kept else self._size(found[key])
                    found[key] = self._kept.setdefault(key, found[key])
                    self._kept.move_to_end(key)
            most = len(self._kept) if self._most is None else self._most
            while len(self._kept) > most or (self._taken > self._room and len(self._kept) > 1):
                self._taken -= self._size(self._kept.popitem(last=False)[1])
        return [found[key] for key in wanted if key in found]

    def one(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key, made where it is not kept."""
        return self.get([key], lambda _: {key: make()})[0]
