"""ROUGE-1 recall: how much of a reference answer an answer says."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Burmese, Khmer, kana, Chinese characters: written without blanks between words."""

_PIECE = re.compile(r"\w+\W{0,30}|\W{1,30}")
"""What is normalised at a time: letters with the marks and signs after them. To sort the marks of a
letter takes the square of their number; no word has more than 30 (UAX 15, stream-safe text)."""


def rouge_1_recall(answer: str, reference: str) -> float:
    """The share of the reference's words that the answer has, each as often as it has it.

    ``sum(min(count in answer, count in reference)) / words of the reference``, without stemming.
    Lin, ROUGE (2004).

    Returns:
        0 to 1; 0 for a reference without words.

    >>> rouge_1_recall("It is the Nothing phone of 2019.", "Nothing 2019 model")
    0.6666666666666666
    """
    wanted = Counter(tokenize(reference))
    return (wanted & Counter(tokenize(answer))).total() / (wanted.total() or 1)


def tokenize(text: str) -> list[str]:
    """Lower-case words; each sign by itself where a script leaves no blanks.

    >>> tokenize("Zoë paid $1,950 in 東京.")
    ['zoë', 'paid', '1', '950', 'in', '東', '京']
    """
    composed = "".join(unicodedata.normalize("NFKC", piece) for piece in _PIECE.findall(text))
    spread = _UNSPACED.sub(lambda sign: f" {sign[0]} ", composed)
    return _WORD.findall(spread.lower())
