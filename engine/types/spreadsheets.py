"""Texts in tables that a spreadsheet program opens."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""What a spreadsheet takes for the beginning of a formula."""
_MARKED = re.compile(r"'(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")


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


def plain_cell(text: str) -> str:
    """The text of a cell that :func:`spreadsheet_cell` made.

    >>> plain_cell("'=1+1"), plain_cell("'tis")
    ('=1+1', "'tis")
    """
    return _MARKED.sub("", text, count=1) if text.startswith("'") else text
