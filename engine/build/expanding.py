"""Step 5: the queries become an annotation project, whose pools a model grades.

The documents of a query's cluster are its first positives. What systems bring up besides is
graded with these as anchors, as OBLIQ-Bench does it. Nothing that was judged is overwritten.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from engine.annotate.annotation import Annotation
from engine.annotate.judgments import check_member, checked
from engine.annotate.model_plan import BUILT
from engine.annotate.projects import model_annotator
from engine.build.build_records import Expanded, expanded_to_json, expanding_basis, pooling_basis
from engine.build.build_store import BuildStore, Candidates
from engine.build.labelling import Made, Work
from engine.errors import BadInputError, UnknownNameError
from engine.llm.client import Client
from engine.types.annotating import GradeMeaning, Judgment, PoolRequest, Project, Scale
from engine.types.builds import BuildLens
from engine.types.grading import GradingProgress, GradingReport, GradingRequest
from engine.types.searches import Query
from storage.ledger import Ledger
from storage.projects import PoolRow

SCALE = Scale(
    "shown",
    (
        GradeMeaning(0, "No", "The document does not show what the query describes."),
        GradeMeaning(1, "In part", "It shows some of it, or something close to it."),
        GradeMeaning(2, "Yes", "It shows just what the query describes."),
    ),
)
"""Of projects that a build makes."""
SOURCE = "cluster"
"""By this name the pool remembers the documents of a query's cluster."""
LONGEST_ID = 48


async def expand(work: Work, client: Client, annotation: Annotation, ledger: Ledger) -> Made:
    """Make or bring up to date the project: queries, positives, pools, grades.

    Raises:
        BadInputError: a project of people's has the build's name.
    """
    store, lens = work.store, work.lens
    asked = store.asked(lens)
    basis = expanding_basis(lens, asked)
    project = await asyncio.to_thread(_saved_project, work, annotation)
    expanded, gone = await asyncio.to_thread(_asked, work, annotation, project)
    positives = Positives(work, annotation, ledger, project)
    await asyncio.to_thread(positives.write, expanded)
    work.say(0, 0)  # how much there is to grade is known when the pools are filled
    expanded = await asyncio.to_thread(_pooled, work, annotation, project, expanded)
    await asyncio.to_thread(store.rows.add_step, work.row(expanded_to_json(expanded), ""))
    report = await _graded(work, client, annotation, project, expanded)
    notes = (*_retired(gone), *positives.notes, *_notes(project), *report.notes)
    if not work.stopped:
        await asyncio.to_thread(store.rows.add_step, work.row(expanded_to_json(expanded), basis))
    return Made(report.graded, report.failed, report.left, notes)


def _pooled(
    work: Work, annotation: Annotation, project: Project, expanded: Sequence[Expanded]
) -> list[Expanded]:
    """The queries with their pools filled; those that were, from the same, are left alone."""
    basis = pooling_basis(work.lens, work.store.corpus(work.lens).identity)
    request = PoolRequest(work.lens.systems, work.lens.depth)
    found = []
    for one in expanded:
        if one.pooled != basis and not work.stopped:
            annotation.fill_pool(project, request, [one.query_id])
            one = replace(one, pooled=basis)
        found.append(one)
    return found


async def _graded(
    work: Work,
    client: Client,
    annotation: Annotation,
    project: Project,
    expanded: Sequence[Expanded],
) -> GradingReport:
    request = GradingRequest(tuple(one.query_id for one in expanded))

    def tell(progress: GradingProgress) -> None:
        work.say(progress.done - progress.failed, progress.total, progress.seconds)

    return await annotation.grading.grade(client, project, request, tell, work.cancelled)


def check_name(store: BuildStore, annotation: Annotation, lens: BuildLens) -> None:
    """Raise BadInputError where the name is taken by a project that this build did not make."""
    names = {project.name for project in annotation.projects(lens.corpus)}
    if lens.name in names and not store.has_project(lens):
        raise BadInputError(
            f"Corpus '{lens.corpus}' has an annotation project '{lens.name}' that is not this "
            "build's.",
            "Begin the build under another name. What a model answered is kept.",
        )


