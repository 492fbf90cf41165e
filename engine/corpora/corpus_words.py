"""The words of a corpus: finding titles, and telling rare words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.corpora.contracts import TokenSpans
from engine.corpora.schema import StoredTexts, rows_of
from engine.numeric import FloatArray
from storage.vectors import DocumentTable

RARITY_SAMPLE = 1000
"""Documents in which words and tokens are counted; all of CSFCube's 4,205 abstracts give the same
nDCG@20 to 0.002."""
RAREST = 32
"""Distinct words of a text that a large corpus is searched for: the rarest ones bring 98 % of the
first 20 that all words of an abstract bring, in a quarter of the time."""
_PLAIN_WORD = re.compile(r"\w+")
_UNSEEN = ""  # Stands for tokens that the sample does not have


class CorpusWords:
    """What one version of a corpus knows of its words, read on first use."""

    def __init__(
        self,
        table: DocumentTable,
        row_of: Mapping[str, int],
        doc_ids: StoredTexts,
        titles: Callable[[], StoredTexts],
    ) -> None:
        self._table, self._row_of, self._doc_ids, self._titles = table, row_of, doc_ids, titles
        self._folded: pa.Array | None = None
        self._counts: Counter[str] | None = None
        self._rarity: dict[str, float] = {}
        self._idf: dict[str, float] | None = None

    def find_titles(self, words: str, limit: int) -> list[str]:
        """Ids of documents whose title has all ``words``, shortest first, or of that doc_id."""
        titles = self._titles()
        if self._folded is None:
            self._folded = pa.array((title.casefold() for title in titles), pa.string())
        met = np.ones(len(titles), dtype=np.bool_)
        for part in words.casefold().split():
            met &= pc.match_substring(self._folded, part).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(met)
        lengths = pc.utf8_length(titles.array.take(pa.array(rows))).to_numpy()
        if len(rows) > limit:
            short = lengths <= np.partition(lengths, limit)[limit]
            rows, lengths = rows[short], lengths[short]
        found = [i for _, i in sorted(zip(lengths.tolist(), self._doc_ids.at(rows), strict=True))]
        exact = [words.strip()] if words.strip() in self._row_of else []
        return list(dict.fromkeys([*exact, *found]))[:limit]

    def rarity(self, word: str) -> float:
        """How rare a word is, 0 to 1: the inverse document frequency over the first
        :data:`RARITY_SAMPLE` documents, divided by its maximum."""
        known = self._rarity.get(word)
        if known is None:
            if self._counts is None:
                self._counts = self._count()
            counted = max(2, min(len(self._doc_ids), RARITY_SAMPLE))
            known = 1.0 - math.log1p(self._counts[word.casefold()]) / math.log1p(counted)
            self._rarity[word] = known
        return known

    def idf(self, text: str, spans: TokenSpans) -> FloatArray:
        """How rare each token (t,) of a text is: ``ln((n + 1) / (df + 0.5))``, at least 0, in
        :data:`RARITY_SAMPLE` documents from all over the corpus. Tokens of the title have the mean
        of the others, the model's own marks 0."""
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
        sample = range(0, len(self._doc_ids), step)[:RARITY_SAMPLE]
        rows = self._table.take(sample, ["text", "token_starts", "token_ends"])
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

    def rarest(self, text: str) -> str:
        """The :data:`RAREST` rarest words of a text, as often as they stand there."""
        words = text.split()
        kept = sorted(set(words), key=lambda word: (-self.rarity(word), word))[:RAREST]
        return " ".join(word for word in words if word in kept)

    def _count(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        first = range(min(len(self._doc_ids), RARITY_SAMPLE))
        rows = self._table.take(first, ["text"])
        for text in rows["text"].to_pylist():
            counts.update(set(_PLAIN_WORD.findall(text.casefold())))
        return counts


def _pieces(text: str, spans: TokenSpans) -> list[str]:
    """The lower-cased texts of tokens."""
    starts, ends = spans.T.tolist()  # two lists: one of pairs would keep the garbage collector busy
    lower = text.lower()
    if len(lower) == len(text):
        return [lower[start:end] for start, end in zip(starts, ends, strict=True)]
    # Some letters are longer in lower case.
    return [text[start:end].lower() for start, end in zip(starts, ends, strict=True)]
