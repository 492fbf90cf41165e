"""One search, from a checked query to explained results."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.corpora.contracts import (
    DEPTH,
    Focus,
    RankedDocuments,
    Request,
    ScoredDocument,
    Seed,
)
from engine.corpora.indexing import role_probabilities
from engine.corpora.opened import OpenCorpus
from engine.corpora.stored_facts import facts_of_query, stated_in
from engine.facts.fact_index import matches
from engine.lenses.embedded_texts import Embed
from engine.lenses.instructions import LensWords
from engine.llm.judges import Criterion, make_criterion
from engine.numeric import FloatArray, distinct, standardised
from engine.queries import check_query, check_text
from engine.search.evidence import WORDS, EvidenceFinder, closeness, explain
from engine.search.interpretation import (
    Interpretation,
    Interpreter,
    avoided,
    find_wish,
    in_words,
    understood,
)
from engine.search.scenario_index import scenario_index
from engine.search.systems import GO_BY_FACTS, READ_TERMS, SYSTEM_NAMES, find_system, reads_wording
from engine.search.systems.baselines import Corpus, InstructedSystem, Rank
from engine.search.systems.facts_system import in_focus
from engine.search.systems.scenario_system import ScenarioSystem
from engine.search.term_matching import Terms
from engine.sentences import split_sentences
from engine.text import counted
from engine.types.documents import Document, Fact, Sentence, SourceDocument
from engine.types.encoders import Encoder, Encoding, Passage
from engine.types.lenses import Aspect, Lens
from engine.types.limits import PASTED_CHARS
from engine.types.searches import (
    PAGE_SIZE,
    Filter,
    FilterEffect,
    Query,
    Result,
    SearchResults,
)

FULL_DEPTH_BELOW = 20_000
"""Corpora up to this size are ranked whole; larger ones to :data:`DEPTH`."""
PASTED = "pasted text"
PICKED = Aspect(
    "picked",
    "Picked sentences",
    "P",
    "the sentences of the starting document that the person picked",
    "documents that say something close to the picked sentences",
)
"""Stands for the aspect where a person picked sentences instead."""
AWAY = 0.5
"""Weight of the disliked documents. Of 0, 0.25 and 0.5 as good as any on CSFCube's open half and
the best on the demo."""


@dataclass(frozen=True, slots=True)
class FirstStage:
    """A ranking, and what it was made from."""

    query: Query
    seed: Seed
    read: Interpretation
    request: Request
    ranking: RankedDocuments
    before: RankedDocuments | None  # the ranking without aspect and wording, if there are any
    terms: Terms  # applied to the ranking


@dataclass(frozen=True, slots=True)
class Searcher:
    """Answers queries on one opened corpus."""

    corpus: OpenCorpus
    encoder: Callable[[], Encoder]  # loads the corpus's model, for pasted text and wordings only
    lens_words: Callable[[Lens], LensWords]  # embeds the words of a lens, for free wordings only
    embed: Embed  # wordings as vectors of the corpus's model

    def search(self, query: Query) -> SearchResults:
        """The page of results that ``query`` asks for, with evidence."""
        started = time.perf_counter()
        return self.page(self.first_stage(query), started=started)

    def check(self, query: Query) -> None:
        """Raise BadInputError (or UnknownNameError) for anything a query cannot be."""
        check_query(query, self.corpus.lens, SYSTEM_NAMES)

    def first_stage(self, query: Query) -> FirstStage:
        """The whole ranking that ``query`` asks for, and what it was made from."""
        self.check(query)
        seed = self.seed(query)
        read = self.interpret(query, seed)
        request = self.request(query, seed, read.focus)
        terms = self.terms(query, read)
        ranking = terms.rank(self.ranks(query, request), request, query.offset + query.k)
        before = self._unworded(query, request, terms, ranking)
        notes = (*read.notes, *_notes(query, read, request))
        return FirstStage(query, seed, replace(read, notes=notes), request, ranking, before, terms)

    def ranks(self, query: Query, request: Request) -> Rank:
        """What ranks for a query, learning from the documents that it names."""
        rank = find_system(query.system).rank
        if not (query.like or query.unlike):
            return rank

        def from_document(doc_id: str) -> Request:
            seed = self.corpus.seed(doc_id)
            focus = focus_of(seed, request.focus)
            facts = self._facts(replace(query, instruction=None), seed, focus)
            return replace(request, seed=seed, focus=focus, facts=facts)

        liked, disliked = map(from_document, query.like), map(from_document, query.unlike)
        return functools.partial(learned, rank, tuple(liked), tuple(disliked))

    def terms(self, query: Query, read: Interpretation) -> Terms:
        """The terms of a query, where its system reads them."""
        reads = query.system in READ_TERMS
        return Terms.find(self.corpus, read.terms if reads else (), self.embed)

    def page(
        self,
        stage: FirstStage,
        ranking: Sequence[ScoredDocument] | None = None,
        started: float | None = None,
    ) -> SearchResults:
        """The page of results for the query of ``stage``, with evidence; ``ranking`` is another
        order of the same documents, ``started`` by ``time.perf_counter``."""
        started = time.perf_counter() if started is None else started
        query, read, before = stage.query, stage.read, stage.before
        ranking = stage.ranking if ranking is None else ranking
        return SearchResults(
            query=query,
            seed=stage.seed.document,
            results=self._explained(stage, ranking),
            total=len(ranking),
            corpus_size=len(self.corpus),
            truncated=len(ranking) < stage.request.scope.size,
            seconds=time.perf_counter() - started,
            instruction_following=None if before is None else _changed(ranking, before),
            weights=() if read.focus is None else tuple(map(float, read.focus.sentence_weights)),
            notes=read.notes,
            understood=understood(read.focus, self.corpus.lens),
            avoided=avoided(read.focus, self.corpus.lens),
            reading=read.reading,
            sentences=read.sentences,
            terms=stage.terms.uses(
                [one.doc_id for one in ranking[:PAGE_SIZE]], stage.request.scope
            ),
        )

    def rank(self, query: Query, seed: Seed, pool: Sequence[str] | None = None) -> RankedDocuments:
        """The whole ranking without evidence, of the corpus or of a judged pool only."""
        reads_aspect = find_system(query.system).reads_aspect
        reads = reads_wording(query.system)
        read = self.interpret(query, seed) if reads else Interpretation(None)
        request = self.request(query, seed, read.focus if reads_aspect else None)
        if pool is not None:
            scope = self.corpus.scope(query.filters, without=query.seed, pool=pool)
            request = replace(request, scope=scope)
        last = query.offset + query.k
        return self.terms(query, read).rank(self.ranks(query, request), request, last)

    def filter_effects(self, query: Query) -> tuple[FilterEffect, ...]:
        """What each filter of ``query`` leaves, to tell which one leaves nothing."""

        def left(filters: Sequence[Filter]) -> int:
            return self.corpus.scope(filters, without=query.seed).size

        filters, all_of_them = query.filters, left(())
        return tuple(
            FilterEffect(one, left([one]), left([*filters[:i], *filters[i + 1 :]]), all_of_them)
            for i, one in enumerate(filters)
        )

    def _facts(self, query: Query, seed: Seed, focus: Focus | None) -> tuple[Fact, ...]:
        """Facts of a query: of the seed's sentences in focus, and of the wording."""
        if query.system not in GO_BY_FACTS:
            return ()
        stored = seed.document.doc_id
        of_text = () if stored else facts_of_query(seed.document.text)
        found = self.corpus.facts([stored]).get(stored, ()) if stored else of_text
        if focus is not None:
            found = in_focus(found, seed, focus)
        return (*found, *facts_of_query((query.instruction or "").strip()))

    def seed(self, query: Query) -> Seed:
        """The stored seed with its vectors, or the pasted text encoded now."""
        if query.text is not None:
            return self.encode_text(query.text)
        return self.corpus.seed(query.seed or "")

    def subset(self, seed: Seed, aspect: str) -> Seed | None:
        """The seed cut to its sentences of one aspect, at most :data:`PASTED_CHARS`, and encoded
        again; None without any."""
        index = self.corpus.lens.index(aspect)
        chosen = [s for s in seed.document.sentences if s.role == index]
        if not chosen:
            return None
        starts = np.cumsum([0, *(len(s.text) + 1 for s in chosen)])
        chosen = chosen[: max(1, int(np.searchsorted(starts, PASTED_CHARS, "right")) - 1)]
        spans = [(int(a), int(a) + len(s.text)) for a, s in zip(starts, chosen, strict=False)]
        text = " ".join(s.text for s in chosen)
        encoded = self.encoder().encode([Passage("", text, tuple(spans))])[0]
        document = replace(
            seed.document,
            title="",
            text=text,
            sentences=tuple(replace(s, span=span) for s, span in zip(chosen, spans, strict=True)),
        )
        return self._encoded(document, encoded)

    def encode_text(self, text: str) -> Seed:
        """A seed that is not in the corpus; BadInputError where it is blank or too long."""
        check_text(text)
        lens = self.corpus.lens
        spans = split_sentences(text)
        encoded = self.encoder().encode([Passage("", text, spans)])[0]
        source = SourceDocument(doc_id="", title="", text=text, where=PASTED)
        roles = role_probabilities(source, spans, lens, encoded.sentences, self.encoder())
        sentences = tuple(
            Sentence(span, text[span[0] : span[1]], tuple(map(float, row)))
            for span, row in zip(spans, roles, strict=True)
        )
        document = Document(doc_id="", title="", text=text, sentences=sentences)
        return self._encoded(document, encoded)

    def _encoded(self, document: Document, found: Encoding) -> Seed:
        """A seed that is not stored, with its vectors."""
        idf = self.corpus.words.idf(document.text, found.token_spans)
        starts = found.token_spans[:, 0]
        return Seed(document, found.vector, found.sentences, found.tokens, starts, idf)

    def finder(self, seed: Seed, focus: Focus | None) -> EvidenceFinder:
        """What finds evidence for documents of this corpus."""
        around, close = self.corpus.surroundings(seed), closeness(self.corpus)
        return EvidenceFinder(seed, focus, around, self.corpus.words.rarity, close)

    def interpret(self, query: Query, seed: Seed) -> Interpretation:
        """What aspect, picked sentences and wording are read to ask for."""
        read = self.interpreter().interpret(query, seed)
        # The notes say when a ranking follows the whole text or not the wording: never so there.
        return replace(read, notes=()) if query.system == InstructedSystem.name else read

    def criterion(self, query: Query, seed: Seed) -> Criterion:
        """What documents are judged by: the seed, its sentences in focus first, and the wish."""
        lens = self.corpus.lens
        wish, focus = find_wish(query, lens), self.interpret(query, seed).focus
        weights = None if focus is None else focus.sentence_weights.tolist()
        aspect = PICKED if query.focus else _joined(wish.wanted)
        by_sentences = query.focus and not (wish.words or query.reading)
        words = "" if by_sentences else in_words(wish, query, lens)
        return make_criterion(seed.document, aspect, words, weights)

    def interpreter(self) -> Interpreter:
        """What reads aspects and wordings for this corpus."""
        lens = self.corpus.lens
        return Interpreter(
            lens, lambda: self.lens_words(lens), lambda words: self.embed([words])[0]
        )

    def _instructed(self, query: Query, seed: Seed) -> Callable[[], FloatArray] | None:
        """The seed encoded with the wording; None without one or need."""
        lens = self.corpus.lens
        words = in_words(find_wish(query, lens), query, lens)
        if not words or query.system != InstructedSystem.name:
            return None
        document = seed.document
        passage = Passage(document.title, document.text, tuple(s.span for s in document.sentences))
        return lambda: self.encoder().encode_query(passage, words)

    def request(self, query: Query, seed: Seed, focus: Focus | None) -> Request:
        """The resolved query that systems take."""
        size, last = len(self.corpus), query.offset + query.k
        return Request(
            seed=seed,
            focus=focus,
            scope=self.corpus.scope(query.filters, without=query.seed),
            steer=query.steer,
            symmetric=query.symmetric,
            depth=size if size <= FULL_DEPTH_BELOW else min(size, max(DEPTH, last)),
            instructed=self._instructed(query, seed),
            facts=self._facts(query, seed, focus),
            stated=() if query.text is None else stated_in(query.text),
            scenarios=functools.cache(lambda: scenario_index(self.corpus)),
        )

    def _unworded(
        self, query: Query, request: Request, terms: Terms, ranking: RankedDocuments
    ) -> RankedDocuments | None:
        """The ranking without aspect and wording; None where they have no effect."""
        if request.focus is None and request.instructed is None and not terms.scores:
            return None
        system = find_system(query.system)
        if not (system.reads_aspect or terms.scores):
            return ranking[:0]
        plain = replace(query, instruction=None)
        facts = self._facts(plain, request.seed, None)
        request = replace(request, focus=None, steer=0.0, instructed=None, facts=facts)
        return self.ranks(plain, request)(self.corpus, request)

    def _explained(
        self, stage: FirstStage, ranking: Sequence[ScoredDocument]
    ) -> tuple[Result, ...]:
        query, seed, focus, before = stage.query, stage.seed, stage.read.focus, stage.before
        asked = stage.request.facts
        page = list(ranking[query.offset : query.offset + query.k])
        doc_ids = [scored.doc_id for scored in page]
        passages = stage.terms.passages(doc_ids)
        ranks_before = np.zeros(len(self.corpus), dtype=np.intp)  # 0 for what was not ranked
        if before is not None:
            ranks_before[before.rows] = np.arange(1, len(before) + 1)
        facts = self.corpus.facts(doc_ids) if asked else {}
        scenarios = (
            stage.request.scenarios().matches(doc_ids, seed.vector)
            if query.system == ScenarioSystem.name and stage.request.scenarios is not None
            else {}
        )
        reads_aspect = find_system(query.system).reads_aspect
        results, first, lens = [], query.offset + 1, self.corpus.lens
        finder = self.finder(seed, focus)
        seeds = self.corpus.seeds(doc_ids)
        for rank, (scored, found) in enumerate(zip(page, seeds, strict=True), start=first):
            change = None
            if before is not None:
                old = int(ranks_before[self.corpus.row_of[scored.doc_id]])
                change = 0 if not len(before) else old - rank if old else None
            like = finder.find(found)
            answers = matches(asked, facts.get(scored.doc_id, ()))
            results.append(
                Result(
                    rank=rank,
                    document=found.document,
                    score=scored.score,
                    rank_change=change,
                    evidence=like.evidence,
                    explanation=explain(like, seed, focus, lens, change, answers, reads_aspect),
                    facts=answers,
                    scenario=scenarios.get(scored.doc_id),
                    terms=passages[scored.doc_id],
                    strength=WORDS[like.strength],
                )
            )
        return tuple(results)


