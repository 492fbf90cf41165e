"""Values of bibliographic records, in files and from services alike: DOIs, years, and texts with
the markup of databases."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import unquote

_YEAR = re.compile(r"(?<!\d)([12]\d{3})(?!\d)")
_COMPACT_DATE = re.compile(r"([12]\d{3})\d{4}\Z")
_DOI = re.compile(r"10\.\d{4,9}/(?:[^\s\"<>]|<\d[^\s\"<>/]*>)+")
"""Older ones hold parts in angle brackets: ``10.1175/1520-0469(1963)020<0130:DNF>2.0.CO;2``."""
_LONGEST = 2_000
"""Characters of a value in which a DOI is looked for; decoding takes a hundred times their size."""
_INDEXED = 8_000_000
"""Characters of an abstract that is made of an index of words."""
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_TAG = re.compile(r"</?(?:i|b|u|em|strong|sub|sup|p|br|scp|jats:[a-z]+)\s*/?>", re.IGNORECASE)


def doi_in(value: Any) -> str | None:
    """The DOI in a text or link, in lower case (DOIs ignore it); None when there is none.

    >>> doi_in("https://doi.org/10.1000/ABC.7"), doi_in("(see 10.1016/0167-2789(92)90242)")
    ('10.1000/abc.7', '10.1016/0167-2789(92)90242')
    """
    if not isinstance(value, str):
        return None
    value = value[:_LONGEST]
    match = _DOI.search(unquote(value) if "doi.org/" in value else value)
    if match is None:
        return None
    found = match.group()
    end, open_ = len(found), found.count("(") - found.count(")")
    while found[end - 1] in ".,;]}" or (found[end - 1] == ")" and open_ < 0):
        end -= 1
        open_ += found[end] == ")"
    return found[:end].lower()


def year_in(value: Any) -> int | None:
    """The four-digit year in a number, date or text (1000 to 2999); None when there is none."""
    if isinstance(value, date):
        return value.year
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    match = _YEAR.search(text) or _COMPACT_DATE.match(text)
    return int(match.group(1)) if match else None


def abstract_of(index: Any) -> str:
    """The text that an index of words stands for, as OpenAlex has it; "" where there is none.

    >>> abstract_of({"the": [0, 2], "more": [1], "better": [3]})
    'the more the better'
    """
    if not isinstance(index, Mapping):
        return ""
    lists = [(word, places) for word, places in index.items() if isinstance(places, list)]
    if sum((len(word) + 1) * len(places) for word, places in lists) > _INDEXED:
        return ""  # a short answer can stand for a text that fills the memory
    placed = [
        (place, str(word)) for word, places in lists for place in places if isinstance(place, int)
    ]
    placed.sort(key=lambda pair: pair[0])
    return " ".join(word for _, word in placed)


def unescaped(text: str) -> str:
    """A text in which character references of HTML have become characters.

    >>> unescaped("K. M&uuml;ller &lt; 5 &#x2030;")
    'K. Müller < 5 ‰'
    """
    return _ENTITY.sub(lambda found: html.unescape(found.group()), text)


def without_markup(value: Any, corrected: set[str]) -> Any:
    """A text without the HTML that exports of databases leave in it; all else as it is.

    Character references become characters, tags that only format are taken out; other tags stay.

    Args:
        corrected: receives ``markup`` when there was any.

    >>> without_markup("<i>E. coli</i> &amp; K. M&uuml;ller, a < b, AT&T", set())
    'E. coli & K. Müller, a < b, AT&T'
    """
    if not isinstance(value, str) or value.lstrip().startswith(("[", "{")):
        return value  # a list or object as JSON has quotes of its own
    plain = _TAG.sub("", unescaped(value))
    if plain != value:
        corrected.add("markup")
    return plain
