"""Systems side by side on a test collection: what was ranked before is only measured; and the
measures of given rankings."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from engine.annotate.adjudication import decide, own_grades
from engine.annotate.pool import unaskable
from engine.errors import BadInputError, SeedLensError
from engine.jobs.runner import CancelledWorkError
from engine.llm.client import Client, finish
from engine.llm.judges import Criterion
from engine.llm.tasks import TaskRun
from engine.measures.metrics import mean, ranking_by_grades
from engine.measures.p_mrr import P_MRR, wanted_by
from engine.measures.per_query import JUDGED, Row, means, measures_of, query_rows
from engine.measures.significance import confidence_interval, paired_tests, significance
from engine.rerank.modes import MODES
from engine.search.model import reranking
from engine.search.model.reranking import Sample as SampledQuery
from engine.search.model.systems import MODEL_SYSTEMS, SystemRanking, find_model_system
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.topics import (
    Ranker,
    SystemRun,
    check_documents,
    sampled,
    seed_of,
    topic_query,
    usable_topics,
)
from engine.text import counted
from engine.types.annotating import Item, Judgment, Project, Scale
from engine.types.evaluations import (
    CSFCUBE_NDCG,
    NDCG,
    RELEVANT,
    Collection,
    Difference,
    Evaluated,
    Evaluation,
    EvaluationRequest,
    Interval,
    Judged,
    Qrels,
    Sample,
    SystemKind,
    SystemScores,
    Topic,
)
from engine.types.models import ModelReport, TaskReport
from engine.types.searches import Query, Ranking

MAIN_MEASURE = NDCG
"""What significance is tested on."""
MAIN_MEASURES = (MAIN_MEASURE, CSFCUBE_NDCG, P_MRR)
"""What every aspect gets an interval of."""
HUMAN = "human"
TIE_BREAK = "dense"
"""Orders what an annotator gave the same grade; ranked for that where nobody asked for it."""


def system_and_mode(run: str) -> tuple[str, str]:
    """System and reranking mode ("" for none) in a run's name.

    >>> system_and_mode("hybrid+facts+pairwise"), system_and_mode("hybrid+facts")
    (('hybrid+facts', 'pairwise'), ('hybrid+facts', ''))
    """
    system, _, mode = run.rpartition("+")
    return (system, mode) if mode in MODES and system else (run, "")


def asks_model(run: str) -> bool:
    """Whether a model takes part in the run of this name."""
    system, mode = system_and_mode(run)
    return bool(mode) or system in MODEL_SYSTEMS


def run_names(request: EvaluationRequest) -> tuple[str, ...]:
    """The runs of a request in their order: every system, its reranking beside it."""
    if not request.rerank:
        return request.systems
    return tuple(n for name in request.systems for n in (name, f"{name}+{request.rerank}"))


def needs_model(request: EvaluationRequest) -> bool:
    """Whether a language model takes part."""
    return any(map(asks_model, run_names(request)))


def topic_criterion(searcher: Searcher, topic: Topic) -> Criterion:
    """What a topic's documents are judged by."""
    query = topic_query(topic, searcher, "dense", None)
    return searcher.criterion(query, searcher.seed(query))


def foreseen_runs(
    names: Sequence[str], depth: int, searcher: Searcher, topics: Sequence[Topic]
) -> list[reranking.Counted]:
    """What is asked at most for those of the named runs that need a model."""
    sizes = reranking.ranking_sizes(searcher, topics)
    return [
        reranking.count_for_reranking(reranking.Plan(system_and_mode(name)[1], depth), sizes)
        if "+" in name
        else reranking.count_for_system(name, sizes)
        for name in names
        if asks_model(name)
    ]


