"""Variants of an instruction side by side for one seed."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.columns import aspect_column
from engine.compare.variants import check_variants
from engine.compare.verdicts import Profile, find_verdicts
from engine.explain import find_evidence
from engine.focus import focus_on_aspect
from engine.interpretation import avoided, understood
from engine.lenses import find_aspect
from engine.metrics import csfcube_ndcg, judged_at, p_mrr_among_judged
from engine.queries import check_query
from engine.ranking_change import compare_rankings, movers
from engine.retrieve import find_system
from engine.retrieve.aspect import focus_vector
from engine.retrieve.base import Focus, Seed
from engine.searching import Searcher
from engine.types import (
    PAGE_SIZE,
    Comparison,
    Mover,
    MoverEvidence,
    Query,
    Ranking,
    Variant,
    VariantPair,
    VariantRanking,
)

MOST_MOVERS = 12
Judgments = Mapping[str, Mapping[str, int]]
"""aspect key -> doc_id -> grade, for one seed."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A variant, what it was read as, and its ranking."""

    variant: Variant
    seed: Seed
    focus: Focus | None
    notes: tuple[str, ...]
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]
    seconds: float


@dataclass(frozen=True)
class Comparer:
    """Compares variants for one seed of one corpus.

    Attributes:
        query: seed or text; its other fields are the variants' to set.
        aspect: key of the aspect that is meant, for subsets, likeness and judgments.
        judgments: of this seed, by aspect; empty when there are none.
    """

    searcher: Searcher
    query: Query
    aspect: str
    judgments: Judgments

    def compare(self, variants: Sequence[Variant]) -> Comparison:
        """Rank every variant, and say what the differences mean.

        Raises:
            BadInputError: no variant, two of one name, a wording that is too long ...
            UnknownNameError: an aspect or a system that does not exist.
        """
        started = time.perf_counter()
        check_variants(variants)
        aspect = find_aspect(self.searcher.corpus.lens, self.aspect)
        ranked = [self.rank(variant) for variant in variants]
        blind = {s: self.without_wording(s) for s in {v.system for v in variants}}
        gains = self._likeness(ranked, blind)
        judged, reason = self._is_judged(aspect.name)
        rankings = tuple(
            self._described(r, gain, judged) for r, gain in zip(ranked, gains, strict=True)
        )
        profiles = [
            Profile(r, blind[r.variant.system], gain, find_system(r.variant.system).reads_aspect)
            for r, gain in zip(rankings, gains, strict=True)
        ]
        return Comparison(
            corpus=self.query.corpus,
            seed=self._seed.document,
            aspect=aspect.key,
            variants=rankings,
            pairs=tuple(self._pairs(ranked)),
            movers=self._movers(ranked),
            verdicts=find_verdicts(profiles, aspect.name, self.judgments, aspect.key),
            titles=self._titles(ranked),
            judged=judged,
            unjudged_reason=reason,
            seconds=time.perf_counter() - started,
        )

    def evidence(self, variants: Sequence[Variant], doc_id: str) -> MoverEvidence:
        """The evidence for one document under each variant."""
        corpus = self.searcher.corpus
        document = corpus.seed(doc_id)
        found = []
        for variant in variants:
            seed, focus, _ = self._read(variant, self._asked(variant))
            found.append(find_evidence(seed, document, focus, corpus.rarity))
        shown = {(e.seed_text, e.doc_text) for e in found[0]} if found else set()
        gained = tuple(
            tuple(e for e in pairs if (e.seed_text, e.doc_text) not in shown) for pairs in found
        )
        return MoverEvidence(document.document, tuple(found), gained)

    # -- ranking -------------------------------------------------------------------------

    def rank(self, variant: Variant) -> Ranked:
        """One variant's ranking of the whole corpus, read from its words alone."""
        started = time.perf_counter()
        query = self._asked(variant)
        seed, focus, notes = self._read(variant, query)
        scored = self.searcher.rank(query, seed)
        return Ranked(
            variant,
            seed,
            focus,
            notes,
            tuple(s.doc_id for s in scored),
            tuple(s.score for s in scored),
            time.perf_counter() - started,
        )

    def _asked(self, variant: Variant) -> Query:
        """The query that a variant stands for, checked."""
        query = replace(
            self.query,
            instruction=variant.instruction.strip() or None,
            system=variant.system,
            steer=variant.steer,
            aspect=None,
            focus=(),
        )
        check_query(query, self.searcher.corpus.lens)
        return query

    def _read(self, variant: Variant, query: Query) -> tuple[Seed, Focus | None, tuple[str, ...]]:
        """The seed that is used, what the wording was read as, and notes on both."""
        seed = self._seed
        notes: tuple[str, ...] = ()
        if variant.subset:
            cut = self.searcher.subset(seed, self.aspect)
            if cut is None:
                notes = ("The seed has no sentence of the aspect, so all of it is used.",)
            seed = cut or seed
        if not find_system(variant.system).reads_aspect:
            return seed, None, notes
        focus, read = self.searcher.focus(query, seed)
        return seed, focus, (*notes, *read)

    def without_wording(self, system: str) -> tuple[str, ...]:
        """The ranking of the same system for the whole seed and no wording."""
        query = replace(self.query, instruction=None, aspect=None, focus=(), system=system)
        return tuple(s.doc_id for s in self.searcher.rank(query, self._seed))

    @functools.cached_property
    def _seed(self) -> Seed:
        """Read, or encoded, once for all variants."""
        return self.searcher.seed(self.query)

    # -- what the differences are ------------------------------------------------------------

    def _described(
        self, ranked: Ranked, gain: tuple[tuple[str, float], ...], judged: bool
    ) -> VariantRanking:
        lens, focus = self.searcher.corpus.lens, ranked.focus
        return VariantRanking(
            variant=ranked.variant,
            ranking=Ranking(ranked.variant.name, ranked.doc_ids, ranked.scores),
            understood=understood(focus, lens),
            avoided=avoided(focus, lens),
            weights=() if focus is None else tuple(map(float, focus.sentence_weights)),
            notes=ranked.notes,
            measures=self._measures(ranked) if judged else {},
            likeness=gain,
            seconds=ranked.seconds,
        )

    def _measures(self, ranked: Ranked) -> dict[str, float | None]:
        """On the judged documents of this seed only, in the order of the ranking."""
        grades = self.judgments.get(self.aspect, {})
        pool = [d for d in ranked.doc_ids if d in grades]
        return {
            "nDCG@20 (CSFCube)": csfcube_ndcg(pool, grades),
            "Judged@20": judged_at(ranked.doc_ids, grades, PAGE_SIZE),
        }

    def _pairs(self, ranked: Sequence[Ranked]) -> Iterable[VariantPair]:
        for first in ranked:
            for second in ranked:
                change = compare_rankings(first.doc_ids, second.doc_ids)
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
        self, ranked: Sequence[Ranked], blind: Mapping[str, Sequence[str]]
    ) -> list[tuple[tuple[str, float], ...]]:
        """How much more alike each variant's top 20 are, per aspect, than without a wording."""
        corpus, seed = self.searcher.corpus, self._seed
        lens = corpus.lens
        parts, names = [], []
        for aspect in lens.aspects:
            focus = focus_on_aspect(seed, lens, aspect)
            if focus is not None:
                parts.append((aspect_column(aspect.key), focus_vector(seed, focus)))
                names.append(aspect.name)
        tops = [r.doc_ids[:PAGE_SIZE] for r in ranked]
        before = [blind[r.variant.system][:PAGE_SIZE] for r in ranked]
        pool = sorted({d for top in (*tops, *before) for d in top})
        if not parts or not pool:
            return [() for _ in ranked]
        cosines = corpus.cosines(pool, parts)
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
