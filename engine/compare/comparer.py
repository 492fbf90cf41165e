"""Variants of an instruction side by side for one seed."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.compare.verdicts import Judgments, Profile, find_verdicts
from engine.corpora.contracts import Seed
from engine.corpora.schema import aspect_column
from engine.errors import BadInputError
from engine.lenses.definitions import find_aspect
from engine.lenses.variants import check_variants
from engine.measures.metrics import csfcube_ndcg, judged_at
from engine.measures.p_mrr import p_mrr_among_judged
from engine.measures.ranking_change import RankingChange, compare_rankings, movers
from engine.numeric import standardised
from engine.search.evidence import EvidenceFinder, closeness
from engine.search.interpretation import (
    Interpretation,
    avoided,
    focus_on_aspect,
    understood,
)
from engine.search.queries import check_query
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.systems.aspect_system import focus_vector
from engine.types.comparisons import (
    Comparison,
    Frontier,
    FrontierPoint,
    ModelOrders,
    Mover,
    MoverEvidence,
    Variant,
    VariantPair,
    VariantRanking,
)
from engine.types.evaluations import CSFCUBE_NDCG
from engine.types.searches import PAGE_SIZE, Query, Ranking

MOST_MOVERS = 12
STEERS = tuple(i / 10 for i in range(11))
"""Aspect weights of a frontier; the first one is what the others are compared with."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A variant, what it was read as, and its ranking."""

    variant: Variant
    seed: Seed
    read: Interpretation
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]
    seconds: float
    by_model: bool = False


