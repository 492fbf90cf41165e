"""Estimates of rankings by a model, before it is asked.

Numbers of questions follow from the modes; tokens from the lengths of some texts, not from a
tokenizer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.llm.connecting import Estimator
from engine.llm.judges import typical_question
from engine.llm.judging_prompts import Criterion
from engine.llm.messages import Prompt
from engine.rerank.listwise import BATCH, LENGTH
from engine.rerank.modes import estimate, find_mode
from engine.search.model.prompts import noting, rewording
from engine.search.model.reranking import TOP, Assignment, Plan
from engine.search.model.systems import HOPS, PER_HOP, question
from engine.search.searcher import Searcher
from engine.types.evaluations import Topic
from engine.types.models import Estimate, summed

SAMPLE = 6  # Queries whose documents are measured where there are many
DOCUMENTS = 12  # Documents of each of these queries that are measured
OF_ONE = 30  # Documents that are measured where there is one query only
KEPT = 256  # Estimates that a facade remembers, by all that they depend on
_LIST = {"listwise": LENGTH, "tournament": BATCH}
"""Documents per list at most."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A query and some of its documents, whose lengths are taken for those of all."""

    criterion: Criterion
    texts: Mapping[str, str]


Counted = tuple[str, Estimate]
"""A mode of reranking, or the name of a system that asks a model; and what it asks, without
tokens."""


def count_for_reranking(plan: Plan, sizes: Sequence[int]) -> Counted:
    """What reranking asks; ``sizes`` are the documents of each ranking."""
    depths = [min(plan.depth, size) for size in sizes]
    each = [estimate(plan.mode, depth, TOP) for depth in depths if depth > 0]
    return plan.mode, Estimate(
        rounds=sum(one.rounds for one in each),
        exact=all(one.exact for one in each),
        calls=sum(one.calls for one in each),
    )


def count_for_system(system: str, sizes: Sequence[int]) -> Counted:
    """What a system that asks a model asks, whatever the answers are; ``sizes`` as above."""
    hops = [1 if system == "rewrite" else min(HOPS, -(-size // PER_HOP)) for size in sizes]
    return system, Estimate(rounds=sum(hops), calls=sum(hops))


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
    counts: Sequence[Counted], samples: Sequence[Sample], known: Estimator
) -> Estimate:
    """The sum, with tokens and cost where there are samples. Asks nothing."""
    if not samples:
        return summed([count for _, count in counts])
    return summed([_with_tokens(known, mode, count, samples) for mode, count in counts])


def estimate_ranking(
    plan: Plan | None,
    system: str,
    assignment: Assignment,
    known: Estimator,
) -> Estimate:
    """What one ranking costs; tokens only where a model is connected."""
    total = len(assignment.doc_ids)
    if plan is None:
        count, doc_ids = count_for_system(system, [total]), assignment.doc_ids[:PER_HOP]
    else:
        count, depth = count_for_reranking(plan, [total]), min(plan.depth, total)
        doc_ids = assignment.doc_ids[: depth : max(1, depth // OF_ONE)]
    samples = []
    if known.model:  # else no text need be read
        samples.append(Sample(assignment.criterion, assignment.texts(doc_ids)))
    return estimate_cost([count], samples, known)


def _with_tokens(
    known: Estimator, mode: str, count: Estimate, samples: Sequence[Sample]
) -> Estimate:
    """With the mean over the samples, each asked all the questions."""
    cost = known.estimate([_question(known, mode, sample) for sample in samples], count.calls)
    return replace(cost, rounds=count.rounds, exact=count.exact)


def _question(known: Estimator, mode: str, sample: Sample) -> Prompt[Any]:
    """A question of this mode, or of a system with a model, in the sample's lengths."""
    wish = question(sample.criterion)
    if mode == "rewrite":
        return rewording(wish, 1)
    if mode == "multi-hop":
        return noting(wish, [], _batch(sample.texts))
    asks, room = find_mode(mode).asks, known.known.room
    return typical_question(sample.criterion, sample.texts, asks, room, _LIST.get(mode, 2))


def _batch(texts: Mapping[str, str]) -> dict[str, str]:
    """As many documents as a hop reads, repeated if necessary."""
    own = list(texts.values())
    return {str(i): own[i % len(own)] for i in range(PER_HOP)} if own else {}
