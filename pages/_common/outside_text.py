"""Text of documents, people and models as pages show it."""

from __future__ import annotations

import html
import re

_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the order of what follows, unseen: a text could read as another one."""
BIDI_MARK = "\u25ca"


def with_marks(text: str) -> str:
    r"""A text in which characters that turn its order are seen, one mark each.

    >>> with_marks("paid \u202e001")
    'paid ◊001'
    """
    return _BIDI.sub(BIDI_MARK, text)


def escape(text: str) -> str:
    """A text as HTML, in which it is text: with :func:`with_marks`."""
    return html.escape(with_marks(text))
