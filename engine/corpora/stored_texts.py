"""A text of each document, as Arrow keeps it: without a Python object per document."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

if TYPE_CHECKING:
    from storage.vectors import DocumentTable  # importing LanceDB takes a second

CHUNK, MANY = 4096, 65_536
"""Texts that become Python's at once, and rows that are read at once where they are short."""


class StoredTexts(Sequence[str]):
    """Texts by row.

    >>> texts = StoredTexts(["b", "a", "c"])
    >>> texts[1], texts[1:], texts.at([2, 0]), texts == ["b", "a", "c"]
    ('a', ['a', 'c'], ['c', 'b'], True)
    """

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __init__(self, texts: Iterable[str] | pa.Array) -> None:
        self.array: pa.Array = (
            texts if isinstance(texts, pa.Array) else pa.array(list(texts), pa.string())
        )

    @classmethod
    def read(cls, table: DocumentTable, column: str) -> StoredTexts:
        """A column of all rows; of a null, an empty text."""
        parts = [batch[column] for batch in table.columns([column], MANY)]
        found = pa.chunked_array(parts, pa.string()).combine_chunks()
        return cls(found.fill_null("") if found.null_count else found)

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            if at.step in (None, 1):
                return list(self.array[at].to_pylist())
            return self.at(range(*at.indices(len(self))))
        return str(self.array[int(at)].as_py())

    def at(self, rows: Sequence[int] | NDArray[np.intp]) -> list[str]:
        """The texts of these rows."""
        return list(self.array.take(pa.array(rows, pa.int64())).to_pylist())

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), CHUNK):
            yield from self.array[start : start + CHUNK].to_pylist()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StoredTexts):
            return bool(self.array.equals(other.array))
        return list(self) == other


class RowOf(Mapping[str, int]):
    """The row of each of some different texts, found by halving: 10 microseconds of a million.

    >>> row_of = RowOf(StoredTexts(["b", "a", "c"]))
    >>> row_of["b"], row_of.get("d"), "c" in row_of, row_of.rank.tolist()
    (0, None, True, [1, 0, 2])
    """

    def __init__(self, texts: StoredTexts) -> None:
        self._texts = texts
        array, count = texts.array, len(texts)
        # Arrow compares UTF-8, which has the order of Python's characters.
        is_sorted = count < 2 or pc.all(pc.less(array[:-1], array[1:])).as_py()
        self._order = np.arange(count) if is_sorted else pc.sort_indices(array).to_numpy()
        self._sorted = texts if is_sorted else StoredTexts(array.take(pa.array(self._order)))
        # A page asks for each of its documents three times.
        self._find = lru_cache(maxsize=1_000)(partial(bisect_left, self._sorted))
        self.rank = np.empty(count, dtype=np.int32)
        self.rank[self._order] = np.arange(count, dtype=np.int32)

    def __getitem__(self, text: str) -> int:
        place = self._find(text) if isinstance(text, str) else len(self)
        if place < len(self) and self._sorted[place] == text:
            return int(self._order[place])
        raise KeyError(text)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)
