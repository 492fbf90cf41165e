"""Amounts that are said to have changed: "rose 10 percent to 550 euros", "doubled to 3 billion"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.text.facts.units import Quantity
from engine.types.documents import Span

_CHANGE = re.compile(
    r"\b(?:(?P<up>rose|rises?|risen|increase[sd]?|grew|grows?|climb(?:s|ed)|jump(?:s|ed)|went up|up"
    r")|(?P<down>fell|falls?|drop(?:s|ped)|decline[sd]?|decrease[sd]?|sank|went down|down))"
    r"(?:\s+by)?\s+$",
    re.IGNORECASE,
)
_MULTIPLIED = re.compile(r"\b(?P<word>doubled|tripled|halved|quadrupled)\s+to\s+$", re.IGNORECASE)
_MULTIPLES = {"doubled": 2.0, "tripled": 3.0, "halved": 0.5, "quadrupled": 4.0}


def find_change(
    text: str, quantity: Quantity, quantities: Sequence[Quantity]
) -> tuple[float, Span] | None:
    """By what factor ``quantity`` differs from what it was, and the words that say so.

    Args:
        text: that the amounts stand in.
        quantity: the amount after the change.
        quantities: all amounts of the text, percentages among them.

    Returns:
        a factor above 0; None when no change is spoken of, or nothing was left.

    >>> from engine.text.facts.units import find_quantities
    >>> text = "Oil fell 20 percent to 80 dollars."
    >>> percent, price = find_quantities(text)
    >>> find_change(text, price, (percent, price))
    (0.8, (4, 19))
    """
    start = quantity.span[0]
    multiplied = _MULTIPLIED.search(text, max(0, start - 60), start)
    if multiplied:
        return _MULTIPLES[multiplied["word"].lower()], (multiplied.start(), start)
    if text[max(0, start - 4) : start] != " to ":
        return None
    percent = next((one for one in quantities if one.span[1] == start - 4), None)
    if percent is None or percent.dimension != "percent":
        return None
    change = _CHANGE.search(text, max(0, percent.span[0] - 24), percent.span[0])
    if change is None:
        return None
    factor = 1 + (1 if change["up"] else -1) * percent.low / 100
    return (factor, (change.start(), percent.span[1])) if factor > 0 else None