@dataclass(frozen=True)
class Comparer:
    """Compares variants for one seed of one corpus.

    Attributes:
        query: seed or text, and filters; its other fields are the variants' to set.
        aspect: key of the aspect that is meant, for subsets, likeness and judgments.
        judgments: of this seed, by aspect; empty when there are none.
    """

    searcher: Searcher
    query: Query
    aspect: str
    judgments: Judgments

    def compare(self, variants: Sequence[Variant], orders: ModelOrders | None = None) -> Comparison:
        """Rank every variant, and say what the differences mean.

        Args:
            orders: a model's, for the variants that it reranked; the others rank as ever.

        Raises:
            BadInputError: no variant, two of one name, a wording that is too long, an order of
                other documents ...
            UnknownNameError: an aspect or a system that does not exist.
        """
        started = time.perf_counter()
        check_variants(variants)
        aspect = find_aspect(self.searcher.corpus.lens, self.aspect)
        ranked = [_reordered(self.rank(variant), orders) for variant in variants]
        blind = self._blind(ranked, orders)
        gains = self._likeness(ranked, blind)
        judged, reason = self._is_judged(aspect.name)
        rankings = tuple(
            self._described(r, gain, judged) for r, gain in zip(ranked, gains, strict=True)
        )
        profiles = [
            Profile(r, before, gain, find_system(r.variant.system).reads_aspect, own.by_model)
            for r, own, before, gain in zip(rankings, ranked, blind, gains, strict=True)
        ]
        titles, grades = self._titles(ranked), self.judgments.get(aspect.key, {})
        return Comparison(
            corpus=self.query.corpus,
            seed=self._seed.document,
            aspect=aspect.key,
            variants=rankings,
            pairs=tuple(self._pairs(ranked)),
            movers=self._movers(ranked),
            verdicts=find_verdicts(profiles, aspect.name, self.judgments, aspect.key),
            titles=titles,
            judged=judged,
            unjudged_reason=reason,
            seconds=time.perf_counter() - started,
            by_model=tuple(r.variant.name for r in ranked if r.by_model),
            grades={d: grades[d] for d in titles if d in grades},
        )

    def evidence(self, variants: Sequence[Variant], doc_id: str) -> MoverEvidence:
        """The evidence for one document under each variant."""
        corpus = self.searcher.corpus
        document = corpus.seed(doc_id)
        evidence = []
        for variant in variants:
            seed, read = self._read(variant, self.asked(variant))
            around, close = corpus.surroundings(seed), closeness(corpus)
            finder = EvidenceFinder(seed, read.focus, around, corpus.rarity, close)
            evidence.append(finder.find(document).evidence)
        shown = {(e.seed_text, e.doc_text) for e in evidence[0]} if evidence else set()
        gained = tuple(
            tuple(e for e in pairs if (e.seed_text, e.doc_text) not in shown) for pairs in evidence
        )
        return MoverEvidence(document.document, tuple(evidence), gained)

    def frontier(self, variant: Variant) -> Frontier:
        """What the aspect weight of one wording trades: instruction following against relevance.

        With two judged aspects: :data:`CSFCUBE_NDCG` of the judged documents against p-MRR to
        the ranking of aspect weight 0. Else an estimate: how similar the top 20 are to the whole
        seed (standardised cosine) against the share of the top 20 that weight 0 has not.
        """
        rankings = [self.rank(replace(variant, steer=steer)).doc_ids for steer in STEERS]
        judged = sum(bool(grades) for grades in self.judgments.values()) > 1
        judged = judged and bool(self.judgments.get(self.aspect))
        points = self._judged_points(rankings) if judged else self._estimated_points(rankings)
        return Frontier(
            tuple(FrontierPoint(s, r, o) for s, (r, o) in zip(STEERS, points, strict=True)), judged
        )

    def _judged_points(
        self, rankings: Sequence[Sequence[str]]
    ) -> Iterable[tuple[float, float | None]]:
        grades = self.judgments[self.aspect]
        for ranking in rankings:
            relevance = csfcube_ndcg([d for d in ranking if d in grades], grades)
            yield relevance, p_mrr_among_judged(ranking, rankings[0], self.aspect, self.judgments)

    def _estimated_points(
        self, rankings: Sequence[Sequence[str]]
    ) -> Iterable[tuple[float, float | None]]:
        corpus = self.searcher.corpus
        tops = [ranking[:PAGE_SIZE] for ranking in rankings]
        pool = sorted({d for top in tops for d in top})
        cosines = corpus.cosines(corpus.rows(pool), [("vector", self._seed.vector)])[:, 0]
        similarity = dict(zip(pool, standardised(cosines).tolist(), strict=True))
        for top in tops:
            relevance = float(np.mean([similarity[d] for d in top])) if top else 0.0
            yield relevance, len(set(top) - set(tops[0])) / len(top) if top else 0.0

    # -- ranking -------------------------------------------------------------------------

    def rank(self, variant: Variant) -> Ranked:
        """One variant's ranking of the whole corpus, as a search for the same would have it."""
        started = time.perf_counter()
        query = self.asked(variant)
        seed, read = self._read(variant, query)
        ranking = self.searcher.rank(query, seed)
        return Ranked(
            variant,
            seed,
            read,
            tuple(ranking.doc_ids),
            tuple(ranking.scores.tolist()),
            time.perf_counter() - started,
        )

    def asked(self, variant: Variant) -> Query:
        """The query that a variant stands for, checked."""
        query = replace(
            self.query,
            instruction=variant.instruction.strip() or None,
            system=variant.system,
            steer=variant.steer,
            aspect=variant.aspect or None,
            # The sentences of a seed that was cut are others.
            focus=() if variant.subset else variant.focus,
            reading=variant.reading,
        )
        check_query(query, self.searcher.corpus.lens)
        return query

    def _read(self, variant: Variant, query: Query) -> tuple[Seed, Interpretation]:
        """The seed that is used, and what was asked of it, with notes on both."""
        seed = self._seed
        notes: tuple[str, ...] = ()
        if variant.subset:
            cut = self.searcher.subset(seed, self.aspect)
            used = len(cut.document.sentences) if cut else 0
            index = self.searcher.corpus.lens.index(self.aspect)
            if not used:
                notes = ("The seed has no sentence of the aspect, so all of it is used.",)
            elif used < sum(s.role == index for s in seed.document.sentences):
                notes = (f"Of the seed's sentences of the aspect, the first {used:,} are used.",)
            seed = cut or seed
        if not find_system(variant.system).reads_aspect:
            return seed, Interpretation(None, notes=notes)
        read = self.searcher.interpret(query, seed)
        return seed, replace(read, notes=(*notes, *read.notes))

    def without_wording(self, system: str) -> tuple[str, ...]:
        """The ranking of the same system for the whole seed and no wording."""
        query = replace(self.query, instruction=None, aspect=None, focus=(), system=system)
        return tuple(self.searcher.rank(query, self._seed).doc_ids)

    def _blind(self, ranked: Sequence[Ranked], orders: ModelOrders | None) -> list[Sequence[str]]:
        """For each variant, the ranking that its wording is held against: without a wording.

        What a model reranked is held against the model's own order: else whatever it does
        better than the system would pass for instruction following.
        """
        blind = {s: self.without_wording(s) for s in {r.variant.system for r in ranked}}
        by_model = {} if orders is None else orders.unworded
        return [(by_model if r.by_model else blind)[r.variant.system] for r in ranked]

    @functools.cached_property
    def _seed(self) -> Seed:
        """Read, or encoded, once for all variants."""
        return self.searcher.seed(self.query)

    # -- what the differences are ------------------------------------------------------------

    def _described(
        self, ranked: Ranked, gain: tuple[tuple[str, float], ...], judged: bool
    ) -> VariantRanking:
        lens, focus = self.searcher.corpus.lens, ranked.read.focus
        return VariantRanking(
            variant=ranked.variant,
            ranking=Ranking(ranked.variant.name, ranked.doc_ids, ranked.scores),
            understood=understood(focus, lens),
            avoided=avoided(focus, lens),
            weights=() if focus is None else tuple(map(float, focus.sentence_weights)),
            notes=ranked.read.notes,
            measures=self._measures(ranked) if judged else {},
            likeness=gain,
            seconds=ranked.seconds,
        )

    def _measures(self, ranked: Ranked) -> dict[str, float | None]:
        """On the judged documents of this seed only, in the order of the ranking."""
        grades = self.judgments.get(self.aspect, {})
        pool = [d for d in ranked.doc_ids if d in grades]
        return {
            CSFCUBE_NDCG: csfcube_ndcg(pool, grades),
            "Judged@20": judged_at(ranked.doc_ids, grades, PAGE_SIZE),
        }

    def _pairs(self, ranked: Sequence[Ranked]) -> Iterable[VariantPair]:
        changes: dict[frozenset[str], RankingChange] = {}  # the same in both directions
        for first in ranked:
            for second in ranked:
                names = frozenset({first.variant.name, second.variant.name})
                if names not in changes:
                    changes[names] = compare_rankings(first.doc_ids, second.doc_ids)
                change = changes[names]
                yield VariantPair(
                    first.variant.name,
                    second.variant.name,
                    change.rbo,
                    change.tau,
                    change.overlap,
                    p_mrr_among_judged(first.doc_ids, second.doc_ids, self.aspect, self.judgments),
                )

    def _is_judged(self, name: str) -> tuple[bool, str]:
        if not self.judgments.get(self.aspect):
            return False, f"Nobody judged {name} for this seed, so there is no nDCG and no p-MRR."
        if len([g for g in self.judgments.values() if g]) < 2:
            return True, "Only one aspect of this seed is judged, and p-MRR compares two."
        return True, ""

    def _movers(self, ranked: Sequence[Ranked]) -> tuple[Mover, ...]:
        """Documents that some variant moves most against the first."""
        best: dict[str, float] = {}
        for other in ranked[1:]:
            for move in movers(ranked[0].doc_ids, other.doc_ids, MOST_MOVERS):
                best[move.doc_id] = max(best.get(move.doc_id, 0.0), abs(move.change))
        chosen = sorted(best, key=lambda d: (-best[d], d))[:MOST_MOVERS]
        places = [{d: i for i, d in enumerate(r.doc_ids, start=1)} for r in ranked]
        titles = self._titles_of(chosen)
        return tuple(Mover(d, titles[d], tuple(p.get(d) for p in places), best[d]) for d in chosen)

    def _titles(self, ranked: Sequence[Ranked]) -> dict[str, str]:
        return self._titles_of({d for r in ranked for d in r.doc_ids[:PAGE_SIZE]})

    def _titles_of(self, doc_ids: Iterable[str]) -> dict[str, str]:
        corpus = self.searcher.corpus
        return {d: corpus.titles[corpus.row_of[d]] for d in doc_ids}

    def _likeness(
        self, ranked: Sequence[Ranked], blind: Sequence[Sequence[str]]
    ) -> list[tuple[tuple[str, float], ...]]:
        """How much more alike each variant's top 20 are, per aspect, than those of its blind."""
        corpus, seed = self.searcher.corpus, self._seed
        lens = corpus.lens
        parts, names = [], []
        for aspect in lens.aspects:
            focus = focus_on_aspect(seed, lens, aspect)
            if focus is not None:
                parts.append((aspect_column(aspect.key), focus_vector(seed, focus)))
                names.append(aspect.name)
        tops = [r.doc_ids[:PAGE_SIZE] for r in ranked]
        before = [ranking[:PAGE_SIZE] for ranking in blind]
        pool = sorted({d for top in (*tops, *before) for d in top})
        if not parts or not pool:
            return [() for _ in ranked]
        cosines = corpus.cosines(corpus.rows(pool), parts)
        spread = np.maximum(cosines.std(axis=0), 1e-6)
        row = {doc_id: i for i, doc_id in enumerate(pool)}

        def average(top: Sequence[str]) -> np.ndarray:
            return np.asarray(cosines[[row[d] for d in top]].mean(axis=0))

        gains: list[tuple[tuple[str, float], ...]] = []
        for top, old in zip(tops, before, strict=True):
            if top and old:
                gain = (average(top) - average(old)) / spread
                gains.append(tuple(zip(names, map(float, gain), strict=True)))
            else:  # bm25 finds nothing for a seed without words
                gains.append(())
        return gains


def _reordered(ranked: Ranked, orders: ModelOrders | None) -> Ranked:
    """A ranking in the model's order, where it has one, and one without a wording beside it."""
    order = None if orders is None else orders.variants.get(ranked.variant.name)
    if orders is None or order is None or ranked.variant.system not in orders.unworded:
        return ranked
    if sorted(order) != sorted(ranked.doc_ids):
        raise BadInputError(
            f"The model ranked other documents for '{ranked.variant.name}' than are there now.",
            "Rerank again: answers that are known cost nothing.",
        )
    # The model gives no scores: they only have to fall from place to place.
    falling = tuple(map(float, range(len(order), 0, -1)))
    return replace(ranked, doc_ids=order, scores=falling, by_model=True)
