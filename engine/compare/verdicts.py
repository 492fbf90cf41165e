"""Plain sentences about what a wording did to a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.measures.metrics import csfcube_ndcg, mean
from engine.measures.p_mrr import rank_gain
from engine.measures.ranking_change import RankingChange, compare_rankings
from engine.types.comparisons import VariantRanking, Verdict, VerdictKind
from engine.types.evaluations import CSFCUBE_NDCG

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
    """By what variants are ordered: terms, judgments, or an estimate; and its value by variant."""
    values: list[float | None]
    if any(ranking.terms for ranking in rankings):
        values = [mean([use.share for use in r.terms]) if r.terms else None for r in rankings]
        by = "share of its terms obeyed by the first 20"
    elif any(CSFCUBE_NDCG in ranking.measures for ranking in rankings):
        values, by = [r.measures.get(CSFCUBE_NDCG) for r in rankings], CSFCUBE_NDCG
    else:
        values = [dict(r.likeness).get(aspect) for r in rankings]
        by = f"similarity gained in {aspect}, in standard deviations, an estimate"
    pairs = zip(rankings, values, strict=True)
    return by, {r.variant.name: value for r, value in pairs if value is not None}


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
