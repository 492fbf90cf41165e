"""What a step will ask of the model at most, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.annotate.annotation import Annotation
from engine.annotate.model_plan import Asked, grading, in_words
from engine.build.build_prompts import DOCUMENT_TOKENS, MOST_LABELS, merging, naming, verbalising
from engine.build.build_records import pooling_basis
from engine.build.build_store import BuildStore
from engine.build.clustering import ROUNDS, WINDOW
from engine.build.expanding import SCALE, candidates
from engine.build.labelling import aspect_of, counted, labelling_of
from engine.build.verbalising import MOST_AVOIDED, TRIES
from engine.llm.endpoints import Connection
from engine.llm.estimates import estimator
from engine.llm.messages import Prompt
from engine.types.builds import BuildLens, BuildStep, StepEstimate
from engine.types.documents import Document
from engine.types.grading import GradingRequest
from engine.types.models import summed
from storage.answers import Answers

SAMPLE = 200
"""Documents whose lengths stand for all."""
ANCHORS = GradingRequest().anchors


@dataclass(frozen=True, slots=True)
class _Plan:
    """Questions of one kind: so many, like these."""

    calls: int
    sample: Sequence[Prompt[Any]]


class StepEstimator:
    """Estimates steps; asks nothing, whatever is known of the endpoint."""

    def __init__(self, store: BuildStore, annotation: Annotation, answers: Answers) -> None:
        self._store, self._annotation, self._answers = store, annotation, answers

    def estimate(
        self, lens: BuildLens, step: BuildStep, connection: Connection | None
    ) -> StepEstimate:
        """A step from where it was left.

        Without an endpoint its cost is not known, and labels are collapsed without calls.
        """
        items, plans = {
            "label": self._label,
            "collapse": self._collapse,
            "verbalise": self._verbalise,
            "expand": self._expand,
        }[step](lens)
        if connection is None and step == "collapse":
            plans = []
        known = estimator(connection, self._answers)
        costs = [known.estimate(plan.sample, plan.calls) for plan in plans if plan.sample]
        cost = summed([known.total(0, 0, 0), *costs])
        return StepEstimate(step, items, **asdict(cost))

    # -- the steps ---------------------------------------------------------------------

    def _label(self, lens: BuildLens) -> tuple[int, list[_Plan]]:
        pending, corpus = self._store.unlabelled(lens), self._store.corpus(lens)
        aspect = aspect_of(lens, corpus.lens)
        prompts = [
            prompt
            for document in corpus.documents(_spread(pending))
            if (prompt := labelling_of(lens, document, aspect, DOCUMENT_TOKENS)) is not None
        ]
        return len(pending), [_Plan(len(pending), prompts)]

    def _collapse(self, lens: BuildLens) -> tuple[int, list[_Plan]]:
        """How many clusters there will be is seen only when labels were compared: the most that
        can be named is one for every two labels, and that can be merged one for every label."""
        labels = self._store.shown_labels(lens)
        different = list(dict.fromkeys(label.casefold() for label in labels.values()))
        windows = -(-len(different) // WINDOW) + (len(different) > WINDOW)
        # Where there are more labels to a cluster, there are fewer clusters.
        naming_prompt = naming(lens, dict.fromkeys(different[: min(MOST_LABELS, 6)], 1))
        merging_prompt = merging(lens, different[:WINDOW])
        rounds = ROUNDS if len(different) > 1 else 0
        return len(labels), [
            _Plan(len(different) // 2, [naming_prompt]),
            _Plan(rounds * windows, [merging_prompt]),
        ]

    def _verbalise(self, lens: BuildLens) -> tuple[int, list[_Plan]]:
        pending, worded = self._store.unworded(lens), self._store.wordings(lens)
        asked = [c for c in pending if c.key not in worded or worded[c.key].maker == "model"]
        labels = self._store.shown_labels(lens)
        prompts = [
            verbalising(
                lens, c.name, counted(labels, c.doc_ids), ["of letters"] * MOST_AVOIDED, again=True
            )
            for c in asked[:SAMPLE]
        ]
        return len(pending), [_Plan(TRIES * len(asked), prompts)]

    def _expand(self, lens: BuildLens) -> tuple[int, list[_Plan]]:
        """For queries that are not pooled yet: as if no two systems brought up the same."""
        asked, corpus = self._store.asked(lens), self._store.corpus(lens)
        basis = pooling_basis(lens, corpus.identity)
        there = {o.text: o for o in self._store.expanded(lens) if o.pooled == basis}
        known = [there[query.text] for query in asked if query.text in there]
        graded, pooled = candidates(self._annotation, lens, known)
        each = min(len(lens.systems) * lens.depth, len(corpus))
        new = [query for query in asked if query.text not in there]
        items = pooled - graded + each * len(new)
        texts = [query.text for query in new] or [one.text for one in known]
        documents = corpus.documents(_spread(self._store.scope(lens), 24))
        return items, [_Plan(items, _grading(lens, texts[0], documents))]


def _grading(lens: BuildLens, query: str, documents: Sequence[Document]) -> list[Prompt[Any]]:
    asked = Asked(SCALE, in_words(query), f"{lens.attribute}\n{lens.guidance}")
    top = SCALE.values[-1]
    return [
        grading(asked, [(d, top) for d in documents[n + 1 : n + 1 + ANCHORS]], document)
        for n, document in enumerate(documents[: -ANCHORS or None])
    ] or [grading(asked, [], document) for document in documents]


def _spread(doc_ids: Sequence[str], most: int = SAMPLE) -> list[str]:
    return list(doc_ids[:: max(1, -(-len(doc_ids) // most))])