def samples(searcher: Searcher, topics: Sequence[Topic]) -> list[SampledQuery]:
    """Queries spread over all, each with some of its candidates."""
    load, known = reranking.texts_of(searcher), searcher.corpus.row_of
    specimens = []
    for topic in topics[:: max(1, len(topics) // reranking.SAMPLE)][: reranking.SAMPLE]:
        pool = searcher.corpus.doc_ids if topic.pool is None else sorted(topic.pool)
        own = [doc_id for doc_id in pool if doc_id in known]
        texts = load(own[:: max(1, len(own) // reranking.DOCUMENTS)][: reranking.DOCUMENTS])
        specimens.append(SampledQuery(topic_criterion(searcher, topic), texts))
    return specimens


class RunStore(Protocol):
    """Where the rankings of an evaluation are kept, by name; a dict will do."""

    def __contains__(self, name: object, /) -> bool: ...
    def get(self, name: str, /) -> SystemRun | None: ...
    def __setitem__(self, name: str, run: SystemRun, /) -> None: ...


def evaluate(
    searcher: Searcher,
    collection: Collection,
    systems: Sequence[str],
    *,
    steer: float | None = None,
    sample: int | None = None,
    human: bool = False,
) -> Evaluation:
    """Run every topic on every system and measure; nothing is stored.

    Topics with a judged pool rank that pool only; the others rank the corpus.

    Args:
        systems: without a model; for others see :class:`EvaluationRun`.
        steer: for systems that take it; None for the default of :class:`engine.types.Query`.
        sample: only this many seeds; see :func:`sampled`.
        human: also measure the annotators' own grades.
    """
    steer = Query("").steer if steer is None else steer
    request = EvaluationRequest("", tuple(systems), steer, sample, human)
    for name in systems:
        find_system(name)
    report = finish(EvaluationRun(searcher, collection, request, {}).compute(TaskRun()))
    evaluation = report.result.evaluation
    if evaluation is None:
        raise BadInputError("No system is chosen.", "Choose at least one.")
    return evaluation


@dataclass(frozen=True)
class EvaluationRun:
    """One request on one corpus."""

    searcher: Searcher
    collection: Collection
    request: EvaluationRequest
    runs: RunStore  # existing rankings, to which new ones are added system by system
    uploaded: Sequence[SystemRun] = ()  # rankings of people, cut to the topics of the request

    def missing(self, *, with_failed: bool = False) -> tuple[str, ...]:
        """Runs to be made; ``with_failed`` adds those with failed questions, which are asked
        again."""
        by_model = [name for name in run_names(self.request) if asks_model(name)]
        missing = [name for name in (*self._without_model(), *by_model) if name not in self.runs]
        if with_failed:
            made = {name: self.runs.get(name) for name in by_model if name not in missing}
            missing += [name for name, run in made.items() if run and run.llm and run.llm.failed]
        return tuple(missing)

    async def compute(self, run: TaskRun) -> TaskReport[Evaluated]:
        """Rank what is missing, and measure; failed questions to a model are asked again."""
        request, collection = self.request, self.collection
        if request.human:
            check_annotators(collection)
        topics = usable_topics(sampled(collection.topics, request.sample), self.searcher)
        check_documents(collection, self.searcher)
        unmade = [name for name in self.missing() if asks_model(name)]
        if unmade and run.client is None:
            raise BadInputError(
                f"'{unmade[0]}' needs a language model, and none is connected.", "Connect one."
            )
        try:
            made, known = self._rank(Ranker(self.searcher, topics, request.steer), run)
        except CancelledWorkError:
            return TaskReport(result=Evaluated(None), stopped="cancelled")
        error: SeedLensError | None = None
        try:
            known += await self._rank_with_model(made, run, topics)
        except SeedLensError as failure:
            error = failure
        run.progress(0, 1, phase="Measuring")
        runs = [made[name] for name in run_names(request) if name in made]
        runs += self.uploaded
        if request.human:
            people = annotators_rankings(collection, topics, made[TIE_BREAK].rankings)
            runs += [SystemRun(f"{HUMAN}-{a}", own, kind="human") for a, own in people.items()]
        if not runs and error is not None:  # there is not even a best order so far
            raise error
        found = judge_runs(self.searcher, collection, topics, runs)
        stops = [r for r in found.model_reports.values() if r.stopped]
        stopped, problem = (stops[0].stopped, stops[0].problem) if stops else ("", "")
        if error is not None:
            stopped, problem = "endpoint", str(error)
        result = Evaluated(found, tuple(known))
        return TaskReport(result=result, stopped=stopped, problem=problem)

    def _without_model(self) -> tuple[str, ...]:
        """Rankings made without a model, in order, including the one that breaks people's ties."""
        own = tuple(name for name in self.request.systems if name not in MODEL_SYSTEMS)
        return (*own, TIE_BREAK) if self.request.human and TIE_BREAK not in own else own

    def _rank(self, ranker: Ranker, run: TaskRun) -> tuple[dict[str, SystemRun], list[str]]:
        """Runs without a model by name, and which existed; CancelledWorkError."""
        names = self._without_model()
        known = [name for name in names if name in self.runs]
        count = run.counter(len(ranker.topics) * (len(names) - len(known)), "Ranking")
        made: dict[str, SystemRun] = {}
        for name in names:
            ranked = self.runs.get(name)
            if ranked is None:
                phase = f"Ranking with {name}"
                ranked = self.runs[name] = ranker.run(name, partial(count, phase))
            made[name] = ranked
        return made, known

    async def _rank_with_model(
        self, made: dict[str, SystemRun], run: TaskRun, topics: Sequence[Topic]
    ) -> list[str]:
        """Add the runs with a model, as far as it comes; returns which existed."""
        known, left = [], [n for n in self.missing(with_failed=True) if asks_model(n)]
        for name in filter(asks_model, run_names(self.request)):
            ranked = self.runs.get(name)
            # Failures are asked again: answers that are there cost nothing.
            if run.client is not None and name in left:
                ahead = foreseen_runs(
                    left[left.index(name) :], self.request.depth, self.searcher, topics
                )
                system, mode = system_and_mode(name)
                phase = f"Reranking {system}, {mode}" if mode else f"Searching with {system}"
                run.questions(sum(count.calls for _, count in ahead), phase)
                ranked = await self._ask_model(run.client, name, made.get(system), topics)
                if ranked.llm is not None and not ranked.llm.stopped:  # everything was asked
                    self.runs[name] = ranked
            elif ranked is not None:
                known.append(name)
            if ranked is not None:
                made[name] = ranked
                if ranked.llm is not None and ranked.llm.stopped not in ("", "budget"):
                    break
        return known

    async def _ask_model(
        self, client: Client, name: str, first: SystemRun | None, topics: Sequence[Topic]
    ) -> SystemRun:
        """The run of this name; ``first`` is what is reranked."""
        searcher, before = self.searcher, client.usage
        system, mode = system_and_mode(name)
        if mode and first is not None:
            plan, load = reranking.Plan(mode, self.request.depth), reranking.texts_of(searcher)
            given = {r.query_id: r.doc_ids for r in first.rankings}
            assignments = [
                reranking.Assignment(
                    t.query_id, topic_criterion(searcher, t), given[t.query_id], load
                )
                for t in topics
            ]
            finished = await reranking.rerank_all(client, assignments, plan)
            orders = zip(topics, finished, strict=True)
            rankings = tuple(ranking_of(t.query_id, f.reranked.order) for t, f in orders)
            usage = client.raise_if_nothing_came(before)
            report, seconds = reranking.model_report(plan, usage, finished), first.seconds
        else:
            rank_one, at_once = find_model_system(system), asyncio.Semaphore(client.concurrency)

            async def one(topic: Topic) -> SystemRanking:
                async with at_once:
                    query = topic_query(topic, searcher, "dense", None)
                    seed = searcher.seed(query)
                    request = searcher.request(query, seed, None)
                    if topic.pool is not None:  # it is ranked, not the corpus
                        scope = searcher.corpus.scope(without=query.seed, pool=topic.pool)
                        request = replace(request, scope=scope)
                    criterion = searcher.criterion(query, seed)
                    return await rank_one(client, searcher, request, criterion)

            found = await asyncio.gather(*map(one, topics))
            usage = client.raise_if_nothing_came(before)
            unanswered = sum(ranked.unanswered for ranked in found)
            report, seconds = reranking.usage_report(system, 0, len(topics), unanswered, usage), 0.0
            rankings = tuple(
                Ranking(
                    t.query_id,
                    tuple(s.doc_id for s in ranked.ranking),
                    tuple(s.score for s in ranked.ranking),
                )
                for t, ranked in zip(topics, found, strict=True)
            )
        seconds += usage.seconds
        return SystemRun(name, rankings, seconds, notes=_notes_on(report), llm=report)


def _notes_on(report: ModelReport) -> tuple[str, ...]:
    if report.stopped:
        words = {"cancelled": "it was cancelled", "budget": "its budget was reached"}
        why = words.get(report.stopped, "the endpoint failed")
        return (f"the model did not answer everything: {why}. The order is the best so far.",)
    if not report.unanswered:
        return ()
    of_all = f"{report.unanswered:,} of {counted(report.questions, 'answer')}"
    return (f"{of_all} of the model could not be used.",)


def judge_runs(
    searcher: Searcher, collection: Collection, topics: Sequence[Topic], runs: Sequence[SystemRun]
) -> Evaluation:
    """Measure runs against the judgments; those of annotators become one row, ``human``.

    An uploaded run is measured and compared on the queries that it ranks.
    """
    runs = [replace(run, rankings=without_own(collection, topics, run.rankings)) for run in runs]
    scores = {}
    for run in runs:
        ranked = {r.query_id for r in run.rankings}
        own = [t for t in topics if run.kind != "run" or t.query_id in ranked]
        if own and run.kind != "human":
            rows = query_rows(collection, own, run.rankings)
            scores[run.system] = summarised(rows, run.seconds, run.kind, run.llm)
    people = {r.system.removeprefix(f"{HUMAN}-"): r.rankings for r in runs if r.kind == "human"}
    main = {n: {q["query_id"]: q[MAIN_MEASURE] for q in s.per_query} for n, s in scores.items()}
    values = {n: [own.get(t.query_id) for t in topics] for n, own in main.items()}
    if people:
        scores[HUMAN] = human_scores(collection, topics, people)
    missing = check_documents(collection, searcher)
    grades = [collection.qrels.get(t.query_id, {}) for t in topics]
    judged = Judged(
        queries=sum(map(bool, grades)),
        grades=sum(map(len, grades)),
        relevant=sum(grade >= collection.relevant_from for own in grades for grade in own.values()),
        complete=collection.complete,
        missing_documents=missing,
        relevant_from=collection.relevant_from,
    )
    unjudged = {
        n: 0.0 if judged.complete else 1.0 - (mean([row[JUDGED] for row in s.per_query]) or 0.0)
        for n, s in scores.items()
    }
    seeds, every = ({seed_of(t) for t in some} for some in (topics, collection.topics))
    run_notes = [f"Run '{run.system}': {note}" for run in runs for note in run.notes]
    return Evaluation(
        collection=collection.name,
        corpus=searcher.corpus.name,
        queries=len(topics),
        systems=scores,
        rankings={r.system: r.rankings for r in runs},
        unjudged_in_top_k=unjudged,
        missing_documents=missing,
        significance=tuple(significance(values, MAIN_MEASURE)),
        judged=judged,
        sample=None if len(seeds) == len(every) else Sample(len(seeds), len(every)),
        notes=(*reading_notes(topics, judged, scores), *run_notes),
    )


# -- from rankings to numbers -----------------------------------------------------------------


def without_own(
    collection: Collection, topics: Sequence[Topic], rankings: Sequence[Ranking]
) -> tuple[Ranking, ...]:
    """The rankings without the document of the query's own id (ArguAna), unless judged relevant, as
    in BEIR."""
    own = {
        topic.query_id
        for topic in topics
        if topic.text is not None
        and collection.qrels.get(topic.query_id, {}).get(topic.query_id, 0) < RELEVANT
    }
    return tuple(but(r, r.query_id) if r.query_id in own else r for r in rankings)


def but(ranking: Ranking, doc_id: str | None) -> Ranking:
    """The ranking without one document."""
    pairs = zip(ranking.doc_ids, ranking.scores, strict=True)
    kept = [pair for pair in pairs if pair[0] != doc_id]
    return Ranking(ranking.query_id, tuple(d for d, _ in kept), tuple(s for _, s in kept))


def summarised(
    rows: Sequence[Row],
    seconds: float,
    kind: SystemKind = "system",
    llm: ModelReport | None = None,
) -> SystemScores:
    """Means and intervals of rows like those of :func:`query_rows`."""
    aspects = sorted({row["aspect"] for row in rows if row["aspect"] is not None})
    of_aspect = {a: [row for row in rows if row["aspect"] == a] for a in aspects}
    return SystemScores(
        metrics=means(rows),
        by_aspect={a: means(own) for a, own in of_aspect.items()},
        per_query=tuple(rows),
        seconds=seconds,
        confidence=_intervals(rows, measures_of(rows)),
        confidence_by_aspect={a: _intervals(own, MAIN_MEASURES) for a, own in of_aspect.items()},
        kind=kind,
        llm=llm,
    )


def _intervals(rows: Sequence[Row], measures: Sequence[str]) -> dict[str, Interval]:
    return {name: confidence_interval([row[name] for row in rows]) for name in measures}


def ranking_of(query_id: str, order: Sequence[str]) -> Ranking:
    """An order as a ranking: scores that fall by one from place to place."""
    return Ranking(query_id, tuple(order), tuple(map(float, range(len(order), 0, -1))))


def reading_notes(
    topics: Sequence[Topic], judged: Judged, scores: Mapping[str, SystemScores]
) -> list[str]:
    """What a reader should know before the numbers."""
    notes = []
    if all(s.metrics[P_MRR] is None for s in scores.values()):
        of_seed: dict[str, set[tuple[str, ...]]] = {}
        for topic in topics:
            if topic.seed is not None and (wanted := wanted_by(topic)):
                of_seed.setdefault(topic.seed, set()).add(wanted)
        reason = (
            "no document is relevant to one aspect of a seed and not to another"
            if any(len(aspects) > 1 for aspects in of_seed.values())
            else "no seed is judged for two aspects"
        )
        notes.append(f"p-MRR is undefined here, not 0: {reason}.")
    if judged.relevant_from != RELEVANT:
        notes.append(f"AP, RR and R@k count grades from {judged.relevant_from} as relevant.")
    silent = len(topics) - judged.queries
    if silent:
        which = counted(silent, "query has", "queries have")
        notes.append(f"{which} no judgment at all and counts as 0 in every mean.")
    return notes


def differences(first: Evaluation, second: Evaluation) -> tuple[Difference, ...]:
    """Every measure of the systems in both, on the queries of both; where they share no system, of
    the best ones. p-MRR only of equal queries: it depends on the other queries of a seed."""
    one, two = first.systems, second.systems
    shared = [(name, name) for name in one if name in two]
    if not shared and one and two:
        shared = [(_best(first), _best(second))]
    rows: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for names in shared:
        theirs = {row["query_id"]: row for row in two[names[1]].per_query}
        own = [row for row in one[names[0]].per_query if row["query_id"] in theirs]
        rows[names] = [(row, theirs[row["query_id"]]) for row in own]
    measures = measures_of([pair[0] for pairs in rows.values() for pair in pairs][:1])
    made = []
    for measure in measures:
        values = {
            names: [
                (a[measure], b[measure])
                for a, b in pairs
                if a[measure] is not None and b.get(measure) is not None
            ]
            for names, pairs in rows.items()
            if measure != P_MRR
            or len(pairs) == len(one[names[0]].per_query) == len(two[names[1]].per_query)
        }
        changes = {names: [round(b - a, 12) for a, b in own] for names, own in values.items()}
        for test in paired_tests(changes, measure):
            names = test["systems"]
            before, after = map(mean, zip(*values[names], strict=True))
            made.append(
                Difference(
                    names,
                    measure,
                    test["queries"],
                    (before or 0.0, after or 0.0),
                    test["difference"],
                    confidence_interval(changes[names]),
                    test["t_test_p_holm"],
                    test["randomisation_p_holm"],
                )
            )
    return tuple(made)


def _best(evaluation: Evaluation) -> str:
    means = {name: s.metrics[MAIN_MEASURE] or 0.0 for name, s in evaluation.systems.items()}
    return max(means, key=means.__getitem__)


def check_annotators(collection: Collection) -> None:
    """BadInputError when nobody's own grades were kept."""
    if not collection.annotators:
        raise BadInputError(
            f"The collection '{collection.name}' has no grades of single annotators.",
            "Leave --human away, or use one that keeps them, such as CSFCube "
            "(lists 'relevance_ann1' ... beside 'relevance_adju').",
        )


def annotators_rankings(
    collection: Collection, topics: Sequence[Topic], tie_break: Sequence[Ranking]
) -> dict[str, tuple[Ranking, ...]]:
    """annotator -> a ranking, by their own grades, of every pool that they graded; ties in the
    order of ``tie_break``."""
    order = {r.query_id: r.doc_ids for r in tie_break}
    by_annotator = {}
    for annotator, graded in collection.annotators.items():
        own = [t.query_id for t in topics if t.query_id in graded]
        if own:
            orders = ((q, ranking_by_grades(graded[q], order[q])) for q in own)
            by_annotator[annotator] = tuple(ranking_of(*one) for one in orders)
    return by_annotator


def human_scores(
    collection: Collection,
    topics: Sequence[Topic],
    rankings: Mapping[str, Sequence[Ranking]],
) -> SystemScores:
    """Every annotator against the adjudicated grades, and their mean per query.

    p-MRR compares an annotator's rankings for two aspects of a seed. Where they graded one only,
    another annotator's ranking is used for the other.
    """
    own_rows: dict[str, list[dict[str, Any]]] = {}
    for annotator, own in rankings.items():
        graded = {r.query_id for r in own}
        stand_ins = [r for other, theirs in rankings.items() if other != annotator for r in theirs]
        together = {r.query_id: r for r in (*reversed(stand_ins), *own)}
        rows = query_rows(collection, topics, list(together.values()))
        own_rows[annotator] = [row for row in rows if row["query_id"] in graded]
    of_query: dict[str, list[Row]] = {}
    for row in (row for rows in own_rows.values() for row in rows):
        of_query.setdefault(row["query_id"], []).append(row)
    graded_rows = [of_query[t.query_id] for t in topics if t.query_id in of_query]
    merged = [{**rows[0], **means(rows)} for rows in graded_rows]
    scores = summarised(merged, 0.0, "human")
    return replace(scores, annotators={a: means(rows) for a, rows in own_rows.items()})


def from_zero(qrels: Qrels, scale: Scale) -> dict[str, dict[str, int]]:
    """Grades counted from the lowest of their scale: 0 is not relevant."""
    lowest = min(scale.values)
    return {q: {d: grade - lowest for d, grade in grades.items()} for q, grades in qrels.items()}


def topic_of(query_id: str, query: Query) -> Topic:
    """A project's query as a topic of a collection."""
    return Topic(query_id, query.seed, query.text, query.aspect, instruction=query.instruction)


def human_rows(
    project: Project,
    queries: Mapping[str, Query],
    judgments: Sequence[Judgment],
    searcher: Searcher,
) -> dict[str, SystemScores]:
    """annotator -> all measures of their own grades as a ranking.

    Measured against the grades without theirs: others' adjudications, else the grade that the
    others agree on (or a model's, where the project counts it), on documents with both. No row for
    annotators without any.
    """
    held, gone = searcher.corpus.row_of, unaskable(searcher.corpus, queries)
    known = (None, *project.scale.values)
    topics = {key: topic_of(key, query) for key, query in queries.items() if key not in gone}
    judgments = [
        j for j in judgments if j.query_id in topics and j.doc_id in held and j.relevance in known
    ]

    @functools.cache
    def ties(query_id: str) -> list[str]:
        query = replace(queries[query_id], system=TIE_BREAK)
        ranking = searcher.rank(query, searcher.seed(query)).doc_ids
        return [*ranking, query.seed] if query.seed is not None else [*ranking]

    scores, relevant_from = {}, project.scale.relevant - min(project.scale.values)
    for annotator, own in own_grades(judgments).items():
        others = [j for j in judgments if j.annotator != annotator]
        decided = decide(others, model_grades=project.model_grades, scale=project.scale)
        both = _items(own) & _items(decided.grades)
        shared, rest = (from_zero(among(q, both), project.scale) for q in (own, decided.grades))
        asked = tuple(topic for key, topic in topics.items() if key in shared)
        if asked:
            name = project.name or project.corpus
            collection = Collection(
                *(name, asked, rest, None, ""),
                relevant_from=relevant_from,
                annotators={annotator: shared},
            )
            breaks = [
                ranking_of(q, [d for d in ties(q) if d in grades]) for q, grades in shared.items()
            ]
            rankings = annotators_rankings(collection, asked, breaks)
            found = human_scores(collection, asked, rankings)
            scores[annotator] = replace(found, annotators={})
    return scores


def among(qrels: Qrels, items: Container[Item]) -> dict[str, dict[str, int]]:
    """The grades of some items, without queries that have none of them."""
    kept = {q: {d: g for d, g in own.items() if (q, d) in items} for q, own in qrels.items()}
    return {query_id: grades for query_id, grades in kept.items() if grades}


def _items(qrels: Qrels) -> set[Item]:
    return {(query_id, doc_id) for query_id, grades in qrels.items() for doc_id in grades}
