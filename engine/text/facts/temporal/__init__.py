"""Dates that a text states or implies: absolute, relative, ranges and what recurs."""

from __future__ import annotations

from datetime import date

from engine.text.facts.temporal.resolving import Resolver, as_fact
from engine.types.facts import Fact


def find_dates(text: str, document_date: date | None = None) -> tuple[Fact, ...]:
    """Find the dates that ``text`` states or implies.

    Relative expressions are resolved against the nearest proper anchor: the time stamp of their
    message for what counts from the time of writing ("two days ago"), the date told last for
    what counts from a date ("the following morning"), the date of a named event ("a fortnight
    before the launch"), else ``document_date``. What has no anchor, is impossible or can be read
    in two ways is no fact.

    Returns:
        in order of their place; a stretch of days is one fact. The time stamps of messages are
        among them, with a confidence of 0.5.

    >>> written, ran = find_dates("2024-02-29 09:01, Ann: I ran two days ago")
    >>> ran.text, ran.derivation
    ('27 February 2024', "'two days ago' in a message of 29 February 2024")
    """
    return tuple(as_fact(text, resolved) for resolved in Resolver(text, document_date).resolve())