def _saved_project(work: Work, annotation: Annotation) -> Project:
    """The project of the build's name; the one that it made already stays as people set it."""
    store, lens = work.store, work.lens
    check_name(store, annotation, lens)
    if not store.has_project(lens):
        # Before the project is there, so that after a kill it is known whose it is.
        store.rows.add_step(work.row(expanded_to_json([]), ""))
    known = {project.name: project for project in annotation.projects(lens.corpus)}
    if lens.name in known:
        return known[lens.name]
    about = f"**{lens.attribute}**\n\n{lens.guidance}".strip()
    project = Project(lens.corpus, lens.name, {"": about}, SCALE, model_grades=True)
    return annotation.save(project, work.author)


def _asked(work: Work, annotation: Annotation, project: Project) -> tuple[list[Expanded], int]:
    """The queries in the project, each under an id of its own; and how many were retired.

    A query whose wording stays, or comes back, keeps its id; another wording is another query.
    """
    store, lens = work.store, work.lens
    before = annotation.queries(project, retired=True)
    ids, taken = {q.text: i for i, q in before.items() if q.text is not None}, set(before)
    names = {cluster.key: cluster.name for cluster in store.active(lens)}
    pooled = {one.query_id: one.pooled for one in store.expanded(lens)}
    found = []
    for query in store.asked(lens):
        query_id = ids.get(query.text) or free_id(names[query.key], taken)
        ids[query.text] = query_id
        taken.add(query_id)
        there = pooled.get(query_id, "")
        found.append(Expanded(query.key, query_id, query.text, query.doc_ids, there))
    asked = {one.query_id: Query(project.corpus, text=one.text) for one in found}
    # In this order: whatever a kill leaves out, the next run finds what the build asked before.
    gone = annotation.retire(project, _ours(work, annotation, project) - {*asked}, work.author)
    store.rows.add_step(work.row(expanded_to_json(found), ""))
    annotation.add_queries(project, asked)
    return found, gone


def _ours(work: Work, annotation: Annotation, project: Project) -> set[str]:
    """The queries of the project that the build asked at some time; people may add others."""
    written = (j.query_id for j in annotation.judgments(project) if j.event.startswith(BUILT))
    return {*written, *(one.query_id for one in work.store.expanded(work.lens))}


def _retired(gone: int) -> tuple[str, ...]:
    if not gone:
        return ()
    which = f"{gone:,} queries that the build asks no more are" if gone > 1 else (
        "1 query that the build asks no more is"
    )  # fmt: skip
    return (f"{which} out of the project's queue and grades; what was judged is kept.",)


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


