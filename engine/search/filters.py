"""Filters as people write them: ``venue=ACL|EMNLP; year>=2010``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.errors import BadInputError, UnknownNameError
from engine.text import counted
from engine.types.limits import LONGEST_FILTERS, MOST_FILTERS
from engine.types.searches import FIELD_MARKS, Filter, separated, unescaped

if TYPE_CHECKING:
    from engine.corpora.opened import OpenCorpus  # importing LanceDB takes a second

MOST_NAMED = 5
"""Documents that a message names."""
_FILTER = re.compile(r"((?:\\.|[^<>=\\])+)(>=|<=|=)(.*)", re.DOTALL)


def parse_filter(text: str) -> Filter:
    """Read ``year>=2010`` or ``venue=ACL|EMNLP``; everything after the sign are the values.

    >>> str(parse_filter("year >= 2010"))
    'year>=2010'
    """
    match = _FILTER.fullmatch(text)
    field, op, said = (part.strip() for part in match.groups()) if match else ("", "", "")
    values = separated(said, "|")
    if not field or not values:
        raise BadInputError(
            f"The filter '{text}' cannot be read.",
            "Write field=value, field=one|another, year>=2010 or year<=2020.",
        )
    field = unescaped(field, FIELD_MARKS)
    return Filter.any_of(field, map(unescaped, values), op=op)  # type: ignore[arg-type]


def parse_filters(text: str) -> tuple[Filter, ...]:
    """Read filters between semicolons, all of which must hold, as links have them."""
    if len(text) > LONGEST_FILTERS:
        raise BadInputError(
            f"The filters have {len(text):,} characters; at most {LONGEST_FILTERS:,} are read.",
            "Choose fewer values.",
        )
    parts = separated(text, ";")
    if len(parts) > MOST_FILTERS:
        raise BadInputError(
            f"There are {len(parts):,} filters; at most {MOST_FILTERS} are read.",
            "Write several values of a field as one filter: venue=ACL|EMNLP.",
        )
    return tuple(map(parse_filter, parts))


def check_held(corpus: OpenCorpus, doc_ids: Sequence[str]) -> None:
    """Refuse a selection of no document, or of documents that the corpus does not have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not doc_ids:
        raise BadInputError("The selection has no document.", "Select at least one.")
    asked = pa.array(doc_ids, pa.string())
    known = pc.is_in(asked, value_set=corpus.doc_ids.array)
    unknown = asked.filter(pc.invert(known)).to_pylist()
    if unknown:
        named = ", ".join(repr(doc_id) for doc_id in unknown[:MOST_NAMED])
        more = len(unknown) - MOST_NAMED
        raise UnknownNameError(
            f"The corpus '{corpus.name}' does not have {counted(len(unknown), 'document')} of the "
            f"selection: {named}{f' and {more:,} more' if more > 0 else ''}.",
            "Check the ids: they are the doc_id that the import read.",
        )
