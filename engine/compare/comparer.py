"""Variants of an instruction side by side for one seed, and what each did in a sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.corpora.contracts import Seed
from engine.corpora.passage_vectors import sample_rows
from engine.corpora.schema import aspect_column
from engine.errors import BadInputError
from engine.lenses.definitions import built_in_variants, check_variants, find_aspect
from engine.measures.metrics import csfcube_ndcg, judged_at, mean
from engine.measures.p_mrr import P_MRR, p_mrr_of_aspect, rank_gain
from engine.measures.ranking_change import RankingChange, compare_rankings, movers
from engine.numeric import FloatArray
from engine.search.interpretation import (
    Interpretation,
    avoided,
    focus_on_aspect,
    understood,
)
from engine.search.searcher import Searcher
from engine.search.systems import find_system, reads_wording
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
    Verdict,
    VerdictKind,
)
from engine.types.evaluations import CSFCUBE_NDCG
from engine.types.searches import PAGE_SIZE, Query, Ranking, TermUse

MOST_MOVERS = 12
LEAST_SPREAD = 0.02
"""Standard deviation of cosines that is taken at least: of an aspect that hardly any document of
the sample has it may be 0."""
STEERS = tuple(i / 10 for i in range(11))
"""Aspect weights of a frontier; the first one is what the others are compared with."""
_Others = Mapping[tuple[str, float], Mapping[str, Sequence[str]]]
"""System and aspect weight -> other aspect -> the ranking for it."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A variant, what it was read as, and its ranking."""

    variant: Variant
    seed: Seed
    read: Interpretation
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]
    seconds: float
    uses: tuple[TermUse, ...]
    by_model: bool = False


