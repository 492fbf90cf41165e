"""Names in the documents table that indexing writes and searching reads."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.corpora.contracts import Seed, TokenRows
from engine.errors import BadInputError
from engine.numeric import FloatArray, widened
from engine.types.documents import Document, Sentence
from engine.types.encoders import EncoderSpec
from engine.types.lenses import Lens
from engine.types.searches import YEAR, Filter
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
    """The condition that rows must meet."""
    if filter_.field == YEAR:
        for value in filter_.values:
            if not re.fullmatch(r"\d{1,4}", value):
                raise BadInputError(f"'{value}' is not a year.", "Write a filter like year>=2010.")
        return Condition("year", filter_.op, tuple(map(int, filter_.values)))
    if filter_.op != "=":
        raise BadInputError(
            f"The filter '{filter_}' cannot be used: only year takes >= and <=.",
            "Write field=value.",
        )
    facets = tuple(facet(filter_.field, value) for value in filter_.values)
    return Condition("facets", "contains", facets)


TEXT_COLUMNS = [
    *("doc_id", "title", "text", "year", "authors", "url", "metadata"),
    *("sentence_starts", "sentence_ends", "roles"),
]
"""What a :class:`Document` is made of."""
PASSAGE_COLUMNS = ["vector", "sentence_vectors"]
"""What a :class:`Seed` has beside its document and its tokens."""


def matrix(column: Any, width: int) -> FloatArray:
    """A fixed-size-list column as a float32 matrix (rows, width)."""
    values = column.flatten().to_numpy(zero_copy_only=False)
    return widened(values).reshape(-1, width)


def rows_of(column: pa.ChunkedArray, width: int = 0) -> list[NDArray[Any]]:
    """The values (n,) of each row of a list column; views of one array, as they are stored.

    `width`: of a column of lists of vectors: each row is (n, width) then.
    """
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
