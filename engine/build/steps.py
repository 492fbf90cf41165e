"""The steps that a model takes part in: labels, queries, grades; clusters are in `clustering`."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from engine.annotate.model_grading import CLUSTER, Asked, grading, in_words, is_built
from engine.annotate.projects import (
    BUILT,
    check_annotator,
    checked,
    is_member,
    is_unread,
    model_annotator,
)
from engine.build.build_prompts import (
    DOCUMENT_TOKENS,
    MOST_LABELS,
    NOTHING,
    Labelled,
    Verbalised,
    document_tokens,
    labelling,
    merging,
    naming,
    verbalising,
)
from engine.build.build_records import (
    Clustering,
    Expanded,
    Made,
    expanding_basis,
    label_counts,
    pooling_basis,
    queries_of,
    query_basis,
    unusable,
)
from engine.build.clustering import ROUNDS, WINDOW, collapse
from engine.build.opened_build import OpenBuild, Vocabulary, Work, different
from engine.errors import BadInputError, UnknownNameError, check_known
from engine.lenses.definitions import find_aspect
from engine.llm.messages import Prompt
from engine.llm.tasks import Estimator, ModelTask, TaskRun
from engine.text import counted
from engine.types.annotating import (
    ANCHORS,
    GradeCounts,
    GradeMeaning,
    GradingRequest,
    Item,
    Judgment,
    PoolRequest,
    Project,
    Scale,
)
from engine.types.builds import (
    BUILD_STEPS,
    BuildQuery,
    BuildSpec,
    BuildStep,
    Cluster,
    Overlap,
    StepRequest,
)
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from engine.types.models import Estimate, TaskReport, summed
from engine.types.searches import Query
from storage.builds import LabelRow
from storage.projects import PoolRow

# -- labels --------------------------------------------------------------------------------------


BATCH = 64
"""Documents that are labelled together; what a kill can cost at most."""


async def label(work: Work) -> TaskReport[int]:
    """Label what has no label yet, or an outdated one, batch by batch; a document without text is
    not asked about and shows nothing."""
    build, spec, corpus = work.build, work.spec, work.build.corpus
    bases, pending = build.bases(), build.unlabelled()
    before = len(bases) - len(pending)
    aspect = _aspect_of(spec, corpus.lens)
    tokens = document_tokens(await work.run.context(), spec) if pending else 0
    made = failed = reached = 0
    work.say(before, len(bases))
    for group in work.run.groups(pending, BATCH):
        documents = await asyncio.to_thread(corpus.documents, group)
        asked = [document for document in documents if _has_text(document)]
        replies = await work.run.ask([labelling(spec, d, aspect, tokens) for d in asked])
        answers: dict[str, Labelled | None] = {d.doc_id: NOTHING for d in documents}
        answers |= {d.doc_id: answer for d, answer in zip(asked, replies, strict=True)}
        model, now = work.run.model, datetime.now(UTC)
        rows = [
            LabelRow(
                *(spec.corpus, spec.name, doc_id, answer.label, answer.quote),
                *("model", model, bases[doc_id], now),
                answer.expression if answer.label else "implied",
            )
            for doc_id, answer in answers.items()
            if answer is not None
        ]
        await asyncio.to_thread(build.ledger.builds.add_labels, rows)
        made += sum(bool(row.label) for row in rows)
        reached += len(rows) if work.stopped else len(documents)
        failed += 0 if work.stopped else len(documents) - len(rows)
        work.say(before + reached, len(bases))
    work.keep(None)
    left, notes = len(pending) - reached, unusable(failed, "document")
    return TaskReport(result=made, failed=failed, left=left, notes=notes)


def _has_text(document: Document) -> bool:
    return bool(f"{document.title}{document.text}".strip())


def _aspect_of(spec: BuildSpec, lens: Lens) -> tuple[Aspect, int] | None:
    """The aspect that was set and its place; None when none was, or the corpus's lens changed."""
    if spec.aspect not in [aspect.key for aspect in lens.aspects]:
        return None
    return find_aspect(lens, spec.aspect), lens.index(spec.aspect)


