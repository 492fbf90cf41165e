"""LaTeX markup of bibliographies as plain text."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from typing import Any

from pylatexenc import latex2text, latexwalker, macrospec  # type: ignore[import-untyped]

from engine.bibliographic import composed

# It warns of each command that has no argument: megabytes for a file.
logging.getLogger("pylatexenc").setLevel(logging.ERROR)
_WORDS = {
    "LaTeX": "LaTeX", "TeX": "TeX", "BibTeX": "BibTeX", "LaTeXe": "LaTeX2e", "XeTeX": "XeTeX",
    "pounds": "£", "textsterling": "£", "euro": "€", "EUR": "€", "texteuro": "€",
    "copyright": "©", "S": "§", "P": "¶", "degree": "°", "micro": "µ",
    "textbackslash": "\\", "n": " ", "textless": "<", "textgreater": ">", "textbar": "|",
    "textasciicircum": "^", "textbraceleft": "{", "textbraceright": "}",
    "aap": "Astronomy and Astrophysics", "aapr": "Astronomy and Astrophysics Reviews",
    "aj": "The Astronomical Journal", "apj": "The Astrophysical Journal",
    "apjl": "The Astrophysical Journal Letters", "araa": "Annual Review of Astronomy and "
    "Astrophysics", "apjs": "The Astrophysical Journal Supplement Series", "nat": "Nature",
    "jcap": "Journal of Cosmology and Astroparticle Physics", "pra": "Physical Review A",
    "mnras": "Monthly Notices of the Royal Astronomical Society", "prb": "Physical Review B",
    "pasp": "Publications of the Astronomical Society of the Pacific", "prc": "Physical Review C",
    "pasj": "Publications of the Astronomical Society of Japan", "prd": "Physical Review D",
    "jgr": "Journal of Geophysical Research", "icarus": "Icarus", "pre": "Physical Review E",
    "prl": "Physical Review Letters", "solphys": "Solar Physics", "ssr": "Space Science Reviews",
}  # fmt: skip
"""Commands that stand for words, those of journals as ADS and the AAS write them."""


def _kept(node: Any, l2tobj: Any) -> str:
    """The words of a command, or what its last argument says; of an unknown one the latter."""
    arguments: list[Any] = list(getattr(node.nodeargd, "argnlist", None) or ())
    if hasattr(node.nodeargd, "verbatim_text"):
        return str(node.nodeargd.verbatim_text)
    if node.macroname in _WORDS:
        word = _WORDS[node.macroname]
        return word + node.macro_post_space if word.isalpha() and word.isascii() else word
    if any(arguments):
        return str(l2tobj.nodelist_to_text([arguments[-1]]))
    behind = node.parsing_state.s[node.pos + node.len :][:1]
    # A line break of other programs, "A\nsurvey", is no command.
    is_break = node.macroname.startswith("n") and len(node.macroname) > 2 and behind != "{"
    return f" {node.macroname[1:]}{node.macro_post_space}" if is_break else ""


_PARSED = latexwalker.get_default_latex_context_db()
_PARSED.add_context_category(
    "bibliographies",
    prepend=True,
    macros=[macrospec.std_macro("enquote", "*{"), macrospec.std_macro("href", "{{")],
)
_MEANT = latex2text.get_default_latex_context_db()
_MEANT.add_context_category(
    "bibliographies",
    prepend=True,
    macros=[latex2text.MacroTextSpec(name, _kept) for name in (*_WORDS, "url", "href", "enquote")],
)
_MEANT.set_unknown_macro_spec(latex2text.MacroTextSpec("", _kept))
_DECODER = latex2text.LatexNodes2Text(
    latex_context=_MEANT, math_mode="verbatim", keep_braced_groups=False
)
_ACCENT = r"\\(?:['`^\"~=.]|[uvHcdbkr](?![A-Za-z]))"
_STACKED = re.compile(rf"({_ACCENT})\s*({_ACCENT}\s*(?:\{{[^{{}}]*\}}|\\[ij](?![A-Za-z])|\w))")
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
        with suppress(latexwalker.LatexWalkerError, ValueError, IndexError, RecursionError):
            escaped = _STACKED.sub(r"\1{\2}", _LITERAL.sub(r"\\\1", text))
            decoded = composed(_DECODER.latex_to_text(escaped, latex_context=_PARSED))
            return " ".join(decoded.split()) or unbraced(text).strip()
    # Decoding every abstract costs 9 ms per 1,000 characters, so most take this way only.
    text = unbraced(text).replace("~", " ")
    text = text.replace("---", "\N{EM DASH}").replace("--", "\N{EN DASH}")
    text = text.replace("``", "\N{LEFT DOUBLE QUOTATION MARK}")
    text = text.replace("''", "\N{RIGHT DOUBLE QUOTATION MARK}")
    return " ".join(text.split())


def unbraced(text: str) -> str:
    """Text without its (unescaped) braces."""
    return _BRACE.sub("", text)
