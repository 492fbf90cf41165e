"""What one ranking will cost, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from threading import Lock

from engine.assist.foreseeing import Foreseen, Specimen, foreseen_helped, together
from engine.assist.model_systems import PER_HOP
from engine.assist.reranking import TOP, Assignment, Plan
from engine.llm.cache import AnswerStore
from engine.llm.endpoints import Connection
from engine.rerank import estimate
from engine.types.reranking import CostEstimate

SAMPLE = 30
"""Documents whose lengths stand for all."""
KEPT = 256


class Estimates:
    """The latest estimates, by all that they depend on. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: dict[Hashable, CostEstimate] = {}

    def get(self, key: Hashable, make: Callable[[], CostEstimate]) -> CostEstimate:
        """The estimate of a key; made where it is not kept."""
        found = self._found.get(key)
        if found is None:
            found = make()
            with self._lock:
                while len(self._found) >= KEPT:
                    del self._found[next(iter(self._found))]
                self._found[key] = found
        return found


def questions(plan: Plan, documents: int) -> CostEstimate:
    """Calls and rounds for a first stage of so many documents; nothing about tokens."""
    depth = min(plan.depth, documents)
    if depth < 1:
        return CostEstimate(plan.mode, plan.depth, 0, 0, exact=True)
    found = estimate(plan.mode, depth, TOP)
    return CostEstimate(plan.mode, plan.depth, found.calls, found.rounds, found.exact)


def priced(
    plan: Plan, assignment: Assignment, connection: Connection | None, store: AnswerStore
) -> CostEstimate:
    """The same with tokens and cost where a model is connected.

    Asks nothing, whatever is known of the endpoint.
    """
    found = questions(plan, len(assignment.doc_ids))
    if connection is None:
        return found
    if not found.calls:
        return replace(found, input_tokens=0, output_tokens=0)
    depth = min(plan.depth, len(assignment.doc_ids))
    texts = assignment.texts(assignment.doc_ids[: depth : max(1, depth // SAMPLE)])
    ahead = Foreseen(plan.mode, found.calls, found.rounds, found.exact)
    specimen = Specimen(assignment.criterion, texts)
    return together(plan.depth, [ahead], [specimen], connection, store)


def priced_search(
    system: str, assignment: Assignment, connection: Connection | None, store: AnswerStore
) -> CostEstimate:
    """What a search on a system that asks a model costs; tokens only with a connection.

    Args:
        assignment: the same search on ``dense``.
    """
    ahead = foreseen_helped(system, [len(assignment.doc_ids)])
    texts = assignment.texts(assignment.doc_ids[:PER_HOP])
    return together(0, [ahead], [Specimen(assignment.criterion, texts)], connection, store)
