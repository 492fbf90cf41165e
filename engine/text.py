"""Words for people: numbers with what they count, Markdown, cells of spreadsheets."""

from __future__ import annotations

import re
from urllib.parse import quote


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts, in the singular for 1.

    >>> counted(1, "call"), counted(1200, "call")
    ('1 call', '1,200 calls')
    >>> counted(1, "query was", "queries were"), counted(0, "query was", "queries were")
    ('1 query was', '0 queries were')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def noted(*notes: tuple[int, str, str]) -> tuple[str, ...]:
    """Sentences on numbers that are not 0: the number, what it counts, and the rest.

    >>> noted((2, "item is/items are", "left out."), (0, "item has/items have", "no text."))
    ('2 items are left out.',)
    """
    said = ((number, what.split("/"), rest) for number, what, rest in notes if number)
    return tuple(f"{counted(number, *what)} {rest}" for number, what, rest in said)


def size(count: int) -> str:
    """Bytes as people say them.

    >>> size(12_345_678), size(999)
    ('12.3 MB', '999 B')
    """
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""What a spreadsheet takes for the beginning of a formula."""


def spreadsheet_cell(text: str) -> str:
    """A text that is no formula in a spreadsheet: an apostrophe stands before what would be one.

    >>> spreadsheet_cell("=HYPERLINK(A1)"), spreadsheet_cell("-0.25"), spreadsheet_cell("a = b")
    ("'=HYPERLINK(A1)", '-0.25', 'a = b')
    """
    if not _FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def escaped_address(address: str) -> str:
    """An address of ASCII letters, digits and the signs of addresses alone: no bracket, brace,
    quote or backslash of it ends a link in Markdown or a field in BibTeX.

    >>> escaped_address("https://example.org/a>b{c}?d=1%20")
    'https://example.org/a%3Eb%7Bc%7D?d=1%20'
    """
    return quote(address, safe="%/:?#[]@!$&'()*+,;=~")


_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
_MARKUP = _CONTROLS | {ord(sign): f"\\{sign}" for sign in "\\`*_{}[]<>#|!~$&"}


def plain(text: str, *, lines: bool = False) -> str:
    """A text without markup, links, lists or control characters; on one line, unless ``lines``.

    >>> plain("1. A *b*, www.x.org")
    '1\\\\. A \\\\*b\\\\*, www\\\\.x.org'
    """
    words = (text if lines else " ".join(text.split())).translate(_MARKUP)
    words = re.sub(r":(?=//)", r"\:", re.sub(r"(?i)\b(www)\.", r"\1\.", words))
    return re.sub(r"(?m)^(\d*)([-+=.)])", r"\1\\\2", words)
