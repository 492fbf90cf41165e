"""Pools: the union of what systems, wordings and runs rank best, to be judged.

Depth-k pooling as in TREC (Voorhees and Harman, 2005). Who brought a document up is
remembered, and expanding a pool keeps what is in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from engine.errors import BadInputError
from engine.jobs.runner import JobRunner
from engine.lenses.variants import built_in_variants
from engine.measures.metrics import judged_at, mean
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.types.annotating import (
    Judgment,
    PoolFilled,
    PoolItem,
    PoolJob,
    PoolRequest,
    Project,
    Source,
    Unjudged,
)
from engine.types.callbacks import Ask
from engine.types.models import RunProgress
from engine.types.searches import Query, Ranking
from storage.projects import PoolRow, Projects

DEPTH = PoolRequest().depth
DEEPEST = 1000
Queries = Mapping[str, Query]
"""query_id -> query, in the project's order."""


def check_pool(request: PoolRequest) -> None:
    """Raise BadInputError or UnknownNameError for a pool that cannot be made."""
    if not request.systems and not request.runs:
        raise BadInputError("The pool has no source.", "Name at least one system or run.")
    if not 1 <= request.depth <= DEEPEST:
        raise BadInputError(f"The depth of the pool is {request.depth}.", f"Use 1 to {DEEPEST:,}.")
    for name in request.systems:
        find_system(name)


def brought_up(
    searcher: Searcher,
    queries: Queries,
    request: PoolRequest,
) -> Iterator[list[PoolRow]]:
    """The top of every source, query by query, as rows of the ledger without a project.

    Documents of runs that the corpus does not hold are left out; see :func:`not_held`.
    """
    now = datetime.now(UTC)
    known = searcher.corpus.row_of
    runs = {
        name: {ranking.query_id: ranking.doc_ids for ranking in rankings}
        for name, rankings in request.runs.items()
    }
    for query_id, query in queries.items():
        tops = {
            **_by_systems(searcher, query, request),
            **{f"run:{name}": run.get(query_id, ()) for name, run in runs.items()},
        }
        yield [
            PoolRow(query.corpus, "", query_id, doc_id, source, rank, now)
            for source, doc_ids in tops.items()
            for rank, doc_id in enumerate(doc_ids[: request.depth], start=1)
            if doc_id in known and doc_id != query.seed
        ]


def not_held(
    known: Container[str],
    query_ids: Collection[str],
    runs: Mapping[str, Sequence[Ranking]],
    depth: int,
) -> dict[str, int]:
    """How many documents of the top of each run, over these queries, the corpus does not hold.

    Args:
        known: the documents of the corpus.

    Returns:
        run -> number, of runs that have such documents.
    """
    counts = {
        name: sum(
            doc_id not in known
            for ranking in rankings
            if ranking.query_id in query_ids
            for doc_id in ranking.doc_ids[:depth]
        )
        for name, rankings in runs.items()
    }
    return {name: count for name, count in counts.items() if count}


def _by_systems(searcher: Searcher, query: Query, request: PoolRequest) -> dict[str, Sequence[str]]:
    if not request.systems:
        return {}  # a text would be encoded for nothing
    seed = searcher.seed(query)
    tops: dict[str, Sequence[str]] = {}
    for system in request.systems:
        plain = replace(query, system=system)
        tops[system] = searcher.rank(plain, seed)[: request.depth].doc_ids
        if query.aspect is None or not request.variants:
            continue
        lens = searcher.corpus.lens
        for variant in built_in_variants(lens, query.aspect, system, query.steer, request.variants):
            if variant.name == "base" or variant.subset:
                continue  # the base is the aspect's own wording; a subset is another seed
            asked = replace(plain, aspect=None, instruction=variant.instruction)
            ranking = searcher.rank(asked, seed)[: request.depth]
            tops[f"{system} ({variant.name})"] = ranking.doc_ids
    return tops


def fill(projects: Projects, project: str, rows: Iterable[PoolRow]) -> int:
    """Add what sources brought up to a project's pools; returns how many (query, document,
    source) were new. What is judged stays judged."""
    return projects.add_to_pool([replace(row, project=project) for row in rows])


