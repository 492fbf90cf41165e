"""What tests of annotation do again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.explorer import Explorer
from engine.types.annotating import GradeCounts, GradingJob, GradingRequest, PoolRequest, Project
from engine.types.models import TaskReport
from engine.types.searches import Query
from tests.fakes.model_answers import MODEL
from tests.fakes.model_sessions import SEED
from tests.support import ended

JUDGE = f"model:{MODEL}"
QUERY = f"{SEED}_method"
GUIDELINES = {"": "Grade what it *does*.", "method": "The same procedure.", "result": "Not here."}
DEPTH = 39
"""Everything but the seed."""


def project_with_pool(
    explorer: Explorer,
    seeds: Sequence[str] = (SEED,),
    systems: Sequence[str] = ("bm25", "dense"),
    depth: int = 5,
    **settings: Any,
) -> Project:
    """A project with a query for each seed, and the top of some systems."""
    annotation = explorer.annotation
    project = annotation.save(Project("small", "p", **settings), "lead")
    annotation.add_queries(project, [Query("small", seed=one, aspect="method") for one in seeds])
    annotation.fill_pool(project, PoolRequest(tuple(systems), depth))
    return project


def make_project(explorer: Explorer, depth: int = DEPTH, **settings: Any) -> Project:
    """A project with guidelines, one query, and as many of its candidates."""
    how: Any = {"systems": ("dense",), "depth": depth, "guidelines": GUIDELINES}
    return project_with_pool(explorer, **how, **settings)


def grade(explorer: Explorer, project: Project, **request: Any) -> TaskReport[GradeCounts]:
    """Let the model grade, to the end."""
    return explorer.annotation.grading.run(GradingRequest(project, **request))


def by_model(explorer: Explorer, project: Project) -> dict[str, int | None]:
    """doc_id -> what the model gave."""
    found = explorer.annotation.judgments(project, annotator=JUDGE)
    assert {j.origin for j in found} <= {"model"}
    return {j.doc_id: j.relevance for j in found}


def end_of(explorer: Explorer, job_id: str) -> GradingJob:
    """The job once it is not running any more."""
    return ended(lambda: explorer.annotation.grading.jobs.job(job_id))
