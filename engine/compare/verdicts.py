"""Plain sentences about what a wording did to a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.measures.p_mrr import p_mrr_among_judged
from engine.measures.ranking_change import RankingChange, compare_rankings
from engine.types.comparisons import VariantRanking, Verdict, VerdictKind

# The thresholds of the words below are a matter of reading, not of fitting: the numbers stand
# beside every verdict.
NOTHING = 0.98
"""Rank-biased overlap from which two rankings are the same to a reader's eye."""
LITTLE = 0.85
"""From which they differ only in places."""
NOTICEABLE = 0.25
"""Standard deviations by which the top 20 must become more similar in an aspect to say so."""
MOVED = 0.02
"""p-MRR beyond which documents went the right or the wrong way."""

Judgments = Mapping[str, Mapping[str, int]]
"""aspect key -> doc_id -> grade, for one seed."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What verdicts are made of.

    Attributes:
        blind: the ranking of the same system without a wording; in the model's order too
            where the variant is, as far as it came.
        gain: (aspect name, gain in likeness of the top 20, standard deviations).
        reads_wording: the system does; a model always does.
        by_model: the ranking is in a model's order.
    """

    ranking: VariantRanking
    blind: Sequence[str]
    gain: tuple[tuple[str, float], ...]
    reads_wording: bool
    by_model: bool = False


def find_verdicts(
    profiles: Sequence[Profile], aspect: str, judgments: Judgments, key: str
) -> tuple[Verdict, ...]:
    """One verdict per variant.

    Args:
        aspect: name of the aspect that is meant.  key: its key in ``judgments``.
    """
    return tuple(_verdict(profile, aspect, judgments, key) for profile in profiles)


def _verdict(profile: Profile, aspect: str, judgments: Judgments, key: str) -> Verdict:
    variant = profile.ranking.variant
    change = compare_rankings(profile.ranking.ranking.doc_ids, profile.blind)
    numbers = _numbers(change, by_model=profile.by_model)
    name = f"“{variant.name}” on {variant.system}"
    name += " with the model" if profile.by_model else ""
    if not (profile.reads_wording or profile.by_model or variant.subset):
        text = f"{name} does not read wordings: the ranking is the same whatever is asked for."
        return Verdict(variant.name, "nothing", text, numbers)
    if change.rbo is not None and change.rbo >= NOTHING:
        text = f"{name} changes nothing: the same documents lead without any wording."
        return Verdict(variant.name, "nothing", text, numbers)
    ranked = profile.ranking.ranking.doc_ids
    judged = p_mrr_among_judged(ranked, profile.blind, key, judgments)
    if judged is not None:
        return _judged_verdict(profile, name, aspect, judged, numbers)
    return _estimated_verdict(profile, name, aspect, change, numbers)


def _judged_verdict(
    profile: Profile, name: str, aspect: str, p_mrr_value: float, numbers: str
) -> Verdict:
    variant = profile.ranking.variant
    figure = f" (p-MRR {p_mrr_value:+.2f})" if profile.by_model else ""
    kind: VerdictKind
    if p_mrr_value > MOVED:
        kind = "follows"
        text = f"{name} follows: documents judged alike only in {aspect} rose{figure}."
    elif p_mrr_value < -MOVED:
        kind = "wrong way"
        text = f"{name} moves the wrong way: documents judged alike only in {aspect} fell{figure}."
    else:
        kind = "little"
        text = f"{name} moves documents, but not the ones judged alike only in {aspect}{figure}."
    return Verdict(variant.name, kind, text, f"p-MRR {p_mrr_value:+.2f} here; {numbers}")


def _estimated_verdict(
    profile: Profile, name: str, aspect: str, change: RankingChange, numbers: str
) -> Verdict:
    """Without judgments: in which aspect did the top 20 become more similar?"""
    variant = profile.ranking.variant
    gains = dict(profile.gain)
    best = max(gains, key=lambda a: gains[a], default="")
    words = "; ".join(f"{a} {g:+.2f}" for a, g in gains.items())
    numbers = f"similarity of the top 20, in standard deviations: {words}; {numbers}"
    kind: VerdictKind
    if best == aspect and gains[best] >= NOTICEABLE:
        kind = "follows"
        text = f"{name} follows: the top 20 became more similar in {aspect} (estimate)."
    elif best and best != aspect and gains[best] >= NOTICEABLE:
        kind = "wrong way"
        text = f"{name} moves the wrong way: the top 20 became more similar in {best} (estimate)."
    elif change.rbo is not None and change.rbo >= LITTLE:
        kind = "little"
        text = f"{name} changes little: a few documents swap places."
    else:
        kind = "different"
        text = f"{name} ranks differently, without becoming more similar in {aspect} (estimate)."
    return Verdict(variant.name, kind, text, numbers)


def _numbers(change: RankingChange, *, by_model: bool) -> str:
    def shown(value: float | None) -> str:
        return "undefined" if value is None else f"{value:.2f}"

    same = "the same system, reranked too," if by_model else "the same system"
    return (
        f"against {same} without a wording: RBO {shown(change.rbo)}, "
        f"tau {shown(change.tau)}, {shown(change.overlap)} of the top 20 in common"
    )
