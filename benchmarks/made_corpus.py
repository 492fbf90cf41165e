"""Corpora of any size from abstracts that were really encoded, without encoding anything.

A made document has the sentences of an abstract, some of them replaced by what its neighbours
say at the same place; its vectors are those of these sentences, disturbed. It is written to a
file and imported as any file is: only the encoder looks up what it would compute.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.corpora.contracts import TokenArray
from engine.corpora.opened import OpenCorpus
from engine.corpora.schema import matrix, rows_of
from engine.numeric import FloatArray, unit, widened
from engine.types.encoders import EncoderSpec, Encoding, Passage

NEIGHBOURS = 30
"""Abstracts nearest to one among which those lie that sentences are taken from."""
OWN = 0.5
"""Share of the sentences that stay; the rest is from two neighbours in equal parts."""
SAID, NOISE = 0.55, 0.012
"""How much of what one sentence says beside the others goes into the document's vector, and the
standard deviation of the noise in each of its dimensions."""
SENTENCE_NOISE, TOKEN_NOISE = 0.012, 0.02
PARTS = {"third": 0.3, "few": 0.03, "rare": 0.0004}
"""Values of the field ``part``, with the share of the documents that have them."""
COLUMNS = (
    *("title", "text", "sentence_starts", "sentence_ends", "roles", "vector"),
    *("sentence_vectors", "token_vectors", "token_starts", "token_ends"),
)


class Spoken(NamedTuple):
    """One sentence: of which abstract, its vector (d,), its tokens (t, p) and their spans in it."""

    abstract: int
    vector: FloatArray
    tokens: TokenArray
    spans: NDArray[np.int32]


class MadeCorpus:
    """What documents are made of, and the encoder of these documents.

    `base`: an indexed corpus of two or more abstracts.
    """

    def __init__(self, base: OpenCorpus) -> None:
        self.spec: EncoderSpec = base.spec  # of the model that the base was indexed with
        self._keys = [aspect.key for aspect in base.lens.aspects]
        self._titles: list[str] = []
        self._abstracts: list[list[tuple[str, str]]] = []
        self._vectors = np.zeros((0, self.spec.dimension), dtype=np.float32)
        self._spoken: dict[str, Spoken] = {}
        self._title_tokens: dict[str, TokenArray] = {}
        for batch in base.table.columns(COLUMNS):
            self._learn(pa.Table.from_batches([batch]))
        every = np.stack([one.vector for one in self._spoken.values()]).astype(np.float32)
        mean = unit(self._vectors.mean(axis=0))
        self._beside = unit(every - (every @ mean)[:, None] * mean)
        cosines = self._vectors @ self._vectors.T
        self._near = np.argsort(-cosines, axis=1)[:, 1 : NEIGHBOURS + 1]

    def _learn(self, rows: pa.Table) -> None:
        at = len(self._titles)
        width, token_width = self.spec.dimension, self.spec.token_dimension
        vectors = matrix(rows["vector"].combine_chunks(), width)
        self._vectors = np.concatenate([self._vectors, vectors])
        titles, texts = rows["title"].to_pylist(), rows["text"].to_pylist()
        spans = zip(*(rows_of(rows[name]) for name in COLUMNS[2:5]), strict=True)
        sentences = rows_of(rows["sentence_vectors"], width)
        tokens = rows_of(rows["token_vectors"], token_width)
        bounds = zip(*(rows_of(rows[name]) for name in COLUMNS[8:]), strict=True)
        for number, (begins, ends, roles), (starts, stops) in zip(
            range(len(titles)), spans, bounds, strict=True
        ):
            text, labels = texts[number], roles.reshape(len(begins), -1)
            said = [text[a:b] for a, b in zip(begins, ends, strict=True)]
            best = [self._keys[row.argmax()] if row.any() else "" for row in labels]
            self._titles.append(titles[number])
            self._abstracts.append(list(zip(said, best, strict=True)))
            before = int((np.cumsum(starts >= 0) == 0).sum())
            self._title_tokens[titles[number]] = tokens[number][:before]
            for place, (sentence, a, b) in enumerate(zip(said, begins, ends, strict=True)):
                own = np.flatnonzero((starts >= a) & (starts < b))
                inside = np.stack([starts[own], stops[own]], axis=1) - a
                self._spoken[sentence] = Spoken(
                    at + number, sentences[number][place], tokens[number][own], inside
                )

    def write(self, path: Path, count: int) -> None:
        """Write ``count`` documents as JSON lines."""
        with path.open("w", encoding="utf-8") as lines:
            for row in self.documents(count):
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")

    def documents(self, count: int) -> Iterator[dict[str, Any]]:
        """``count`` documents, the first ones the same whatever the count."""
        chance = np.random.default_rng(11)
        names, shares = list(PARTS), np.cumsum(list(PARTS.values()))
        filled = np.flatnonzero([len(sentences) > 0 for sentences in self._abstracts])
        for number in range(count):
            own = int(chance.choice(filled))
            others = self._near[own, chance.integers(0, self._near.shape[1], 2)]
            parts = [self._abstracts[at] or self._abstracts[own] for at in (own, *others)]
            chosen = [
                parts[which][min(place, len(parts[which]) - 1)]
                for place, which in enumerate(
                    chance.choice(3, len(parts[0]), p=(OWN, (1 - OWN) / 2, (1 - OWN) / 2))
                )
            ]
            part = int(np.searchsorted(shares, chance.random(), side="right"))
            yield {
                "doc_id": f"made-{number:09d}",
                "title": self._titles[own],
                "sentences": [sentence for sentence, _ in chosen],
                "roles": [role for _, role in chosen],
                "year": int(chance.integers(1990, 2026)),
                "venue": f"venue {min(int(chance.zipf(1.3)), 200)}",
                "doi": f"10.1000/{number}",
                "part": names[part] if part < len(names) else "rest",
            }

    # -- an encoder ------------------------------------------------------------------------

    def encode(self, passages: Sequence[Passage]) -> list[Encoding]:
        """Vectors of documents of this corpus, by their sentences."""
        return list(map(self._encoded, passages))

    def encode_query(self, passage: Passage, instruction: str) -> FloatArray:
        raise NotImplementedError

    def _encoded(self, passage: Passage) -> Encoding:
        chance = np.random.default_rng(zlib.crc32(passage.text.encode()))
        said = [self._spoken[passage.text[a:b]] for a, b in passage.sentences]
        sentences = np.stack([one.vector for one in said]).astype(np.float32)
        drawn = self._beside[chance.integers(len(self._beside))]
        vector = unit(self._vectors[[one.abstract for one in said]].mean(axis=0)) + SAID * drawn
        vector += NOISE * chance.standard_normal(len(vector), dtype=np.float32)
        sentences += SENTENCE_NOISE * chance.standard_normal(sentences.shape, dtype=np.float32)
        before = self._title_tokens[passage.title]
        tokens = widened(np.concatenate([before, *(one.tokens for one in said)]))
        tokens += TOKEN_NOISE * chance.standard_normal(tokens.shape, dtype=np.float32)
        outside = np.full((len(before), 2), -1, dtype=np.int32)
        spans = [one.spans + a for one, (a, _) in zip(said, passage.sentences, strict=True)]
        token_spans = np.concatenate([outside, *spans]).astype(np.int32)
        return Encoding(unit(vector), unit(sentences), unit(tokens), token_spans)
