"""LaTeX markup of bibliographies as plain text."""

from __future__ import annotations

import logging
import re
from contextlib import suppress

from pylatexenc.latex2text import LatexNodes2Text  # type: ignore[import-untyped]
from pylatexenc.latexwalker import LatexWalkerError  # type: ignore[import-untyped]

# It warns of each command that has no argument: megabytes for a file.
logging.getLogger("pylatexenc").setLevel(logging.ERROR)
_DECODER = LatexNodes2Text(math_mode="verbatim", keep_braced_groups=False)
# In an abstract "50% of" is words, though LaTeX would drop the rest of the line.
_LITERAL = re.compile(r"(?<!\\)([%&#])")
_BRACE = re.compile(r"(?<!\\)[{}]")
# Signs that decoding, or the steps after it, would lose; in math they stay as they are written.
_SIGNS = {
    "{": "{", "}": "}", "textbraceleft": "{", "textbraceright": "}", "textasciitilde": "~",
    "textasciicircum": "^", "textless": "<", "textgreater": ">", "textbar": "|",
}  # fmt: skip
_SIGN = re.compile(
    r"\\\\|(?<!\\)\$[^$]*(?<!\\)\$|\\(?P<brace>[{}])|"
    rf"\\(?P<word>{'|'.join(name for name in _SIGNS if len(name) > 1)})(?![A-Za-z])(?:\{{\}}| )?"
)
_STAND_INS = {sign: chr(0xE000 + i) for i, sign in enumerate(dict.fromkeys(_SIGNS.values()))}
"""Sign -> what stands for it while a text is decoded, of Unicode's private use."""
_BACK = str.maketrans({stand_in: sign for sign, stand_in in _STAND_INS.items()})


def plain(text: str) -> str:
    r"""Text without LaTeX: accents decoded, braces dropped, math as it is, ends trimmed.

    >>> plain(r"{BERT} f{\"u}r 50% of \textit{all}")
    'BERT für 50% of all'
    """
    if "\\" in text:
        text = _SIGN.sub(_stand_in, text)
        # When it is not LaTeX after all, the words as they stand are better than none.
        with suppress(LatexWalkerError, ValueError, IndexError, RecursionError):
            text = _DECODER.latex_to_text(_LITERAL.sub(r"\\\1", text))
    # Decoding every abstract costs 9 ms per 1,000 characters, so most take this way only.
    text = unbraced(text).replace("~", " ").replace("\N{NO-BREAK SPACE}", " ")
    text = text.replace("---", "\N{EM DASH}").replace("--", "\N{EN DASH}")
    text = text.replace("``", "\N{LEFT DOUBLE QUOTATION MARK}")
    text = text.replace("''", "\N{RIGHT DOUBLE QUOTATION MARK}")
    return re.sub(r"\s+", " ", text).strip().translate(_BACK)


def _stand_in(found: re.Match[str]) -> str:
    name = found["brace"] or found["word"]
    return _STAND_INS[_SIGNS[name]] if name else found[0]


def unbraced(text: str) -> str:
    """Text without its (unescaped) braces."""
    return _BRACE.sub("", text)
