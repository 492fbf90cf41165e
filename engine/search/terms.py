"""Rankings that obey terms: documents with what is wanted first, with what is not wanted last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.corpora.contracts import RankedDocuments, Request, Rows, VectorPart
from engine.corpora.opened import OpenCorpus
from engine.corpora.term_index import MOST_NAMING, TermScores, score_term
from engine.lenses.embedded_texts import Embed
from engine.numeric import FloatArray, distinct
from engine.types.searches import PAGE_SIZE
from engine.types.terms import HAS, Term, TermPassage, TermUse

WEIGHT, AGAINST = 12.0, 16.0
"""What a wanted and an unwanted term count, in doublings of the rank: 12 are from place 1 to 4,000.
"""
AROUND = 300
"""Documents, those nearest to the seed and the first of a ranking, that are looked at for terms."""
PREFERRED = 2_000
"""Documents, those that were looked at first, that are ranked in any case."""
NOT_READ = 0.5
"""Probability for a document that has all words of a term, and was not looked at."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one query on one corpus; none for a system that does not read them."""

    corpus: OpenCorpus
    scores: tuple[TermScores, ...] = ()

    @classmethod
    def find(cls, corpus: OpenCorpus, terms: Sequence[Term], embed: Embed) -> Terms:
        """Look for the terms in a corpus; what was found for them before is used again."""
        vectors = {term: embed(term.alternatives) for term in terms}
        by_key = {str(term): term for term in terms}

        def read(keys: Sequence[str]) -> dict[str, TermScores]:
            return {key: score_term(corpus, by_key[key], vectors[by_key[key]]) for key in keys}

        return cls(corpus, tuple(corpus.term_scores.get(list(by_key), read)))

    def preferred(self, request: Request) -> Request:
        """The request, with the documents that have the wanted terms as those to come first."""
        wanted = [scores for scores in self.scores if scores.term.wanted]
        if not wanted:
            return request
        seed = VectorPart("vector", request.seed.vector, 1.0)
        around = self.corpus.candidates([seed], request, AROUND)
        rows = distinct([around, *(scores.near for scores in wanted)])
        rows = rows[request.scope.allowed[rows]]
        for scores in wanted:
            scores.read(self.corpus, rows)
        wanted = [scores for scores in wanted if scores.documents()]
        if not wanted:
            return request
        rows = distinct([rows, *(scores.naming for scores in wanted)])
        rows = rows[request.scope.allowed[rows]]
        gains = self.gains(rows)
        found = rows[gains >= np.sqrt(HAS) * WEIGHT * len(wanted)]
        return replace(request, preferred=found[:PREFERRED])

    def gains(self, rows: Rows) -> FloatArray:
        """What the terms that any document has count for these (n,), in doublings of the rank."""
        total = np.zeros(len(rows), dtype=np.float32)
        for scores in self.scores:
            if not scores.documents():
                continue
            known = _known(scores, rows)
            total += WEIGHT * np.sqrt(known) if scores.term.wanted else -AGAINST * known
        return total

    def obeyed(self, ranking: RankedDocuments, depth: int, last: int) -> RankedDocuments:
        """The ranking with what is wanted first and what is not wanted last.

        Args:
            depth: documents that it may hold.  last: place of the last one that is shown.
        """
        if not self.scores:
            return ranking
        unwanted = [scores for scores in self.scores if not scores.term.wanted]
        looked, kept = 0, 0
        while unwanted and looked < len(ranking) and kept < last + PAGE_SIZE:
            rows = ranking.rows[looked : looked + max(AROUND, last)]
            for scores in unwanted:
                scores.read(self.corpus, rows)
            kept += int((np.max([_known(s, rows) for s in unwanted], axis=0) < HAS).sum())
            looked += len(rows)
        values = self.gains(ranking.rows) - np.log2(np.arange(len(ranking)) + 2)
        order = np.argsort(-values, kind="stable")[:depth]
        return RankedDocuments(ranking.corpus_ids, ranking.rows[order], values[order])

    def passages(self, doc_ids: Sequence[str]) -> dict[str, tuple[TermPassage, ...]]:
        """How well these documents have each term, and where."""
        rows, found = self.corpus.rows(doc_ids), {}
        for scores in self.scores:
            scores.read(self.corpus, rows)
        for row, document in zip(rows.tolist(), self.corpus.documents(doc_ids), strict=True):
            spans = [sentence.span for sentence in document.sentences]
            found[document.doc_id] = tuple(s.passage(row, spans) for s in self.scores)
        return found

    def uses(self, doc_ids: Sequence[str]) -> tuple[TermUse, ...]:
        """How far the first page of a ranking obeys each term."""
        rows = self.corpus.rows(doc_ids)
        for scores in self.scores:
            scores.read(self.corpus, rows)
        return tuple(
            TermUse(
                scores.term,
                scores.documents(),
                int((_known(scores, rows) >= HAS).sum()),
                len(rows),
                len(scores.naming) < MOST_NAMING,
            )
            for scores in self.scores
        )


def _known(scores: TermScores, rows: Rows) -> FloatArray:
    """Probabilities (n,) as far as documents were looked at."""
    named = np.isin(rows, scores.naming)
    found = (scores.found.get(row) for row in rows.tolist())
    known = [NOT_READ * by_words if one is None else one.probability
             for one, by_words in zip(found, named.tolist(), strict=True)]  # fmt: skip
    return np.array(known, dtype=np.float32)
