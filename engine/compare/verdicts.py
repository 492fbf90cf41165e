"""Plain sentences about what a wording did to a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Profile:
    """Input of a verdict."""

    ranking: VariantRanking
    # the same system's ranking without a wording; in the model's order too where the variant is
    blind: Sequence[str]
    reads_wording: bool  # the system does; a model always does
    by_model: bool = False  # the ranking is in a model's order


@dataclass(frozen=True, slots=True)
class _Seen:
    """A variant against the same system without a wording, in figures."""

    name: str
    aspect: str
    change: RankingChange
    rank_gain: float | None  # over no wording; None where two aspects are not judged
    # without the wording and with it; None where the aspect is not judged, or nothing relevant was
    # found without the wording
    ndcg: tuple[float, float] | None
    # aspect name -> gain in similarity of the top 20, in standard deviations
    gains: Mapping[str, float]
    by_model: bool

    @property
    def kept(self) -> float:
        """Share of the nDCG kept with the wording; 1 where unknown."""
        return 1.0 if self.ndcg is None else self.ndcg[1] / self.ndcg[0]

    @property
    def gain(self) -> float:
        """In the requested aspect."""
        return self.gains.get(self.aspect, 0.0)


def find_verdicts(
    profiles: Sequence[Profile], aspect: str, judgments: Judgments, key: str
) -> tuple[Verdict, ...]:
    """One verdict per variant; ``aspect`` is the requested one's name, ``key`` its key in
    ``judgments``."""
    return tuple(_verdict(profile, aspect, judgments, key) for profile in profiles)


def _verdict(profile: Profile, aspect: str, judgments: Judgments, key: str) -> Verdict:
    variant = profile.ranking.variant
    seen = _seen(profile, aspect, judgments, key)
    kind: VerdictKind
    if not (profile.reads_wording or profile.by_model or variant.subset):
        kind, text = "nothing", _NOT_READ
    elif seen.change.rbo is not None and seen.change.rbo >= NOTHING:
        kind, text = "nothing", "changes nothing: the same documents lead without any wording"
    elif seen.rank_gain is not None:
        kind, text = _by_judgments(seen, seen.rank_gain)
    else:
        kind, text = _by_similarity(seen)
    if uses := profile.ranking.terms:
        outcomes = "; ".join(use.outcome for use in uses)
        asks = profile.ranking.understood and kind != "nothing"
        text = f"{outcomes}; in its aspects, it {text}" if asks else outcomes
        if any(use.available for use in uses):
            kind = "follows" if all(use.obeyed for use in uses) else "wrong way"
    return Verdict(variant.name, kind, f"{seen.name} {text}.", _numbers(seen))


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


def _seen(profile: Profile, aspect: str, judgments: Judgments, key: str) -> _Seen:
    variant, ranked = profile.ranking.variant, profile.ranking.ranking.doc_ids
    grades = judgments.get(key, {})
    before, after = (
        csfcube_ndcg([d for d in order if d in grades], grades) for order in (profile.blind, ranked)
    )
    model = " with the model" if profile.by_model else ""
    return _Seen(
        name=f"“{variant.name}” on {variant.system}{model}",
        aspect=aspect,
        change=compare_rankings(ranked, profile.blind),
        rank_gain=rank_gain(ranked, profile.blind, key, judgments),
        ndcg=(before, after) if before > 0 else None,
        gains=dict(profile.ranking.likeness),
        by_model=profile.by_model,
    )


def _by_judgments(seen: _Seen, gained: float) -> tuple[VerdictKind, str]:
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


def _by_similarity(seen: _Seen) -> tuple[VerdictKind, str]:
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


def _following(seen: _Seen, how: str) -> tuple[VerdictKind, str]:
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


def _cost(seen: _Seen) -> str:
    if seen.kept >= COSTLY:
        return ""
    lost = "most relevant documents are lost" if seen.kept < MOST_LOST else "relevance is lost"
    return f"; {lost}{_ndcg(seen)}"


def _ndcg(seen: _Seen) -> str:
    before, after = seen.ndcg or (0.0, 0.0)
    return f" ({CSFCUBE_NDCG} {before:.2f} to {after:.2f})" if seen.ndcg else ""


def _numbers(seen: _Seen) -> str:
    def shown(value: float | None) -> str:
        return "undefined" if value is None else f"{value:.2f}"

    parts = []
    if seen.rank_gain is not None:
        parts.append(f"rank gain over no wording {seen.rank_gain:+.2f}")
    if seen.ndcg is not None:
        before, after = seen.ndcg
        parts.append(f"{CSFCUBE_NDCG} {before:.3f} without a wording, {after:.3f} with")
    if seen.gains:
        words = ", ".join(f"{a} {g:+.2f}" for a, g in seen.gains.items())
        parts.append(f"similarity of the top 20, in standard deviations: {words}")
    same, change = "the same system" + ", reranked too," * seen.by_model, seen.change
    return "; ".join(
        [
            *parts,
            f"against {same} without a wording: RBO {shown(change.rbo)}, tau {shown(change.tau)}, "
            f"{shown(change.overlap)} of the top 20 in common",
        ]
    )
