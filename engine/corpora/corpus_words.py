"""The words of a corpus: finding titles, telling rare words, and BM25 of single documents."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import repeat

import numpy as np

from engine.corpora.contracts import DEPTH, Rows, Scope, TokenSpans
from engine.corpora.schema import rows_of
from engine.numeric import FloatArray
from storage.records import Condition
from storage.vectors import DocumentTable

RARITY_SAMPLE = 1000
"""Documents in which words and tokens are counted, to tell telling ones from common ones; of
CSFCube's 4,205 abstracts all give the same nDCG@20 to 0.002."""
MOST_REMEMBERED = 64
"""Texts whose scores are kept, to be used when only the steer changes."""
_WORD = re.compile(r"\w+")
_UNSEEN = ""
"""Stands for tokens that the sample does not have."""


class CorpusWords:
    """What one version of a corpus knows of its words, read on first use."""

    def __init__(
        self, table: DocumentTable, row_of: Mapping[str, int], titles: Sequence[str]
    ) -> None:
        self._table, self._row_of, self._titles = table, row_of, titles
        self._doc_ids = list(row_of)
        self._folded: list[str] | None = None
        self._counts: Counter[str] | None = None
        self._rarity: dict[str, float] = {}
        self._idf: dict[str, float] | None = None
        # Not over a method of ours: a cycle would keep what is cached in memory after closing.
        read = partial(_read_scores, table, len(row_of))
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
        exact = [words.strip()] if words.strip() in self._row_of else []
        return list(dict.fromkeys([*exact, *(self._doc_ids[i] for i in rows)]))[:limit]

    def rarity(self, word: str) -> float:
        """How rare a word is: 0 when every document has it, 1 when (almost) none has.

        The inverse document frequency over the first :data:`RARITY_SAMPLE` documents,
        divided by its maximum.
        """
        known = self._rarity.get(word)
        if known is None:
            if self._counts is None:
                self._counts = self._count()
            counted = max(2, min(len(self._doc_ids), RARITY_SAMPLE))
            known = 1.0 - math.log1p(self._counts[word.casefold()]) / math.log1p(counted)
            self._rarity[word] = known
        return known

    def idf(self, text: str, spans: TokenSpans) -> FloatArray:
        """How rare each token (t,) of a text is: ``ln((n + 1) / (df + 0.5))``, at least 0.

        Counted by its lower-cased text in :data:`RARITY_SAMPLE` documents from all over the
        corpus. Tokens of the title weigh as much as the mean of the others, the model's own
        marks (the first and the last, where they are not of the text) nothing.
        """
        if self._idf is None:
            self._idf = self._read_idf()
        inside = spans[:, 0] >= 0
        found = map(self._idf.get, _pieces(text, spans), repeat(self._idf[_UNSEEN]))
        out = np.fromiter(found, np.float32, len(spans))
        out[~inside] = out[inside].mean() if inside.any() else 1.0
        marks = [at for at in (0, -1) if len(spans) > 2 and not inside[at]]
        out[marks] = 0.0
        return out

    def _read_idf(self) -> dict[str, float]:
        """The idf of every token of the sample, and of what is not in it."""
        step = max(1, len(self._doc_ids) // RARITY_SAMPLE)
        sample = self._doc_ids[::step][:RARITY_SAMPLE]
        rows = self._table.rows(sample, ["text", "token_starts", "token_ends"])
        texts = rows["text"].to_pylist()
        frequency: Counter[str] = Counter()
        for text, starts, ends in zip(
            texts, rows_of(rows["token_starts"]), rows_of(rows["token_ends"]), strict=True
        ):
            inside = starts >= 0
            frequency.update(set(_pieces(text, np.stack([starts, ends], axis=1)[inside])))
        seen = {**frequency, _UNSEEN: 0}
        return {
            piece: max(0.0, math.log((len(texts) + 1) / (count + 0.5)))
            for piece, count in seen.items()
        }

    def scores(self, text: str, rows: Rows, scope: Scope) -> FloatArray:
        """BM25 (n,) of these documents, all in scope; 0 for one without a word of ``text``."""
        if not text.strip() or not len(rows):
            return np.zeros(len(rows), dtype=np.float32)
        known, values, others = self._scores(text, scope.conditions, scope.pool)
        scores = np.full(len(self._doc_ids), others, dtype=np.float32)
        scores[known] = values
        return scores[rows]

    def _count(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        rows = self._table.rows(self._doc_ids[:RARITY_SAMPLE], ["text"])
        for text in rows["text"].to_pylist():
            counts.update(set(_WORD.findall(text.casefold())))
        return counts


def _pieces(text: str, spans: TokenSpans) -> list[str]:
    """The lower-cased texts of tokens."""
    starts, ends = spans.T.tolist()  # two lists: one of pairs would keep the garbage collector busy
    lower = text.lower()
    if len(lower) == len(text):
        return [lower[start:end] for start, end in zip(starts, ends, strict=True)]
    # Some letters are longer in lower case.
    return [text[start:end].lower() for start, end in zip(starts, ends, strict=True)]


def _read_scores(
    table: DocumentTable,
    size: int,
    text: str,
    conditions: tuple[Condition, ...],
    pool: frozenset[str] | None,
) -> tuple[Rows, FloatArray, float]:
    """BM25 of the documents that the full text is read for, and the most that any other scores."""
    # A pool's documents may stand far down the corpus: ask for all, then keep the pool's.
    limit = size if pool is not None else min(size, DEPTH)
    rows, scores = table.full_text(text, limit, conditions)
    if pool is not None or len(rows) < limit:
        return rows, scores, 0.0
    return rows, scores, float(scores.min())
