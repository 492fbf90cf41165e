"""Names in the documents table that indexing writes and searching reads."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.corpora.contracts import Seed
from engine.errors import BadInputError
from engine.numeric import FloatArray
from engine.types.documents import Document, Sentence
from engine.types.encoders import EncoderSpec
from engine.types.lenses import Lens
from engine.types.searches import Filter
from storage.records import Condition

FACET_MARK = "\x1f"
"""Stands around each ``field=value`` in the ``facets`` column; cannot occur in cleaned input."""


def aspect_column(key: str) -> str:
    """Name of the column that holds the vectors of an aspect."""
    return f"aspect_{key}"


def vector_columns(aspects: Sequence[str]) -> list[str]:
    """All columns with one vector per document: the document's, and one per aspect."""
    return ["vector", *map(aspect_column, aspects)]


def facet(name: str, value: object) -> str:
    """How ``field = value`` stands in the ``facets`` column."""
    return f"{FACET_MARK}{name}={value}{FACET_MARK}"


def condition(filter_: Filter) -> Condition:
    """The condition that rows must meet.

    Raises:
        BadInputError: a year that is none, or a field that cannot be compared.
    """
    if filter_.field == "year":
        if not re.fullmatch(r"\d{1,4}", filter_.value):
            raise BadInputError(
                f"'{filter_.value}' is not a year.", "Write a filter like year>=2010."
            )
        return Condition("year", filter_.op, int(filter_.value))
    if filter_.op != "=":
        raise BadInputError(
            f"The filter '{filter_}' cannot be used: only year takes >= and <=.",
            "Write field=value.",
        )
    return Condition("facets", "contains", facet(filter_.field, filter_.value))


TEXT_COLUMNS = [
    *("doc_id", "title", "text", "year", "authors", "url", "metadata"),
    *("sentence_starts", "sentence_ends", "roles"),
]
"""What a :class:`Document` is made of."""
PASSAGE_COLUMNS = ["vector", "sentence_vectors", "token_vectors", "token_starts", "token_ends"]
"""What a :class:`Seed` has beside its document."""


def matrix(column: Any, width: int) -> FloatArray:
    """A fixed-size-list column as a float32 matrix (rows, width)."""
    values = column.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float32).reshape(-1, width)


def rows_of(column: pa.ListArray, row: int, width: int) -> FloatArray:
    """The vectors of one row of a list-of-vectors column, without copying the others."""
    start, end = column.offsets[row].as_py(), column.offsets[row + 1].as_py()
    return matrix(column.values.slice(start, end - start), width)


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


def to_seed(rows: pa.Table, i: int, lens: Lens, spec: EncoderSpec) -> Seed:
    """Row ``i`` of a table with text and passage columns."""

    def vectors(name: str, width: int) -> FloatArray:
        return rows_of(rows[name].combine_chunks(), i, width)

    def offsets(name: str) -> NDArray[np.int32]:
        return np.asarray(rows[name][i].values.to_numpy(zero_copy_only=False), dtype=np.int32)

    document = to_document(rows.select(TEXT_COLUMNS).slice(i, 1).to_pylist()[0], lens)
    return Seed(
        document=document,
        vector=matrix(rows["vector"].combine_chunks().slice(i, 1), spec.dimension)[0],
        sentences=vectors("sentence_vectors", spec.dimension),
        tokens=vectors("token_vectors", spec.token_dimension),
        token_spans=np.stack([offsets("token_starts"), offsets("token_ends")], axis=1),
    )
