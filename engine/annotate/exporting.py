"""Judgments as files that others read: TREC and BEIR, CSV and JSONL, and a hand-over."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from engine.annotate.adjudication import DecidedQrels, Decision, own_grades
from engine.annotate.judgment_files import DECISIONS, FIELDS, HAND_OVER, to_fields
from engine.collections.judgment_formats import beir_lines, csv_lines, json_lines
from engine.collections.trec import trec_lines
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError
from engine.search.queries import query_to_dict
from engine.types.annotating import ADJUDICATED, Judgment, Project
from engine.types.documents import Document
from engine.types.limits import EXPORT_BYTES, MEGABYTE
from engine.types.plurals import counted
from engine.types.searches import Query
from storage.files import write_whole

DECIDED_FIELDS = (
    "query_id", "doc_id", "relevance", "annotator", "note", "time", "basis", "by", "annotators",
)  # fmt: skip
"""Columns of adjudicated grades: ``basis`` says what each rests on, ``by`` who decided."""
BATCH = 1000
MOST_NAMED = 5
"""Queries that a note names: as many as one reads."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Files, not written yet.

    Attributes:
        files: relative path -> its text in pieces, to be read once.
        judgments: grades in them, skips and unsure verdicts included where the format has them.
        notes: plain sentences about what is not in them.
    """

    files: Mapping[str, Iterable[str]]
    judgments: int
    notes: tuple[str, ...] = ()

    def write(self, out: Path) -> tuple[Path, ...]:
        """Write one file as ``out`` (or into it, when it is a folder), several into it.

        Each file is whole or not there.
        """
        single = len(self.files) == 1 and not out.is_dir()
        written = []
        for name, pieces in self.files.items():
            path = out if single else out / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, pieces)
            except OSError as error:
                raise BadInputError(
                    f"{path} cannot be written: {error.strerror or error}.",
                    "Choose another place with --out.",
                ) from error
            written.append(path)
        return tuple(written)

    def held(self) -> dict[str, bytes]:
        """The files in memory, for a browser; BadInputError as :func:`check_held`."""
        made, size = {}, 0
        for name, pieces in self.files.items():
            out = io.BytesIO()
            for piece in pieces:
                size += out.write(piece.encode())
                check_held(size, "Choose a format without documents, or: seedlens qrels export.")
            made[name] = out.getvalue()
        return made


def check_held(size: int, remedy: str) -> None:
    """Raise BadInputError for files of more than ``EXPORT_BYTES``."""
    if size > EXPORT_BYTES:
        raise BadInputError(f"The files have more than {EXPORT_BYTES // MEGABYTE} MB.", remedy)


# -- adjudicated -------------------------------------------------------------------------------


def decided_files(
    kind: str,
    name: str,
    decided: DecidedQrels,
    queries: Mapping[str, Query],
    corpus: OpenCorpus,
    *,
    spreadsheet: bool = False,
) -> Exported:
    """The adjudicated grades in one of :data:`JUDGMENT_FORMATS` but the hand-over.

    Args:
        name: of the files, without an ending.
    """
    count = sum(map(len, decided.grades.values()))
    rows = [_decided_fields(d) for d in decided.decisions if d.relevance is not None]
    if kind in ("csv", "jsonl"):
        files = _table(kind, name, rows, DECIDED_FIELDS, spreadsheet=spreadsheet)
    else:
        files = _qrels(kind, name, {"": decided.grades}, queries, corpus)
        if kind == "beir":  # whose grades they are, which its tables do not say
            files[DECISIONS] = json_lines(rows)
    notes = (*decided.notes, *_without_text(kind, decided.grades, queries, corpus))
    return Exported(files, count, notes)


def _decided_fields(decision: Decision) -> dict[str, Any]:
    decided = decision.decided
    return {
        "query_id": decision.query_id,
        "doc_id": decision.doc_id,
        "relevance": decision.relevance,
        "annotator": ADJUDICATED,
        "note": "" if decided is None else decided.note,
        "time": None if decided is None else decided.time.isoformat(),
        "basis": decision.basis,
        "by": "" if decided is None else decided.annotator,
        "annotators": list(decision.annotators),
    }


# -- per annotator -----------------------------------------------------------------------------


def own_files(
    kind: str,
    name: str,
    judgments: Sequence[Judgment],
    queries: Mapping[str, Query],
    corpus: OpenCorpus,
    *,
    spreadsheet: bool = False,
) -> Exported:
    """What stands of each annotator: a file each in TREC and BEIR, else one for all of them.

    CSV and JSONL have every field, adjudications among the rows; with their events they can be
    imported elsewhere as they are. Models are annotators among the others, told by their names
    (and in CSV and JSONL by the origin of each grade).
    """
    models = sorted({j.annotator for j in judgments if j.origin == "model"})
    by_models = sum(j.origin == "model" and j.relevance is not None for j in judgments)
    said = (f"{by_models:,} grades are a model's ({', '.join(models)}).",) if by_models else ()
    if kind in ("csv", "jsonl"):
        rows = [to_fields(judgment) for judgment in judgments]
        files = _table(kind, name, rows, FIELDS, spreadsheet=spreadsheet)
        return Exported(files, len(judgments), said)
    own = own_grades(judgments, models=True)
    count = sum(len(grades) for qrels in own.values() for grades in qrels.values())
    left = sum(j.verdict in ("skip", "unsure") for j in judgments)
    notes = (
        *said,
        *([f"{left:,} skips and unsure verdicts have no place in this format."] if left else []),
        *_without_text(kind, chain.from_iterable(own.values()), queries, corpus),
    )
    return Exported(_qrels(kind, name, own, queries, corpus), count, notes)


def _table(
    kind: str,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    spreadsheet: bool,
) -> dict[str, Iterable[str]]:
    if kind == "jsonl":
        return {f"{name}.{kind}": json_lines(rows)}
    return {f"{name}.{kind}": csv_lines(rows, columns, spreadsheet=spreadsheet)}


def _qrels(
    kind: str,
    name: str,
    grades: Mapping[str, Mapping[str, Mapping[str, int]]],
    queries: Mapping[str, Query],
    corpus: OpenCorpus,
) -> dict[str, Iterable[str]]:
    """A file for each annotator, as TREC has it or in a BEIR folder.

    Args:
        grades: annotator ("" for adjudicated grades) -> query_id -> doc_id -> grade.
    """
    names = _file_names(filter(None, grades))
    if kind == "trec":
        return {
            f"{name}.{names[who]}.qrels" if who else f"{name}.qrels": trec_lines(qrels)
            for who, qrels in grades.items()
        }
    asked = dict.fromkeys(query_id for qrels in grades.values() for query_id in qrels)
    tables = {f"qrels/{names.get(who, 'test')}.tsv": beir_lines(q) for who, q in grades.items()}
    return {**tables, **_beir_texts(asked, queries, corpus)}


def hand_over(
    project: Project,
    annotator: str,
    events: Sequence[Judgment],
    queries: Mapping[str, Query],
) -> Iterator[str]:
    """Everything that one annotator did, undos included, with the project's settings and the
    queries; another home takes it in as it was."""
    asked = {row.query_id for row in events}
    described = {query_id: query for query_id, query in queries.items() if query_id in asked}
    first = {
        "format": HAND_OVER,
        "version": 1,
        "annotator": annotator,
        "corpus": project.corpus,
        "queries": len(described),
        "events": len(events),
        "project": asdict(project),
    }
    yield from json_lines([first])
    for query_id, query in described.items():
        yield from json_lines([{"query_id": query_id, "query": query_to_dict(query)}])
    yield from json_lines(map(to_fields, events))


# -- BEIR -------------------------------------------------------------------------------------


def _beir_texts(
    asked: Iterable[str], queries: Mapping[str, Query], corpus: OpenCorpus
) -> dict[str, Iterable[str]]:
    """queries.jsonl, where the text of a query is that of its seed, and corpus.jsonl. A query whose
    seed has left the corpus has no text."""
    return {
        "queries.jsonl": json_lines(_beir_query(i, queries.get(i), corpus) for i in asked),
        "corpus.jsonl": json_lines(
            {"_id": d.doc_id, "title": d.title, "text": d.text} for d in _documents(corpus)
        ),
    }


def _beir_query(query_id: str, query: Query | None, corpus: OpenCorpus) -> dict[str, Any]:
    if query is None:  # judged while exploring, in words that nobody kept
        return {"_id": query_id, "text": "", "metadata": {}}
    there = query.seed if query.seed in corpus.row_of else None
    seed = None if there is None else corpus.document(there)
    text = query.text or "" if seed is None else f"{seed.title} {seed.text}".strip()
    aspects = {aspect.key: aspect.instruction for aspect in corpus.lens.aspects}
    about = {"seed": query.seed, "aspect": query.aspect, "instruction": query.instruction}
    return {
        "_id": query_id,
        "text": text,
        "instruction": query.instruction or aspects.get(query.aspect or "", ""),
        "metadata": {key: value for key, value in about.items() if value is not None},
    }


def _without_text(
    kind: str, asked: Iterable[str], queries: Mapping[str, Query], corpus: OpenCorpus
) -> tuple[str, ...]:
    """What is said of queries whose seed has left the corpus, in a format that has their text."""
    seeds = {i: queries[i].seed for i in asked if i in queries}
    gone = sorted(i for i, seed in seeds.items() if seed is not None and seed not in corpus.row_of)
    if not gone or kind != "beir":
        return ()
    which = counted(len(gone), "query has", "queries have")
    return (
        f"{which} no text, as the seed is not in the corpus '{corpus.name}' any more: "
        f"{', '.join(gone[:MOST_NAMED])}{', ...' * (len(gone) > MOST_NAMED)}.",
    )


def _documents(corpus: OpenCorpus) -> Iterator[Document]:
    for start in range(0, len(corpus), BATCH):
        yield from corpus.documents(corpus.doc_ids[start : start + BATCH])


def _file_names(annotators: Iterable[str]) -> dict[str, str]:
    """annotator -> a name for files, each its own also where case does not count."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for annotator in annotators:
        plain = re.sub(r"[^\w-]+", "-", annotator).strip("-") or "annotator"
        name, number = plain, 2
        while name.casefold() in taken:
            name, number = f"{plain}-{number}", number + 1
        taken.add(name.casefold())
        names[annotator] = name
    return names
