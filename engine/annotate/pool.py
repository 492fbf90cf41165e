"""Pools: the union of the top of systems, wordings and runs, to be judged.

Depth-k pooling as in TREC (Voorhees and Harman, 2005). A pool knows the sources of each document;
adding to it keeps what is in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from engine.corpora.contracts import RankedDocuments, Seed
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError, check_between, check_known
from engine.jobs.runner import JobRunner
from engine.lenses.definitions import built_in_variants
from engine.llm.judges import Criterion
from engine.measures.metrics import judged_at, mean
from engine.permissions import all_for_leads
from engine.types.annotating import (
    DEEPEST_POOL,
    Judgment,
    PoolFilled,
    PoolRequest,
    Project,
    Unjudged,
)
from engine.types.callbacks import Ask
from engine.types.models import RunProgress
from engine.types.people import ForPerson
from engine.types.searches import WHOLE, Query, Ranking, Term
from storage.projects import PoolRow

DEPTH = PoolRequest().depth


class Searcher(Protocol):
    """What annotation needs of :class:`engine.search.searcher.Searcher`."""

    @property
    def corpus(self) -> OpenCorpus: ...
    def seed(self, query: Query, /) -> Seed: ...
    def rank(self, query: Query, seed: Seed, /) -> RankedDocuments: ...
    def criterion(self, query: Query, seed: Seed, /) -> Criterion: ...


def check_pool(request: PoolRequest, systems: Collection[str]) -> None:
    """Raise BadInputError for a pool that cannot be made of these systems."""
    if not request.systems and not request.runs:
        raise BadInputError("The pool has no source.", "Name at least one system or run.")
    for name in request.systems:
        check_known("system", name, systems)
    check_between("The depth of the pool", request.depth, 1, DEEPEST_POOL)


def retrieved(
    searcher: Searcher, project: Project, query_id: str, query: Query, request: PoolRequest
) -> list[PoolRow]:
    """The top of every source for one query, as rows of the project's pool, without documents that
    the corpus lacks."""
    corpus, now = searcher.corpus, datetime.now(UTC)
    query = replace(query, filters=(*query.filters, *request.filters))
    allowed = corpus.scope(query.filters, without=query.seed).allowed
    tops = _by_systems(searcher, query, request)
    for name, rankings in request.runs.items():
        of_query = (but_seed(r, query) for r in rankings if r.query_id == query_id)
        tops[f"run:{name}"] = next(of_query, [])
    return [
        PoolRow(*project.key, query_id, doc_id, source, rank, now)
        for source, doc_ids in tops.items()
        for rank, doc_id in enumerate(doc_ids[: request.depth], start=1)
        if doc_id in corpus.row_of and allowed[corpus.row_of[doc_id]]
    ]


def but_seed(ranking: Ranking, query: Query) -> list[str]:
    """The documents of an external run, without the seed, which our runs leave out."""
    return [doc_id for doc_id in ranking.doc_ids if doc_id != query.seed]


def not_held(
    known: Container[str],
    query_ids: Collection[str],
    runs: Mapping[str, Sequence[Ranking]],
    depth: int,
) -> dict[str, int]:
    """run -> number of documents in its top, over these queries, that the corpus (``known``) lacks;
    only for runs with such documents."""
    counts = {
        name: sum(d not in known for r in run if r.query_id in query_ids for d in r.doc_ids[:depth])
        for name, run in runs.items()
    }
    return {name: count for name, count in counts.items() if count}


def unaskable(corpus: OpenCorpus, queries: Mapping[str, Query]) -> tuple[str, ...]:
    """query_ids that the corpus cannot answer: it lacks the seed, or its lens an aspect."""

    def is_lacking(query: Query) -> bool:
        parts = () if query.reading == WHOLE else query.reading
        terms = [(part, Term.parse(part)) for part in parts]
        read = (part[1:] if term is None else term.aspect for part, term in terms)
        named = {key.lower() for key in (query.aspect, *read) if key}
        has_seed = query.seed is None or query.seed in corpus.row_of
        return not (has_seed and named.issubset(corpus.aspects))

    return tuple(query_id for query_id, query in queries.items() if is_lacking(query))


def _by_systems(searcher: Searcher, query: Query, request: PoolRequest) -> dict[str, Sequence[str]]:
    if not request.systems or unaskable(searcher.corpus, {"": query}):
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


def tops_of(
    searcher: Searcher, queries: Mapping[str, Query], systems: Sequence[str], k: int = DEPTH
) -> dict[str, dict[str, Sequence[str]]]:
    """system -> query_id -> the documents of its top ``k``, without :func:`unaskable` queries."""
    tops: dict[str, dict[str, Sequence[str]]] = {}
    for query_id, query in queries.items():
        found = _by_systems(searcher, query, PoolRequest(tuple(systems), k))
        for system, doc_ids in found.items():
            tops.setdefault(system, {})[query_id] = doc_ids
    return tops


def graded(project: Project, judgments: Iterable[Judgment]) -> dict[str, set[str]]:
    """query_id -> documents with a grade that counts: a model's only where the project says so."""
    documents: dict[str, set[str]] = {}
    left_out = ("audit",) if project.model_grades else ("audit", "model")
    for judgment in judgments:
        if judgment.relevance in project.scale.values and judgment.origin not in left_out:
            documents.setdefault(judgment.query_id, set()).add(judgment.doc_id)
    return documents


def find_unjudged(
    tops: Mapping[str, Mapping[str, Sequence[str]]],
    judged: Mapping[str, Collection[str]],
    k: int = DEPTH,
) -> tuple[Unjudged, ...]:
    """Unjudged documents in the top ``k`` of each system; ``judged``: query_id -> graded
    documents."""
    found = []
    for system, rankings in tops.items():
        shares, missing = [], {}
        for query_id, doc_ids in rankings.items():
            known = judged.get(query_id, ())
            shares.append(judged_at(doc_ids, dict.fromkeys(known, 1), k))
            if lacking := tuple(doc_id for doc_id in doc_ids[:k] if doc_id not in known):
                missing[query_id] = lacking
        found.append(Unjudged(system, k, mean(shares) or 0.0, missing))
    return tuple(found)


@all_for_leads
class PoolFilling(ForPerson):
    """Fills pools in the background; thread-safe."""

    def __init__(
        self,
        fill: Callable[[Project, PoolRequest, Sequence[str]], int],
        count: Callable[[Project], int],
    ) -> None:
        # jobs: by :attr:`Project.key`; a cancelled one ends after the current query
        self._fill, self._count, self.jobs = fill, count, JobRunner()

    def start(
        self, project: Project, request: PoolRequest, query_ids: Sequence[str], owner: str = ""
    ) -> str:
        """Pool these queries; returns the job's id."""
        total = len(query_ids)

        def work(on_progress: Callable[[RunProgress], None], cancelled: Ask) -> PoolFilled:
            started, before, done = time.perf_counter(), self._count(project), 0
            while done < total and not cancelled():
                self._fill(project, request, [query_ids[done]])
                done += 1
                on_progress(RunProgress(done, total, time.perf_counter() - started))
            added, left = self._count(project) - before, total - done
            return PoolFilled(done, left, added, "cancelled" if left else "")

        if self.jobs.running(project.key) is not None:
            raise BadInputError(
                f"The pool of '{project.name}' is being filled already.",
                "Wait until that is done, or cancel it.",
            )
        progress = RunProgress(0, total)
        return self.jobs.start(project.key, work, progress, request=request, owner=owner)
