"""What a corpus and its ledger hold, as views for queries in SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.annotate.annotation import Annotation
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.stored_facts import FACT_TYPE, flat_facts
from engine.evaluate.evaluations import Evaluations
from engine.types.annotating import Judgment, Project
from engine.types.evaluations import EvaluationRequest
from engine.types.people import ForPerson

if TYPE_CHECKING:
    from storage.analysis import QueryResult, View  # DuckDB is loaded for the first query

_DOCUMENT = ("doc_id", "title", "text", "year", "authors", "url", "metadata")
_SENTENCES = ("sentence_starts", "sentence_ends", "roles")
_JUDGMENT = (
    *("project", "query_id", "doc_id", "annotator", "relevance", "verdict", "origin", "note"),
    *("rank", "system", "instruction", "blind", "seconds", "time"),
)
_JUDGMENTS = pa.schema(
    {
        **dict.fromkeys(_JUDGMENT, pa.string()),
        "relevance": pa.int32(),
        "rank": pa.int32(),
        "blind": pa.bool_(),
        "seconds": pa.float64(),
        "time": pa.timestamp("us", "UTC"),
    }
)
_RENAMED = "SELECT * RENAME (rank AS shown_rank, system AS shown_system) FROM {source}"
_POOLS = pa.schema(
    {
        **dict.fromkeys(("project", "query_id", "doc_id", "source"), pa.string()),
        "rank": pa.int32(),
    }
)
_ASKED = {
    **dict.fromkeys(("collection", "system"), pa.string()),
    "aspect_weight": pa.float64(),
    "sample": pa.int32(),
    "of_runs": pa.string(),  # whose queries were asked, between commas; none for all
    "query_id": pa.string(),
}
_RUNS = pa.schema({**_ASKED, "doc_id": pa.string(), "rank": pa.int32(), "score": pa.float64()})
_MEASURES = pa.schema(
    {
        **_ASKED,
        **dict.fromkeys(("aspect", "measure"), pa.string()),
        "value": pa.float64(),
        "evaluated": pa.timestamp("us", "UTC"),
    }
)
_FACTS = """
    SELECT doc_id, kind, text, unit, low, high,
        TRY(CASE kind WHEN 'date' THEN DATE '0001-01-01' + (low - 1)::INTEGER END) AS first_day,
        TRY(CASE kind WHEN 'date' THEN DATE '0001-01-01' + (high - 1)::INTEGER END) AS last_day,
        recurrence, about, implied, derivation, confidence, generated,
        "start" AS start_char, "end" AS end_char
    FROM {source}"""


class Analysis(ForPerson):
    """SQL queries over a corpus, its judgments and evaluations; read-only. Annotators get the
    documents and their own judgments."""

    def __init__(self, library: Library, annotation: Annotation, evaluations: Evaluations) -> None:
        self._library, self._annotation, self._evaluations = library, annotation, evaluations

    def run(self, corpus: str, query: str, *, who: str = "", **limits: Any) -> QueryResult:
        """The result of one SELECT.

        Args:
            who: an annotator without login, who sees others' judgments only as a lead.
            limits: as of :func:`storage.analysis.run`.
        """
        from storage import analysis

        return analysis.run(
            query, self._views(self._library.open(corpus), self._own(who)), **limits
        )

    def views(self, corpus: str) -> dict[str, dict[str, str]]:
        """view -> column -> its type in DuckDB."""
        from storage import analysis

        return analysis.columns(self._views(self._library.open(corpus), ""))

    def _views(self, opened: OpenCorpus, who: str) -> dict[str, View]:
        from storage.analysis import View

        def rows(schema: pa.Schema, read: Callable[..., Iterable[Any]], *given: Any) -> View:
            return View(schema, lambda: _table(schema, read(*given)))

        table, schema = opened.table, opened.table.schema
        documents = pa.schema([schema.field(name) for name in _DOCUMENT])
        sentences = pa.schema([schema.field(name) for name in ("doc_id", "text", *_SENTENCES)])
        facts = pa.schema([pa.field("doc_id", pa.string()), *FACT_TYPE.fields])
        views = {
            "documents": View(
                documents, partial(table.data_set, documents.names), partial(_documents, opened)
            ),
            "sentences": View(
                sentences,
                partial(table.data_set, sentences.names),
                partial(_sentences, opened.aspects),
            ),
            "facts": View(facts, partial(_facts, opened, facts), lambda: _FACTS),
            "judgments": replace(
                rows(_JUDGMENTS, self._judgments, opened.name, who), sql=lambda: _RENAMED
            ),
        }
        if self.person.is_lead:
            views["pools"] = rows(_POOLS, self._pools, opened.name, who)
            views["runs"] = rows(_RUNS, self._runs, opened.name)
            views["measures"] = rows(_MEASURES, self._measures, opened.name)
        return views

    def _projects(self, corpus: str) -> list[Project]:
        saved = self._annotation.projects(corpus)
        own = [] if any(not project.name for project in saved) else [Project(corpus)]
        return [*own, *saved]

    def _leads(self, project: Project, who: str) -> bool:
        return self.person.is_lead and (not who or not project.leads or who in project.leads)

    def _judgments(self, corpus: str, who: str) -> Iterator[Judgment]:
        for project in self._projects(corpus):
            annotator = None if self._leads(project, who) else who
            for judgment in self._annotation.judgments(project, annotator=annotator):
                # Renaming leaves judgments as they are.
                renamed = judgment.project != project.name
                yield replace(judgment, project=project.name) if renamed else judgment

    def _pools(self, corpus: str, who: str) -> Iterator[tuple[Any, ...]]:
        for project in self._projects(corpus):
            for item in self._annotation.pool(project) if self._leads(project, who) else ():
                for source in item.sources:
                    yield project.name, *item.item, source.name, source.rank

    def _runs(self, corpus: str) -> Iterator[tuple[Any, ...]]:
        for request, system, rankings in self._evaluations.ranked(corpus):
            asked = _asked(request, system)
            for ranking in rankings:
                found = zip(ranking.doc_ids, ranking.scores, strict=True)
                for rank, (doc_id, score) in enumerate(found, start=1):
                    yield *asked, ranking.query_id, doc_id, rank, score

    def _measures(self, corpus: str) -> Iterator[tuple[Any, ...]]:
        for request, time, evaluation in self._evaluations.stored(corpus):
            for system, scores in evaluation.systems.items():
                asked = _asked(request, system)
                for row in scores.per_query:
                    for measure in row.keys() - {"query_id", "aspect"}:
                        of = row["query_id"], row["aspect"]
                        yield *asked, *of, measure, row[measure], time


def _asked(request: EvaluationRequest, system: str) -> tuple[Any, ...]:
    """The columns of :data:`_ASKED` before the query."""
    of_runs = ",".join(request.runs) or None
    return request.collection, system, request.steer, request.sample, of_runs


def _documents(opened: OpenCorpus) -> str:
    """The metadata fields as columns, by the names that filters have."""
    taken, columns = {*_DOCUMENT, "author"}, list(_DOCUMENT[:-1])
    for name in opened.fields:
        if name.lower() not in taken and '"' not in name:
            taken.add(name.lower())
            path = f'$."{name}"'.replace("'", "''")
            columns.append(f"metadata ->> '{path}' AS \"{name}\"")
    return f"SELECT {', '.join([*columns, 'metadata'])} FROM {{source}}"  # noqa: S608


def _sentences(aspects: Iterable[str]) -> str:
    """Each with its likeliest aspect; none where no aspect was found."""
    keys = list(aspects)
    names = ", ".join(f"'{key}'" for key in keys)
    count = len(keys)
    return f"""
        SELECT doc_id, n + 1 AS sentence,
            CASE WHEN list_max(shares) > 0
                THEN [{names}][list_position(shares, list_max(shares))] END AS aspect,
            list_max(shares) AS share,
            text[starts + 1:ends] AS text, starts AS start_char, ends AS end_char
        FROM (
            SELECT doc_id, text, unnest(range(len(sentence_starts))) AS n,
                unnest(sentence_starts) AS starts, unnest(sentence_ends) AS ends,
                roles[n * {count} + 1:(n + 1) * {count}] AS shares
            FROM {{source}})"""  # noqa: S608


def _facts(opened: OpenCorpus, schema: pa.Schema) -> pa.Table:
    rows, facts = flat_facts(opened.table)
    doc_ids = opened.doc_ids.array.take(pa.array(rows))
    return pa.Table.from_arrays([doc_ids, *facts.flatten()], schema=schema)


def _table(schema: pa.Schema, rows: Iterable[Any]) -> pa.Table:
    """Records, or tuples in the order of the columns, as a table."""
    found = list(rows)
    if found and not isinstance(found[0], tuple):
        found = [tuple(getattr(row, name) for name in schema.names) for row in found]
    columns: Iterable[Any] = zip(*found, strict=True) if found else [[] for _ in schema]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
