"""What rankings will ask of a model and cost, before anything is asked.

Numbers of questions follow from the modes; tokens from the lengths of some texts, by our own
count and not by a tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.assist.assist_prompts import noting, rewording
from engine.assist.model_systems import HOPS, PER_HOP, question
from engine.assist.reranking import TOP, Assignment, Plan
from engine.llm.endpoints import Connection
from engine.llm.estimates import Estimator, estimator
from engine.llm.judges import typical_question
from engine.llm.judging_prompts import Criterion
from engine.llm.messages import Prompt
from engine.rerank import estimate, find_mode
from engine.rerank.listwise import LENGTH
from engine.rerank.tournament import BATCH
from engine.search.searcher import Searcher
from engine.types.evaluations import Topic
from engine.types.models import summed
from engine.types.reranking import CostEstimate
from storage.answers import Answers

SAMPLE = 6
"""Queries whose documents are measured where there are many."""
DOCUMENTS = 12
"""Documents of each of these queries that are measured."""
OF_ONE = 30
"""Documents that are measured where there is one query only."""
KEPT = 256
"""Estimates that are remembered."""
_LIST = {"listwise": LENGTH, "tournament": BATCH}
"""Documents per list at most."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A query and some of its documents, whose lengths are taken for those of all."""

    criterion: Criterion
    texts: Mapping[str, str]


def count_for_reranking(plan: Plan, sizes: Sequence[int]) -> CostEstimate:
    """What reranking asks, without tokens.

    Args:
        sizes: documents of each ranking.
    """
    depths = [min(plan.depth, size) for size in sizes]
    each = [estimate(plan.mode, depth, TOP) for depth in depths if depth > 0]
    return CostEstimate(
        plan.mode,
        plan.depth,
        rounds=sum(one.rounds for one in each),
        exact=all(one.exact for one in each),
        calls=sum(one.calls for one in each),
    )


def count_for_system(system: str, sizes: Sequence[int]) -> CostEstimate:
    """What a system that asks a model asks, whatever the answers are; without tokens.

    Args:
        sizes: documents of each ranking.
    """
    hops = [1 if system == "rewrite" else min(HOPS, -(-size // PER_HOP)) for size in sizes]
    return CostEstimate(system, 0, rounds=sum(hops), exact=True, calls=sum(hops))


def ranking_sizes(searcher: Searcher, topics: Sequence[Topic]) -> list[int]:
    """How many documents a ranking of each topic may hold."""
    known = searcher.corpus.row_of
    return [
        len(known) - (topic.seed in known)
        if topic.pool is None
        else sum(doc_id in known for doc_id in topic.pool)
        for topic in topics
    ]


def estimate_cost(
    depth: int,
    counts: Sequence[CostEstimate],
    samples: Sequence[Sample],
    connection: Connection | None,
    store: Answers,
) -> CostEstimate:
    """The sum, with tokens and cost where a model is connected. Asks nothing.

    Args:
        depth: of the estimate.
    """
    if connection is None or not samples:
        return total_cost(depth, counts)
    known = estimator(connection, store)
    return total_cost(depth, [_with_tokens(known, one, samples) for one in counts])


def total_cost(depth: int, estimates: Sequence[CostEstimate]) -> CostEstimate:
    """All of them together, as an estimate of that depth."""
    return CostEstimate(
        ", ".join(dict.fromkeys(one.mode for one in estimates)),
        depth,
        rounds=sum(one.rounds for one in estimates),
        exact=all(one.exact for one in estimates),
        **asdict(summed(estimates)),
    )


def estimate_ranking(
    plan: Plan | None,
    system: str,
    assignment: Assignment,
    connection: Connection | None,
    store: Answers,
) -> CostEstimate:
    """What one ranking costs; tokens only with a connection.

    Args:
        plan: how to rerank; None for a search on ``system``, which asks a model by itself.
        assignment: what is reranked; without a plan, the same search on ``dense``.
    """
    total = len(assignment.doc_ids)
    if plan is None:
        count, doc_ids = count_for_system(system, [total]), assignment.doc_ids[:PER_HOP]
    else:
        count, depth = count_for_reranking(plan, [total]), min(plan.depth, total)
        doc_ids = assignment.doc_ids[: depth : max(1, depth // OF_ONE)]
    samples = []
    if connection is not None:  # else no text need be read
        samples.append(Sample(assignment.criterion, assignment.texts(doc_ids)))
    return estimate_cost(plan.depth if plan else 0, [count], samples, connection, store)


class EstimateCache:
    """The latest estimates, by all that they depend on. Safe to share between threads."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, CostEstimate] = {}

    def get(self, key: Hashable, make: Callable[[], CostEstimate]) -> CostEstimate:
        """The estimate of a key; made where it is not kept."""
        known = self._kept.get(key)
        if known is None:
            if len(self._kept) >= KEPT:
                self._kept = {}
            known = self._kept[key] = make()
        return known


def _with_tokens(known: Estimator, count: CostEstimate, samples: Sequence[Sample]) -> CostEstimate:
    """With the mean over the samples, each asked all the questions."""
    prompts = [_question(known, count.mode, sample) for sample in samples]
    return replace(count, **asdict(known.estimate(prompts, count.calls)))


def _question(known: Estimator, mode: str, sample: Sample) -> Prompt[Any]:
    """A question of this mode, or of a system that asks a model, of the sample's lengths."""
    wish = question(sample.criterion)
    if mode == "rewrite":
        return rewording(wish, 1)
    if mode == "multi-hop":
        return noting(wish, [], _batch(sample.texts))
    asks, room = find_mode(mode).asks, known.known.room
    return typical_question(sample.criterion, sample.texts, asks, room, _LIST.get(mode, 2))


def _batch(texts: Mapping[str, str]) -> dict[str, str]:
    """As many documents as a hop reads, some of them several times."""
    own = list(texts.values())
    return {str(i): own[i % len(own)] for i in range(PER_HOP)} if own else {}