def pool_items(rows: Iterable[PoolRow]) -> list[PoolItem]:
    """Rows of the ledger as items, each (query, document) once, in order of arrival."""
    sources: dict[tuple[str, str], list[Source]] = {}
    for row in rows:
        sources.setdefault((row.query_id, row.doc_id), []).append(Source(row.source, row.rank))
    return [PoolItem(*item, tuple(found)) for item, found in sources.items()]


def tops_of(
    searcher: Searcher, queries: Queries, systems: Sequence[str], k: int = DEPTH
) -> dict[str, dict[str, list[str]]]:
    """system -> query_id -> the documents of its top ``k``."""
    tops: dict[str, dict[str, list[str]]] = {}
    for query_id, query in queries.items():
        seed = searcher.seed(query)
        for system in systems:
            ranking = searcher.rank(replace(query, system=system), seed)[:k]
            tops.setdefault(system, {})[query_id] = ranking.doc_ids
    return tops


def graded(project: Project, judgments: Iterable[Judgment]) -> dict[str, set[str]]:
    """query_id -> documents with a grade that counts: a model's only where the project says so."""
    found: dict[str, set[str]] = {}
    for judgment in judgments:
        counts = judgment.origin != "model" or project.model_grades
        if judgment.relevance in project.scale.values and counts:
            found.setdefault(judgment.query_id, set()).add(judgment.doc_id)
    return found


def find_unjudged(
    tops: Mapping[str, Mapping[str, Sequence[str]]],
    judged: Mapping[str, Collection[str]],
    k: int = DEPTH,
) -> tuple[Unjudged, ...]:
    """What is unjudged in the top ``k`` of each system.

    Args:
        tops: system -> query_id -> ranked doc_ids.
        judged: query_id -> doc_ids with a grade.
    """
    found = []
    for system, rankings in tops.items():
        missing = {}
        shares = []
        for query_id, doc_ids in rankings.items():
            known = judged.get(query_id, ())
            shares.append(judged_at(doc_ids, dict.fromkeys(known, 1), k))
            lacking = tuple(doc_id for doc_id in doc_ids[:k] if doc_id not in known)
            if lacking:
                missing[query_id] = lacking
        found.append(Unjudged(system, k, mean(shares) or 0.0, missing))
    return tuple(found)


Fill = Callable[[Project, PoolRequest, Sequence[str]], int]
"""Pools some queries of a project; returns how many (query, document, source) were new."""


class PoolFilling:
    """Fills pools while pages come and go. Safe to share between threads.

    Args:
        count: how many items a project's pool holds.
    """

    def __init__(self, fill: Fill, count: Callable[[Project], int]) -> None:
        self._fill, self._count, self._jobs = fill, count, JobRunner()

    def start(
        self, project: Project, request: PoolRequest, query_ids: Sequence[str], owner: str = ""
    ) -> str:
        """Pool these queries; returns the job's id.

        Args:
            owner: who asks for it.

        Raises:
            BadInputError: the project's pool is being filled already.
        """

        def work(tell: Callable[[RunProgress], None], cancelled: Ask) -> PoolFilled:
            started, before = time.perf_counter(), self._count(project)
            done = 0
            for query_id in query_ids:
                if cancelled():
                    break
                self._fill(project, request, [query_id])
                done += 1
                tell(RunProgress(done, len(query_ids), time.perf_counter() - started))
            left = len(query_ids) - done
            added = self._count(project) - before
            return PoolFilled(done, left, added, "cancelled" if left else "")

        progress = RunProgress(0, len(query_ids))
        place = (project.corpus, project.name)
        job_id, is_new = self._jobs.start(place, work, progress, request=request, owner=owner)
        if not is_new:
            raise BadInputError(
                f"The pool of '{project.name}' is being filled already.",
                "Wait until that is done, or cancel it.",
            )
        return job_id

    def latest(self, project: Project) -> PoolJob | None:
        """The job that fills the project's pool, or did so last in this process."""
        return self._jobs.latest((project.corpus, project.name))

    def cancel(self, job_id: str) -> None:
        """End it after the query at hand; what is in the pool stays."""
        self._jobs.cancel(job_id)

    def dismiss(self, job_id: str) -> None:
        """Forget a job that has ended."""
        self._jobs.dismiss(job_id)
