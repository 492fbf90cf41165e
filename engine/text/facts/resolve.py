"""All facts of a text."""

from __future__ import annotations

from datetime import date
from importlib import import_module

from engine.types.facts import Fact

VERSION = 1
"""Grows with every change of what is found; facts stored by another version are found anew."""


def find_facts(text: str, document_date: date | None = None) -> tuple[Fact, ...]:
    """Dates, amounts and places that ``text`` states or implies, in reading order.

    Args:
        document_date: when the document was written, where its metadata say so.
    """
    found: list[Fact] = []
    for module, name, args in (
        ("temporal", "find_dates", (text, document_date)),
        ("amounts", "find_amounts", (text,)),
        ("places", "find_places", (text,)),
    ):
        try:
            found += getattr(import_module(f"engine.text.facts.{module}"), name)(*args)
        except (ImportError, AttributeError, SyntaxError):
            pass
    return tuple(sorted(found, key=lambda fact: fact.span))
