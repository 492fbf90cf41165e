"""What pages and the command line call as ``explorer.maps``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache, partial
from typing import TypeVar, cast

import numpy as np

from engine.annotate.annotation import Annotation
from engine.config import Settings
from engine.corpora.aspect_space import role_matrix, without_context
from engine.corpora.contracts import Seed
from engine.corpora.indexing import aspect_vectors
from engine.corpora.library import Library
from engine.corpora.map_making import MapMaker, cluster_centres
from engine.corpora.opened import OpenCorpus
from engine.corpora.schema import FACET_MARK, aspect_column
from engine.errors import BadInputError, UnknownNameError
from engine.jobs.runner import JobRunner
from engine.llm.client import ask_once
from engine.llm.connecting import connect, estimator
from engine.llm.endpoint_errors import EndpointError
from engine.llm.endpoints import Endpoint
from engine.llm.messages import Prompt
from engine.maps.naming_prompts import ClusterNames, central_rows, clusters_of, naming, worded
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
    MapOverlay,
    MapReport,
    MapValues,
    OverlayKind,
)
from engine.types.models import Estimate, ModelUsage
from engine.types.people import ForPerson
from engine.types.searches import PAGE_SIZE, YEAR, Query
from storage.answers import Answers
from storage.maps import Names, StoredLayout, StoredMap, map_stamp, read_map, write_map


def values_of(opened: OpenCorpus, field: str) -> MapValues:
    """Years as numbers, any other field as categories, most frequent first; of several values of a
    document, its first counts.
    """
    if field == YEAR:
        years = opened.years.astype(np.float32)
        return MapValues(field, numbers=np.where(years < 0, np.float32(np.nan), years))
    if field not in opened.fields:
        raise UnknownNameError(
            f"There is no field '{field}' in corpus '{opened.name}'.",
            f"Its fields are: {', '.join(opened.fields)}.",
        )
    begin = f"{FACET_MARK}{field}="
    firsts: list[str | None] = []
    for batch in opened.table.columns(["facets"]):
        for text in batch["facets"].to_pylist():
            _, found, rest = (text or "").partition(begin)
            firsts.append(rest.partition(FACET_MARK)[0] if found else None)
    counts = Counter(value for value in firsts if value is not None)
    names = tuple(sorted(counts, key=lambda value: (-counts[value], value)))
    code_of = {name: code for code, name in enumerate(names)}
    codes = [-1 if value is None else code_of[value] for value in firsts]
    return MapValues(field, codes=np.array(codes, dtype=np.int32), names=names)


Laid = TypeVar("Laid")
MOST_TEXTS = 8
"""Pasted texts whose vectors are kept: a long one takes seconds to encode."""


class Maps(ForPerson):
    """The maps of one home. Safe to share between threads.

    Args:
        adding: of a corpus: entered while its map is written.

    Attributes:
        jobs: maps being made, by corpus: ``Job[Progress, MapReport]``.
    """

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
        self._seen: dict[str, tuple[object, CorpusMap]] = {}
        self._text = lru_cache(maxsize=MOST_TEXTS)(self._encoded)

    # -- looking ---------------------------------------------------------------------------

    def view(self, corpus: str) -> CorpusMap | None:
        """The map that is kept of a corpus; None where none was made: :meth:`start` makes it.

        The same object while nothing changes.
        """
        opened = self._library.open(corpus)
        path = opened.table.path
        stamp = (opened.identity, map_stamp(path))
        seen = self._seen.get(corpus)
        if seen is not None and seen[0] == stamp:
            return seen[1]
        kept = read_map(path)
        if kept is None:
            return None
        row_of = {doc_id: row for row, doc_id in enumerate(kept.doc_ids)}
        rows = np.array([row_of.get(doc_id, -1) for doc_id in opened.doc_ids], dtype=np.intp)
        names = (WHOLE_DOCUMENT, *opened.aspects)
        found = CorpusMap(
            corpus=corpus,
            doc_ids=tuple(opened.doc_ids),
            titles=tuple(opened.titles),
            layouts={n: _layout(n, kept.layouts[n], rows) for n in names if n in kept.layouts},
            sampled=kept.sampled,
            missing=int((rows < 0).sum()),
        )
        self._seen[corpus] = (stamp, found)
        return found

    def values(
        self,
        corpus: str,
        by: str,
        *,
        layout: str = WHOLE_DOCUMENT,
        level: int = 0,
        query: Query | None = None,
        project: Project | None = None,
    ) -> MapValues:
        """One value per document; row i is document i of the corpus.

        Args:
            by: one of

                - "year", or another field of the documents;
                - "cluster": of ``layout`` at ``level`` (0 coarse, 1 fine), whose labels the codes
                  are;
                - "likeness": cosine, -1 to 1, with the seed of ``query`` (a stored one, or a
                  text) in its aspect, NaN for a document that no sentence serves it of; without an
                  aspect as whole documents. NaN for all where nothing in the seed serves it;
                - "grade": the highest in ``project`` that stands for a document under any query;
                  for annotators, of their own.
        """
        opened = self._library.open(corpus)
        if by == "cluster":
            return self._clusters(corpus, layout, level)
        if by == "likeness":
            return MapValues(by, numbers=self._likeness(opened, query))
        if by == "grade":
            return MapValues(by, numbers=self._grades(opened, project))
        return values_of(opened, by)

    def overlay(
        self,
        corpus: str,
        kind: OverlayKind,
        *,
        project: Project | None = None,
        query: Query | None = None,
    ) -> MapOverlay:
        """Documents to be laid over a map; see :class:`engine.types.maps.MapOverlay`.

        Args:
            project: needed but for "results".  query: needed for "results".
        """
        opened = self._library.open(corpus)
        doc_ids = self._overlaid(opened, kind, project, query)
        rows = [opened.row_of[doc_id] for doc_id in doc_ids if doc_id in opened.row_of]
        titles = tuple(opened.titles[row] for row in rows)
        return MapOverlay(kind, np.array(rows, dtype=np.int32), titles)

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
        """Make the map of a corpus now, or place its new documents in it.

        Args:
            ended: asked between steps: True means that it is not wanted any more.
            rebuild: lay all documents out anew.
        """
        opened = self._library.open(corpus)
        return MapMaker(
            *(corpus, opened.table, opened.lens, opened.spec.dimension, tell, ended, rebuild),
            adding=self._adding(corpus),
        ).make()

    @leads_only
    def start(self, corpus: str, *, rebuild: bool = False, owner: str = "") -> str:
        """:meth:`build` in the background; returns the id of the job, which :attr:`jobs` keeps.

        What is being made already is not begun again: it is that job's id.
        """
        self._library.corpus(corpus)
        work = partial(self.build, corpus, rebuild=rebuild)
        return self.jobs.start(
            corpus, work, Progress("mapping", 0, 0, 0.0), request=corpus, owner=owner
        )

    # -- names by a model --------------------------------------------------------------------

    @leads_only
    def estimate_names(
        self, corpus: str, layout: str, endpoint: Endpoint | None = None
    ) -> Estimate:
        """What :meth:`word_names` would take, its answer not in the ledger; nothing is asked.

        Raises as :meth:`word_names`.
        """
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
        """Have a model word the names of all clusters of a layout: one question.

        They stand for everybody in the place of the clusters' own words, until :meth:`own_names`,
        or until the layout is made anew.
        """
        connection = connect(self._settings, endpoint, most_calls, self.person)
        prompt, own = self._naming(corpus, layout), self._kept(corpus, layout)[1].names

        unusable = EndpointError(
            "The model gave no names that can be used.", "The clusters' own words stay."
        )
        said, usage = ask_once(connection, self._answers, prompt, unusable)
        model = connection.endpoint.model
        self._rename(corpus, layout, lambda now: (worded(_same(own, now), said), model))
        return usage

    @leads_only
    def own_names(self, corpus: str, layout: str) -> None:
        """Take the names that a model gave back; raises as :meth:`word_names`."""
        self._rename(corpus, layout, lambda _: (None, ""))

    def _naming(self, corpus: str, layout: str) -> Prompt[ClusterNames]:
        (kept, laid), opened = self._kept(corpus, layout), self._library.open(corpus)
        rows = [row for level in central_rows(laid) for one in level for row in one]
        places = {row: opened.row_of.get(kept.doc_ids[row]) for row in rows}
        titles = {row: opened.titles[at] for row, at in places.items() if at is not None}
        respect = next(
            (f"{a.name}: {a.definition}" for a in opened.lens.aspects if a.key == layout),
            "the text as a whole",
        )
        return naming(respect, clusters_of(laid, titles))

    def _rename(
        self, corpus: str, layout: str, names: Callable[[Names], tuple[Names | None, str]]
    ) -> None:
        with self._adding(corpus):
            kept, laid = self._kept(corpus, layout)
            given, model = names(laid.names)
            layouts = {**kept.layouts, layout: replace(laid, worded=given, worded_by=model)}
            write_map(self._library.open(corpus).table.path, replace(kept, layouts=layouts))

    def _kept(self, corpus: str, layout: str) -> tuple[StoredMap, StoredLayout]:
        kept = read_map(self._library.open(corpus).table.path)
        laid = _laid(corpus, layout, None if kept is None else kept.layouts)
        return cast("StoredMap", kept), laid

    # -- inside ----------------------------------------------------------------------------

    def _clusters(self, corpus: str, layout: str, level: int) -> MapValues:
        found = self.view(corpus)
        clusters = _laid(corpus, layout, None if found is None else found.layouts).levels[level]
        return MapValues("cluster", codes=clusters.labels, names=clusters.names)

    def _likeness(self, opened: OpenCorpus, query: Query | None) -> np.ndarray:
        if query is None or (query.seed is None and query.text is None):
            raise BadInputError("Likeness needs a seed.", "Name a document, or give a text.")
        if query.aspect and query.aspect not in opened.aspects:
            raise UnknownNameError(f"There is no aspect '{query.aspect}' in '{opened.name}'.")
        column = aspect_column(query.aspect) if query.aspect else "vector"
        rows = np.arange(len(opened), dtype=np.intp)
        if query.text is not None:
            own = self._of_text(opened, query)
        else:
            seed = opened.document(query.seed or "").doc_id  # says so where there is none
            own = opened.vectors(opened.rows([seed]), [column])[column][0]
        cosines = opened.cosines(rows, [(column, own)])[:, 0].astype(np.float32)
        cosines[cosines == 0.0] = np.nan  # of a zero vector: nothing serves the aspect
        return cosines

    def _of_text(self, opened: OpenCorpus, query: Query) -> FloatArray:
        """What a pasted text says as a whole or in an aspect (d,), as documents are stored."""
        seed = self._text(opened.identity, opened.name, query.text or "")
        if not query.aspect:
            return seed.vector
        roles = role_matrix(seed.document, len(opened.aspects))
        said = aspect_vectors(seed.sentences, roles)[[opened.lens.index(query.aspect)]]
        return np.asarray(without_context(said, seed.vector[None])[0])

    def _encoded(self, _identity: str, corpus: str, text: str) -> Seed:
        """A pasted text with its vectors; kept for the corpus as it is, which has the identity."""
        return self._searcher(corpus).encode_text(text)

    def _grades(self, opened: OpenCorpus, project: Project | None) -> np.ndarray:
        grades = np.full(len(opened), np.nan, dtype=np.float32)
        for doc_id, grade in self._judged(project).items():
            if doc_id in opened.row_of and grade is not None:
                grades[opened.row_of[doc_id]] = grade
        return grades

    def _judged(self, project: Project | None) -> dict[str, int | None]:
        """Highest grade by document; for annotators, of their own judgments."""
        who = None if self.person.is_lead else self.person.name
        check_sees(self.person, who)
        highest: dict[str, int | None] = {}
        for one in self._annotation.judgments(_given(project), annotator=who):
            if one.relevance is not None:
                highest[one.doc_id] = max(one.relevance, highest.get(one.doc_id) or 0)
        return highest

    def _overlaid(
        self, opened: OpenCorpus, kind: OverlayKind, project: Project | None, query: Query | None
    ) -> list[str]:
        if kind == "results":
            if query is None:
                raise BadInputError("Results need a query.", "Say what is searched for.")
            query = replace(query, corpus=opened.name)
            stage = self._searcher(opened.name).first_stage(query)
            return stage.ranking.doc_ids[:PAGE_SIZE]
        if kind == "judged":
            return [*self._judged(project)]
        pooled = {item.doc_id for item in self._annotation.pool(_given(project))}
        if kind == "pool":
            return [doc_id for doc_id in opened.doc_ids if doc_id in pooled]
        return [doc_id for doc_id in opened.doc_ids if doc_id not in pooled]


def _laid(corpus: str, layout: str, layouts: Mapping[str, Laid] | None) -> Laid:
    """A layout of a map that there is.

    Args:
        layouts: of the map; None where there is none.
    """
    if layouts is None:
        raise BadInputError(
            f"The corpus '{corpus}' has no map yet.", f"Make it: seedlens map {corpus}"
        )
    if layout not in layouts:
        raise UnknownNameError(
            f"The map has no layout '{layout}'.", f"It has {', '.join(layouts)}."
        )
    return layouts[layout]


def _same(before: Names, now: Names) -> Names:
    if before != now:
        raise BadInputError("The map was made anew while its clusters were named.", "Try again.")
    return now


def _given(project: Project | None) -> Project:
    if project is None:
        raise BadInputError("This needs a project.", "Choose one.")
    return project


def _layout(name: str, kept: StoredLayout, rows: np.ndarray) -> Layout:
    """A kept layout over the rows of the corpus as it is now; -1 for what it does not have."""
    positions = np.where((rows >= 0)[:, None], kept.positions[rows], np.nan).astype(np.float32)
    labels = np.where(rows >= 0, kept.labels[:, rows], -1).astype(np.int32)
    coarse, fine = (
        _level(positions, of_one, names)
        for of_one, names in zip(labels, kept.worded or kept.names, strict=True)
    )
    return Layout(name, positions, (coarse, fine), kept.worded_by)


def _level(positions: np.ndarray, labels: np.ndarray, names: tuple[str, ...]) -> ClusterLevel:
    centres, sizes = cluster_centres(positions, labels, len(names))
    return ClusterLevel(labels, names, centres.astype(np.float32), sizes.astype(np.int32))