@dataclass(frozen=True)
class Comparer:
    """Compares variants for one seed of one corpus."""

    searcher: Searcher
    query: Query  # seed or text, and filters; its other fields are set by the variants
    aspect: str  # key of the aspect, for subsets, likeness and judgments
    judgments: Judgments  # of this seed, by aspect

    def compare(self, variants: Sequence[Variant], orders: ModelOrders | None = None) -> Comparison:
        """Rank every variant, and explain the differences; ``orders`` of a model replace the
        rankings of its variants."""
        started = time.perf_counter()
        check_variants(variants)
        aspect = find_aspect(self.searcher.corpus.lens, self.aspect)
        ranked = [_reordered(self.rank(variant), orders) for variant in variants]
        blind = self._blind(ranked, orders)
        gains = self._likeness(ranked, blind)
        judged, reason = self._is_judged(aspect.name)
        others = self._others(ranked) if judged else None
        rankings = tuple(
            self._described(r, gain, others) for r, gain in zip(ranked, gains, strict=True)
        )
        meant = aspect.name, aspect.key, self.judgments
        verdicts = tuple(
            find_verdict(Profile(r, before, reads_wording(r.variant.system), own.by_model, *meant))
            for r, own, before in zip(rankings, ranked, blind, strict=True)
        )
        titles = self._titles({d for r in ranked for d in r.doc_ids[:PAGE_SIZE]})
        grades = self.judgments.get(aspect.key, {})
        by, ratings = find_ratings(rankings, aspect.name)
        return Comparison(
            corpus=self.query.corpus,
            seed=self._seed.document,
            aspect=aspect.key,
            variants=rankings,
            pairs=tuple(self._pairs(ranked)),
            movers=self._movers(ranked),
            verdicts=verdicts,
            best=find_best(by, ratings) if len(rankings) > 1 else "",
            by=by,
            ratings=ratings,
            titles=titles,
            judged=judged,
            unjudged_reason=reason,
            seconds=time.perf_counter() - started,
            by_model=tuple(r.variant.name for r in ranked if r.by_model),
            grades={d: grades[d] for d in titles if d in grades},
        )

    def evidence(self, variants: Sequence[Variant], doc_id: str) -> MoverEvidence:
        """The evidence for one document under each variant."""
        document = self.searcher.corpus.seed(doc_id)
        evidence = []
        for variant in variants:
            seed, read = self._read(variant, self.asked(variant))
            evidence.append(self.searcher.finder(seed, read.focus).find(document).evidence)
        shown = {(e.seed_text, e.doc_text) for e in evidence[0]} if evidence else set()
        gained = tuple(
            tuple(e for e in pairs if (e.seed_text, e.doc_text) not in shown) for pairs in evidence
        )
        return MoverEvidence(document.document, tuple(evidence), gained)

    def frontier(self, variant: Variant) -> Frontier:
        """Trade-off of one wording's aspect weight: instruction following against relevance.

        With two judged aspects: :data:`CSFCUBE_NDCG` of the judged documents against the rank gain
        over aspect weight 0. Else an estimate: the top 20's cosine with the whole seed
        (standardised over the corpus) against their share that is new to weight 0.
        """
        rankings = [self.rank(replace(variant, steer=steer)).doc_ids for steer in STEERS]
        judged = sum(bool(grades) for grades in self.judgments.values()) > 1
        judged = judged and bool(self.judgments.get(self.aspect))
        grades = self.judgments.get(self.aspect, {})
        similarity = self._similarity([("vector", self._seed.vector)])
        points = []
        for steer, ranking in zip(STEERS, rankings, strict=True):
            obeyed: float | None
            if judged:
                relevance = csfcube_ndcg([d for d in ranking if d in grades], grades)
                obeyed = rank_gain(ranking, rankings[0], self.aspect, self.judgments)
            else:
                top = ranking[:PAGE_SIZE]
                relevance = float(similarity(top)[0]) if top else 0.0
                obeyed = len(set(top) - set(rankings[0][:PAGE_SIZE])) / max(1, len(top))
            points.append(FrontierPoint(steer, relevance, obeyed))
        return Frontier(tuple(points), judged)

    def _similarity(
        self, parts: Sequence[tuple[str, FloatArray]]
    ) -> Callable[[Sequence[str]], FloatArray]:
        """Mean cosine of documents with each part, standardised over a fixed sample."""
        corpus = self.searcher.corpus
        seed = corpus.row_of.get(self._seed.document.doc_id, -1)
        sample = np.array([row for row in sample_rows(len(corpus)) if row != seed], dtype=np.intp)
        cosines = corpus.cosines(sample, parts)
        mean, spread = cosines.mean(axis=0), np.maximum(cosines.std(axis=0), LEAST_SPREAD)

        def similarity(doc_ids: Sequence[str]) -> FloatArray:
            found = corpus.cosines(corpus.rows(doc_ids), parts).mean(axis=0)
            return np.asarray((found - mean) / spread, dtype=np.float32)

        return similarity

    # -- ranking -------------------------------------------------------------------------

    def rank(self, variant: Variant) -> Ranked:
        """One variant's ranking of the whole corpus, as a search for the same would have it."""
        started = time.perf_counter()
        query = self.asked(variant)
        seed, read = self._read(variant, query)
        ranking = self.searcher.rank(query, seed)
        seconds = time.perf_counter() - started
        doc_ids, scores = tuple(ranking.doc_ids), tuple(ranking.scores.tolist())
        scope = self.searcher.corpus.scope(query.filters, without=query.seed)
        uses = self.searcher.terms(query, read).uses(doc_ids[:PAGE_SIZE], scope)
        return Ranked(variant, seed, read, doc_ids, scores, seconds, uses)

    def asked(self, variant: Variant) -> Query:
        """The checked query of a variant."""
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
        self.searcher.check(query)
        return query

    def _read(self, variant: Variant, query: Query) -> tuple[Seed, Interpretation]:
        """The seed that is used, and the reading of the query, with notes on both."""
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
        if not reads_wording(variant.system):
            return seed, Interpretation(None, notes=notes)
        read = self.searcher.interpret(query, seed)
        if not find_system(variant.system).reads_aspect:
            read = Interpretation(None, terms=read.terms)
        return seed, replace(read, notes=(*notes, *read.notes))

    def _blind(self, ranked: Sequence[Ranked], orders: ModelOrders | None) -> list[Sequence[str]]:
        """Rankings of the same systems for the whole seed without a wording; the model's own where
        it reranked."""
        plain = replace(self.query, instruction=None, aspect=None, focus=())
        blind = {
            name: tuple(self.searcher.rank(replace(plain, system=name), self._seed).doc_ids)
            for name in {r.variant.system for r in ranked}
        }
        by_model = {} if orders is None else orders.unworded
        return [(by_model if r.by_model else blind)[r.variant.system] for r in ranked]

    @cached_property
    def _seed(self) -> Seed:
        """Read, or encoded, once for all variants."""
        return self.searcher.seed(self.query)

    # -- what the differences are ------------------------------------------------------------

    def _described(
        self, ranked: Ranked, gain: tuple[tuple[str, float], ...], others: _Others | None
    ) -> VariantRanking:
        lens, focus = self.searcher.corpus.lens, ranked.read.focus
        return VariantRanking(
            variant=ranked.variant,
            ranking=Ranking(ranked.variant.name, ranked.doc_ids, ranked.scores),
            understood=understood(focus, lens),
            avoided=avoided(focus, lens),
            weights=() if focus is None else tuple(map(float, focus.sentence_weights)),
            notes=ranked.read.notes,
            measures={} if others is None else self._measures(ranked, others),
            likeness=gain,
            seconds=ranked.seconds,
            terms=ranked.uses,
        )

    def _measures(self, ranked: Ranked, others: _Others) -> dict[str, float | None]:
        """On the judged documents of this seed only, in the order of the ranking."""
        grades = self.judgments.get(self.aspect, {})
        pool = [d for d in ranked.doc_ids if d in grades]
        measures: dict[str, float | None] = {
            CSFCUBE_NDCG: csfcube_ndcg(pool, grades),
            "Judged@20": judged_at(ranked.doc_ids, grades, PAGE_SIZE),
        }
        ranked_alike = others.get((ranked.variant.system, ranked.variant.steer))
        if ranked_alike and not ranked.by_model:  # a model was not asked for the other aspects
            measures[P_MRR] = p_mrr_of_aspect(pool, ranked_alike, self.aspect, self.judgments)
        return measures

    def _others(self, ranked: Sequence[Ranked]) -> _Others:
        """Each system's rankings for the seed's other judged aspects, in their base wording."""
        lens = self.searcher.corpus.lens
        keys = [a.key for a in lens.aspects if a.key != self.aspect and a.key in self.judgments]
        return {
            (system, steer): {
                key: self.rank(*built_in_variants(lens, key, system, steer, ["base"])).doc_ids
                for key in keys
            }
            for system, steer in {(r.variant.system, r.variant.steer) for r in ranked}
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
                    rank_gain(first.doc_ids, second.doc_ids, self.aspect, self.judgments),
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
            for doc_id, move in movers(ranked[0].doc_ids, other.doc_ids, MOST_MOVERS).items():
                best[doc_id] = max(best.get(doc_id, 0.0), abs(move))
        chosen = sorted(best, key=lambda d: (-best[d], d))[:MOST_MOVERS]
        places = [{d: i for i, d in enumerate(r.doc_ids, start=1)} for r in ranked]
        titles = self._titles(chosen)
        return tuple(Mover(d, titles[d], tuple(p.get(d) for p in places), best[d]) for d in chosen)

    def _titles(self, doc_ids: Iterable[str]) -> dict[str, str]:
        corpus = self.searcher.corpus
        return {d: corpus.titles[corpus.row_of[d]] for d in doc_ids}

    def _likeness(
        self, ranked: Sequence[Ranked], blind: Sequence[Sequence[str]]
    ) -> list[tuple[tuple[str, float], ...]]:
        """Gain in likeness per aspect of each variant's top 20 over those of its blind."""
        lens, seed = self.searcher.corpus.lens, self._seed
        parts, names = [], []
        for aspect in lens.aspects:
            focus = focus_on_aspect(seed, lens, aspect)
            if focus is not None:
                parts.append((aspect_column(aspect.key), focus_vector(seed, focus)))
                names.append(aspect.name)
        tops = [r.doc_ids[:PAGE_SIZE] for r in ranked]
        before = [ranking[:PAGE_SIZE] for ranking in blind]
        if not parts or not any(tops):
            return [() for _ in ranked]
        similarity = self._similarity(parts)
        return [  # bm25 finds nothing for a seed without words
            tuple(zip(names, map(float, similarity(top) - similarity(old)), strict=True))
            if top and old
            else ()
            for top, old in zip(tops, before, strict=True)
        ]


def _reordered(ranked: Ranked, orders: ModelOrders | None) -> Ranked:
    """A ranking, and its blind, in the model's order where there is one."""
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


# -- verdicts ----------------------------------------------------------------------------------

# Chosen by reading, not fitted: the numbers are beside every verdict.
NOTHING = 0.98
"""Rank-biased overlap from which two rankings are the same to a reader's eye."""
LITTLE = 0.85
"""From which they differ only in places."""
NOTICEABLE = 0.25
"""Standard deviations over the corpus by which the top 20 must become more similar in an aspect to
say so. One is a cosine of some 0.11, on the demo and on CSFCube (0.07 to 0.18)."""
SLIGHT = 0.05
"""From which they became slightly more similar, rather than staying as similar."""
MOVED = 0.02
"""Rank gain beyond which documents went the right or the wrong way."""
COSTLY = 0.75
"""Share of the nDCG without a wording below which following it cost relevance."""
MOST_LOST = 0.5
"""Share below which most of what is relevant was lost."""
FEW = 0.25
"""Overlap of the top 20 below which hardly any document stayed."""

Judgments = Mapping[str, Mapping[str, int]]
"""aspect key -> doc_id -> grade, for one seed."""


@dataclass(frozen=True)
class Profile:
    """A variant against the same system without a wording."""

    ranking: VariantRanking
    blind: Sequence[str]  # without the wording; in the model's order too where the variant is
    reads_wording: bool  # the system does; a model always does
    by_model: bool  # the ranking is in a model's order
    aspect: str  # aspect, key: name of the requested one, and its key in ``judgments``
    key: str
    judgments: Judgments

    @cached_property
    def change(self) -> RankingChange:
        """By the wording."""
        return compare_rankings(self.ranking.ranking.doc_ids, self.blind)

    @cached_property
    def rank_gain(self) -> float | None:
        """Over no wording; None where two aspects are not judged."""
        return rank_gain(self.ranking.ranking.doc_ids, self.blind, self.key, self.judgments)

    @cached_property
    def ndcg(self) -> tuple[float, float] | None:
        """Without the wording and with it; None where the aspect is not judged, or nothing relevant
        was found without the wording."""
        grades, orders = (
            self.judgments.get(self.key, {}),
            (self.blind, self.ranking.ranking.doc_ids),
        )
        before, after = (csfcube_ndcg([d for d in o if d in grades], grades) for o in orders)
        return (before, after) if before > 0 else None

    @property
    def gains(self) -> Mapping[str, float]:
        """aspect name -> gain in similarity of the top 20, in standard deviations."""
        return dict(self.ranking.likeness)

    @property
    def gain(self) -> float:
        """In the requested aspect."""
        return self.gains.get(self.aspect, 0.0)

    @property
    def kept(self) -> float:
        """Share of the nDCG kept with the wording; 1 where unknown."""
        return 1.0 if self.ndcg is None else self.ndcg[1] / self.ndcg[0]


def find_verdict(seen: Profile) -> Verdict:
    """What a wording did to a ranking."""
    variant = seen.ranking.variant
    kind: VerdictKind
    if not (seen.reads_wording or seen.by_model or variant.subset):
        kind, text = "nothing", _NOT_READ
    elif seen.change.rbo is not None and seen.change.rbo >= NOTHING:
        kind, text = "nothing", "changes nothing: the same documents lead without any wording"
    elif seen.rank_gain is not None:
        kind, text = _by_judgments(seen, seen.rank_gain)
    else:
        kind, text = _by_similarity(seen)
    if uses := seen.ranking.terms:
        outcomes = "; ".join(use.outcome for use in uses)
        asks = seen.ranking.understood and kind != "nothing"
        text = f"{outcomes}; in its aspects, it {text}" if asks else outcomes
        if any(use.available for use in uses):
            kind = "follows" if all(use.obeyed for use in uses) else "wrong way"
    name = f"“{variant.name}” on {variant.system}{' with the model' if seen.by_model else ''}"
    return Verdict(variant.name, kind, f"{name} {text}.", _numbers(seen))


def find_ratings(rankings: Sequence[VariantRanking], aspect: str) -> tuple[str, dict[str, float]]:
    """By what variants are ordered, and its value by variant: the first of judgments, terms and an
    estimate that all variants have; nothing without one."""
    estimate = f"similarity gained in {aspect}, in standard deviations, an estimate"
    measures: dict[str, list[float | None]] = {
        CSFCUBE_NDCG: [r.measures.get(CSFCUBE_NDCG) for r in rankings],
        "terms obeyed by the top 20, of what the corpus has": [
            mean([use.share for use in r.terms]) if r.terms else None for r in rankings
        ],
        estimate: [dict(r.likeness).get(aspect) for r in rankings],
    }
    for by, values in measures.items():
        pairs = zip(rankings, values, strict=True)
        found = {r.variant.name: value for r, value in pairs if value is not None}
        if len(found) == len(rankings):
            return by, found
    return "", {}


def find_best(by: str, ratings: Mapping[str, float]) -> str:
    """Which of several variants does best, and by what."""
    if not ratings:
        return ""
    best = max(ratings, key=ratings.__getitem__)
    value = ratings[best]
    together = sum(other == value for other in ratings.values())
    if together > 1:
        return f"{together} variants rank first together ({by}: {value:.2f})."
    return f"“{best}” ranks first ({by}: {value:.2f})."


_NOT_READ = "does not read wordings: the ranking is the same whatever is asked for"


def _by_judgments(seen: Profile, gained: float) -> tuple[VerdictKind, str]:
    """By the documents relevant only to the aspect, and the others."""
    alike = f"judged alike only in {seen.aspect}"
    figure = f" (rank gain {gained:+.2f})" if seen.by_model else ""
    if gained > MOVED:
        kind, text = _following(seen, f"documents {alike} rose{figure}")
        if seen.gain <= -NOTICEABLE:
            text += f"; the top 20 as a whole became less similar in {seen.aspect} (estimate)"
        return kind, text
    if gained < -MOVED:
        return "wrong way", f"moves the wrong way: documents {alike} fell{figure}{_cost(seen)}"
    return "little", f"moves documents, but hardly those {alike}{figure}{_cost(seen)}"


def _by_similarity(seen: Profile) -> tuple[VerdictKind, str]:
    """Without judgments of two aspects: in which aspect did the top 20 become more similar?"""
    best = max(seen.gains, key=lambda a: seen.gains[a], default="")
    highest = seen.gains.get(best, 0.0)
    if seen.gain >= max(NOTICEABLE, highest / 2):
        kind, text = _following(seen, f"the top 20 became more similar in {seen.aspect}")
        also = f", and more so in {best}" if highest >= seen.gain + NOTICEABLE else ""
        return kind, f"{text}{also} (estimate)"
    if highest >= NOTICEABLE:
        text = f"moves the wrong way: the top 20 became more similar in {best} (estimate)"
        return "wrong way", text + _cost(seen)
    if seen.gain <= -NOTICEABLE:
        text = f"moves the wrong way: the top 20 became less similar in {seen.aspect} (estimate)"
        return "wrong way", text + _cost(seen)
    fallen = [name for name, gain in seen.gains.items() if gain <= -NOTICEABLE]
    if fallen and seen.gain >= 0:
        less = " and ".join(fallen)
        stayed = "became slightly more" if seen.gain >= SLIGHT else "stayed as"
        how = f"the top 20 {stayed} similar in {seen.aspect} and became less so in {less}"
        kind, text = _following(seen, how)
        return kind, f"{text} (estimate)"
    if seen.change.rbo is not None and seen.change.rbo >= LITTLE:
        return "little", f"changes little: a few documents swap places{_cost(seen)}"
    text = f"ranks differently, without becoming clearly more similar in {seen.aspect} (estimate)"
    return "different", text + _cost(seen)


def _following(seen: Profile, how: str) -> tuple[VerdictKind, str]:
    """That it follows, and at what cost: in relevance where that is known, else in overlap."""
    if seen.kept < MOST_LOST:
        return "costly", f"follows, and loses most relevant documents{_ndcg(seen)}: {how}"
    if seen.kept < COSTLY:
        return "costly", f"follows, at the cost of relevance{_ndcg(seen)}: {how}"
    overlap = seen.change.overlap
    if seen.ndcg is None and overlap is not None and overlap < FEW:
        stayed = f"{overlap:.0%} of the top 20 stayed"
        return "follows", f"follows, and replaces nearly all documents ({stayed}): {how}"
    return "follows", f"follows: {how}"


def _cost(seen: Profile) -> str:
    if seen.kept >= COSTLY:
        return ""
    lost = "most relevant documents are lost" if seen.kept < MOST_LOST else "relevance is lost"
    return f"; {lost}{_ndcg(seen)}"


def _ndcg(seen: Profile) -> str:
    before, after = seen.ndcg or (0.0, 0.0)
    return f" ({CSFCUBE_NDCG} {before:.2f} to {after:.2f})" if seen.ndcg else ""


def _numbers(seen: Profile) -> str:
    def shown(value: float | None) -> str:
        return "undefined" if value is None else f"{value:.2f}"

    same, change = "the same system" + ", reranked too," * seen.by_model, seen.change
    parts = []
    if seen.rank_gain is not None:
        parts.append(f"rank gain over no wording {seen.rank_gain:+.2f}")
    if seen.ndcg is not None:
        before, after = seen.ndcg
        parts.append(f"{CSFCUBE_NDCG} {before:.3f} without a wording, {after:.3f} with")
    if seen.gains:
        words = ", ".join(f"{a} {g:+.2f}" for a, g in seen.gains.items())
        parts.append(f"similarity of the top 20, in standard deviations: {words}")
    measures = f"RBO {shown(change.rbo)}, tau {shown(change.tau)}, {shown(change.overlap)}"
    parts.append(f"against {same} without a wording: {measures} of the top 20 in common")
    return "; ".join(parts)
