"""What a step made as a CSV file, and the file as a person left it."""

from __future__ import annotations

import csv
import io
from collections.abc import Container, Iterator, Mapping, Sequence

from engine.annotate.exporting import csv_lines
from engine.build.lens.desk import Desk, QueryChange
from engine.build.lens.shelf import Shelf
from engine.errors import BadInputError, UnknownNameError
from engine.types import BuildLens, BuildStep, Cluster

SHEETS: Mapping[BuildStep, Sequence[str]] = {
    "label": ("doc_id", "label", "quote", "maker", "author", "title"),
    "collapse": ("cluster", "name", "dropped", "doc_id", "label", "title"),
    "verbalise": ("cluster", "query", "dropped", "overlap", "words", "documents", "name"),
}
"""Columns of each step's file; those of :data:`_READ` are read back."""
_READ: Mapping[BuildStep, Sequence[str]] = {
    "label": ("doc_id", "label"),
    "collapse": ("cluster", "name", "dropped", "doc_id"),
    "verbalise": ("cluster", "query", "dropped"),
}
_WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "": False}
Row = tuple[int, Mapping[str, str]]
"""A line's number, and its cells by column."""


def columns(step: BuildStep) -> Sequence[str]:
    """The columns of a step's file; BadInputError for a step that has none."""
    if step not in SHEETS:
        raise BadInputError(
            f"The step '{step}' leaves judgments, which are no file to edit here.",
            "Judge in its annotation project, or use seedlens qrels.",
        )
    return SHEETS[step]


def sheet(shelf: Shelf, lens: BuildLens, step: BuildStep) -> Iterator[str]:
    """The lines of a step's file."""
    corpus = shelf.corpus(lens)
    names = columns(step)

    def title(doc_id: str) -> str:
        return corpus.titles[corpus.row_of[doc_id]] if doc_id in corpus.row_of else ""

    rows: list[tuple[object, ...]]
    if step == "label":
        rows = [
            (label.doc_id, label.text, label.quote, label.maker, label.author, title(label.doc_id))
            for label in shelf.labels(lens)
        ]
    elif step == "collapse":
        labels = shelf.shown_labels(lens)
        rows = [
            (c.key, c.name, "yes" if c.dropped else "no", i, labels.get(i, ""), title(i))
            for c in shelf.clusters(lens)
            for i in c.doc_ids
        ]
    else:
        clusters = {cluster.key: cluster.name for cluster in shelf.clusters(lens)}
        rows = [
            (
                *(q.key, q.text, "yes" if q.dropped else "no", f"{q.overlap.share:.3f}"),
                *(" ".join(q.overlap.words), len(q.doc_ids), clusters[q.key]),
            )
            for q in shelf.queries(lens)
        ]
    return csv_lines((dict(zip(names, row, strict=True)) for row in rows), names)


def take_in(
    shelf: Shelf, desk: Desk, lens: BuildLens, step: BuildStep, text: str, file: str, author: str
) -> int:
    """Keep what a person changed in a step's file; nothing, when any line of it is bad.

    Returns:
        how many labels, clusters or queries changed.

    Raises:
        BadInputError, UnknownNameError: with file and line.
    """
    columns(step)
    rows = read_rows(text, file, _READ[step])
    if step == "label":
        labels = _labels(rows, file, frozenset(shelf.scope(lens)))
        return desk.set_labels(lens, labels, author)
    if step == "collapse":
        held = frozenset(i for c in shelf.clusters(lens) for i in c.doc_ids)
        clusters = _clusters(rows, file, held)
        return desk.change_clusters(lens, lambda _: clusters, author)
    active = frozenset(cluster.key for cluster in shelf.active(lens))
    return desk.set_queries(lens, _queries(rows, file, active), author)[1]


