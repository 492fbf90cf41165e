"""Which words of a query give its documents away."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

from engine.corpora.opened import OpenCorpus
from engine.corpora.term_index import stem
from engine.measures.rouge import tokenize
from engine.sentences import stop_words
from engine.types.builds import Overlap
from engine.types.documents import Document

COMMON = 0.2
"""A word in more than this share of the corpus's documents tells none of them: to search for it
leaves a fifth of the corpus. A word in less of a query's own documents is there by chance, ..."""
RARE = 0.005
"""... unless hardly any other document has it: then it is a detail that tells a single one."""
SAMPLE = 2000
"""Documents, evenly spread over the corpus, in which words are counted."""


class Vocabulary:
    """The words of one version of a corpus, read on first use. Safe to share between threads."""

    def __init__(self, corpus: OpenCorpus) -> None:
        self._corpus = corpus
        self._counted: Mapping[str, float] | None = None
        self._lock = Lock()

    @property
    def _shares(self) -> Mapping[str, float]:
        """Stem -> share of the corpus's documents that have it."""
        with self._lock:
            if self._counted is None:
                doc_ids = self._corpus.doc_ids
                sampled = doc_ids[:: max(1, -(-len(doc_ids) // SAMPLE))]
                counts = self._count(sampled)
                self._counted = {stem: count / len(sampled) for stem, count in counts.items()}
            return self._counted

    def _count(self, doc_ids: Sequence[str]) -> Counter[str]:
        """Stem -> how many of these documents have it."""
        counts: Counter[str] = Counter()
        known = [doc_id for doc_id in doc_ids if doc_id in self._corpus.row_of]
        for document in self._corpus.documents(known):
            counts.update(set(stems(_text(document)).values()))
        return counts

    def _tells(self, stem: str, count: int, documents: int) -> bool:
        """Whether a word that ``count`` of a query's documents have gives them away."""
        share = self._shares.get(stem, 0.0)
        return share <= COMMON and (count >= COMMON * documents or (count > 0 and share <= RARE))

    def overlap(self, query: str, doc_ids: Sequence[str]) -> Overlap:
        """How far a query gives these documents away; 0 for one without content words."""
        words, counts = stems(query), self._count(doc_ids)
        shared = {
            word: stem
            for word, stem in words.items()
            if counts[stem] and self._tells(stem, counts[stem], len(doc_ids))
        }
        different = set(words.values())
        share = len(set(shared.values())) / len(different) if different else 0.0
        return Overlap(share, tuple(shared))

    def telling(self, doc_ids: Sequence[str], most: int) -> list[str]:
        """Words that give these documents away, each as the shortest of its forms: first those
        that many of them have and few others."""
        counts: Counter[str] = Counter()
        shown: dict[str, str] = {}
        for document in self._corpus.documents([i for i in doc_ids if i in self._corpus.row_of]):
            stemmed = stems(_text(document))
            counts.update(set(stemmed.values()))
            for word, own in stemmed.items():
                shown[own] = min(shown.get(own, word), word, key=len)
        telling = [s for s, c in counts.items() if self._tells(s, c, len(doc_ids))]
        weights = {s: counts[s] * -math.log(self._shares.get(s, 0.0) + RARE) for s in telling}
        best = sorted(telling, key=lambda stem: -weights[stem])
        return [shown[stem] for stem in best[:most]]


def _text(document: Document) -> str:
    return f"{document.title}\n{document.text}"


def stems(text: str) -> Mapping[str, str]:
    """Content words of a text -> their stems, in the order in which they come up.

    >>> stems("The questionnaires were mailed to households, by mail.")
    {'questionnaires': 'questionnair', 'mailed': 'mail', 'households': 'household', 'mail': 'mail'}
    """
    words = dict.fromkeys(tokenize(text))
    return {w: stem(w) for w in words if w not in stop_words() and not (len(w) < 2 and w.isascii())}


def different(words: Iterable[str]) -> list[str]:
    """Words of different stems, the first of each.

    >>> different(["mailed", "mails", "survey"])
    ['mailed', 'survey']
    """
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(stem(word), word)
    return list(first.values())
