"""What a step will ask of the model at most, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.annotate.model_plan import Asked, grading, in_words
from engine.build.build_prompts import DOCUMENT_TOKENS, MOST_LABELS, merging, naming, verbalising
from engine.build.build_records import pooling_basis
from engine.build.clustering import ROUNDS, WINDOW
from engine.build.expanding import SCALE
from engine.build.labelling import aspect_of, label_counts, labelling_of
from engine.build.opened_build import OpenBuild
from engine.build.verbalising import MOST_AVOIDED, TRIES
from engine.llm.endpoints import Connection
from engine.llm.estimates import estimator
from engine.llm.messages import Prompt
from engine.types.builds import BuildSpec, BuildStep, StepEstimate
from engine.types.documents import Document
from engine.types.grading import GradingRequest
from engine.types.models import summed
from storage.answers import Answers

SAMPLE = 200
"""Documents whose lengths are measured, evenly spread over all."""
ANCHORS = GradingRequest().anchors


@dataclass(frozen=True, slots=True)
class _Plan:
    """Questions of one kind: so many, like these."""

    calls: int
    sample: Sequence[Prompt[Any]]


def estimate_step(
    build: OpenBuild, step: BuildStep, connection: Connection | None, answers: Answers
) -> StepEstimate:
    """What a step would take from where it was left; nothing is asked.

    Without an endpoint its cost is not known, and labels are collapsed without calls.
    """
    items, plans = _PLANS[step](build)
    if connection is None and step == "collapse":
        plans = []
    known = estimator(connection, answers)
    costs = [known.estimate(plan.sample, plan.calls) for plan in plans if plan.sample]
    cost = summed([known.total(0, 0, 0), *costs])
    return StepEstimate(step, items, **asdict(cost))


def _label(build: OpenBuild) -> tuple[int, list[_Plan]]:
    pending, corpus = build.unlabelled(), build.corpus
    aspect = aspect_of(build.spec, corpus.lens)
    prompts = [
        prompt
        for document in corpus.documents(_spread(pending))
        if (prompt := labelling_of(build.spec, document, aspect, DOCUMENT_TOKENS)) is not None
    ]
    return len(pending), [_Plan(len(pending), prompts)]


def _collapse(build: OpenBuild) -> tuple[int, list[_Plan]]:
    """How many clusters there will be is seen only when labels were compared: the most that
    can be named is one for every two labels, and that can be merged one for every label."""
    labels = build.shown_labels()
    different = list(dict.fromkeys(label.casefold() for label in labels.values()))
    windows = -(-len(different) // WINDOW) + (len(different) > WINDOW)
    # Where there are more labels to a cluster, there are fewer clusters.
    naming_prompt = naming(build.spec, dict.fromkeys(different[: min(MOST_LABELS, 6)], 1))
    merging_prompt = merging(build.spec, different[:WINDOW])
    rounds = ROUNDS if len(different) > 1 else 0
    return len(labels), [
        _Plan(len(different) // 2, [naming_prompt]),
        _Plan(rounds * windows, [merging_prompt]),
    ]


def _verbalise(build: OpenBuild) -> tuple[int, list[_Plan]]:
    pending, worded, labels = build.unworded(), build.wordings(), build.shown_labels()
    asked = [c for c in pending if c.key not in worded or worded[c.key].maker == "model"]
    avoid = ["of letters"] * MOST_AVOIDED
    prompts = [
        verbalising(build.spec, c.name, label_counts(labels, c.doc_ids), avoid, again=True)
        for c in asked[:SAMPLE]
    ]
    return len(pending), [_Plan(TRIES * len(asked), prompts)]


def _expand(build: OpenBuild) -> tuple[int, list[_Plan]]:
    """For queries that are not pooled yet: as if no two systems retrieved the same."""
    spec, asked, corpus = build.spec, build.asked(), build.corpus
    basis = pooling_basis(spec, corpus)
    there = {o.text: o for o in build.expanded() if o.pooled == basis}
    known = [there[query.text] for query in asked if query.text in there]
    graded, pooled = build.candidates(known)
    each = min(len(spec.systems) * spec.depth, len(corpus))
    new = [query for query in asked if query.text not in there]
    items = pooled - graded + each * len(new)
    texts = [query.text for query in new] or [one.text for one in known]
    documents = corpus.documents(_spread(build.scope(), 24))
    return items, [_Plan(items, _grading(spec, texts[0], documents))]


_PLANS: Mapping[BuildStep, Callable[[OpenBuild], tuple[int, list[_Plan]]]] = {
    "label": _label,
    "collapse": _collapse,
    "verbalise": _verbalise,
    "expand": _expand,
}


def _grading(spec: BuildSpec, query: str, documents: Sequence[Document]) -> list[Prompt[Any]]:
    asked = Asked(SCALE, in_words(query), f"{spec.attribute}\n{spec.guidance}")
    top = SCALE.values[-1]
    return [
        grading(asked, [(d, top) for d in documents[n + 1 : n + 1 + ANCHORS]], document)
        for n, document in enumerate(documents[: -ANCHORS or None])
    ] or [grading(asked, [], document) for document in documents]


def _spread(doc_ids: Sequence[str], most: int = SAMPLE) -> list[str]:
    return list(doc_ids[:: max(1, -(-len(doc_ids) // most))])
