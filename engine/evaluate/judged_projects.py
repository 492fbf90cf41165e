"""Annotation projects as test collections: their decided grades, and notes on the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from engine.annotate.adjudication import DecidedQrels, decide, own_grades
from engine.annotate.pool import graded
from engine.annotate.projects import ProjectStore, read_query_id
from engine.collections.readers import without_seeds
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.recent import Recent
from engine.errors import BadInputError
from engine.text import counted
from engine.types.annotating import Judgment, Project, Scale
from engine.types.evaluations import Collection, Qrels, Topic
from engine.types.searches import Query
from storage.ledger import Ledger

FORMAT = "project"


class JudgedProjects:
    """The projects of one home with judgments."""

    def __init__(self, ledger: Ledger, library: Library) -> None:
        self._library, self._projects = library, ProjectStore(ledger, library)
        self._made = Recent[Hashable, Collection](16)

    def judged(self) -> list[tuple[str, str]]:
        """Corpus and name of projects with at least one grade that counts; "" is the name of what
        was judged while exploring."""
        named = {corpus: {"": Project(corpus)} for corpus in self._library.names()}
        for project in self._projects.projects():
            if project.corpus in named:
                named[project.corpus][project.name] = project
        every = (project for projects in named.values() for project in projects.values())
        return [project.key for project in every if self._is_judged(project)]

    def _is_judged(self, project: Project) -> bool:
        judged = graded(project, self._projects.judgments(project)).keys()
        return not judged <= self._projects.retired(project)

    def read(self, corpus: str, name: str) -> Collection:
        """Its queries and adjudicated grades; BadInputError when no query can be ranked."""
        project, opened = self._projects.project(corpus, name), self._library.open(corpus)
        judgments, queries = self._projects.judgments(project), self._projects.queries(project)
        retired, events = self._projects.retired(project), tuple(j.event for j in judgments)
        settings = project.key, project.scale, project.model_grades
        return self._made.one(
            (*settings, events, tuple(queries), retired, opened.identity),
            lambda: without_seeds(_collection(project, judgments, queries, retired, opened)),
        )


def _collection(
    project: Project,
    judgments: Sequence[Judgment],
    queries: Mapping[str, Query],
    retired: frozenset[str],
    corpus: OpenCorpus,
) -> Collection:
    scale = project.scale
    decided = decide(judgments, model_grades=project.model_grades, retired=retired, scale=scale)
    topics, warnings = _topics(decided.grades, queries, corpus)
    asked = {topic.query_id for topic in topics}
    lowest = min(scale.values)
    if lowest:
        warnings += (f"The lowest grade of the scale, {lowest}, counts as 0: not relevant.",)
    known = (None, *scale.values)
    own = [j for j in judgments if j.query_id not in retired and j.relevance in known]
    annotators, notes = _annotators(decided, own)
    return Collection(
        name=project.name or project.corpus,
        topics=topics,
        qrels=from_zero({q: g for q, g in decided.grades.items() if q in asked}, scale),
        documents=None,
        source_format=FORMAT,
        annotators={who: from_zero(grades, scale) for who, grades in annotators.items()},
        warnings=(*decided.notes, *warnings, *notes),
    )


def from_zero(qrels: Qrels, scale: Scale) -> dict[str, dict[str, int]]:
    """Grades counted from the lowest of their scale: 0 is not relevant."""
    lowest = min(scale.values)
    return {q: {d: grade - lowest for d, grade in grades.items()} for q, grades in qrels.items()}


def _topics(
    grades: Qrels, queries: Mapping[str, Query], corpus: OpenCorpus
) -> tuple[tuple[Topic, ...], tuple[str, ...]]:
    """Judged queries as topics, and a note on those that cannot be ranked."""
    found = [_topic(query_id, queries, corpus) for query_id in grades]
    topics = tuple(one for one in found if isinstance(one, Topic))
    left = Counter(one for one in found if isinstance(one, str))
    if not topics:
        why = "; ".join(left) or "no grade in it is decided"
        raise BadInputError(
            f"None of its queries can be ranked: {why}.",
            "Judge for a seed and an aspect that the corpus has.",
        )
    if not left:
        return topics, ()
    which = counted(left.total(), "query is", "queries are")
    why = "; ".join(f"{one} ({n:,})" if len(left) > 1 else one for one, n in left.items())
    return topics, (f"{which} left out: {why}.",)


def _topic(query_id: str, queries: Mapping[str, Query], corpus: OpenCorpus) -> Topic | str:
    """A query as a topic, or why it cannot be one."""
    query = queries.get(query_id)
    if query is None:
        named = read_query_id(query_id, corpus)
        if named is None:
            return "no seed and aspect of the corpus is named"
        return Topic(query_id, seed=named.seed, aspect=named.aspect)
    if query.seed is not None and query.seed not in corpus.row_of:
        return "the seed is not in the corpus any more"
    if query.aspect is not None and query.aspect not in corpus.aspects:
        return "the aspect is not in the lens of the corpus"
    if query.focus:
        return "asked by single sentences of the seed"
    if query.reading:
        return "asked by a corrected reading"
    return topic_of(query_id, query)


def topic_of(query_id: str, query: Query) -> Topic:
    """A project's query as a topic of a collection."""
    return Topic(query_id, query.seed, query.text, query.aspect, instruction=query.instruction)


def _annotators(
    decided: DecidedQrels, judgments: Sequence[Judgment]
) -> tuple[dict[str, Qrels], tuple[str, ...]]:
    """Own grades that can be compared with adjudicated ones, where several people graded."""
    own = own_grades(judgments)
    if len(own) < 2:
        return {}, ()
    if decided.undecided:
        return {}, ("The human row is there once all disagreements are adjudicated.",)
    shared = {d.item for d in decided.decisions if d.decided is not None or len(d.annotators) > 1}
    by_annotator: dict[str, Qrels] = {}
    for annotator, qrels in own.items():
        kept = {
            query_id: {d: grade for d, grade in grades.items() if (query_id, d) in shared}
            for query_id, grades in qrels.items()
        }
        if graded_some := {q: grades for q, grades in kept.items() if grades}:
            by_annotator[annotator] = graded_some
    return by_annotator, ()
