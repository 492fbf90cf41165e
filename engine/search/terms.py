"""Rankings that obey terms: documents with what is wanted first, with what is not wanted last."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.corpora.contracts import RankedDocuments, Request, Rows, Scope, VectorPart
from engine.corpora.opened import OpenCorpus
from engine.lenses.embedded_texts import Embed
from engine.numeric import FloatArray, distinct
from engine.search.systems.baselines import System
from engine.search.term_matching import MOST_NAMING, TermScores, score_term
from engine.types.searches import HAS, Term, TermPassage, TermUse

WEIGHT, AGAINST = 12.0, 16.0
"""What a wanted and an unwanted term count, in doublings of the rank: 12 are from place 1 to 4,000.
"""
AROUND = 300
"""Documents nearest to the seed that are read for wanted terms, and documents of a ranking that are
read at a time for unwanted ones."""
PREFERRED = 2_000
"""Documents, those that were read first, that are ranked in any case."""
NOT_READ = 0.5
"""Probability for a document that has all words of a term and was not read."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one query on one corpus; none for a system that does not read them."""

    corpus: OpenCorpus
    scores: tuple[TermScores, ...] = ()

    @classmethod
    def find(cls, corpus: OpenCorpus, terms: Sequence[Term], embed: Embed) -> Terms:
        """Look for the terms in a corpus; what was found for them before is used again."""
        by_key = {str(term): term for term in terms}

        def read(keys: Sequence[str]) -> dict[str, TermScores]:
            texts = [by_key[key].alternatives for key in keys]
            vectors = embed([*itertools.chain(*texts)])
            parts = np.split(vectors, np.cumsum([len(own) for own in texts])[:-1])
            return {
                key: score_term(corpus, by_key[key], own)
                for key, own in zip(keys, parts, strict=True)
            }

        return cls(corpus, tuple(corpus.term_scores.get(list(by_key), read)))

    def rank(self, system: System, request: Request, last: int) -> RankedDocuments:
        """A system's ranking with wanted terms first and unwanted last; ``last`` is the last shown
        place."""
        there = [scores for scores in self.scores if len(scores.having)]
        wanted = [scores for scores in there if scores.term.wanted]
        unwanted = [scores for scores in there if not scores.term.wanted]
        if not wanted:
            ranking = system.rank(self.corpus, request)
        else:
            read = self._read(wanted, request)
            rows = distinct([read, *(scores.naming for scores in wanted)])
            rows = rows[request.scope.allowed[rows]]
            found = rows[_gains(wanted, rows, read) >= np.sqrt(HAS) * WEIGHT * len(wanted)]
            request = replace(request, preferred=found[:PREFERRED])
            ranking = system.rank(self.corpus, request)
            values = _gains(wanted, ranking.rows, read) - _doublings(len(ranking))
            ranking = _ordered(ranking, values, np.argsort(-values, kind="stable"))
        if unwanted:
            ranking = self._without(unwanted, ranking, last)
        return ranking[: request.depth] if there else ranking

    def _read(self, wanted: Sequence[TermScores], request: Request) -> Rows:
        """Documents to read: near a term, or near the seed and naming one."""
        seed = VectorPart("vector", request.seed.vector, 1.0)
        around = self.corpus.candidates([seed], request, AROUND)
        naming = np.concatenate([scores.naming for scores in wanted])
        rows = distinct([around[np.isin(around, naming)], *(scores.near for scores in wanted)])
        rows = rows[request.scope.allowed[rows]]
        for scores in wanted:
            scores.read(self.corpus, rows)
        return rows

    def _without(
        self, unwanted: Sequence[TermScores], ranking: RankedDocuments, last: int
    ) -> RankedDocuments:
        """The ranking with documents of unwanted terms last, read in blocks up to ``last``."""
        rows = ranking.rows
        chance = np.max([_chances(s, rows, rows[:0]) for s in unwanted], axis=0)
        end = 0
        while end < len(rows) and (chance[:end] < HAS).sum() < last:
            block = slice(end, end := end + AROUND)
            for scores in unwanted:
                scores.read(self.corpus, rows[block])
            chance[block] = np.max(
                [_chances(s, rows[block], rows[block]) for s in unwanted], axis=0
            )
        blocks = np.minimum(np.arange(len(rows)), end) // AROUND
        blocks[chance >= HAS] = len(rows)
        values = -AGAINST * chance - _doublings(len(rows))
        return _ordered(ranking, values, np.lexsort((-values, blocks)))

    def passages(self, doc_ids: Sequence[str]) -> dict[str, tuple[TermPassage, ...]]:
        """How well these documents have each term, and where."""
        rows = self.corpus.rows(doc_ids)
        for scores in self.scores:
            scores.read(self.corpus, rows)
        return {
            doc_id: tuple(scores.passages[row] for scores in self.scores)
            for doc_id, row in zip(doc_ids, rows.tolist(), strict=True)
        }

    def uses(self, doc_ids: Sequence[str], scope: Scope) -> tuple[TermUse, ...]:
        """How far the first page of a ranking obeys each term."""
        found = list(self.passages(doc_ids).values())
        return tuple(
            TermUse(
                scores.term,
                len(scores.having),
                int(scope.allowed[scores.having].sum()),
                sum(own[at].has for own in found),
                len(found),
                len(scores.naming) < MOST_NAMING,
            )
            for at, scores in enumerate(self.scores)
        )


def _doublings(places: int) -> FloatArray:
    return np.log2(np.arange(places, dtype=np.float32) + 2)


def _ordered(ranking: RankedDocuments, values: FloatArray, order: Rows) -> RankedDocuments:
    falling = np.minimum.accumulate(values[order])
    return RankedDocuments(ranking.corpus_ids, ranking.rows[order], falling)


def _gains(wanted: Sequence[TermScores], rows: Rows, read: Rows) -> FloatArray:
    """Gains (n,) of documents by wanted terms, in doublings of the rank."""
    return np.asarray(WEIGHT * np.sum([np.sqrt(_chances(s, rows, read)) for s in wanted], axis=0))


def _chances(scores: TermScores, rows: Rows, read: Rows) -> FloatArray:
    """Probabilities (n,) of a term; documents not in ``read`` go by name only."""
    chance = np.where(np.isin(rows, scores.naming), np.float32(NOT_READ), np.float32(0))
    for at in np.flatnonzero(np.isin(rows, read)).tolist():
        chance[at] = scores.passages[int(rows[at])].probability
    return chance
