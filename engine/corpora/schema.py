"""Names and forms of the documents table, that indexing writes and searching reads."""

from __future__ import annotations

import itertools
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.corpora.contracts import Seed, TokenRows
from engine.errors import BadInputError
from engine.numeric import FloatArray, widened
from engine.types.documents import Document, Sentence
from engine.types.encoders import EncoderSpec
from engine.types.lenses import Lens
from engine.types.searches import Filter

if TYPE_CHECKING:
    from storage.vectors import DocumentTable  # importing LanceDB takes a second

CHUNK, MANY = 4096, 65_536  # Texts, and short rows, that are read at once


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
        found = column_of(table, column).combine_chunks()
        return cls(found.fill_null("") if found.null_count else found)

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return list(self.array[at].to_pylist())
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


FACET_MARK = "\x1f"
"""Stands around each ``field=value`` in the ``facets`` column; cannot occur in cleaned input."""


def aspect_column(key: str) -> str:
    """Name of the column that holds the vectors of an aspect."""
    return f"aspect_{key}"


def vector_columns(aspects: Sequence[str]) -> list[str]:
    """All columns with one vector per document."""
    return ["vector", *map(aspect_column, aspects)]


def facet(name: str, value: object) -> str:
    """``field = value`` as in the ``facets`` column."""
    return f"{FACET_MARK}{name}={value}{FACET_MARK}"


def year_of(value: str) -> int:
    """The year that a filter names."""
    if not re.fullmatch(r"\d{1,4}", value):
        raise BadInputError(f"'{value}' is not a year.", "Write a filter like year>=2010.")
    return int(value)


def unordered(filter_: Filter) -> Filter:
    """A filter of values without an order, or BadInputError."""
    if filter_.op != "=":
        raise BadInputError(
            f"The filter '{filter_}' cannot be used: only years, dates and amounts take >= and <=.",
            f"Write {filter_.field}=value.",
        )
    return filter_


TEXT_COLUMNS = [
    *("doc_id", "title", "text", "year", "authors", "url", "metadata"),
    *("sentence_starts", "sentence_ends", "roles"),
]
"""The columns of a :class:`Document`."""
PASSAGE_COLUMNS = ["vector", "sentence_vectors"]  # Of a `Seed`, beside its document and tokens


def matrix(column: Any, width: int) -> FloatArray:
    """A fixed-size-list column as a float32 matrix (rows, width)."""
    values = column.flatten().to_numpy(zero_copy_only=False)
    return widened(values).reshape(-1, width)


def column_of(table: DocumentTable, name: str, rows: int = MANY) -> pa.ChunkedArray:
    """A column of all rows, read so many rows at a time."""
    parts = [batch[name] for batch in table.columns([name], rows)]
    return pa.chunked_array(parts, table.schema.field(name).type)


def values_of(table: DocumentTable, *names: str) -> list[list[Any]]:
    """The values of some short columns, of all rows."""
    batches = [batch.to_pydict() for batch in table.columns(names, MANY)]
    return [[value for batch in batches for value in batch[name]] for name in names]


def to_batch(columns: Mapping[str, Any], schema: pa.Schema) -> pa.RecordBatch:
    """Arrays, and lists of values, by name as a batch of a schema."""
    arrays = [
        pa.array(columns[field.name], field.type)
        if isinstance(columns[field.name], list)
        else columns[field.name]
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def rows_of(column: pa.ChunkedArray, width: int = 0) -> list[NDArray[Any]]:
    """The values (n,) of each row of a list column; with a `width`, vectors (n, width)."""
    if not len(column):
        return []
    lists = column.combine_chunks()
    values = lists.flatten().flatten() if width else lists.flatten()
    array = values.to_numpy(zero_copy_only=False)
    if width:
        array = array.reshape(-1, width)
    bounds = (lists.offsets.to_numpy() - lists.offsets[0].as_py()).tolist()
    return [array[start:end] for start, end in itertools.pairwise(bounds)]


def to_document(row: dict[str, Any], lens: Lens) -> Document:
    """One row of :data:`TEXT_COLUMNS`."""
    count = len(lens.aspects)
    roles = row["roles"] or []
    text = row["text"]
    sentences = tuple(
        Sentence((a, b), text[a:b], tuple(roles[i * count : (i + 1) * count]))
        for i, (a, b) in enumerate(zip(row["sentence_starts"], row["sentence_ends"], strict=True))
    )
    return Document(
        doc_id=row["doc_id"],
        title=row["title"],
        text=text,
        sentences=sentences,
        year=row["year"],
        authors=tuple(row["authors"] or ()),
        url=row["url"],
        metadata=json.loads(row["metadata"]),
    )


def to_seeds(
    rows: pa.Table, tokens: Sequence[TokenRows], lens: Lens, spec: EncoderSpec
) -> list[Seed]:
    """The rows of a table with text and passage columns. `tokens`: of each row."""
    vectors = matrix(rows["vector"].combine_chunks(), spec.dimension)
    sentences = rows_of(rows["sentence_vectors"], spec.dimension)
    return [
        Seed(
            document=to_document(row, lens),
            vector=vectors[i],
            sentences=sentences[i].astype(np.float32, copy=False),
            tokens=widened(tokens[i].vectors),
            token_starts=tokens[i].starts,
            idf=tokens[i].idf,
        )
        for i, row in enumerate(rows.select(TEXT_COLUMNS).to_pylist())
    ]
