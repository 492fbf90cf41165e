"""Facts as a column of the documents table, and back."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.facts import VERSION, find_facts
from engine.types.documents import Fact, Span
from storage.vectors import DocumentTable

_text, _number, _place, _truth = pa.string(), pa.float64(), pa.int32(), pa.bool_()
_TYPES = {
    **{"kind": _text, "low": _number, "high": _number, "unit": _text, "text": _text},
    **{"start": _place, "end": _place, "derivation": _text},
    **{"anchor_start": _place, "anchor_end": _place, "about": pa.list_(_text)},
    **{"implied": _truth, "confidence": _number, "recurrence": _text, "generated": _truth},
}
FACT_TYPE = pa.struct(list(_TYPES.items()))
_FACTS = pa.list_(FACT_TYPE)
FACT_FIELDS = (pa.field("facts", _FACTS), pa.field("facts_version", pa.int32()))
"""The last columns of the table."""
FACT_COLUMNS = [field.name for field in FACT_FIELDS]
FACT_SOURCES = ["text", "metadata", *FACT_COLUMNS]  # For :func:`facts_of`
DATE_KEYS = ("date", "published", "publication_date", "created", "created_at", "sent", "timestamp")
"""Metadata with the date of a document, the best first."""


def document_date(metadata: Mapping[str, Any]) -> date | None:
    """The day on which a document was written, by its metadata; None without one.

    >>> document_date({"venue": "ACL", "date": "2024-02-29"})
    datetime.date(2024, 2, 29)
    """
    days = (_day(str(metadata.get(key) or "").strip()) for key in DATE_KEYS)
    return next((day for day in days if day is not None), None)


def _day(value: str) -> date | None:
    """The day in an ISO date or time, an e-mail's date, or seconds or milliseconds since 1970."""
    try:
        if value.isdecimal() and len(value) in (10, 13):
            return datetime.fromtimestamp(int(value[:10]), UTC).date()
        if value.isdecimal() and len(value) != len("20240229"):
            return None
        return datetime.fromisoformat(value.removesuffix(" UTC")).date() if len(value) > 7 else None
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(value).date()
    except ValueError:
        return None


def fact_columns(
    texts: Sequence[str], metadata: Sequence[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """The values of :data:`FACT_FIELDS` for documents with these texts: a pure function."""
    found = [find_facts(t, document_date(m)) for t, m in zip(texts, metadata, strict=True)]
    return {
        "facts": [[_to_row(fact) for fact in facts] for facts in found],
        "facts_version": [VERSION] * len(found),
    }


def facts_of(row: Mapping[str, Any]) -> tuple[Fact, ...]:
    """The facts of one row with :data:`FACT_SOURCES`, resolved now where another version stored
    them; those of a language model stay."""
    stored = tuple(_from_row(fact) for fact in row.get("facts") or ())
    if row.get("facts_version") == VERSION:
        return stored
    found = find_facts(row["text"], document_date(json.loads(row["metadata"])))
    generated = [fact for fact in stored if fact.generated]
    return in_reading_order([*found, *generated]) if generated else found


def in_reading_order(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Facts by their places in the text."""
    return tuple(sorted(facts, key=lambda fact: fact.span))


def store_facts(table: DocumentTable, facts: Mapping[str, Sequence[Fact]]) -> None:
    """Replace the stored facts of documents, by doc_id; the caller holds the corpus's lock."""
    if not facts:
        return
    columns = [
        pa.array(list(facts), pa.string()),
        pa.array([[_to_row(fact) for fact in found] for found in facts.values()], _FACTS),
        pa.array([VERSION] * len(facts), pa.int32()),
    ]
    table.update(pa.Table.from_arrays(columns, names=["doc_id", *FACT_COLUMNS]))


def refresh_facts(table: DocumentTable, doc_ids: Sequence[str]) -> None:
    """Store the facts of documents as this version finds them; those of a model stay."""
    rows = table.rows(doc_ids, FACT_SOURCES).to_pylist()
    store_facts(table, {row["doc_id"]: facts_of(row) for row in rows})


def all_facts(table: DocumentTable) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    """(doc_id, facts) of every document, in stored order."""
    for batch in table.columns(["doc_id", *FACT_SOURCES]):
        for row in batch.to_pylist():
            yield row["doc_id"], facts_of(row)


def flat_facts(table: DocumentTable) -> tuple[NDArray[np.intp], pa.StructArray]:
    """The facts (f,) of all documents as :data:`FACT_TYPE`, and their documents' rows."""
    rows, flat, before = [np.zeros(0, np.intp)], [], 0
    for lists in _fact_lists(table):
        rows.append(pc.list_parent_indices(lists).to_numpy().astype(np.intp) + before)
        flat.append(pc.list_flatten(lists))
        before += len(lists)
    return np.concatenate(rows), pa.chunked_array(flat, FACT_TYPE).combine_chunks()


def _fact_lists(table: DocumentTable) -> Iterator[pa.ListArray]:
    versions = (batch["facts_version"] for batch in table.columns(["facts_version"]))
    if all(pc.all(pc.equal(version, VERSION)).as_py() for version in versions):
        yield from (batch["facts"] for batch in table.columns(["facts"]))
        return
    for batch in table.columns(FACT_SOURCES):
        found = [[_to_row(fact) for fact in facts_of(row)] for row in batch.to_pylist()]
        yield pa.array(found, _FACTS)


def _to_row(fact: Fact) -> dict[str, Any]:
    anchor = fact.anchor or (None, None)
    return {
        **{name: getattr(fact, name) for name in _PLAIN},
        "start": fact.span[0],
        "end": fact.span[1],
        "anchor_start": anchor[0],
        "anchor_end": anchor[1],
        "about": list(fact.about),
    }


def _from_row(row: Mapping[str, Any]) -> Fact:
    start, end = row["anchor_start"], row["anchor_end"]
    return Fact(
        **{name: row[name] for name in _PLAIN},
        span=(row["start"], row["end"]),
        anchor=None if start is None else (start, end),
        about=tuple(row["about"]),
    )


_PLAIN = {*_TYPES} - {"start", "end", "anchor_start", "anchor_end", "about"}


@functools.lru_cache(maxsize=256)
def facts_of_query(text: str) -> tuple[Fact, ...]:
    """The facts that a query states; it has no date."""
    return find_facts(text, None)


def stated_in(text: str) -> tuple[Span, ...]:
    """Where a query states its facts."""
    return tuple(fact.span for fact in facts_of_query(text))
