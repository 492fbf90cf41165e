"""The words of a corpus: finding titles, telling rare words, and BM25 of single documents."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import numpy as np

from engine.numeric import FloatArray
from engine.retrieve.base import DEPTH, Scope
from storage.records import Condition
from storage.vectors import DocumentTable

RARITY_SAMPLE = 1000
"""Documents in which words are counted, to tell telling words from common ones."""
MOST_REMEMBERED = 64
"""Texts whose scores are kept, to be used when only the steer changes."""
_WORD = re.compile(r"\w+")


class CorpusWords:
    """What one version of a corpus knows of its words, read on first use."""

    def __init__(self, table: DocumentTable, doc_ids: Sequence[str], titles: Sequence[str]) -> None:
        self._table, self._doc_ids, self._titles = table, doc_ids, titles
        self._known = frozenset(doc_ids)
        self._folded: list[str] | None = None
        self._counts: Counter[str] | None = None
        # Not over a method of ours: a cycle would keep what is cached in memory after closing.
        read = partial(_read_scores, table, len(doc_ids))
        self._scores = lru_cache(maxsize=MOST_REMEMBERED)(read)

    def find_titles(self, words: str, limit: int) -> list[str]:
        """Ids of documents whose title has all ``words`` (any case), shortest titles first.

        A full doc_id finds its document too.
        """
        if self._folded is None:
            self._folded = [title.casefold() for title in self._titles]
        parts = words.casefold().split()
        rows = [i for i, title in enumerate(self._folded) if all(p in title for p in parts)]
        rows.sort(key=lambda i: (len(self._titles[i]), self._doc_ids[i]))
        exact = [words.strip()] if words.strip() in self._known else []
        return list(dict.fromkeys([*exact, *(self._doc_ids[i] for i in rows)]))[:limit]

    def rarity(self, word: str) -> float:
        """How rare a word is: 0 when every document has it, 1 when (almost) none has.

        The inverse document frequency over the first :data:`RARITY_SAMPLE` documents,
        divided by its maximum.
        """
        if self._counts is None:
            self._counts = self._count()
        counted = max(2, min(len(self._doc_ids), RARITY_SAMPLE))
        return 1.0 - math.log1p(self._counts[word.casefold()]) / math.log1p(counted)

    def scores(self, text: str, doc_ids: Sequence[str], scope: Scope) -> FloatArray:
        """BM25 (n,) of these documents, all in scope; 0 for one without a word of ``text``."""
        if not text.strip() or not doc_ids:
            return np.zeros(len(doc_ids), dtype=np.float32)
        known, others = self._scores(text, scope.conditions, scope.pool)
        return np.array([known.get(i, others) for i in doc_ids], dtype=np.float32)

    def _count(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        rows = self._table.rows(self._doc_ids[:RARITY_SAMPLE], ["text"])
        for text in rows["text"].to_pylist():
            counts.update(set(_WORD.findall(text.casefold())))
        return counts


def _read_scores(
    table: DocumentTable,
    documents: int,
    text: str,
    conditions: tuple[Condition, ...],
    pool: frozenset[str] | None,
) -> tuple[Mapping[str, float], float]:
    """BM25 by doc_id as far as the full text is read, and the most that any other scores."""
    # A pool's documents may stand far down the corpus: ask for all, then keep the pool's.
    limit = documents if pool is not None else min(documents, DEPTH)
    found = table.full_text(text, limit, conditions)
    if pool is not None:
        return {i: s for i, s in found if i in pool}, 0.0
    return dict(found), min(s for _, s in found) if len(found) == limit else 0.0
