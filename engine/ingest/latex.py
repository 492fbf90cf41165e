"""LaTeX markup of bibliographies as plain text."""

from __future__ import annotations

import re
from contextlib import suppress

from pylatexenc.latex2text import LatexNodes2Text  # type: ignore[import-untyped]
from pylatexenc.latexwalker import LatexWalkerError  # type: ignore[import-untyped]

_DECODER = LatexNodes2Text(math_mode="verbatim", keep_braced_groups=False)
# In an abstract "50% of" is words, though LaTeX would drop the rest of the line.
_LITERAL = re.compile(r"(?<!\\)([%&#])")
_BRACE = re.compile(r"(?<!\\)[{}]")


def plain(text: str) -> str:
    r"""Text without LaTeX: accents decoded, braces dropped, math as it is, ends trimmed.

    >>> plain(r"{BERT} f{\"u}r 50% of \textit{all}")
    'BERT für 50% of all'
    """
    if "\\" in text:
        # When it is not LaTeX after all, the words as they stand are better than none.
        with suppress(LatexWalkerError, ValueError, IndexError, RecursionError):
            text = _DECODER.latex_to_text(_LITERAL.sub(r"\\\1", text))
    # Decoding every abstract costs 9 ms per 1,000 characters, so most take this way only.
    text = unbraced(text).replace("~", " ").replace("\N{NO-BREAK SPACE}", " ")
    text = text.replace("---", "\N{EM DASH}").replace("--", "\N{EN DASH}")
    text = text.replace("``", "\N{LEFT DOUBLE QUOTATION MARK}")
    text = text.replace("''", "\N{RIGHT DOUBLE QUOTATION MARK}")
    return re.sub(r"\s+", " ", text).strip()


def unbraced(text: str) -> str:
    """Text without its (unescaped) braces."""
    return _BRACE.sub("", text)
