"""The words of a corpus, and vectors of its tokens and sentences, read when they are used."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.corpora.contracts import Rows, Surroundings, TokenRows, TokenSpans, token_roles
from engine.corpora.recent import Recent
from engine.corpora.schema import StoredTexts, matrix, rows_of
from engine.numeric import FloatArray, groups, widened
from engine.types.encoders import EncoderSpec
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
        self, table: DocumentTable, row_of: Mapping[str, int], doc_ids: StoredTexts
    ) -> None:
        self._table, self._row_of, self._doc_ids = table, row_of, doc_ids

    @cached_property
    def titles(self) -> StoredTexts:
        """The titles of all documents, in stored order."""
        return StoredTexts.read(self._table, "title")

    @cached_property
    def _folded(self) -> pa.Array:
        return pa.array((title.casefold() for title in self.titles), pa.string())

    def find_titles(self, words: str, limit: int) -> list[str]:
        """Ids of documents whose title has all ``words``, shortest first, or of that doc_id."""
        met = np.ones(len(self.titles), dtype=np.bool_)
        for part in words.casefold().split():
            met &= pc.match_substring(self._folded, part).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(met)
        lengths = pc.utf8_length(self.titles.array.take(pa.array(rows))).to_numpy()
        if len(rows) > limit:
            short = lengths <= np.partition(lengths, limit)[limit]
            rows, lengths = rows[short], lengths[short]
        found = [i for _, i in sorted(zip(lengths.tolist(), self._doc_ids.at(rows), strict=True))]
        exact = [words.strip()] if words.strip() in self._row_of else []
        return list(dict.fromkeys([*exact, *found]))[:limit]

    def rarity(self, word: str) -> float:
        """How rare a word is, 0 to 1: the inverse document frequency over the first
        :data:`RARITY_SAMPLE` documents, divided by its maximum."""
        counted = max(2, min(len(self._doc_ids), RARITY_SAMPLE))
        return 1.0 - math.log1p(self._counts[word.casefold()]) / math.log1p(counted)

    def idf(self, text: str, spans: TokenSpans) -> FloatArray:
        """How rare each token (t,) of a text is: ``ln((n + 1) / (df + 0.5))``, at least 0, in
        :data:`RARITY_SAMPLE` documents from all over the corpus. Tokens of the title have the mean
        of the others, the model's own marks 0."""
        inside = spans[:, 0] >= 0
        found = map(self._idf.get, _pieces(text, spans), itertools.repeat(self._idf[_UNSEEN]))
        out = np.fromiter(found, np.float32, len(spans))
        out[~inside] = out[inside].mean() if inside.any() else 1.0
        marks = [at for at in (0, -1) if len(spans) > 2 and not inside[at]]
        out[marks] = 0.0
        return out

    @cached_property
    def _idf(self) -> dict[str, float]:
        """The idf of every token of the sample, and of what is not in it."""
        step = max(1, len(self._doc_ids) // RARITY_SAMPLE)
        sample = range(0, len(self._doc_ids), step)[:RARITY_SAMPLE]
        rows = self._table.take(sample, ["text", "token_starts", "token_ends"])
        texts = rows["text"].to_pylist()
        frequency: Counter[str] = Counter()
        spans = (rows_of(rows[name]) for name in ("token_starts", "token_ends"))
        for text, starts, ends in zip(texts, *spans, strict=True):
            frequency.update(set(_pieces(text, np.stack([starts, ends], axis=1)[starts >= 0])))
        counts = {**frequency, _UNSEEN: 0}.items()
        return {p: max(0.0, math.log((len(texts) + 1) / (n + 0.5))) for p, n in counts}

    def rarest(self, text: str) -> str:
        """The :data:`RAREST` rarest words of a text, repeated as in the text."""
        words = text.split()
        kept = sorted(set(words), key=lambda word: (-self.rarity(word), word))[:RAREST]
        return " ".join(word for word in words if word in kept)

    @cached_property
    def _counts(self) -> Counter[str]:
        first = range(min(len(self._doc_ids), RARITY_SAMPLE))
        texts = self._table.take(first, ["text"])["text"].to_pylist()
        words = (set(_PLAIN_WORD.findall(text.casefold())) for text in texts)
        return Counter(itertools.chain.from_iterable(words))


def _pieces(text: str, spans: TokenSpans) -> list[str]:
    """The lower-cased texts of tokens."""
    starts, ends = spans.T.tolist()  # two lists: one of pairs would keep the garbage collector busy
    lower = text.lower()
    if len(lower) == len(text):
        return [lower[start:end] for start, end in zip(starts, ends, strict=True)]
    # Some letters are longer in lower case.
    return [text[start:end].lower() for start, end in zip(starts, ends, strict=True)]


# -- vectors --------------------------------------------------------------------------------------

TOKEN_COLUMNS = [
    *("token_vectors", "token_starts", "token_ends"),
    *("text", "sentence_starts", "roles"),
]
KEPT_BYTES = 256_000_000  # Of token vectors in memory, of all corpora; some 10,000 abstracts
READ_BYTES = 4_000_000
"""Text of documents whose tokens are read at once: a million tokens and 200 MB, or four times as
much where every character is a token."""


def size_of(tokens: TokenRows) -> int:
    """Bytes of the tokens of one document."""
    return sum(array.nbytes for array in tokens)


class Passages:
    """The passages of one version of a corpus, whose lens has so many `aspects`; thread-safe.

    `idf`: weights of the tokens of a text, see `CorpusWords.idf`."""

    _tokens: Recent[tuple[int, int], TokenRows] = Recent(None, size_of, KEPT_BYTES)
    """Of all corpora, by the number of the object and the row."""
    _numbers = itertools.count()

    def __init__(
        self,
        table: DocumentTable,
        spec: EncoderSpec,
        aspects: int,
        idf: Callable[[str, TokenSpans], FloatArray],
    ) -> None:
        self._table, self._number = table, next(self._numbers)
        self._dimension, self._token_dimension = spec.dimension, spec.token_dimension
        self._aspects, self._idf = aspects, idf

    def _has(self, row: int) -> bool:
        return (self._number, row) in self._tokens

    def has_tokens(self, rows: Rows) -> bool:
        """Whether :meth:`tokens` of these documents has nothing to read."""
        return all(map(self._has, rows.tolist()))

    def tokens(self, rows: Rows, stored: pa.Table | None = None) -> list[TokenRows]:
        """Token vectors of each document, in this order. `stored`: their rows with
        `TOKEN_COLUMNS`; None to read them."""
        asked: list[int] = rows.tolist()

        def read(missing: Sequence[tuple[int, int]]) -> dict[tuple[int, int], TokenRows]:
            new = [row for _, row in missing]
            if stored is None:
                found = self._table.take(new, TOKEN_COLUMNS)
            else:
                found = stored.take(pa.array(map(asked.index, new), pa.int64()))
            return dict(zip(missing, self._read(found), strict=True))

        keys = [(self._number, row) for row in dict.fromkeys(asked)]
        known = dict(zip(keys, self._tokens.get(keys, read), strict=True))
        return [known[self._number, row] for row in asked]

    def each(self, rows: Rows) -> Iterator[TokenRows]:
        """:meth:`tokens`, one after another: read as many at once as :data:`READ_BYTES` allow."""
        asked: list[int] = rows.tolist()
        new = [row for row in asked if not self._has(row)]
        size = dict(zip(new, self._table.sizes(new, "octet_length(text)"), strict=True))
        for group in groups([size.get(row, 0) for row in asked], READ_BYTES):
            yield from self.tokens(rows[group])

    def sentences(self, rows: Rows) -> list[FloatArray]:
        """Sentence vectors (s, d) of each document, in this order."""
        stored = self._table.take(rows, ["sentence_vectors"])
        vectors = rows_of(stored["sentence_vectors"], self._dimension)
        return [found.astype(np.float32, copy=False) for found in vectors]

    def _read(self, rows: pa.Table) -> list[TokenRows]:
        vectors = rows_of(rows["token_vectors"], self._token_dimension)
        starts, ends, sentences, roles = (
            rows_of(rows[name])
            for name in ("token_starts", "token_ends", "sentence_starts", "roles")
        )
        return [
            TokenRows(
                vectors[at].copy(),  # copied, so that the others can go
                starts[at].astype(np.int32),
                self._idf(text, np.stack([starts[at], ends[at]], axis=1)),
                token_roles(starts[at], sentences[at], roles[at].reshape(-1, self._aspects)),
            )
            for at, text in enumerate(rows["text"].to_pylist())
        ]


SAMPLE = 128  # Documents that represent the corpus, spread evenly: neighbours are often alike
SENTENCES = 500  # Of each of them, from all over it; a book has tens of thousands
READ_SENTENCES = 100_000  # Sentences of documents that are read at once: some 300 MB


def sample_rows(count: int) -> range:
    """Rows of the documents that represent a corpus of ``count``."""
    return range(0, count, max(1, -(-count // SAMPLE)))


@dataclass(frozen=True, slots=True)
class PassageSample:
    """The sentences of some documents of a corpus, those without sentences left out."""

    vectors: FloatArray  # (n, d) of the documents
    sentences: FloatArray  # (s, d), of each document at most `SENTENCES`, document by document
    roles: FloatArray  # (s, a)
    # (n + 1,) where the sentences of each begin, and where the last ones end
    starts: NDArray[np.intp]

    @classmethod
    def read(cls, table: DocumentTable, count: int, dimension: int, aspects: int) -> PassageSample:
        """Read it from a corpus of ``count`` documents."""
        rows = sample_rows(count)
        none = np.zeros((0, dimension), np.float32)  # of a corpus without documents
        vectors, sentences, roles = [none], [none], [np.zeros((0, aspects), np.float32)]
        for group in groups(table.sizes(rows, "array_length(sentence_starts)"), READ_SENTENCES):
            names = ["vector", "sentence_vectors", "roles"]
            read = table.take([rows[at] for at in group], names)
            vectors.append(matrix(read["vector"].combine_chunks(), dimension))
            for own, serves in zip(
                rows_of(read["sentence_vectors"], dimension), rows_of(read["roles"]), strict=True
            ):
                most = min(len(own), SENTENCES)
                kept = np.arange(most) * len(own) // max(most, 1)
                sentences.append(widened(own[kept]))
                roles.append(serves.reshape(-1, aspects)[kept])
        counts = np.array([len(own) for own in sentences[1:]], dtype=np.intp)
        return cls(
            np.concatenate(vectors)[counts > 0],
            np.concatenate(sentences),
            np.concatenate(roles).astype(np.float32),
            np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.intp),
        )

    def around(self, vector: FloatArray, centroid: FloatArray) -> Surroundings:
        """The surroundings of a document: of the sample, the half that is least like it."""
        cosines = self.vectors @ vector
        unlike = np.sort(np.argsort(cosines, kind="stable")[: len(cosines) // 2])
        counts = np.diff(self.starts)
        chosen = np.repeat(np.isin(np.arange(len(counts)), unlike), counts)
        return Surroundings(
            centroid=centroid,
            sentences=self.sentences[chosen],
            roles=self.roles[chosen],
            starts=(np.cumsum(counts[unlike]) - counts[unlike]).astype(np.intp),
            chance=float(cosines[unlike].sum()) / max(len(unlike), 1),
        )
