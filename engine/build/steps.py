"""One step of a build as a task: what has to be there first, what it asks, and running it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from engine.annotate.model_grading import Asked, grading, in_words
from engine.annotate.projects import check_annotator
from engine.build.build_prompts import DOCUMENT_TOKENS, MOST_LABELS, merging, naming, verbalising
from engine.build.build_records import pooling_basis
from engine.build.clustering import ROUNDS, WINDOW, collapse
from engine.build.expanding import SCALE, expand
from engine.build.labelling import Work, aspect_of, label, label_counts, labelling_of
from engine.build.opened_build import OpenBuild
from engine.build.verbalising import MOST_AVOIDED, TRIES, verbalise
from engine.errors import BadInputError
from engine.llm.connecting import Estimator
from engine.llm.messages import Prompt
from engine.llm.tasks import ModelTask, TaskRun
from engine.numeric import FloatArray
from engine.types.annotating import ANCHORS
from engine.types.builds import BUILD_STEPS, BuildSpec, BuildStep, StepRequest
from engine.types.documents import Document
from engine.types.encoders import Passage
from engine.types.models import Estimate, TaskReport, summed
from storage.home import Home
from storage.ledger import Ledger

SAMPLE = 200
"""Documents whose lengths are measured, evenly spread over all."""


class RunStep(ModelTask[int]):
    """One step of a build, resumed; one per build at a time in all processes. The result is the
    number of labels that say something, clusters, queries or grades made."""

    def __init__(self, build: OpenBuild, request: StepRequest, home: Home, ledger: Ledger) -> None:
        spec, step = build.spec, request.step
        self.request: BuildStep = step
        self.phase, self.key = step, (spec.corpus, spec.name)
        self.busy = f"Another step of '{spec.name}' is under way."
        self.needs_model = step != "collapse"  # which does something without one too
        self._build, self._author, self._ledger = build, request.author, ledger
        # No name of a corpus or a build holds a dot.
        name = f"{spec.corpus}.{spec.name}.lock"
        self._lock = home.corpus_lock(spec.corpus).with_name(name)
        _check(build, step)

    def held(self) -> AbstractContextManager[None]:
        return self._ledger.locks.alone(
            self._lock, self.busy, "Wait until it is done, or cancel it."
        )

    def estimate(self, known: Estimator) -> Estimate:
        items, plans = _PLANS[self.request](self._build)
        if not self.needs_model and not known.model:
            plans = []
        costs = [known.estimate(sample, calls) for calls, sample in plans if sample]
        return replace(summed([known.estimate([], 0), *costs]), items=items)

    async def run(self, run: TaskRun) -> TaskReport[int]:
        _check(self._build, self.request)
        work = Work(self._build, self.request, check_annotator(self._author), run)
        if self.request == "label":
            return await label(work)
        if self.request == "collapse":
            return await collapse(work, self._embed)
        if self.request == "verbalise":
            return await verbalise(work)
        return await expand(work, self._ledger)

    def _embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of the embedded model, whatever model the corpus has."""
        encoder = self._build.library.embedded()
        encoded = encoder.encode([Passage("", text, ()) for text in texts])
        return np.stack([one.vector for one in encoded])


def _check(build: OpenBuild, step: BuildStep) -> None:
    name = build.spec.name
    if step not in BUILD_STEPS:
        raise BadInputError(f"There is no step '{step}'.", f"Use {', '.join(BUILD_STEPS)}.")
    if step == "collapse" and not build.shown_labels():
        raise BadInputError(
            f"No document of '{name}' has a label yet.", "Run the step 'label' first."
        )
    if step == "verbalise" and not build.active():
        if build.clustering() is None:
            raise BadInputError(f"'{name}' has no clusters.", "Run the step 'collapse' first.")
        raise BadInputError(
            f"No cluster of '{name}' becomes a query: each is too small, too large or dropped.",
            "Change these sizes, or merge, split or take back some clusters.",
        )
    if step == "expand" and not build.asked():
        raise BadInputError(f"'{name}' has no query.", "Run the step 'verbalise' first.")


# -- what a step asks at most --------------------------------------------------------------------


Questions = tuple[int, Sequence[Prompt[Any]]]
"""Questions of one kind: how many, and some of them."""


def _label(build: OpenBuild) -> tuple[int, list[Questions]]:
    pending, corpus = build.unlabelled(), build.corpus
    aspect = aspect_of(build.spec, corpus.lens)
    prompts = [
        prompt
        for document in corpus.documents(_spread(pending))
        if (prompt := labelling_of(build.spec, document, aspect, DOCUMENT_TOKENS)) is not None
    ]
    return len(pending), [(len(pending), prompts)]


def _collapse(build: OpenBuild) -> tuple[int, list[Questions]]:
    """At most one naming question per two labels, and one merging question per label."""
    labels = build.shown_labels()
    different = list(dict.fromkeys(label.casefold() for label in labels.values()))
    windows = -(-len(different) // WINDOW) + (len(different) > WINDOW)
    # Where there are more labels to a cluster, there are fewer clusters.
    naming_prompt = naming(build.spec, dict.fromkeys(different[: min(MOST_LABELS, 6)], 1))
    merging_prompt = merging(build.spec, different[:WINDOW])
    rounds = ROUNDS if len(different) > 1 else 0
    return len(labels), [
        (len(different) // 2, [naming_prompt]),
        (rounds * windows, [merging_prompt]),
    ]


def _verbalise(build: OpenBuild) -> tuple[int, list[Questions]]:
    pending, worded, labels = build.unworded(), build.wordings(), build.shown_labels()
    asked = [c for c in pending if c.key not in worded or worded[c.key].maker == "model"]
    avoid = ["of letters"] * MOST_AVOIDED
    prompts = [
        verbalising(build.spec, c.name, label_counts(labels, c.doc_ids), avoid, again=True)
        for c in asked[:SAMPLE]
    ]
    return len(pending), [(TRIES * len(asked), prompts)]


def _expand(build: OpenBuild) -> tuple[int, list[Questions]]:
    """For queries not pooled yet: as if no two systems retrieved the same."""
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
    return items, [(items, _grading(spec, texts[0], documents))]


_PLANS: Mapping[BuildStep, Callable[[OpenBuild], tuple[int, list[Questions]]]] = {
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
