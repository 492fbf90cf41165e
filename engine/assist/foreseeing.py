"""What many rankings will ask of a model, before anything is asked.

Numbers of questions follow from the modes; tokens from the lengths of some texts, by our own
count and not by a tokenizer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.assist.model_systems import HOPS, PER_HOP, question
from engine.assist.reranking import TOP, Plan
from engine.llm.budget import Estimate
from engine.llm.cache import AnswerStore
from engine.llm.endpoints import Connection
from engine.llm.estimates import Estimator, estimator
from engine.llm.judges import Question, estimate_questions
from engine.llm.prompts import Criterion, noting, rewording
from engine.rerank import estimate, find_mode
from engine.rerank.listwise import LENGTH
from engine.rerank.tournament import BATCH
from engine.search.searcher import Searcher
from engine.types.collections import Topic
from engine.types.reranking import CostEstimate

SAMPLE = 6
"""Queries whose documents stand for all."""
DOCUMENTS = 12
"""Documents of each of them whose lengths stand for all."""
_LIST = {"listwise": LENGTH, "tournament": BATCH}
"""Documents per list at most."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Questions and rounds at most.

    Attributes:
        mode: of reranking, or the name of a system that asks a model.
        exact: the answers do not change these numbers.
    """

    mode: str
    calls: int
    rounds: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Specimen:
    """A query and some of its documents, whose lengths stand for others."""

    criterion: Criterion
    texts: Mapping[str, str]


def foreseen_reranked(plan: Plan, sizes: Sequence[int]) -> Foreseen:
    """What reranking asks.

    Args:
        sizes: documents of each ranking.
    """
    depths = [min(plan.depth, size) for size in sizes]
    found = [estimate(plan.mode, depth, TOP) for depth in depths if depth > 0]
    return Foreseen(
        plan.mode,
        sum(one.calls for one in found),
        sum(one.rounds for one in found),
        all(one.exact for one in found),
    )


def foreseen_helped(system: str, sizes: Sequence[int]) -> Foreseen:
    """What a system that needs a model asks: it reads on whatever it is answered.

    Args:
        sizes: documents of each ranking.
    """
    if system == "rewrite":
        return Foreseen(system, len(sizes), len(sizes))
    calls = sum(min(HOPS, -(-size // PER_HOP)) for size in sizes)
    return Foreseen(system, calls, calls)


def ranking_sizes(searcher: Searcher, topics: Sequence[Topic]) -> list[int]:
    """How many documents a ranking of each topic may hold."""
    known = searcher.corpus.row_of
    return [
        len(known) - (topic.seed in known)
        if topic.pool is None
        else sum(doc_id in known for doc_id in topic.pool)
        for topic in topics
    ]


def together(
    depth: int,
    ahead: Sequence[Foreseen],
    specimens: Sequence[Specimen],
    connection: Connection | None,
    store: AnswerStore,
) -> CostEstimate:
    """The sum, with tokens and cost where a model is connected. Asks nothing.

    Args:
        depth: what the estimate says of itself.
    """
    found = CostEstimate(
        mode=", ".join(dict.fromkeys(one.mode for one in ahead)),
        depth=depth,
        calls=sum(one.calls for one in ahead),
        rounds=sum(one.rounds for one in ahead),
        exact=all(one.exact for one in ahead),
    )
    if connection is None or not specimens:
        return found

    known = estimator(connection, store)
    tokens = [_tokens(known, one, specimens) for one in ahead if one.calls]
    costs = [one.cost for one in tokens if one.cost is not None]
    return replace(
        found,
        input_tokens=sum(one.input_tokens for one in tokens),
        output_tokens=sum(one.output_tokens for one in tokens),
        cost=sum(costs) if costs else None,
    )


def _tokens(known: Estimator, ahead: Foreseen, specimens: Sequence[Specimen]) -> Estimate:
    """The mean over the specimens, each asked all the questions."""
    found = [_tokens_like(known, ahead, one) for one in specimens]
    count = len(found)
    costs = [one.cost for one in found if one.cost is not None]
    return Estimate(
        ahead.calls,
        sum(one.input_tokens for one in found) // count,
        sum(one.output_tokens for one in found) // count,
        sum(costs) / count if costs else None,
    )


def _tokens_like(known: Estimator, ahead: Foreseen, specimen: Specimen) -> Estimate:
    wish = question(specimen.criterion)
    if ahead.mode == "rewrite":
        return known.estimate(rewording(wish, 1), ahead.calls)
    if ahead.mode == "multi-hop":
        return known.estimate(noting(wish, [], _batch(specimen.texts)), ahead.calls)
    asks: Question = find_mode(ahead.mode).asks
    return estimate_questions(
        known, specimen.criterion, specimen.texts, asks, ahead.calls, _LIST.get(ahead.mode, 2)
    )


def _batch(texts: Mapping[str, str]) -> dict[str, str]:
    """As many documents as a hop reads, some of them several times."""
    own = list(texts.values())
    return {str(i): own[i % len(own)] for i in range(PER_HOP)} if own else {}