# -- queries -------------------------------------------------------------------------------------


WORDED_AT_ONCE = 16
"""Clusters that are worded together; what a kill can cost at most."""
TRIES = 3
MOST_AVOIDED = 40
"""Words that a model is to avoid: those that most of the documents have."""


@dataclass(slots=True)
class _Draft:
    """A query in the making: the best try so far, and all words to avoid."""

    cluster: Cluster
    avoid: list[str]
    text: str = ""
    overlap: Overlap = field(default_factory=lambda: Overlap(1.0))
    tries: int = 0

    def take(self, text: str, overlap: Overlap) -> None:
        """Take in a try; the words it gave away are the first to avoid next time."""
        if not self.text or overlap.share < self.overlap.share:
            self.text, self.overlap = text, overlap
        self.avoid = different([*overlap.words, *self.avoid])


async def verbalise(work: Work) -> TaskReport[int]:
    """Word what has no query yet or has changed since; a person's wording is never replaced."""
    build, vocabulary, limit = work.build, work.build.vocabulary, work.spec.overlap
    active, pending, worded = build.active(), build.unworded(), build.wordings()
    by_people = [c for c in pending if c.key in worded and worded[c.key].maker == "person"]
    asked = [c for c in pending if c not in by_people]
    done = len(active) - len(pending)
    work.say(done, len(active))

    def measured_again(cluster: Cluster) -> BuildQuery:
        old, doc_ids = worded[cluster.key], cluster.doc_ids
        overlap, basis = vocabulary.overlap(old.text, doc_ids), query_basis(work.spec, cluster)
        return replace(old, doc_ids=doc_ids, overlap=overlap, basis=basis)

    if by_people:
        await _keep_queries(
            work, await asyncio.to_thread(lambda: [*map(measured_again, by_people)])
        )
    made = failed = 0
    labels = build.shown_labels()
    for group in work.run.groups(asked, WORDED_AT_ONCE):
        drafts = await _worded(work, group, labels, vocabulary)
        # What was stopped between two tries is taken up again: its answers are in the ledger.
        ready = [d for d in drafts if d.text and (not work.stopped or d.overlap.share <= limit)]
        await _keep_queries(
            work,
            [
                BuildQuery(
                    *(d.cluster.key, d.text, d.cluster.doc_ids, d.overlap),
                    tries=d.tries,
                    basis=query_basis(work.spec, d.cluster),
                )
                for d in ready
            ],
        )
        made += len(ready)
        failed += 0 if work.stopped else len(group) - len(ready)
        work.say(done + len(by_people) + made + failed, len(active))
    if not work.stopped:
        await _keep_queries(work, [])  # says when it ran, even where nothing was left to do
    left = len(asked) - made - failed
    notes = unusable(failed, "cluster")
    if over := sum(query.overlap.share > limit for query in build.asked()):
        which = counted(over, "query shares", "queries share")
        shared = (
            f"{which} more than {limit:.0%} of their words with their documents; the best of the "
            "tries is kept. Word them again, or drop them."
        )
        notes = (shared, *notes)
    return TaskReport(result=made, failed=failed, left=left, notes=notes)


async def _worded(
    work: Work, clusters: Sequence[Cluster], labels: Mapping[str, str], vocabulary: Vocabulary
) -> list[_Draft]:
    """The best of up to three tries for each cluster."""

    def begin() -> list[_Draft]:
        return [_Draft(c, vocabulary.telling(c.doc_ids, MOST_AVOIDED)) for c in clusters]

    def question(draft: _Draft) -> Prompt[Verbalised]:
        counts = label_counts(labels, draft.cluster.doc_ids)
        return verbalising(
            work.spec, draft.cluster.name, counts, draft.avoid, again=draft.tries > 0
        )

    def take(draft: _Draft, answer: Verbalised) -> None:
        draft.take(answer.query, vocabulary.overlap(answer.query, draft.cluster.doc_ids))

    drafts = await asyncio.to_thread(begin)
    for _ in range(TRIES):
        again = [d for d in drafts if not d.text or d.overlap.share > work.spec.overlap]
        if not again or work.stopped:
            break
        answers = await work.run.ask([question(draft) for draft in again])
        for draft, answer in zip(again, answers, strict=True):
            draft.tries += 1
            if answer is not None:
                await asyncio.to_thread(take, draft, answer)
    return drafts


