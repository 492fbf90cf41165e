"""ROUGE-1 recall: how much of a reference answer an answer says."""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Burmese, Khmer, kana, Chinese characters: written without blanks between words."""


def rouge_1_recall(answer: str, reference: str) -> float:
    """The share of the reference's words that the answer has, each as often as it has it.

    ``sum(min(count in answer, count in reference)) / words of the reference``, by the package
    ``rouge-score``, without stemming. Lin, ROUGE (2004).

    Returns:
        0 to 1; 0 for a reference without words.

    >>> rouge_1_recall("It is the Nothing phone of 2019.", "Nothing 2019 model")
    0.6666666666666666
    """
    score = _scorer().score(reference, answer)["rouge1"]
    return float(score.recall)


class UnicodeWords:
    """Words of any script. For ASCII they are the package's own, which knows no other."""

    def tokenize(self, text: str) -> list[str]:
        """Lower-case words; each sign by itself where a script leaves no blanks.

        >>> UnicodeWords().tokenize("Zoë paid $1,950 in 東京.")
        ['zoë', 'paid', '1', '950', 'in', '東', '京']
        """
        spread = _UNSPACED.sub(lambda sign: f" {sign[0]} ", unicodedata.normalize("NFKC", text))
        return _WORD.findall(spread.lower())


@functools.cache
def _scorer() -> RougeScorer:
    from rouge_score.rouge_scorer import RougeScorer  # over a second: it loads nltk

    return RougeScorer(["rouge1"], tokenizer=UnicodeWords())