def read_rows(text: str, file: str, needed: Sequence[str]) -> list[Row]:
    """The lines below the first, which names the columns; empty lines are skipped.

    Raises:
        BadInputError: a column that is missing; a line that has more or fewer cells, or a quote
            that is never closed.
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    found: list[Row] = []
    names: list[str] = []
    line = 1
    try:
        for cells in reader:
            if not names:
                names = [cell.strip() for cell in cells]
                _check_columns(names, needed, file)
            elif cells:
                if len(cells) != len(names):
                    raise _bad(file, line, f"{len(cells)} cells under {len(names)} columns.")
                found.append((line, dict(zip(names, cells, strict=True))))
            line = reader.line_num + 1
    except csv.Error as error:
        raise _bad(file, line, f"it cannot be read as CSV: {error}.") from error
    if not names:
        _check_columns(names, needed, file)
    return found


def _check_columns(names: Sequence[str], needed: Sequence[str], file: str) -> None:
    missing = [name for name in needed if name not in names]
    if missing:
        raise BadInputError(
            f"{file}, line 1: there is no column '{missing[0]}'.",
            f"The first line names the columns: {', '.join(needed)}.",
        )


def _labels(rows: Sequence[Row], file: str, known: Container[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line, cells in rows:
        doc_id = _document(cells, line, file, known, found)
        found[doc_id] = cells["label"]
    return found


def _clusters(rows: Sequence[Row], file: str, known: Container[str]) -> list[Cluster]:
    """Lines of one key are one cluster; without a key, those of one name are."""
    members: dict[tuple[str, str], list[str]] = {}
    first: dict[tuple[str, str], tuple[int, str, bool]] = {}
    seen: set[str] = set()
    for line, cells in rows:
        doc_id = _document(cells, line, file, known, seen)
        seen.add(doc_id)
        key, name = cells["cluster"].strip(), " ".join(cells["name"].split())
        if not name:
            raise _bad(file, line, "the cluster has no name.")
        place = (key, "" if key else name)
        said = (line, name, _is_dropped(cells, line, file))
        before = first.setdefault(place, said)
        if before[1:] != said[1:]:
            raise _bad(
                file, line, f"the cluster '{key or name}' is called or dropped otherwise in "
                f"line {before[0]}.",
            )  # fmt: skip
        members.setdefault(place, []).append(doc_id)
    return [
        Cluster(place[0], first[place][1], tuple(doc_ids), first[place][2])
        for place, doc_ids in members.items()
    ]


def _queries(rows: Sequence[Row], file: str, active: Container[str]) -> dict[str, QueryChange]:
    found: dict[str, QueryChange] = {}
    for line, cells in rows:
        key, text = cells["cluster"].strip(), cells["query"].strip()
        if key in found:
            raise _bad(file, line, f"the cluster '{key}' comes twice.")
        if key not in active:
            raise _unknown(file, line, f"no cluster '{key}' becomes a query.")
        if not text:
            raise _bad(file, line, "the query is empty; to leave it out, write yes as 'dropped'.")
        found[key] = QueryChange(text, _is_dropped(cells, line, file))
    return found


def _document(
    cells: Mapping[str, str], line: int, file: str, known: Container[str], seen: Container[str]
) -> str:
    doc_id = cells["doc_id"].strip()
    if doc_id in seen:
        raise _bad(file, line, f"document '{doc_id}' comes twice.")
    if doc_id not in known:
        raise _unknown(file, line, f"there is no document '{doc_id}' here.")
    return doc_id


def _is_dropped(cells: Mapping[str, str], line: int, file: str) -> bool:
    word = cells["dropped"].strip().casefold()
    if word not in _WORDS:
        raise _bad(file, line, f"'{cells['dropped']}' says neither yes nor no to 'dropped'.")
    return _WORDS[word]


def _bad(file: str, line: int, what: str) -> BadInputError:
    return BadInputError(f"{file}, line {line}: {what}", "Mend that line. Nothing was changed.")


def _unknown(file: str, line: int, what: str) -> UnknownNameError:
    return UnknownNameError(f"{file}, line {line}: {what}", "Mend that line. Nothing was changed.")
