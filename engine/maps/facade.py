"""What pages and the command line call as ``explorer.maps``."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, cast

import numpy as np
from pydantic import BaseModel, Field

from engine.annotate.annotation import Annotation
from engine.config import Settings
from engine.corpora.contracts import Seed, role_matrix, without_context
from engine.corpora.indexing import aspect_vectors
from engine.corpora.library import Library
from engine.corpora.map_making import MapMaker, cluster_centres, coarse_of
from engine.corpora.opened import OpenCorpus
from engine.corpora.recent import Recent
from engine.corpora.schema import FACET_MARK, aspect_column, column_of
from engine.errors import BadInputError, UnknownNameError
from engine.jobs.runner import JobRunner
from engine.llm.client import ask_once, connect
from engine.llm.endpoints import Endpoint, EndpointError
from engine.llm.messages import Prompt, json_prompt
from engine.llm.tasks import estimator
from engine.llm.texts import fenced, harmless_line
from engine.numeric import FloatArray
from engine.permissions import check_sees, leads_only
from engine.search.searcher import Searcher
from engine.types.annotating import Project
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import Progress
from engine.types.maps import (
    WHOLE_DOCUMENT,
    ClusterLevel,
    CorpusMap,
    Layout,
    MapReport,
    MapValues,
    OverlayKind,
)
from engine.types.models import Estimate, ModelUsage
from engine.types.people import ForPerson
from engine.types.searches import PAGE_SIZE, YEAR, Query
from storage.answers import Answers
from storage.maps import Names, StoredLayout, StoredMap, map_stamp, read_map, write_map

Laid = TypeVar("Laid")
MOST_MAPS, MOST_TEXTS = 4, 8
"""Maps, and vectors of pasted texts, in memory: a long text takes seconds to encode."""


class Maps(ForPerson):
    """The maps of one home; thread-safe. ``jobs`` are maps being made, by corpus:
    ``Job[Progress, MapReport]``; ``adding`` is entered while the map of a corpus is written."""

    def __init__(
        self,
        library: Library,
        annotation: Annotation,
        searcher: Callable[[str], Searcher],
        settings: Settings,
        answers: Answers,
        adding: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self._library, self._annotation, self._searcher = library, annotation, searcher
        self._settings, self._answers, self._adding = settings, answers, adding
        self.jobs = JobRunner()
        self._views = Recent[Hashable, CorpusMap | None](MOST_MAPS)
        self._texts = Recent[Hashable, Seed](MOST_TEXTS)

    # -- looking ---------------------------------------------------------------------------

    def view(self, corpus: str) -> CorpusMap | None:
        """The stored map of a corpus, the same object while nothing changes; None before
        :meth:`start` made it."""
        opened = self._library.open(corpus)
        key = corpus, opened.identity, map_stamp(opened.table.path)
        return self._views.one(key, lambda: _view(opened))

    def values(
        self,
        corpus: str,
        by: str,
        *,
        layout: str = WHOLE_DOCUMENT,
        query: Query | None = None,
        project: Project | None = None,
    ) -> MapValues:
        """One value per document; row i is document i of the corpus. ``by`` a field of the
        documents such as "year", or

        - "cluster": the coarse one in ``layout``;
        - "likeness": cosine, -1 to 1, with the seed or text of ``query``, in its aspect if it has
          one; NaN where no sentence serves the aspect;
        - "grade": the highest in ``project`` under any query, for annotators of their own.
        """
        opened = self._library.open(corpus)
        if by == "cluster":
            found = self.view(corpus)
            layouts = None if found is None else found.layouts
            clusters = _laid(corpus, layout, layouts).levels[0]
            return MapValues(codes=clusters.labels, names=clusters.names)
        if by == "likeness":
            return MapValues(numbers=self._likeness(opened, query))
        if by == "grade":
            grades = np.full(len(opened), np.nan, dtype=np.float32)
            for doc_id, grade in self._judged(project).items():
                if doc_id in opened.row_of:
                    grades[opened.row_of[doc_id]] = grade
            return MapValues(numbers=grades)
        return values_of(opened, by)

    def overlay(
        self,
        corpus: str,
        kind: OverlayKind,
        *,
        project: Project | None = None,
        query: Query | None = None,
    ) -> list[int]:
        """Rows of documents that are judged or in the pool of ``project``, or of the first results
        of ``query`` in their order."""
        opened = self._library.open(corpus)
        doc_ids: Iterable[str]
        if kind == "results":
            if query is None:
                raise BadInputError("The map has no results to show.", "Give a query.")
            stage = self._searcher(opened.name).first_stage(replace(query, corpus=opened.name))
            doc_ids = stage.ranking.doc_ids[:PAGE_SIZE]
        elif kind == "judged":
            doc_ids = self._judged(project)
        else:
            doc_ids = {item.doc_id for item in self._annotation.pool(_given(project))}
        return [opened.row_of[doc_id] for doc_id in doc_ids if doc_id in opened.row_of]

    # -- making ----------------------------------------------------------------------------

    @leads_only
    def build(
        self,
        corpus: str,
        tell: Tell = tell_nobody,
        ended: Ask = never,
        *,
        rebuild: bool = False,
    ) -> MapReport:
        """Make the map of a corpus now, or place its new documents in it; ``ended`` between steps
        cancels, ``rebuild`` lays out all documents again."""
        opened = self._library.open(corpus)
        return MapMaker(
            *(corpus, opened.table, opened.lens, opened.spec.dimension, tell, ended, rebuild),
            adding=self._adding(corpus),
        ).make()

    @leads_only
    def start(self, corpus: str, *, rebuild: bool = False, owner: str = "") -> str:
        """:meth:`build` in the background; returns the id of the job, that of the running one if
        any."""
        corpus = self._library.corpus(corpus).name
        work = partial(self.build, corpus, rebuild=rebuild)
        return self.jobs.start(
            corpus, work, Progress("mapping", 0, 0, 0.0), request=corpus, owner=owner
        )

    # -- names by a model --------------------------------------------------------------------

    @leads_only
    def estimate_names(
        self, corpus: str, layout: str, endpoint: Endpoint | None = None
    ) -> Estimate:
        """What :meth:`word_names` would take; nothing is asked."""
        connection = connect(self._settings, endpoint, person=self.person)
        prompt = self._naming(corpus, layout)
        return estimator(connection, self._answers).estimate([prompt], 1)

    @leads_only
    def word_names(
        self,
        corpus: str,
        layout: str,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
    ) -> ModelUsage:
        """Let a model name all clusters of a layout, by one question; everybody sees these names
        until :meth:`own_names`, or until the layout is made again."""
        connection = connect(self._settings, endpoint, most_calls, self.person)
        prompt, own = self._naming(corpus, layout), self._kept(corpus, layout)[1].names
        unusable = EndpointError(
            "The model gave no names that can be used.", "The clusters' own words stay."
        )
        answer, usage = ask_once(connection, self._answers, prompt, unusable)

        def names(now: Names) -> Names:
            if now != own:
                raise BadInputError(
                    "The map was made again while its clusters were named.", "Try again."
                )
            return worded(now, answer)

        self._rename(corpus, layout, names, connection.endpoint.model)
        return usage

    @leads_only
    def own_names(self, corpus: str, layout: str) -> None:
        """Remove the names that a model gave."""
        self._rename(corpus, layout, lambda _: None, "")

    def _naming(self, corpus: str, layout: str) -> Prompt[ClusterNames]:
        (kept, laid), opened = self._kept(corpus, layout), self._library.open(corpus)
        rows = [row for level in central_rows(laid) for one in level for row in one]
        places = {row: opened.row_of.get(kept.doc_ids[row]) for row in rows}
        titles = {row: opened.titles[at] for row, at in places.items() if at is not None}
        of_aspects = {a.key: f"{a.name}: {a.definition}" for a in opened.lens.aspects}
        respect = of_aspects.get(layout, "the text as a whole")
        return naming(respect, clusters_of(laid, titles))

    def _rename(
        self, corpus: str, layout: str, names: Callable[[Names], Names | None], model: str
    ) -> None:
        with self._adding(corpus):
            kept, laid = self._kept(corpus, layout)
            renamed = replace(laid, worded=names(laid.names), worded_by=model)
            layouts = {**kept.layouts, layout: renamed}
            write_map(self._library.open(corpus).table.path, replace(kept, layouts=layouts))

    def _kept(self, corpus: str, layout: str) -> tuple[StoredMap, StoredLayout]:
        kept = read_map(self._library.open(corpus).table.path)
        laid = _laid(corpus, layout, None if kept is None else kept.layouts)
        return cast("StoredMap", kept), laid

    # -- values and overlays -----------------------------------------------------------------

    def _likeness(self, opened: OpenCorpus, query: Query | None) -> np.ndarray:
        if query is None or (query.seed is None and query.text is None):
            raise BadInputError("Likeness needs a seed.", "Name a document, or give a text.")
        if query.aspect and query.aspect not in opened.aspects:
            raise UnknownNameError(f"There is no aspect '{query.aspect}' in '{opened.name}'.")
        column = aspect_column(query.aspect) if query.aspect else "vector"
        rows = np.arange(len(opened), dtype=np.intp)
        if query.text is not None:
            own = self._of_text(opened, query.text, query.aspect)
        else:
            seed = opened.document(query.seed or "").doc_id  # raises for an unknown one
            own = opened.vectors(opened.rows([seed]), [column])[column][0]
        cosines = opened.cosines(rows, [(column, own)])[:, 0].astype(np.float32)
        cosines[cosines == 0.0] = np.nan  # of a zero vector: nothing serves the aspect
        return cosines

    def _of_text(self, opened: OpenCorpus, text: str, aspect: str | None) -> FloatArray:
        """The vector (d,) of a pasted text as a whole or in an aspect, as documents have it."""
        encode = self._searcher(opened.name).encode_text
        seed = self._texts.one((opened.identity, text), lambda: encode(text))
        if not aspect:
            return seed.vector
        roles = role_matrix(seed.document, len(opened.aspects))
        own = aspect_vectors(seed.sentences, roles)[[opened.lens.index(aspect)]]
        return np.asarray(without_context(own, seed.vector[None])[0])

    def _judged(self, project: Project | None) -> dict[str, int]:
        """Highest grade by document; for annotators, of their own judgments."""
        who = None if self.person.is_lead else self.person.name
        check_sees(self.person, who)
        highest: dict[str, int] = {}
        for one in self._annotation.judgments(_given(project), annotator=who):
            if one.relevance is not None:
                highest[one.doc_id] = max(one.relevance, highest.get(one.doc_id, 0))
        return highest


def values_of(opened: OpenCorpus, field: str) -> MapValues:
    """Years as numbers, any other field as categories, most frequent first; of several values of a
    document, its first counts."""
    if field == YEAR:
        years = opened.years.astype(np.float32)
        return MapValues(numbers=np.where(years < 0, np.float32(np.nan), years))
    if field not in opened.fields:
        raise UnknownNameError(
            f"There is no field '{field}' in corpus '{opened.name}'.",
            f"Its fields are: {', '.join(opened.fields)}.",
        )
    begin, texts = f"{FACET_MARK}{field}=", column_of(opened.table, "facets").to_pylist()
    parts = ((text or "").partition(begin) for text in texts)
    firsts = [rest.partition(FACET_MARK)[0] if found else None for _, found, rest in parts]
    counts = Counter(value for value in firsts if value is not None)
    names = tuple(sorted(counts, key=lambda value: (-counts[value], value)))
    code_of = {name: code for code, name in enumerate(names)}
    codes = [-1 if value is None else code_of[value] for value in firsts]
    return MapValues(codes=np.array(codes, dtype=np.int32), names=names)


def _laid(corpus: str, layout: str, layouts: Mapping[str, Laid] | None) -> Laid:
    """A layout of a map; ``layouts`` is None where there is none."""
    if layouts is None:
        raise BadInputError(
            f"The corpus '{corpus}' has no map yet.", f"Make it: seedlens map {shlex.quote(corpus)}"
        )
    if layout not in layouts:
        raise UnknownNameError(
            f"The map has no layout '{layout}'.", f"It has {', '.join(layouts)}."
        )
    return layouts[layout]


def _given(project: Project | None) -> Project:
    if project is None:
        raise BadInputError("This needs a project.", "Choose one.")
    return project


def _view(opened: OpenCorpus) -> CorpusMap | None:
    kept = read_map(opened.table.path)
    if kept is None:
        return None
    row_of = {doc_id: row for row, doc_id in enumerate(kept.doc_ids)}
    rows = np.array([row_of.get(doc_id, -1) for doc_id in opened.doc_ids], dtype=np.intp)
    names = (WHOLE_DOCUMENT, *opened.aspects)
    return CorpusMap(
        corpus=opened.name,
        doc_ids=tuple(opened.doc_ids),
        titles=tuple(opened.titles),
        layouts={n: _layout(n, kept.layouts[n], rows) for n in names if n in kept.layouts},
        sampled=kept.sampled,
        missing=int((rows < 0).sum()),
    )


def _layout(name: str, kept: StoredLayout, rows: np.ndarray) -> Layout:
    """A stored layout over the rows of the corpus as it is now; -1 for what it does not have."""
    positions = np.where((rows >= 0)[:, None], kept.positions[rows], np.nan).astype(np.float32)
    labels = np.where(rows >= 0, kept.labels[:, rows], -1).astype(np.int32)
    coarse, fine = map(ClusterLevel, labels, kept.worded or kept.names)
    return Layout(name, positions, (coarse, fine), kept.worded_by)


NAMING = "cluster-names/1"
TITLES_SHOWN = 3  # Titles of a cluster that a model reads: of the documents nearest to its middle
TITLE_CHARS = 120
NAME_CHARS = 48  # Of a name that is taken: what fits on the map
NAME_TOKENS, ANSWER_TOKENS = 24, 60  # Of an answer: for each name, and beside them

SYSTEM = """\
You name groups of documents on a map. Near each other lie documents that are alike in the respect \
that is given. Of each group you are told the words that tell it from the others and the titles of \
some of its documents. Some groups are parts of others. A name has two to four words and says what \
the documents of the group have in common in this respect and others do not have; no two names \
are the same. Use the language of the titles."""


class ClusterName(BaseModel):
    """One name."""

    number: int = Field(description="of the group")
    name: str = Field(description="two to four words")


class ClusterNames(BaseModel):
    """What a model answers."""

    names: list[ClusterName] = Field(description="one for each group, in their order")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as a model reads of it."""

    words: str  # its own
    titles: tuple[str, ...]
    part_of: int = 0  # number of the coarse one that a fine one is part of; 0 for a coarse one


