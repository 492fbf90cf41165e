"""Filters as conditions on stored rows."""

from __future__ import annotations

import re

from engine.columns import facet
from engine.errors import BadInputError
from engine.types import Filter
from storage.records import Condition


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
