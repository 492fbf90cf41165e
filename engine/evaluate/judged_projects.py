"""Annotation projects as test collections: what was decided so far, and what was not."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from engine.annotate.adjudication import DecidedQrels, decide, own_grades
from engine.annotate.pool import graded
from engine.annotate.projects import ProjectStore, read_query_id
from engine.collections.readers import held
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError
from engine.text import counted
from engine.types.annotating import Judgment, Project, Scale
from engine.types.evaluations import Collection, HeldCollection, Qrels, Topic
from engine.types.searches import Query
from storage.ledger import Ledger

FORMAT = "project"
SEPARATOR = ":"
"""Between corpus and project in a key; neither name can hold it."""


class ProjectKey(NamedTuple):
    """Names a project; ``project`` is "" for what was judged while exploring."""

    corpus: str
    project: str

    def __str__(self) -> str:
        return f"{self.corpus}{SEPARATOR}{self.project}"

    @classmethod
    def read(cls, key: str) -> ProjectKey | None:
        """The project of a collection's key; None for other collections.

        >>> ProjectKey.read("demo:p"), ProjectKey.read("demo")
        (ProjectKey(corpus='demo', project='p'), None)
        """
        corpus, sign, project = key.partition(SEPARATOR)
        return cls(corpus, project) if sign else None


class JudgedProjects:
    """The projects of one home in which somebody judged."""

    def __init__(self, ledger: Ledger, library: Library) -> None:
        self._ledger, self._library = ledger, library
        self._projects = ProjectStore(ledger, library)
        self._made = functools.lru_cache(maxsize=16)(self._make)

    def keys(self) -> list[ProjectKey]:
        """Projects with at least one grade that counts, by corpus, each corpus's own first."""
        named = {corpus: {"": Project(corpus)} for corpus in self._library.names()}
        for project in self._projects.projects():
            if project.corpus in named:
                named[project.corpus][project.name] = project
        return [
            ProjectKey(corpus, name)
            for corpus, projects in named.items()
            for name, project in projects.items()
            if self._is_judged(project)
        ]

    def _is_judged(self, project: Project) -> bool:
        return not graded(project, self._projects.judgments(project)).keys() <= (
            self._projects.retired(project)
        )

    def held(self, key: ProjectKey) -> HeldCollection:
        """Its queries and adjudicated grades; BadInputError when no query can be ranked."""
        project = self._projects.project(*key)
        # Events never change, so that their ids identify what they say.
        events = tuple(judgment.event for judgment in self._projects.judgments(project))
        query_ids = tuple(row.query_id for row in self._ledger.projects.queries(*key))
        retired = self._projects.retired(project)
        version = self._library.open(key.corpus).identity
        counts = (project.scale, project.model_grades)
        return self._made(key, events, query_ids, retired, version, *counts)

    def _make(
        self,
        key: ProjectKey,
        events: tuple[str, ...],
        query_ids: tuple[str, ...],
        retired: frozenset[str],
        version: str,
        scale: Scale,
        model_grades: bool,
    ) -> HeldCollection:
        del version  # only there so that a changed corpus is looked at again
        kept = set(events)
        project = Project(*key)
        judgments = [j for j in self._projects.judgments(project) if j.event in kept]
        queries = {i: q for i, q in self._projects.queries(project).items() if i in query_ids}
        decided = decide(judgments, model_grades=model_grades, retired=retired, scale=scale)
        corpus = self._library.open(key.corpus)
        topics, warnings = _topics(decided.grades, queries, corpus)
        asked = {topic.query_id for topic in topics}
        qrels = {q: grades for q, grades in decided.grades.items() if q in asked}
        lowest = min(scale.values)
        if lowest:
            warnings += (f"The lowest grade of the scale, {lowest}, counts as 0: not relevant.",)
        known = (None, *scale.values)
        own = [j for j in judgments if j.query_id not in retired and j.relevance in known]
        annotators, notes = _annotators(decided, own)
        return held(
            Collection(
                name=key.project or key.corpus,
                topics=topics,
                qrels=from_zero(qrels, scale),
                documents=None,
                source_format=FORMAT,
                annotators={who: from_zero(graded, scale) for who, graded in annotators.items()},
                warnings=(*decided.notes, *warnings, *notes),
            )
        )


def from_zero(qrels: Qrels, scale: Scale) -> dict[str, dict[str, int]]:
    """Grades counted from the lowest of their scale: 0 is not relevant."""
    lowest = min(scale.values)
    return {q: {d: grade - lowest for d, grade in grades.items()} for q, grades in qrels.items()}


def _topics(
    grades: Qrels, queries: Mapping[str, Query], corpus: OpenCorpus
) -> tuple[tuple[Topic, ...], tuple[str, ...]]:
    """Judged queries as topics, and notes on those that cannot be ranked."""
    topics: list[Topic] = []
    left: Counter[str] = Counter()
    for query_id in grades:
        topic = _topic(query_id, queries, corpus)
        if isinstance(topic, Topic):
            topics.append(topic)
        else:
            left[topic] += 1
    if not topics:
        why = "; ".join(left) or "no grade in it is decided"
        raise BadInputError(
            f"None of its queries can be ranked: {why}.",
            "Judge for a seed and an aspect that the corpus has.",
        )
    if not left:
        return tuple(topics), ()
    which = counted(left.total(), "query is", "queries are")
    why = "; ".join(f"{one} ({n:,})" if len(left) > 1 else one for one, n in left.items())
    return tuple(topics), (f"{which} left out: {why}.",)


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
    return Topic(
        query_id,
        seed=query.seed,
        text=query.text,
        aspect=query.aspect,
        instruction=query.instruction,
    )


def _annotators(
    decided: DecidedQrels, judgments: list[Judgment]
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
        if any(kept.values()):
            by_annotator[annotator] = {q: grades for q, grades in kept.items() if grades}
    return by_annotator, ()