async def _keep_queries(work: Work, worded: Sequence[BuildQuery]) -> None:
    """Add queries to the current ones, which people may have edited meanwhile."""

    def added(made: Made[Any] | None) -> Made[Any]:
        queries = queries_of(made)
        for query in worded:
            there = queries.get(query.key)
            mine = there is not None and there.maker == "person" and there.basis == query.basis
            if not mine:
                was_dropped = there is not None and there.dropped
                queries[query.key] = replace(query, dropped=was_dropped)
        # Each query has a basis of its own.
        return work.made((*queries.values(),), "", made)

    await asyncio.to_thread(work.build.change, "verbalise", added, work.author)


# -- grades --------------------------------------------------------------------------------------

SCALE = Scale(
    "shown",
    (
        GradeMeaning(0, "No", "The document does not show what the query describes."),
        GradeMeaning(1, "In part", "It shows some of it, or something close to it."),
        GradeMeaning(2, "Yes", "It shows just what the query describes."),
    ),
    relevant_from=2,
)
"""Of projects that a build makes."""
LONGEST_ID = 48


async def expand(work: Work) -> TaskReport[int]:
    """Make the project or update it: queries, the documents of their clusters graded against them,
    then what systems retrieve, beside those that got the highest grade."""
    build = work.build
    basis = expanding_basis(build.spec, build.asked(), build.distractors())
    project = await asyncio.to_thread(_saved_project, work)
    expanded, notes = await asyncio.to_thread(_asked, work, project)
    work.say(0, 0)  # how much there is to grade is known when the pools are filled
    expanded = await asyncio.to_thread(_pooled, work, project, expanded)
    notes += await asyncio.to_thread(_write_known, work, project, expanded)
    await asyncio.to_thread(work.keep, (*expanded,))
    members = tuple((one.query_id, doc_id) for one in expanded for doc_id in one.doc_ids)
    request = GradingRequest(project, tuple(one.query_id for one in expanded))
    first = await _graded(work, replace(request, anchors=0, items=members))
    notes += await asyncio.to_thread(_write_known, work, project, expanded)
    others = {item.item for item in build.annotation.pool(project)}.difference(members)
    report = await _graded(work, replace(request, items=tuple(others)))
    if not project.model_grades:
        notes += (
            f"Grades of models do not count in the project '{project.name}': what no person graded "
            "is in no export. A lead can change that.",
        )
    if not work.stopped:
        await asyncio.to_thread(work.keep, (*expanded,), basis)
    return TaskReport(
        result=first.result.graded + report.result.graded,
        failed=first.failed + report.failed,
        left=first.left + report.left,
        notes=(*dict.fromkeys(notes), *report.notes),
    )


async def _graded(work: Work, request: GradingRequest) -> TaskReport[GradeCounts]:
    task = work.build.annotation.grading.within(request, work.step)
    with task.held():
        return await task.grade(work.run)


def _members(one: Expanded, cluster: Cluster | None) -> tuple[str, ...]:
    """The documents of a query's cluster, distractors last."""
    return one.doc_ids if cluster is None else (*one.doc_ids, *cluster.distractors)


