"""Words for people: numbers with what they count, links, Markdown, cells of spreadsheets."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit, urlunsplit

from engine.bibliographic import doi_of


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts, in the singular for 1.

    >>> counted(1, "call"), counted(1200, "call")
    ('1 call', '1,200 calls')
    >>> counted(1, "query was", "queries were"), counted(0, "query was", "queries were")
    ('1 query was', '0 queries were')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


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


LINK_CHARS = 2_000  # in every list of results; browsers take little more
_UNSAFE = re.compile(r"[\s\x00-\x1f\x7f\\]")
"""What browsers drop or turn into something else before they read the scheme or the host."""


def web_address(text: str) -> str | None:
    """A text as an address that a page may link to; None for anything else.

    A DOI becomes ``https://doi.org/...``. Otherwise ``http`` and ``https`` with a host pass; no
    spaces, control characters or user name, at most `LINK_CHARS` characters. The host is in ASCII
    form, so that look-alikes of other alphabets show.

    >>> web_address("10.1000/182")
    'https://doi.org/10.1000/182'
    >>> web_address("javascript:alert(1)")
    """
    text = text.strip()
    if len(text) > LINK_CHARS:
        return None
    if doi := doi_of(text):
        return "https://doi.org/" + quote(doi, safe="/:;()._-~+,=@!*'%")
    if _UNSAFE.search(text):
        return None
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").encode("idna").decode("ascii")
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:  # UnicodeError is one: no such host or port
        return None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return None
    if ":" in host:
        host = f"[{host}]"
    return urlunsplit((parts.scheme, host + port, parts.path, parts.query, parts.fragment))


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


def link(url: str) -> str:
    """A web address as a link that cannot end its own brackets; any other text as words."""
    address = web_address(url)
    return f"<{escaped_address(address)}>" if address else plain(url)
