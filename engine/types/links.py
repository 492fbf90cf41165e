"""Where the paper behind a document can be read: the one place that decides what may be a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, urlsplit, urlunsplit

from engine.bibliographic import doi_of
from engine.types.documents import Document
from engine.types.limits import LINK_CHARS

_UNSAFE = re.compile(r"[\s\x00-\x1f\x7f\\]")
"""What browsers drop or turn into something else before they read the scheme or the host."""
_FIELDS = ("doi", "url", "link", "href")
"""Metadata that may hold an address, where the document's own ``url`` has none."""


def paper_link(document: Document) -> str | None:
    """The web address of the paper that a document stands for; None where it has none.

    Its ``url`` comes first, then the metadata fields ``doi``, ``url``, ``link`` and ``href``
    (any case).

    >>> paper_link(Document("a", "", "", (), metadata={"DOI": "doi:10.18653/v1/N18-3011"}))
    'https://doi.org/10.18653/v1/N18-3011'
    """
    return next(filter(None, map(web_address, _candidates(document))), None)


def web_address(text: str) -> str | None:
    """A text as an address that a page may link to; None for anything else.

    A DOI, bare, after ``doi:`` or as an address, becomes ``https://doi.org/...``. Otherwise only
    ``http`` and ``https`` with a host pass: no other scheme, no address without one, no space or
    control character in it, no user name before the host, and no more than
    :data:`~engine.types.limits.LINK_CHARS` characters. A host in other letters than Latin is
    given in its ASCII form, so that a look-alike can be told.

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


def _candidates(document: Document) -> Iterator[str]:
    if document.url:
        yield document.url
    named = {name.casefold(): value for name, value in document.metadata.items()}
    for name in _FIELDS:
        if isinstance(named.get(name), str):
            yield named[name]