def _pooled(work: Work, project: Project, expanded: Sequence[Expanded]) -> list[Expanded]:
    """The queries with their pools filled by clusters and systems, by systems unless that was done
    from the same input."""
    spec = work.spec
    basis = pooling_basis(spec, work.build.corpus)
    clusters = {c.key: c for c in (work.build.clustering() or Clustering()).clusters}
    now = datetime.now(UTC)
    rows = [
        PoolRow(*project.key, one.query_id, doc_id, CLUSTER, rank, now)
        for one in expanded
        for rank, doc_id in enumerate(_members(one, clusters.get(one.key)), start=1)
    ]
    work.build.ledger.projects.add_to_pool(rows)
    request = PoolRequest(spec.systems, spec.depth)
    pooled = []
    for one in expanded:
        if one.pooled != basis and not work.stopped:
            work.build.annotation.fill_pool(project, request, [one.query_id])
            one = replace(one, pooled=basis)
        pooled.append(one)
    return pooled


def _saved_project(work: Work) -> Project:
    """The project of the build's name; an existing one keeps its settings."""
    build, spec = work.build, work.spec
    build.check_name()
    if not build.has_project():
        # Before the project is there, so that after a kill it is known whose it is.
        work.keep(())
    with suppress(UnknownNameError):  # a deleted one is made again
        own = build.expanded()
        return build.project() if own else build.annotation.project(spec.corpus, spec.name)
    about = f"**{spec.attribute}**\n\n{spec.guidance}".strip()
    project = Project(spec.corpus, spec.name, {"": about}, SCALE, model_grades=True)
    return build.annotation.save(project, work.author)


def _asked(work: Work, project: Project) -> tuple[list[Expanded], tuple[str, ...]]:
    """The project's queries with ids, one per wording, and a note on retired ones."""
    build, annotation = work.build, work.build.annotation
    before = annotation.queries(project, retired=True)
    ids, taken = {q.text: i for i, q in before.items() if q.text is not None}, set(before)
    names = {cluster.key: cluster.name for cluster in build.active()}
    place = project.key[1]
    same = [one for one in build.expanded() if (one.place or build.spec.name) == place]
    pooled = {one.query_id: one.pooled for one in same}
    expanded = []
    for query in build.asked():
        query_id = ids.get(query.text) or free_id(names[query.key], taken)
        ids[query.text] = query_id
        taken.add(query_id)
        basis = pooled.get(query_id, "")
        about = (query.key, query_id, query.text, query.doc_ids)
        expanded.append(Expanded(*about, basis, place))
    asked = {one.query_id: Query(project.corpus, text=one.text) for one in expanded}
    # People may have added queries of their own to those that the build asked at some time.
    written = {item.query_id for item in annotation.pool(project) if is_built(item)}
    # In this order: whatever a kill leaves out, the next run finds what the build asked before.
    gone = annotation.retire(project, (written | pooled.keys()) - asked.keys(), work.author)
    work.keep((*expanded,))
    annotation.add_queries(project, asked)
    if not gone:
        return expanded, ()
    asked_once = "that the build asks no more"
    which = counted(gone, f"query {asked_once} is", f"queries {asked_once} are")
    note = f"{which} out of the project's queue and grades; what was judged is kept."
    return expanded, (note,)


def free_id(name: str, taken: Iterable[str]) -> str:
    """A readable id made of a cluster's name; numbered where it is taken.

    >>> free_id("Mailed questionnaire, 2 waves", {"mailed-questionnaire-2-waves"})
    'mailed-questionnaire-2-waves-2'
    """
    slug = re.sub(r"[\W_]+", "-", name.casefold()).strip("-")
    if len(slug) > LONGEST_ID:
        slug = slug[: LONGEST_ID + 1].rpartition("-")[0] or slug[:LONGEST_ID]
    slug, known = slug or "query", set(taken)
    free, number = slug, 2
    while free in known:
        free, number = f"{slug}-{number}", number + 1
    return free


