"""Step 5: the queries become an annotation project, whose pools a model grades.

As in OBLIQ-Bench, the documents of a query's cluster are its first positives and the anchors for
grading what systems retrieve. Judgments are never overwritten.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from engine.annotate.judgments import BUILT, check_member, checked
from engine.annotate.projects import model_annotator
from engine.build.build_records import (
    EXPANDED,
    Clustering,
    Expanded,
    expanding_basis,
    pooling_basis,
    to_json,
)
from engine.build.labelling import Work
from engine.errors import BadInputError
from engine.text import counted
from engine.types.annotating import (
    GradeMeaning,
    GradingRequest,
    Judgment,
    PoolRequest,
    Project,
    Scale,
)
from engine.types.builds import Cluster
from engine.types.models import TaskReport
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


async def expand(work: Work, ledger: Ledger) -> TaskReport[int]:
    """Make the project or update it: queries, positives, pools, grades."""
    build = work.build
    basis = expanding_basis(build.spec, build.asked())
    project = await asyncio.to_thread(_saved_project, work)
    expanded, notes = await asyncio.to_thread(_asked, work, project)
    notes += await asyncio.to_thread(write_positives, work, ledger, project, expanded)
    work.say(0, 0)  # how much there is to grade is known when the pools are filled
    expanded = await asyncio.to_thread(_pooled, work, project, expanded)
    await asyncio.to_thread(_keep, work, expanded)
    request = GradingRequest(project, tuple(one.query_id for one in expanded))
    task = build.annotation.grading.within(request, work.step)
    with task.held():
        report = await task.grade(work.run)
    if not project.model_grades:
        notes += (
            f"Grades of models do not count in the project '{project.name}': what no person graded "
            "is in no export. A lead can change that.",
        )
    if not work.stopped:
        await asyncio.to_thread(_keep, work, expanded, basis)
    return TaskReport(
        result=report.result.graded,
        failed=report.failed,
        left=report.left,
        notes=(*notes, *report.notes),
    )


def _keep(work: Work, expanded: Sequence[Expanded], basis: str = "") -> None:
    """Store the state of the project; ``basis`` once it is complete."""
    work.build.rows.add_step(work.row(to_json(EXPANDED, list(expanded)), basis))


def _pooled(work: Work, project: Project, expanded: Sequence[Expanded]) -> list[Expanded]:
    """The queries with their pools filled, unless filled from the same input."""
    spec = work.build.spec
    basis = pooling_basis(spec, work.build.corpus)
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
    build, spec = work.build, work.build.spec
    build.check_name()
    if not build.has_project():
        # Before the project is there, so that after a kill it is known whose it is.
        _keep(work, [])
    known = {project.name: project for project in build.annotation.projects(spec.corpus)}
    if spec.name in known:
        return known[spec.name]
    about = f"**{spec.attribute}**\n\n{spec.guidance}".strip()
    project = Project(spec.corpus, spec.name, {"": about}, SCALE, model_grades=True)
    return build.annotation.save(project, work.author)


def _asked(work: Work, project: Project) -> tuple[list[Expanded], tuple[str, ...]]:
    """The project's queries with ids, one per wording, and a note on retired ones."""
    build, annotation = work.build, work.build.annotation
    before = annotation.queries(project, retired=True)
    ids, taken = {q.text: i for i, q in before.items() if q.text is not None}, set(before)
    names = {cluster.key: cluster.name for cluster in build.active()}
    pooled = {one.query_id: one.pooled for one in build.expanded()}
    expanded = []
    for query in build.asked():
        query_id = ids.get(query.text) or free_id(names[query.key], taken)
        ids[query.text] = query_id
        taken.add(query_id)
        basis = pooled.get(query_id, "")
        expanded.append(Expanded(query.key, query_id, query.text, query.doc_ids, basis))
    asked = {one.query_id: Query(project.corpus, text=one.text) for one in expanded}
    # People may have added queries of their own to those that the build asked at some time.
    written = {j.query_id for j in annotation.judgments(project) if j.event.startswith(BUILT)}
    # In this order: whatever a kill leaves out, the next run finds what the build asked before.
    gone = annotation.retire(project, (written | pooled.keys()) - asked.keys(), work.author)
    _keep(work, expanded)
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


# -- positives ---------------------------------------------------------------------------------


def write_positives(
    work: Work, ledger: Ledger, project: Project, expanded: Sequence[Expanded]
) -> tuple[str, ...]:
    """Write clusters as judgments by the model that labelled a document, or by the person who put
    it there; take back those whose document left its cluster, with a note."""
    current = work.build.annotation.judgments(project)
    wanted = {(one.query_id, doc_id) for one in expanded for doc_id in one.doc_ids}
    asked = {one.query_id for one in expanded}
    mine = [j for j in current if j.event.startswith(BUILT) and j.query_id in asked]
    written = {j.item for j in mine}
    gone = [_withdrawn(j) for j in mine if j.item not in wanted]
    there = {(j.item, j.annotator) for j in current}
    new = [
        judgment
        for judgment in _positives(work, project, expanded)
        if judgment.item not in written and (judgment.item, judgment.annotator) not in there
    ]
    ledger.judging.add([*gone, *new])
    now = datetime.now(UTC)
    rows = [
        PoolRow(project.corpus, project.name, one.query_id, doc_id, SOURCE, rank, now)
        for one in expanded
        for rank, doc_id in enumerate(one.doc_ids, start=1)
    ]
    ledger.projects.add_to_pool(rows)
    if not gone:
        return ()
    which = counted(len(gone), "document is", "documents are")
    return (f"{which} in no cluster of its query any more: no grade by that.",)


def _positives(work: Work, project: Project, expanded: Sequence[Expanded]) -> Iterator[Judgment]:
    build = work.build
    clusters = {c.key: c for c in (build.clustering() or Clustering()).clusters}
    authors = {x.doc_id: x.author for x in build.labels() if x.maker == "model"}
    for one in expanded:
        cluster = clusters.get(one.key, Cluster("", "", ()))
        for doc_id in one.doc_ids:
            person = _member(project, cluster.put.get(doc_id, ""))
            judgment = Judgment(
                one.query_id,
                doc_id,
                person or model_annotator(authors.get(doc_id) or work.run.model),
                max(project.scale.values),
                note=f"In the cluster: {cluster.name}",
                origin="person" if person else "model",
                event=BUILT + secrets.token_hex(12),
            )
            yield checked(project, judgment)


def _member(project: Project, person: str) -> str:
    """The person if they may judge in the project, else ""."""
    try:
        if person:
            check_member(project, person)
    except BadInputError:
        return ""
    return person


def _withdrawn(judgment: Judgment) -> Judgment:
    event = BUILT + secrets.token_hex(12)
    taken: dict[str, Any] = {"verdict": "withdrawn", "relevance": None, "note": ""}
    return replace(judgment, **taken, time=datetime.now(UTC), event=event)