def clusters_of(layout: StoredLayout, titles: Mapping[int, str]) -> list[Cluster]:
    """All clusters, the coarse ones first; ``titles`` are those of :func:`central_rows`."""
    shown = [
        [tuple(titles[row] for row in rows if row in titles) for rows in level]
        for level in central_rows(layout)
    ]
    coarse = [Cluster(*one) for one in zip(layout.names[0], shown[0], strict=True)]
    fine = zip(layout.names[1], shown[1], (coarse_of(layout) + 1).tolist(), strict=True)
    return [*coarse, *(Cluster(*one) for one in fine)]


def central_rows(layout: StoredLayout) -> list[list[list[int]]]:
    """The rows that are nearest to the middle of each cluster, of both levels."""
    levels = []
    for labels, names in zip(layout.labels, layout.names, strict=True):
        centres, _ = cluster_centres(layout.positions, labels, len(names))
        rows = np.flatnonzero(labels >= 0)
        far = ((layout.positions[rows] - centres[labels[rows]]) ** 2).sum(axis=1)
        near = rows[np.lexsort((rows, far))]
        of_each = (near[labels[near] == cluster] for cluster in range(len(names)))
        levels.append([own[:TITLES_SHOWN].tolist() for own in of_each])
    return levels


def naming(respect: str, clusters: Sequence[Cluster]) -> Prompt[ClusterNames]:
    """The question: a name for each cluster of documents alike in some ``respect``. The answer
    names existing clusters, each once, at least half of them."""
    lines = []
    for number, one in enumerate(clusters, start=1):
        part = f" (part of {one.part_of})" if one.part_of else ""
        titles = "".join(f" | {harmless_line(title)[:TITLE_CHARS]}" for title in one.titles)
        lines.append(f"{number}{part}: {harmless_line(one.words)}{titles}")
    groups = "\n".join(lines)
    user = f"""\
{fenced("respect", respect)}

{fenced("groups", groups)}

What are these {len(clusters)} groups called?"""

    def check(answer: ClusterNames) -> ClusterNames | None:
        found: dict[int, ClusterName] = {}
        for one in answer.names:
            name = harmless_line(one.name).strip(" .\"'“”")
            if 1 <= one.number <= len(clusters) and 0 < len(name) <= NAME_CHARS:
                found.setdefault(one.number, ClusterName(number=one.number, name=name))
        return ClusterNames(names=[*found.values()]) if 2 * len(found) >= len(clusters) else None

    def shorter() -> Prompt[ClusterNames]:
        return naming(respect, [Cluster(one.words, (), one.part_of) for one in clusters])

    return json_prompt(
        NAMING,
        SYSTEM,
        user,
        ClusterNames,
        check=check,
        most_tokens=ANSWER_TOKENS + NAME_TOKENS * len(clusters),
        shorter=shorter if any(one.titles for one in clusters) else None,
    )


def worded(own: Names, answer: ClusterNames) -> Names:
    """The names of both levels, no two alike in one: a name that is there already, or is not, is
    the cluster's own words."""
    given = {one.number: one.name for one in answer.names}
    levels, before = [], 1
    for level in own:
        taken = {name.casefold() for name in level}
        names = []
        for number, words in enumerate(level, start=before):
            name = given.get(number, "")
            free = name and name.casefold() not in taken
            names.append(name if free else words)
            taken.add(names[-1].casefold())
        levels.append(tuple(names))
        before += len(level)
    return levels[0], levels[1]