def _write_known(work: Work, project: Project, expanded: Sequence[Expanded]) -> tuple[str, ...]:
    """Write what needs no question: the highest grade of documents that people put into clusters,
    the lowest of distractors. Takes back what does not hold any more, with a note; a grade that a
    member got unread holds until it is read."""
    judgments = work.build.annotation.judgments(project)
    current = {(j.item, j.annotator): j for j in judgments}
    asked, lowest = {one.query_id for one in expanded}, min(project.scale.values)
    mine = [j for j in judgments if j.event.startswith(BUILT) and j.query_id in asked]
    unread = {j.item: j.annotator for j in mine if is_unread(j) and j.relevance == lowest}
    known = {(j.item, j.annotator): j for j in _known(work, project, expanded, unread)}
    members = {(one.query_id, doc_id) for one in expanded for doc_id in one.doc_ids}
    graded = (j for j in judgments if j.origin == "model" and j.relevance is not None)
    read = {j.item for j in graded if not is_unread(j)}
    gone = [
        _withdrawn(j)
        for j in mine
        if j.relevance is not None
        and (j.item, j.annotator) not in known
        and not (is_unread(j) and j.relevance != lowest and j.item in members - read)
    ]
    new = [
        judgment
        for key, judgment in known.items()
        if (there := current.get(key)) is None
        or (there.origin == "model" and there.relevance != judgment.relevance)
    ]
    work.build.ledger.judging.add([*gone, *new])
    if not gone:
        return ()
    which = counted(len(gone), "grade", "grades")
    return (f"{which} taken from clusters or labels no longer hold: withdrawn.",)


def _known(
    work: Work, project: Project, expanded: Sequence[Expanded], unread: Mapping[Item, str]
) -> Iterator[Judgment]:
    """Judgments by people and, of distractors, by a model: that of ``unread``, else this run's."""
    build, values = work.build, project.scale.values
    clusters = {c.key: c for c in (build.clustering() or Clustering()).clusters}
    distractors, labels = build.distractors(), build.shown_labels()
    members = {(one.query_id, doc_id) for one in expanded for doc_id in one.doc_ids}

    def judgment(query_id: str, doc_id: str, who: str, grade: int, note: str) -> Judgment:
        origin: Any = "model" if grade == min(values) else "person"
        event = BUILT + secrets.token_hex(12)
        made = Judgment(query_id, doc_id, who, grade, note=note, origin=origin, event=event)
        return checked(project, made)

    grader = model_annotator(work.run.model)
    for one in expanded:
        cluster = clusters.get(one.key, Cluster("", "", ()))
        for doc_id in one.doc_ids:
            person = cluster.put.get(doc_id, "")
            if person and is_member(project, person):
                note = f"In the cluster: {cluster.name}"
                yield judgment(one.query_id, doc_id, person, max(values), note)
    asked = {one.query_id for one in expanded}
    for item in build.annotation.pool(project):
        if item.query_id in asked and item.doc_id in distractors and item.item not in members:
            note = f"Not implied: {labels.get(item.doc_id, '')}"
            yield judgment(*item.item, unread.get(item.item, grader), min(values), note)


def _withdrawn(judgment: Judgment) -> Judgment:
    event = BUILT + secrets.token_hex(12)
    taken: dict[str, Any] = {"verdict": "withdrawn", "relevance": None, "note": ""}
    return replace(judgment, **taken, time=datetime.now(UTC), event=event)


# -- a step as a task ----------------------------------------------------------------------------


class RunStep(ModelTask[int]):
    """One step of a build, resumed; one per build at a time in all processes. The result is the
    number of labels that say something, clusters, queries or grades made."""

    def __init__(self, build: OpenBuild, request: StepRequest) -> None:
        spec, step = build.spec, request.step
        self.request: BuildStep = step
        self.phase, self.key = step, (spec.corpus, spec.name)
        self.busy = f"Another step of '{spec.name}' is under way."
        self.needs_model = step != "collapse"  # which does something without one too
        self._build, self._author = build, request.author
        _check(build, step)

    def held(self) -> AbstractContextManager[None]:
        what = f"A step of '{self._build.spec.name}' is being done"
        spec, locks = self._build.spec, self._build.ledger.locks
        return locks.hold("build", spec.corpus, spec.name, what=what, wait=0.0)

    def estimate(self, known: Estimator) -> Estimate:
        items, plans = STEPS[self.request][1](self._build)
        if not self.needs_model and not known.model:
            plans = []
        costs = [known.estimate(sample, calls) for calls, sample in plans if sample]
        return replace(summed([known.estimate([], 0), *costs]), items=items)

    async def run(self, run: TaskRun) -> TaskReport[int]:
        _check(self._build, self.request)
        work = Work(self._build, self.request, check_annotator(self._author), run)
        return await STEPS[self.request][0](work)


