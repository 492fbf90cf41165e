"""Texts as Markdown that shows them as they are."""

from __future__ import annotations

import re

from engine.types.documents import Document
from engine.types.links import escaped_address, web_address

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


def reference(document: Document, url: str | None) -> str:
    """Title, year, authors and address of a document, on one line."""
    title = document.title or document.text[:80] or document.doc_id
    year = f" ({document.year})" if document.year else ""
    people = f" {plain(', '.join(document.authors))}." if document.authors else ""
    return f"{plain(title)}{year}.{people}{f' {link(url)}' if url else ''}"
