"""Filters as people write them: ``venue=ACL|EMNLP; year>=2010``."""

from __future__ import annotations

import re

from engine.errors import BadInputError
from engine.types.searches import Filter, separated, unescaped

_FILTER = re.compile(r"\s*([^<>=]+?)\s*(>=|<=|=)\s*(.*?)\s*", re.DOTALL)


def parse_filter(text: str) -> Filter:
    """Read ``year>=2010`` or ``venue=ACL|EMNLP``; everything after the sign are the values.

    >>> str(parse_filter("year >= 2010"))
    'year>=2010'
    """
    match = _FILTER.fullmatch(text)
    values = separated(match[3], "|") if match else []
    if match is None or not values:
        raise BadInputError(
            f"The filter '{text}' cannot be read.",
            "Write field=value, field=one|another, year>=2010 or year<=2020.",
        )
    return Filter.any_of(match[1], map(unescaped, values), op=match[2])  # type: ignore[arg-type]


def parse_filters(text: str) -> tuple[Filter, ...]:
    """Read filters between semicolons, all of which must hold, as links have them."""
    return tuple(map(parse_filter, separated(text, ";")))