def _notes(query: Query, read: Interpretation, request: Request) -> Iterator[str]:
    """Notes on missing facts, on what was learned from, and on words of a wording without effect
    on the ranking."""
    if query.system in GO_BY_FACTS and not request.facts:
        where = "these sentences" if request.focus is not None else "this seed"
        yield f"Nothing in {where} states a date, an amount or a place; the topic decides."
    if query.like or query.unlike:
        rejected = f"{counted(len(query.unlike), 'rejected document')}."
        yield f"Learned from {counted(len(query.like), 'kept document')} and {rejected}"
    if read.terms and query.system not in READ_TERMS:
        names = ", ".join(f"“{term.text}”" for term in read.terms)
        yield f"{query.system} does not read terms. Not used: {names}."
    elif read.unused and read.terms and query.system != InstructedSystem.name:
        yield f"Not used: {', '.join(read.unused)}."


def _changed(ranking: Sequence[ScoredDocument], before: RankedDocuments) -> float:
    """Share of the top 20 that the aspect brought in, 0 to 1; 0 for a system that ignores it."""
    top = {s.doc_id for s in ranking[:PAGE_SIZE]}
    if not len(before) or not top:
        return 0.0
    return len(top - set(before[:PAGE_SIZE].doc_ids)) / len(top)