# -- positives ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Positives:
    """Writes what the clusters say as judgments: by the model that labelled a document, or by
    the person who put it into its cluster."""

    work: Work
    annotation: Annotation
    ledger: Ledger
    project: Project
    notes: tuple[str, ...] = ()

    def write(self, expanded: Sequence[Expanded]) -> None:
        """Add what is not there, and take back what a build wrote that no cluster says now."""
        standing = self.annotation.judgments(self.project)
        wanted = {(one.query_id, doc_id) for one in expanded for doc_id in one.doc_ids}
        asked = {one.query_id for one in expanded}
        mine = [j for j in standing if j.event.startswith(BUILT) and j.query_id in asked]
        written = {(j.query_id, j.doc_id) for j in mine}
        gone = [self._taken_back(j) for j in mine if (j.query_id, j.doc_id) not in wanted]
        there = {(j.query_id, j.doc_id, j.annotator) for j in standing}
        new = [j for j in self._judgments(expanded, written) if _place(j) not in there]
        self.ledger.judging.add([*gone, *new])
        now, corpus = datetime.now(UTC), self.project.corpus
        rows = [
            PoolRow(corpus, self.project.name, one.query_id, doc_id, SOURCE, rank, now)
            for one in expanded
            for rank, doc_id in enumerate(one.doc_ids, start=1)
        ]
        self.ledger.projects.add_to_pool(rows)
        if gone:
            which = f"{len(gone):,} documents are" if len(gone) > 1 else "1 document is"
            self.notes += (f"{which} in no cluster of its query any more: no grade by that.",)

    def _judgments(
        self, expanded: Sequence[Expanded], written: set[tuple[str, str]]
    ) -> list[Judgment]:
        clustering = self.work.store.clustering(self.work.lens)
        clusters = {} if clustering is None else {c.key: c for c in clustering.clusters}
        labels = {label.doc_id: label for label in self.work.store.labels(self.work.lens)}
        found = []
        for one in expanded:
            cluster = clusters.get(one.key)
            for doc_id in one.doc_ids:
                if (one.query_id, doc_id) in written:
                    continue
                label = labels.get(doc_id)
                by_model = label is not None and label.maker == "model" and label.author
                model = model_annotator(by_model or self.work.model)
                person = "" if cluster is None else cluster.put.get(doc_id, "")
                name = "" if cluster is None else cluster.name
                found.append(self._judgment(one.query_id, doc_id, person, model, name))
        return found

    def _judgment(
        self, query_id: str, doc_id: str, person: str, model: str, cluster: str
    ) -> Judgment:
        if person and not self._is_member(person):
            person = ""
        judgment = Judgment(
            query_id,
            doc_id,
            person or model,
            max(self.project.scale.values),
            note=f"In the cluster: {cluster}",
            origin="person" if person else "model",
            event=BUILT + secrets.token_hex(12),
        )
        return checked(self.project, judgment)

    def _is_member(self, person: str) -> bool:
        try:
            check_member(self.project, person)
        except BadInputError:
            return False
        return True

    def _taken_back(self, judgment: Judgment) -> Judgment:
        return replace(
            judgment,
            verdict="withdrawn",
            relevance=None,
            note="",
            time=datetime.now(UTC),
            event=BUILT + secrets.token_hex(12),
        )


def _place(judgment: Judgment) -> tuple[str, str, str]:
    return judgment.query_id, judgment.doc_id, judgment.annotator


def _notes(project: Project) -> tuple[str, ...]:
    if project.model_grades:
        return ()
    return (
        f"Grades of models do not count in the project '{project.name}': what no person graded is "
        "in no export. A lead can change that.",
    )


# -- reading -----------------------------------------------------------------------------------


def candidates(annotation: Annotation, lens: BuildLens, expanded: Sequence[Expanded]) -> Candidates:
    """Of the pool of these queries: how many items have a grade, and how many there are."""
    if not expanded:
        return 0, 0
    project = annotation.project(lens.corpus, lens.name)
    asked = {one.query_id for one in expanded}
    pool = {(i.query_id, i.doc_id) for i in annotation.pool(project) if i.query_id in asked}
    graded = {
        (j.query_id, j.doc_id) for j in annotation.judgments(project) if j.relevance is not None
    }
    return len(pool & graded), len(pool)


def project_of(annotation: Annotation, lens: BuildLens, expanded: Sequence[Expanded]) -> Project:
    """The project that a build became; UnknownNameError while it did not."""
    if not expanded:
        raise UnknownNameError(
            f"'{lens.name}' is no annotation project yet.", "Run the step 'expand'."
        )
    return annotation.project(lens.corpus, lens.name)


def positives(expanded: Iterable[Expanded]) -> Mapping[str, int]:
    """query_id -> documents of its cluster."""
    return {one.query_id: len(one.doc_ids) for one in expanded}


def read_expanded(store: BuildStore, lens: BuildLens) -> list[Expanded]:
    """The queries that are in the project and that nobody took out since."""
    asked = {query.key for query in store.asked(lens)}
    return [one for one in store.expanded(lens) if one.key in asked]