def _check(build: OpenBuild, step: BuildStep) -> None:
    name = build.spec.name
    check_known("step", step, BUILD_STEPS)
    if step == "collapse" and not build.shown_labels():
        raise BadInputError(
            f"No document of '{name}' has a label yet.", "Run the step 'label' first."
        )
    if step == "verbalise" and not build.active():
        if build.clustering() is None:
            raise BadInputError(f"'{name}' has no clusters.", "Run the step 'collapse' first.")
        raise BadInputError(
            f"No cluster of '{name}' becomes a query: each has too few documents that imply the "
            "attribute, too many, or is dropped.",
            "Change these sizes, or merge, split or take back some clusters.",
        )
    if step == "expand" and not build.asked():
        raise BadInputError(f"'{name}' has no query.", "Run the step 'verbalise' first.")


# -- what a step asks at most --------------------------------------------------------------------

SAMPLE = 200
"""Documents whose lengths are measured, evenly spread over all."""
Questions = tuple[int, Sequence[Prompt[Any]]]
"""Questions of one kind: how many, and some of them."""


def _label(build: OpenBuild) -> tuple[int, list[Questions]]:
    pending, aspect = build.unlabelled(), _aspect_of(build.spec, build.corpus.lens)
    documents = filter(_has_text, build.corpus.documents(_spread(pending)))
    prompts = [labelling(build.spec, one, aspect, DOCUMENT_TOKENS) for one in documents]
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
    """For queries not pooled yet: as if no two systems retrieved the same, nor a cluster's."""
    spec, asked, corpus = build.spec, build.asked(), build.corpus
    basis = pooling_basis(spec, corpus)
    there = {o.text: o for o in build.expanded() if o.pooled == basis}
    known = [there[query.text] for query in asked if query.text in there]
    graded, pooled = build.candidates(known)
    if not pooled:  # the project was deleted
        there, known = {}, []
    each = min(len(spec.systems) * spec.depth, len(corpus))
    new = [query for query in asked if query.text not in there]
    members = sum(len(query.doc_ids) for query in new)
    items = pooled - graded + min(each * len(new) + members, len(corpus) * len(new))
    texts = [query.text for query in new] or [one.text for one in known]
    documents = corpus.documents(_spread(build.scope(), 24))
    return items, [(items, _grading(spec, texts[0], documents))]


Step = tuple[
    Callable[[Work], Awaitable[TaskReport[int]]], Callable[[OpenBuild], tuple[int, list[Questions]]]
]
STEPS: Mapping[BuildStep, Step] = {
    "label": (label, _label),
    "collapse": (collapse, _collapse),
    "verbalise": (verbalise, _verbalise),
    "expand": (expand, _expand),
}
"""What does each step, and what counts the items and questions that are left of it."""


def _grading(spec: BuildSpec, query: str, documents: Sequence[Document]) -> list[Prompt[Any]]:
    asked = Asked(SCALE, in_words(query), f"{spec.attribute}\n{spec.guidance}")
    top = SCALE.values[-1]
    return [
        grading(asked, [(d, top) for d in documents[n + 1 : n + 1 + ANCHORS]], document)
        for n, document in enumerate(documents[: -ANCHORS or None])
    ] or [grading(asked, [], document) for document in documents]


def _spread(doc_ids: Sequence[str], most: int = SAMPLE) -> list[str]:
    return list(doc_ids[:: max(1, -(-len(doc_ids) // most))])
