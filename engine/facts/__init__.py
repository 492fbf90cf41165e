"""Facts that a text states or implies, found without a model.

One module per kind of fact (:mod:`.dates`, :mod:`.amounts`, :mod:`.places`), each with a pure
function from a text to facts; :mod:`.fact_index` says which facts answer which.
"""

from __future__ import annotations

from datetime import date

from engine.facts.amounts import find_amounts
from engine.facts.dates import find_dates
from engine.facts.places import find_places
from engine.types.documents import Fact

VERSION = 1
"""Grows with every change of what is found; facts stored by another version are found again."""


def find_facts(text: str, document_date: date | None = None) -> tuple[Fact, ...]:
    """Dates, amounts and places that ``text`` states or implies, in reading order."""
    facts = (*find_dates(text, document_date), *find_amounts(text), *find_places(text))
    return tuple(sorted(facts, key=lambda fact: fact.span))
