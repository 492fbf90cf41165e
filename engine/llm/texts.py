"""Texts as a model gets to see them: within a budget of tokens, fenced, and harmless.

Documents are foreign texts, hence data: fences carry a code made of the text, so that no text can
close its own fence, and signs of chat templates, answers and fences are broken up.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from engine.config import ASSETS
from engine.sentences import split_sentences
from engine.types.documents import Document

PROMPTS: dict[str, str] = tomllib.loads((ASSETS / "prompts.toml").read_text(encoding="utf-8"))
"""System messages of questions, by name."""
CHARS_PER_TOKEN = 3.6
"""Of Latin script, on the low side (English prose has some 4.5): rather too many tokens than
too few, for an estimate guards the budget and the context."""
TOKENS_PER_SIGN = 1.2  # Of other scripts, on the high side
CUT = "[...]"
_TEMPLATE = re.compile(r"<(?=[|/a-zA-Z｜])|\[(?=/?(?:INST|SYS)\b)")
_INVISIBLE = ("Cc", "Cf", "Co", "Cs")
"""Controls, direction marks, "tag" letters that only machines see, halves of surrogate pairs."""
_JOINERS = "\n\t\u200c\u200d"
"""Of those, what Persian, Indic scripts and emoji need."""
_LABEL = re.compile(r"\[(\d{1,4})\]")
_FENCE = re.compile(
    r"((?:^|[\u2028\u2029])(?:[^\S\n\u2028\u2029]|[\u200c\u200d])*)=(?:[\u200c\u200d]*=){2,}",
    re.MULTILINE,
)
"""What begins our own lines; white space and joiners, which a model may not see, hide none."""


class Cut(NamedTuple):
    """A text within its budget; ``cut`` when something had to go."""

    text: str
    cut: bool


def estimate_tokens(text: str) -> int:
    """Tokens of ``text``, rather too many than too few; for planning, not for billing.

    >>> estimate_tokens("a text of thirty-six characters, yes")
    10
    """
    latin = len(text.encode("ascii", errors="ignore"))
    return math.ceil(latin / CHARS_PER_TOKEN + (len(text) - latin) * TOKENS_PER_SIGN)


def cut_text(text: str, tokens: int) -> Cut:
    """The first sentences of ``text`` that fit into ``tokens``, at least part of the first one."""
    if estimate_tokens(text) <= tokens:
        return Cut(text, False)
    head = text[: max(0, int(tokens * CHARS_PER_TOKEN)) + 1]  # the rest cannot fit anyway
    room = tokens - estimate_tokens(CUT)
    ends = [end for _, end in split_sentences(head)[:-1]]  # the last one may be torn
    for end in reversed(ends):
        if estimate_tokens(head[:end]) <= room:
            return Cut(f"{head[:end]} {CUT}", True)
    return Cut(f"{_first_words(head, room)} {CUT}".strip(), True)


def _first_words(text: str, tokens: int) -> str:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if estimate_tokens(text[:middle]) <= tokens else (low, middle - 1)
        )
    kept = text[:low]
    return kept.rsplit(None, 1)[0] if len(kept.split()) > 1 else kept


def choose_sentences(
    sentences: Sequence[str], weights: Sequence[float], tokens: int
) -> tuple[list[int], bool]:
    """Numbers of the sentences that fit into ``tokens``, heaviest first, in the order of the text;
    and whether some were left out."""
    order = sorted(range(len(sentences)), key=lambda i: (-weights[i], i))
    chosen: list[int] = []
    left = tokens
    for number in order:
        size = estimate_tokens(sentences[number]) + 1
        if size > left:
            break  # a less important one that happens to fit would misrepresent the seed
        chosen.append(number)
        left -= size
    return sorted(chosen), len(chosen) < len(sentences)


def harmless(text: str) -> str:
    """``text`` without what could be taken for a chat template's command, a label or a fence.

    >>> harmless("<|im_end|> as shown in [12]")
    '< |im_end|> as shown in (12)'
    >>> harmless("=== end 0123456789abcdef ===")
    '= = end 0123456789abcdef ==='
    """
    printable = text
    if not text.replace(
        "\n", ""
    ).isprintable():  # most texts are, and this is a hundred times faster
        printable = "".join(
            c for c in text if c in _JOINERS or unicodedata.category(c) not in _INVISIBLE
        )
    printable = _FENCE.sub(r"\1= =", printable)  # last: what was left out may have split one
    return _LABEL.sub(r"(\1)", _TEMPLATE.sub(lambda sign: f"{sign[0]} ", printable))


def harmless_line(text: str) -> str:
    """``text`` on one line, and :func:`harmless`: a name or a sentence within a question.

    >>> harmless_line(" of two\\nlines ")
    'of two lines'
    """
    return " ".join(harmless(text).split())


def fenced(name: str, text: str) -> str:
    """``text`` between two lines with a code made of the text, equal for equal texts."""
    inside = harmless(text).strip()
    code = hashlib.sha256(f"{name}\n{inside}".encode()).hexdigest()[:16]
    return f"=== {name} {code} ===\n{inside}\n=== end {code} ==="


class Quoted:
    """A text in which quotes are looked up: its letters are read once.

    >>> Quoted("We fit a Bayesian  regression.").find("fit a bayesian regression")
    (3, 29)
    """

    def __init__(self, text: str) -> None:
        self._letters, self._places = _letters(text)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Character offsets ``[start, end)``, white space, case and typographic signs aside; None
        where it does not occur or has fewer than eight letters or digits."""
        wanted, _ = _letters(quote)
        at = self._letters.find(wanted) if len(wanted) >= 8 else -1
        return None if at < 0 else (self._places[at], self._places[at + len(wanted) - 1] + 1)


def _letters(text: str) -> tuple[str, list[int]]:
    """Letters and digits in lower case, and their offsets."""
    letters = [(low, i) for i, c in enumerate(text) if c.isalnum() for low in c.lower()]
    return "".join(c for c, _ in letters), [i for _, i in letters]


PART_TOKENS = 2400
"""A document is read in parts of at most this length, so that a long one gets as many scenarios
as it carries."""


def parts_of(document: Document, tokens: int = PART_TOKENS) -> list[str]:
    """The text of a document in parts of at most ``tokens``, cut between sentences; a longer
    sentence is one part."""
    parts: list[str] = []
    start = end = 0
    held = 0
    for sentence in document.sentences:
        size = estimate_tokens(sentence.text) + 1
        if held and held + size > tokens:
            parts.append(document.text[start:end])
            start, held = sentence.span[0], 0
        held, end = held + size, sentence.span[1]
    parts.append(document.text[start:end] if document.sentences else document.text)
    return [part.strip() for part in parts if part.strip()]
