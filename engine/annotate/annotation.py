"""What pages and the command line call as ``explorer.annotation``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from engine.annotate.adjudication import agreement_over_time, find_agreement, find_disagreements
from engine.annotate.judgment_io import JudgmentFiles
from engine.annotate.model_grading import ModelGrading
from engine.annotate.pool import (
    DEPTH,
    Pool,
    PoolFilling,
    Queue,
    Searcher,
    Share,
    but_seed,
    check_pool,
    find_progress,
    find_share,
    find_unjudged,
    graded,
    retrieved,
    tops_of,
    unaskable,
)
from engine.annotate.projects import (
    MADE,
    ProjectStore,
    check_annotator,
    check_decision,
    checked,
    guideline_template,
    store,
)
from engine.config import Settings
from engine.corpora.library import Library
from engine.errors import BadInputError, NotAllowedError, check_length
from engine.measures.recall_estimate import combined, estimate_recall
from engine.permissions import check_lead, check_own, check_sees, leads_only
from engine.types.annotating import (
    FEWEST_JUDGED,
    Agreement,
    AgreementPoint,
    AgreementStep,
    Disagreement,
    Item,
    Judgment,
    PoolRequest,
    Project,
    ProjectProgress,
    RecallEstimate,
    Unjudged,
    Verdict,
)
from engine.types.callbacks import tell_nobody
from engine.types.limits import LONGEST_EVENT
from engine.types.searches import Query, Ranking
from storage.ledger import Ledger


class Annotation(ProjectStore):
    """Projects with pooling, judging, agreement and adjudication; thread- and process-safe."""

    def __init__(
        self,
        ledger: Ledger,
        library: Library,
        searcher: Callable[[str], Searcher],
        settings: Settings | None = None,
    ) -> None:
        super().__init__(ledger, library)
        self._searcher = searcher
        # language models as annotators
        self.grading = ModelGrading(self, ledger, library, searcher, settings or Settings())
        # judgments as files and qrels, in and out
        self.exchange = JudgmentFiles(self, ledger, library)
        # pools filled in the background
        self.filling = PoolFilling(self.fill_pool, lambda project: len(self.pool(project)))

    @leads_only
    def fill_pool(
        self,
        project: Project,
        request: PoolRequest,
        query_ids: Sequence[str] | None = None,
        on_query: Callable[[], None] = tell_nobody,
    ) -> int:
        """Add the results for the project's queries, or some, to the pool; returns how many new."""
        check_pool(request, self._library.every_system)
        ids = self.queries(project) if query_ids is None else query_ids
        chosen = {query_id: self.query(project, query_id) for query_id in ids}
        searcher, new = self._searcher(project.corpus), 0
        for query_id, query in chosen.items():
            rows = retrieved(searcher, project, query_id, query, request)
            new += self._ledger.projects.add_to_pool(rows)
            on_query()
        return new

    @leads_only
    def unaskable(self, project: Project) -> tuple[str, ...]:
        """Ids of queries whose seed or aspect is not in the corpus any more."""
        return unaskable(self._library.open(project.corpus), self.queries(project))

    @leads_only
    def unjudged(
        self,
        project: Project,
        systems: Sequence[str] = (),
        k: int = DEPTH,
        runs: Mapping[str, Sequence[Ranking]] | None = None,
    ) -> tuple[Unjudged, ...]:
        """Unjudged documents in the top ``k`` of each system and run, without :meth:`unaskable`."""
        if systems:
            check_pool(PoolRequest(tuple(systems), k), self._library.every_system)
        queries = self.queries(project)
        tops = tops_of(self._searcher(project.corpus), queries, systems, k) if systems else {}
        for name, rankings in (runs or {}).items():
            tops[f"run:{name}" if name in tops else name] = {
                r.query_id: but_seed(r, queries[r.query_id])[:k]
                for r in rankings
                if r.query_id in queries
            }
        return find_unjudged(tops, graded(project, self.judgments(project)), k)

    @leads_only
    def recall(self, project: Project) -> dict[str, RecallEstimate]:
        """query_id -> relevant documents of its pool, found and estimated; "": of all queries.
        Without queries that have too few grades."""
        grades = self.exchange.qrels(project).grades
        pools: dict[str, list[str]] = {}
        for item in self.pool(project):
            pools.setdefault(item.query_id, []).append(item.doc_id)
        searcher, left_out, made = self._searcher(project.corpus), {*self.unaskable(project)}, {}
        for query_id, query in self.queries(project).items():
            known = grades.get(query_id, {})
            if len(known) < FEWEST_JUDGED or query_id in left_out:
                continue
            ranking = searcher.rank(query, searcher.seed(query), pools.get(query_id, ()))
            rows = {row: known[d] for row, d in enumerate(ranking.doc_ids) if d in known}
            relevant = {row: grade >= project.scale.relevant for row, grade in rows.items()}
            if estimate := estimate_recall(np.asarray(ranking.scores), relevant):
                made[query_id] = estimate
        return {"": combined([*made.values()]), **made} if made else {}

    def judge(
        self,
        project: Project,
        judgment: Judgment,
        query: Query | None = None,
        seen: str | None = None,
    ) -> Judgment:
        """Check and store a judgment or decision in the project, and return it as stored; a new
        ``query`` is stored too. ``seen`` as for :meth:`adjudicate`."""
        check_own(self.person, judgment.annotator)
        asked = query or self.query(project, judgment.query_id)
        opened = self._library.open(project.corpus)
        opened.known(judgment.doc_id)
        if judgment.origin != "person" or (query is not None and project.name):
            check_lead(self.person)
        if judgment.origin in ("person", "audit") and judgment.event.startswith(MADE):
            event = f"The event '{judgment.event}' begins like those of SeedLens."
            raise BadInputError(event, "Use another id.")
        if judgment.origin == "adjudication":
            check_decision(self._ledger.judging, project, judgment, seen)
        instruction = judgment.instruction or asked.instruction or ""
        judgment = checked(project, replace(judgment, instruction=instruction))
        if judgment.doc_id == asked.seed and judgment.verdict != "withdrawn":
            raise BadInputError(
                f"Document '{judgment.doc_id}' is the seed of '{judgment.query_id}'.",
                "Judge what is to be like it.",
            )
        # An annotator judges what was given to them.
        is_asked = not project.name or self.person.is_lead or judgment.item in self.pooled(project)
        every = () if is_asked else self._ledger.projects.every_pool(*project.key)
        if not is_asked and judgment.item not in [(row.query_id, row.doc_id) for row in every]:
            raise NotAllowedError(
                f"Document '{judgment.doc_id}' is not in the pool of project '{project.name}' for "
                f"'{judgment.query_id}'.",
                "A lead can add it.",
            )
        if judgment.origin == "audit":
            # Judgments of the project's own queue stay such.
            own = self._ledger.judging.latest(*project.key, judgment.query_id, judgment.annotator)
            if any(j.item == judgment.item and j.origin in ("person", "import") for j in own):
                judgment = replace(judgment, origin="person")
        if query is not None:
            self._keep_query(project, judgment.query_id, query)
        store(self._ledger.judging, judgment)
        return judgment

    def undo(
        self,
        project: Project,
        annotator: str,
        only: Collection[Item] | None = None,
        event: str = "",
    ) -> Judgment | None:
        """Take back an annotator's last judgment (of ``only`` these items), None when there is
        none; ``event`` is the undo's id: sent twice, it counts once."""
        who = check_annotator(annotator)
        check_own(self.person, who)
        check_length("event", event, LONGEST_EVENT)
        return self._ledger.judging.undo(*project.key, who, only=only, undo_event=event)

    def known(self, events: Iterable[str]) -> set[str]:
        """Which of these events are stored."""
        return self._ledger.judging.known(events)

    def queue(
        self, project: Project, annotator: str, only: Collection[Item] | None = None
    ) -> Queue:
        """One annotator's queue; of ``only`` some items, with audit grades, to check a model."""
        annotator = check_annotator(annotator)
        check_sees(self.person, annotator)
        pool, first = self._mine(project, annotator, self.pooled(project), only)
        current = self._ledger.judging.current(*project.key)
        return Queue(project, annotator, pool, current, audit=only is not None, first=first)

    def _mine(
        self,
        project: Project,
        annotator: str,
        pool: Pool,
        only: Collection[Item] | None,
        *,
        keep: bool = False,
    ) -> tuple[Pool, tuple[Item, ...]]:
        """The part of a pool that an annotator judges, and which of it everybody judges first."""
        if only is not None:
            return pool.among(only), ()
        first = self.first_items(project, pool, keep=keep)
        return pool.of(project, annotator, first), first

    def share(
        self,
        project: Project,
        annotator: str,
        visit: str,
        at: Item | None = None,
        shown: Set[Item] = frozenset(),
        only: Collection[Item] | None = None,
    ) -> Share:
        """The part of their queue (as :meth:`queue`) that an annotator may judge now, leased to the
        visit (a tab) until it asks again, leaves, or is silent for some minutes. ``at`` is the
        current item, ``shown`` what may still be on the screen."""
        who = check_annotator(annotator)
        check_own(self.person, who)
        opened = self._library.open(project.corpus)

        # An import may have dropped some documents, another lens some aspects.
        pool = self.pooled(project).held_by(
            opened.row_of, lambda: {*unaskable(opened, self._every_query(project))}
        )
        pool, first = self._mine(project, who, pool, only, keep=True)
        pool.order(project, who, first)  # slow the first time: before the leases are held
        with self._ledger.leases.of(*project.key) as leases:
            before = leases.pop(key := f"{who}\x1f{visit}", None)
            shown = frozenset() if before is None else shown & {*before.items}
            # After the leases: who gave one back has stored their judgments by then.
            current = self._ledger.judging.current(*project.key)
            queue = Queue(project, who, pool, current, audit=only is not None, first=first)
            for other, own in leases.items():
                if own.annotator == who:  # a tab of theirs, perhaps one that they closed
                    left = tuple(item for item in own.items if item not in queue.said)
                    leases[other] = replace(own, items=left)
            share, lease = find_share(queue, [*leases.values()], shown, at)
            if lease.items or share.elsewhere:
                leases[key] = lease
        return share

    def leave(self, project: Project, annotator: str, visit: str) -> None:
        """A visit ends: its leased items are for others."""
        who = check_annotator(annotator)
        check_own(self.person, who)
        with self._ledger.leases.of(*project.key) as leases:
            leases.pop(f"{who}\x1f{visit}", None)

    def guideline_template(self, project: Project, aspect: str = "") -> str:
        """A skeleton for the project's guidelines, in Markdown: of one aspect, or for all ("")."""
        lens = self._library.lens(project.corpus)
        own = next((one for one in lens.aspects if one.key == aspect), None)
        return guideline_template(project.scale, lens, own)

    @leads_only
    def progress(self, project: Project) -> ProjectProgress:
        """How far the project is, and each of its people."""
        check_sees(self.person, None)
        current, pool = self._ledger.judging.current(*project.key), self.pooled(project)
        return find_progress(project, pool, current, self.first_items(project, pool))

    @leads_only
    def agreement_over_time(self, project: Project, step: AgreementStep) -> list[AgreementPoint]:
        """How agreement came about; see :func:`agreement_over_time`."""
        return agreement_over_time(self.judgments(project), project.scale, step)

    @leads_only
    def agreement(self, project: Project, *, audit: bool = False) -> Agreement:
        """Agreement of its annotators overall, by aspect and in pairs; with ``audit`` also by
        grades that check a model."""
        queries = self.queries(project, retired=True)
        aspects = {key: query.aspect or "" for key, query in queries.items()}
        return find_agreement(self.judgments(project), project.scale, aspects, audit=audit)

    @leads_only
    def disagreements(self, project: Project) -> list[Disagreement]:
        """Items to adjudicate, the widest spread first; decided items come last."""
        retired = self.retired(project)
        return find_disagreements(j for j in self.judgments(project) if j.query_id not in retired)

    def adjudicate(
        self,
        project: Project,
        query_id: str,
        doc_id: str,
        relevance: int | None,
        reason: str,
        by: str,
        event: str = "",
        seen: str | None = None,
    ) -> Judgment:
        """Decide an item, or with ``relevance`` None take back one's own decision; other grades
        stay. ``seen``: the event of the decision that ``by`` saw ("" for none): a newer one by
        somebody else refuses this one."""
        if reason.strip().isdigit():
            raise BadInputError(f"'{reason.strip()}' is no reason.", "Say in a few words why.")
        verdict: Verdict = "withdrawn" if relevance is None else "grade"
        decision = Judgment(
            query_id, doc_id, by, relevance, verdict, reason, origin="adjudication", event=event
        )
        return self.judge(project, decision, seen=seen)
