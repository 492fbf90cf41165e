"""One search, from a checked query to explained results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.corpus import OpenCorpus
from engine.encode.protocols import Encoder, Passage
from engine.explain import explain, find_evidence
from engine.focus import focus_from_words, focus_on_aspect, focus_on_sentences, reweigh_by_words
from engine.index import role_probabilities
from engine.lenses import find_aspect
from engine.numeric import FloatArray
from engine.queries import check_query
from engine.retrieve import SYSTEMS, find_system
from engine.retrieve.base import DEPTH, Focus, Request, ScoredDocument, Seed
from engine.text.sentences import split_sentences
from engine.types import (
    PAGE_SIZE,
    Document,
    Query,
    Result,
    SearchResults,
    Sentence,
    SourceDocument,
)

FULL_DEPTH_BELOW = 20_000
"""Corpora up to this size are ranked whole; larger ones to :data:`DEPTH`."""
PASTED = "pasted text"


@dataclass(frozen=True, slots=True)
class Searcher:
    """Answers queries on one opened corpus.

    Attributes:
        encoder: loads the corpus's model; called only for pasted text and free wordings.
    """

    corpus: OpenCorpus
    encoder: Callable[[], Encoder]

    def search(self, query: Query) -> SearchResults:
        """The page of results that ``query`` asks for, with evidence."""
        started = time.perf_counter()
        check_query(query, self.corpus.lens)
        seed = self.seed(query)
        focus, notes = self.focus(query, seed)
        request = self.request(query, seed, focus)
        ranking = find_system(query.system).rank(self.corpus, request)
        before = self._without_aspect(query, request)
        results = self._explained(ranking, before, query, seed, focus)
        return SearchResults(
            query=query,
            seed=seed.document,
            results=results,
            total=len(ranking),
            corpus_size=len(self.corpus),
            truncated=len(ranking) < request.scope.size,
            seconds=time.perf_counter() - started,
            obedience=None if before is None else _changed(ranking, before),
            weights=() if focus is None else tuple(map(float, focus.sentence_weights)),
            notes=notes,
        )

    def rank(
        self, query: Query, seed: Seed, pool: Sequence[str] | None = None
    ) -> list[ScoredDocument]:
        """The whole ranking without evidence, of the corpus or of a judged pool only."""
        focus, _ = self.focus(query, seed)
        request = self.request(query, seed, focus)
        if pool is not None:
            scope = self.corpus.scope(query.filters, without=query.seed, pool=pool)
            request = replace(request, scope=scope)
        return find_system(query.system).rank(self.corpus, request)

    def seed(self, query: Query) -> Seed:
        """The stored seed with its vectors, or the pasted text encoded now."""
        if query.text is not None:
            return self.encode_text(query.text)
        return self.corpus.seed(query.seed or "")

    def encode_text(self, text: str) -> Seed:
        """A seed that is not in the corpus."""
        lens = self.corpus.lens
        spans = split_sentences(text)
        encoded = self.encoder().encode([Passage("", text, spans)])[0]
        source = SourceDocument(doc_id="", title="", text=text, where=PASTED)
        roles = role_probabilities(source, spans, lens)
        sentences = tuple(
            Sentence(span, text[span[0] : span[1]], tuple(map(float, row)))
            for span, row in zip(spans, roles, strict=True)
        )
        document = Document(doc_id="", title="", text=text, sentences=sentences)
        return Seed(
            document, encoded.vector, encoded.sentences, encoded.tokens, encoded.token_spans
        )

    def focus(self, query: Query, seed: Seed) -> tuple[Focus | None, tuple[str, ...]]:
        """How the aspect is read, and what a reader should know about that."""
        lens = self.corpus.lens
        words = (query.instruction or "").strip()
        if query.focus:
            focus = focus_on_sentences(seed, lens, query.focus)
            if focus is not None and words:
                focus = reweigh_by_words(focus, seed, self._wordings([words])[0])
            return focus, ()
        if query.aspect is None:
            if not words:
                return None, ()
            vectors = self._wordings([words, *(a.definition for a in lens.aspects)])
            return focus_from_words(seed, lens, vectors[0], vectors[1:]), ()
        aspect = find_aspect(lens, query.aspect)
        focus = focus_on_aspect(seed, lens, aspect)
        if focus is None:
            note = f"The seed has no {aspect.name} sentence, so the ranking follows the whole text."
            return None, (note,)
        if words and words != aspect.instruction:
            focus = reweigh_by_words(focus, seed, self._wordings([words])[0])
        return focus, ()

    def _wordings(self, texts: list[str]) -> FloatArray:
        encoded = self.encoder().encode([Passage("", text, ()) for text in texts])
        return np.stack([e.vector for e in encoded])

    def request(self, query: Query, seed: Seed, focus: Focus | None) -> Request:
        """The resolved query that systems take."""
        size = len(self.corpus)
        return Request(
            seed=seed,
            focus=focus,
            scope=self.corpus.scope(query.filters, without=query.seed),
            steer=query.steer,
            symmetric=query.symmetric,
            depth=size if size <= FULL_DEPTH_BELOW else max(DEPTH, query.offset + query.k),
        )

    def _without_aspect(self, query: Query, request: Request) -> list[ScoredDocument] | None:
        """The same search without an aspect; None when there is no aspect to leave out."""
        if request.focus is None:
            return None
        system = find_system(query.system)
        if not system.reads_aspect:
            return []
        return system.rank(self.corpus, replace(request, focus=None, steer=0.0))

    def _explained(
        self,
        ranking: list[ScoredDocument],
        before: list[ScoredDocument] | None,
        query: Query,
        seed: Seed,
        focus: Focus | None,
    ) -> tuple[Result, ...]:
        page = ranking[query.offset : query.offset + query.k]
        reads_aspect = SYSTEMS[query.system].reads_aspect
        old_ranks = {s.doc_id: rank for rank, s in enumerate(before or (), start=1)}
        documents = {s.document.doc_id: s for s in self.corpus.seeds([s.doc_id for s in page])}
        results = []
        for rank, scored in enumerate(page, start=query.offset + 1):
            found = documents[scored.doc_id]
            change = None
            if before is not None:
                old = old_ranks.get(scored.doc_id) if reads_aspect else rank
                change = None if old is None else old - rank
            evidence = find_evidence(seed, found, focus, self.corpus.rarity)
            results.append(
                Result(
                    rank=rank,
                    document=found.document,
                    score=scored.score,
                    rank_change=change,
                    evidence=evidence,
                    explanation=explain(evidence, seed, focus, self.corpus.lens, change),
                )
            )
        return tuple(results)


def _changed(ranking: list[ScoredDocument], before: list[ScoredDocument]) -> float:
    """Share of the top 20 that the aspect brought in, 0 to 1; 0 for a system that ignores it."""
    top = {s.doc_id for s in ranking[:PAGE_SIZE]}
    if not before or not top:
        return 0.0
    return len(top - {s.doc_id for s in before[:PAGE_SIZE]}) / len(top)
