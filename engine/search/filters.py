"""Filters as people write them: ``venue=ACL|EMNLP; year>=2010``."""

from __future__ import annotations

import re

from engine.errors import BadInputError
from engine.types.limits import LONGEST_FILTERS
from engine.types.searches import Filter, separated, unescaped

_FILTER = re.compile(r"([^<>=]+)(>=|<=|=)(.*)", re.DOTALL)


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
    return Filter.any_of(field, map(unescaped, values), op=op)  # type: ignore[arg-type]


def parse_filters(text: str) -> tuple[Filter, ...]:
    """Read filters between semicolons, all of which must hold, as links have them.

    Raises:
        BadInputError: they are too long, or one cannot be read.
    """
    if len(text) > LONGEST_FILTERS:
        raise BadInputError(
            f"The filters have {len(text):,} characters; at most {LONGEST_FILTERS:,} are read.",
            "Choose fewer values.",
        )
    return tuple(map(parse_filter, separated(text, ";")))
