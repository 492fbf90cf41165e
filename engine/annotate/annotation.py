"""The facade over annotation: what pages and the command line call as ``explorer.annotation``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from engine.annotate.adjudication import (
    find_disagreements,
)
from engine.annotate.agreement import MEASURES, find_agreement
from engine.annotate.exchange import Exchange
from engine.annotate.judgments import (
    check_decided,
    check_decision,
    check_not_seed,
    checked,
    standing,
    store,
)
from engine.annotate.model_grading import ModelGrading
from engine.annotate.pool import (
    DEPTH,
    PoolFilling,
    brought_up,
    check_pool,
    fill,
    find_unjudged,
    graded,
    pool_items,
    tops_of,
)
from engine.annotate.projects import ProjectQueries, ProjectStore, check_annotator
from engine.annotate.queueing import Item, Queue
from engine.config import Settings
from engine.corpora.library import Library
from engine.lenses.definitions import find_aspect
from engine.search.searcher import Searcher
from engine.types.annotating import (
    Agreement,
    Disagreement,
    Judgment,
    PoolItem,
    PoolRequest,
    Project,
    Unjudged,
    Verdict,
)
from engine.types.callbacks import tell_nobody
from engine.types.searches import Query, Ranking
from storage.ledger import Ledger


class Annotation:
    """Annotation over one home. Safe to share between threads and processes.

    Every judgment is an event in the ledger: nothing is overwritten, and the same event sent
    twice is stored once.

    Attributes:
        grading: language models as annotators among the others.
        filling: pools filled in the background.
        exchange: judgments as files and as qrels, in and out.

    Args:
        searcher: gives the search engine of a corpus by name.
        settings: where the endpoint of a model is found; None for the environment's.
    """

    def __init__(
        self,
        ledger: Ledger,
        library: Library,
        searcher: Callable[[str], Searcher],
        settings: Settings | None = None,
    ) -> None:
        self._ledger, self._library, self._searcher = ledger, library, searcher
        self.grading = ModelGrading(ledger, library, searcher, settings or Settings())
        self._projects = ProjectStore(ledger)
        self.exchange = Exchange(ledger, library)
        self._queries = ProjectQueries(ledger, library)
        self.filling = PoolFilling(self.fill_pool, lambda project: len(self.pool(project)))

    # -- projects ------------------------------------------------------------------------

    def projects(self, corpus: str | None = None) -> list[Project]:
        """The projects that were saved, by corpus and name."""
        return self._projects.all(corpus)

    def project(self, corpus: str, name: str = "") -> Project:
        """A project by name, or a corpus's own (""); UnknownNameError."""
        self._library.corpus(corpus)
        return self._projects.get(corpus, name)

    def save(self, project: Project, author: str, before: Project | None = None) -> Project:
        """Keep a new version of a project, checked; see :meth:`ProjectStore.save`."""
        lens = self._library.lens(project.corpus)
        for aspect in project.guidelines:
            if aspect:
                find_aspect(lens, aspect)
        return self._projects.save(project, check_annotator(author), before)

    # -- queries and pools -----------------------------------------------------------------

    def queries(self, project: Project, *, retired: bool = False) -> dict[str, Query]:
        """query_id -> query, in order; with ``retired`` also those that are asked no more."""
        return self._queries.all(project, retired=retired)

    def add_queries(
        self, project: Project, queries: Iterable[Query] | Mapping[str, Query]
    ) -> list[str]:
        """Add queries to a project and return their ids; known ones stay as they are, and are
        asked again where they were not.

        Args:
            queries: by id where a collection gave them one; others are named after seed and
                aspect, see :func:`engine.search.queries.query_id`.

        Raises:
            BadInputError, UnknownNameError: a query that cannot be asked of the corpus.
        """
        return self._queries.add(project, queries)

    def retire(self, project: Project, query_ids: Iterable[str], author: str) -> int:
        """Ask queries no more: they leave queues, pools and adjudicated grades, until they are
        added again. What was judged stays. Returns how many were asked before."""
        return self._queries.retire(project, query_ids, check_annotator(author))

    def pool(self, project: Project, query_id: str | None = None) -> list[PoolItem]:
        """What is to be judged, with who brought it up."""
        return pool_items(self._ledger.projects.pool(project.corpus, project.name, query_id))

    def fill_pool(
        self,
        project: Project,
        request: PoolRequest,
        query_ids: Sequence[str] | None = None,
        on_query: Callable[[], None] = tell_nobody,
    ) -> int:
        """Pool the project's queries (or some of them); what is there and judged stays.

        Stored query by query: a kill costs the one at hand. Documents of runs that the
        corpus does not hold are left out.

        Args:
            query_ids: None for all of them.

        Returns:
            how many (query, document, source) were new.

        Raises:
            BadInputError, UnknownNameError: no such system or query; no depth.
        """
        check_pool(request)
        ids = self.queries(project) if query_ids is None else query_ids
        chosen = {i: self._queries.get(project, i) for i in ids}
        new = 0
        for rows in brought_up(self._searcher(project.corpus), chosen, request):
            new += fill(self._ledger.projects, project.name, rows)
            on_query()
        return new

    def unjudged(
        self, project: Project, systems: Sequence[str], k: int = DEPTH
    ) -> tuple[Unjudged, ...]:
        """What is unjudged in the top ``k`` of each system, over the project's queries."""
        check_pool(PoolRequest(tuple(systems), k))
        tops = tops_of(self._searcher(project.corpus), self.queries(project), systems, k)
        return find_unjudged(tops, graded(project, self.judgments(project)), k)

    def unjudged_in(
        self, project: Project, runs: Mapping[str, Sequence[Ranking]], k: int = DEPTH
    ) -> tuple[Unjudged, ...]:
        """What is unjudged in the top ``k`` of rankings that are there, by the run's name."""
        asked = self.queries(project)
        tops = {
            name: {r.query_id: r.doc_ids[:k] for r in rankings if r.query_id in asked}
            for name, rankings in runs.items()
        }
        return find_unjudged(tops, graded(project, self.judgments(project)), k)

    # -- judging -----------------------------------------------------------------------------

    def judge(self, project: Project, judgment: Judgment, query: Query | None = None) -> Judgment:
        """Check and store what was said of an item; nothing is overwritten. The one way in which
        people, on any page and from the command line, judge and adjudicate.

        Args:
            judgment: without corpus and project, which are this project's. An ``instruction``
                is that of its query where it has none itself.
            query: what was asked, where the project may not have it yet: it is kept by the
                judgment's query_id.

        Returns:
            the judgment as it is stored.

        Raises:
            UnknownNameError: the project does not have the query, or the corpus not the document.
            BadInputError: see :func:`engine.annotate.judgments.checked` and :func:`store`.
        """
        asked = query or self._queries.get(project, judgment.query_id)
        self._library.open(project.corpus).document(judgment.doc_id)
        if judgment.origin == "adjudication":
            check_decision(project, judgment)
        instruction = judgment.instruction or asked.instruction or ""
        judgment = checked(project, replace(judgment, instruction=instruction))
        check_not_seed(judgment, asked)
        if judgment.origin == "adjudication":
            check_decided(self._ledger.judging, judgment)
        if query is not None:
            self._queries.keep(project, judgment.query_id, query)
        store(self._ledger.judging, judgment)
        return judgment

    def undo(
        self,
        project: Project,
        annotator: str,
        only: Collection[Item] | None = None,
        event: str = "",
    ) -> Judgment | None:
        """Take back an annotator's last judgment; None when there is none to take back.

        Args:
            only: the last one of these items; None for the last one of all.
            event: the undo's own id: sent twice, it takes back one judgment; "" for a new one.
        """
        place = (project.corpus, project.name, check_annotator(annotator))
        return self._ledger.judging.undo(*place, only=only, undo_event=event)

    def known(self, events: Iterable[str]) -> set[str]:
        """Which of these events are stored."""
        return self._ledger.judging.known(events)

    def judgments(
        self, project: Project, query_id: str | None = None, annotator: str | None = None
    ) -> list[Judgment]:
        """What stands, adjudications included, in order of arrival."""
        return standing(self._ledger.judging, project, query_id, annotator)

    def history(self, project: Project) -> list[Judgment]:
        """Every event there ever was, undos included."""
        return self._ledger.judging.history(project.corpus, project.name)

    # -- the queue ---------------------------------------------------------------------------

    def queue(
        self, project: Project, annotator: str, only: Collection[Item] | None = None
    ) -> Queue:
        """One annotator's queue as it stands; ``only`` some items of it, where they are given."""
        annotator = check_annotator(annotator)
        pool = self.pool(project)
        if only is not None:
            pool = [item for item in pool if (item.query_id, item.doc_id) in only]
        return Queue.of(project, annotator, pool, self.judgments(project))

    # -- what comes of it --------------------------------------------------------------------

    measure_names: ClassVar[Mapping[str, str]] = MEASURES
    """Name of a coefficient -> what to call it."""

    def agreement(self, project: Project) -> Agreement:
        """How far its annotators agree, over all, by aspect and in pairs."""
        queries = self.queries(project, retired=True)
        aspects = {key: query.aspect or "" for key, query in queries.items()}
        return find_agreement(self.judgments(project), project.scale, aspects)

    def disagreements(self, project: Project) -> list[Disagreement]:
        """What there is to adjudicate, the widest spread first; decided items come last."""
        retired = self._ledger.projects.retired(project.corpus, project.name)
        return find_disagreements(j for j in self.judgments(project) if j.query_id not in retired)

    def adjudicate(
        self, project: Project, query_id: str, doc_id: str, relevance: int | None, reason: str,
        by: str, event: str = "",
    ) -> Judgment:  # fmt: skip
        """Decide an item, or with ``relevance`` None take back one's own decision; everybody's
        own grades stay.

        Raises:
            BadInputError: the project has leads, and ``by`` is none of them; no reason for a
                grade; a decision taken back that there is not; and as :meth:`judge`.
        """
        verdict: Verdict = "withdrawn" if relevance is None else "grade"
        decision = Judgment(
            query_id, doc_id, by, relevance, verdict, reason, origin="adjudication", event=event
        )
        return self.judge(project, decision)