def _joined(aspects: tuple[Aspect, ...]) -> Aspect | None:
    """Several aspects as one, for a model's instruction."""
    if len(aspects) < 2:
        return aspects[0] if aspects else None
    return Aspect(
        "+".join(a.key for a in aspects),
        " and ".join(a.name for a in aspects),
        aspects[0].letter,
        " ".join(f"{a.name}: {a.definition}" for a in aspects),
        " ".join(a.instruction for a in aspects),
    )


def learned(
    rank: Rank,
    liked: Sequence[Request],
    disliked: Sequence[Request],
    corpus: Corpus,
    request: Request,
) -> RankedDocuments:
    """The ranking of what the seed or a liked document retrieves; ``liked`` and ``disliked`` are
    the request with each of these documents as its seed. Rocchio's feedback in the scores of any
    system: the standardised scores of all seeds are added, less :data:`AWAY` times the mean of the
    disliked ones', which come last themselves."""

    def found(other: Request) -> RankedDocuments:
        """Its ranking, itself first: among the others it would be far too like itself."""
        allowed, row = request.scope.allowed.copy(), corpus.rows([other.seed.document.doc_id])
        allowed[row] = False
        scope = replace(request.scope, allowed=allowed)
        own = replace(request, seed=other.seed, focus=other.focus, facts=other.facts)
        ranking = rank(corpus, replace(own, scope=scope, instructed=None, stated=()))
        row = row[request.scope.allowed[row]] if len(ranking) else row[:0]
        return RankedDocuments(
            ranking.corpus_ids,
            np.concatenate([row, ranking.rows]),
            np.concatenate([ranking.scores[: len(row)], ranking.scores]),
        )

    near = [rank(corpus, request), *map(found, liked)]
    rows = distinct([ranking.rows for ranking in near])
    if not len(rows):
        return near[0]

    def scores(ranking: RankedDocuments) -> FloatArray:
        """(r,) standardised; what was not retrieved counts as the last that was."""
        lowest = float(ranking.scores[-1]) if len(ranking) else 0.0
        every = np.full(len(corpus), lowest, dtype=np.float32)
        every[ranking.rows] = ranking.scores
        return standardised(every[rows])

    total = np.sum([scores(ranking) for ranking in near], axis=0)
    if disliked:
        away = [scores(found(other)) for other in disliked]
        total -= AWAY * np.mean(away, axis=0)
        rejected = [other.seed.document.doc_id for other in disliked]
        total[np.isin(rows, corpus.rows(rejected))] = total.min() - 1.0
    return corpus.ranked(rows, total, request.most)


def focus_of(seed: Seed, focus: Focus | None) -> Focus | None:
    """The aspects of another seed's focus in the sentences of this one; None without any."""
    if focus is None:
        return None
    roles = seed.roles(len(focus.aspect_weights))
    weights = (roles @ focus.aspect_weights) * (1.0 - np.clip(roles @ focus.avoided, 0, 1))
    total = float(weights.sum())
    if total <= 0:
        return None
    return replace(focus, sentence_weights=(weights / total).astype(np.float32))
