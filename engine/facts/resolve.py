"""All facts of a text."""

from __future__ import annotations

from datetime import date

from engine.facts.amounts import find_amounts
from engine.facts.places import find_places
from engine.facts.resolving import find_dates
from engine.types.facts import Fact

VERSION = 1
"""Grows with every change of what is found; facts stored by another version are found anew."""


def find_facts(text: str, document_date: date | None = None) -> tuple[Fact, ...]:
    """Dates, amounts and places that ``text`` states or implies, in reading order.

    Args:
        document_date: when the document was written, where its metadata say so.
    """
    found = (*find_dates(text, document_date), *find_amounts(text), *find_places(text))
    return tuple(sorted(found, key=lambda fact: fact.span))
