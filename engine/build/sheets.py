"""What a step made as a CSV file, and the file as a person left it.

Each line says in ``was`` what stood when it was written. Only lines that say something else than
that are taken in, and only while it still stands: nobody's change is undone by an older file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.build.build_records import digest
from engine.build.opened_build import Meant, OpenBuild, QueryChange
from engine.collections.judgment_formats import csv_lines
from engine.errors import BadInputError, UnknownNameError
from engine.types.builds import BuildStep, Cluster
from engine.types.spreadsheets import plain_cell

SHEETS: Mapping[BuildStep, Sequence[str]] = {
    "label": ("doc_id", "label", "quote", "maker", "author", "title", "was"),
    "collapse": ("cluster", "name", "dropped", "doc_id", "label", "title", "was"),
    "verbalise": ("cluster", "query", "dropped", "overlap", "words", "documents", "name", "was"),
}
"""Columns of each step's file; those of :data:`_READ` are read back, and ``was`` where it is."""
_READ: Mapping[BuildStep, Sequence[str]] = {
    "label": ("doc_id", "label"),
    "collapse": ("cluster", "name", "dropped", "doc_id"),
    "verbalise": ("cluster", "query", "dropped"),
}
_WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "": False}
Row = tuple[int, Mapping[str, str]]
"""A line's number, and its cells by column."""


def stamp(said: Sequence[object]) -> str:
    """A digest of values for the column ``was``; no spreadsheet takes it for a number.

    >>> stamp(["a label"]) == stamp(["a  label "]), stamp(["a label"]) == stamp(["another"])
    (True, False)
    """
    values = [" ".join(value.split()) if isinstance(value, str) else value for value in said]
    return f"v{digest(*values)[:12]}"


@dataclass(frozen=True, slots=True)
class Line:
    """What a line says.

    Attributes:
        said: the values of which ``was`` is the :func:`stamp`.
        was: None in a file without that column, whose lines are all meant as they stand.
    """

    number: int
    said: tuple[str | bool, ...]
    was: str | None

    @property
    def is_changed(self) -> bool:
        """Whether a person changed it, as far as the file tells."""
        return self.was is None or self.was != stamp(self.said)


Lines = Mapping[str, Line]
"""By what they are about: a document or a cluster."""


def columns(step: BuildStep) -> Sequence[str]:
    """The columns of a step's file; BadInputError for a step that has none."""
    if step not in SHEETS:
        raise BadInputError(
            f"The step '{step}' leaves judgments, which are no file to edit here.",
            "Judge in its annotation project, or use seedlens qrels.",
        )
    return SHEETS[step]


def sheet(build: OpenBuild, step: BuildStep, *, spreadsheet: bool = False) -> Iterator[str]:
    """The lines of a step's file; BadInputError for "expand".

    Args:
        spreadsheet: no text is a formula to a spreadsheet program; :func:`read_rows` reads both.
    """
    corpus, names = build.corpus, columns(step)

    def title(doc_id: str) -> str:
        return corpus.titles[corpus.row_of[doc_id]] if doc_id in corpus.row_of else ""

    rows: list[tuple[object, ...]]
    if step == "label":
        rows = [
            (x.doc_id, x.text, x.quote, x.maker, x.author, title(x.doc_id), stamp([x.text]))
            for x in build.labels()
        ]
    elif step == "collapse":
        labels = build.shown_labels()
        rows = [
            (
                *(c.key, c.name, "yes" if c.dropped else "no", i, labels.get(i, ""), title(i)),
                stamp(_place(c)),
            )
            for c in build.clusters()
            for i in c.doc_ids
        ]
    else:
        clusters = {cluster.key: cluster.name for cluster in build.clusters()}
        rows = [
            (
                *(q.key, q.text, "yes" if q.dropped else "no", f"{q.overlap.share:.3f}"),
                *(" ".join(q.overlap.words), len(q.doc_ids), clusters[q.key]),
                stamp([q.text, q.dropped]),
            )
            for q in build.queries()
        ]
    fields = (dict(zip(names, row, strict=True)) for row in rows)
    return csv_lines(fields, names, spreadsheet=spreadsheet)


def take_in(build: OpenBuild, step: BuildStep, text: str, file: str, author: str) -> int:
    """Keep what a person changed in a step's file; nothing, when any line of it is bad, or
    somebody else changed meanwhile what it changes.

    Returns:
        how many labels, clusters or queries changed.

    Raises:
        BadInputError, UnknownNameError: with file and line.
    """
    columns(step)
    rows = read_rows(text, file, _READ[step])
    if step == "label":
        lines = _labels(rows, file, frozenset(build.scope()))
        labels = {doc_id: str(line.said[0]) for doc_id, line in lines.items()}
        return build.set_labels(labels, author, _meant(lines, file, "the label of"))
    if step == "collapse":
        return build.change_clusters(_left(_clusters(rows, file), file), author)
    lines = _queries(rows, file, frozenset(cluster.key for cluster in build.active()))
    changes = {k: QueryChange(str(x.said[0]), bool(x.said[1])) for k, x in lines.items()}
    meant = _meant(lines, file, "the query of the cluster")
    return build.set_queries(changes, author, meant)[1]


def _meant(lines: Lines, file: str, what: str) -> Meant:
    """Tells which lines are still to be taken in: not those that say what stands.

    Raises:
        BadInputError: when asked of a line that changes what somebody else changed since.
    """

    def meant(key: str, stands: tuple[object, ...] | None) -> bool:
        line, now = lines[key], "" if stands is None else stamp(stands)
        if now == stamp(line.said):
            return False
        if line.was not in (None, now):
            raise BadInputError(
                f"{file}, line {line.number}: {what} '{key}' was changed by somebody else since "
                "this file was written.",
                "Write a new file, and change that. Nothing was changed.",
            )
        return True

    return meant


def read_rows(text: str, file: str, needed: Sequence[str]) -> list[Row]:
    """The lines below the first, which names the columns; empty lines are skipped.

    Raises:
        BadInputError: a column that is missing; a line that has more or fewer cells, or a quote
            that is never closed.
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    rows: list[Row] = []
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
                rows.append((line, dict(zip(names, map(plain_cell, cells), strict=True))))
            line = reader.line_num + 1
    except csv.Error as error:
        raise _bad(file, line, f"it cannot be read as CSV: {error}.") from error
    if not names:
        _check_columns(names, needed, file)
    return rows


def _check_columns(names: Sequence[str], needed: Sequence[str], file: str) -> None:
    missing = [name for name in needed if name not in names]
    if missing:
        raise BadInputError(
            f"{file}, line 1: there is no column '{missing[0]}'.",
            f"The first line names the columns: {', '.join(needed)}.",
        )


def _labels(rows: Sequence[Row], file: str, known: Container[str]) -> dict[str, Line]:
    """The lines that were changed."""
    lines: dict[str, Line] = {}
    for number, cells in rows:
        doc_id = _document(cells, number, file, lines)
        lines[doc_id] = Line(number, (cells["label"],), cells.get("was"))
        if lines[doc_id].is_changed and doc_id not in known:
            raise _unknown(file, number, f"there is no document '{doc_id}' here.")
    return {doc_id: line for doc_id, line in lines.items() if line.is_changed}


def _queries(rows: Sequence[Row], file: str, active: Container[str]) -> dict[str, Line]:
    """The lines that were changed."""
    lines: dict[str, Line] = {}
    for number, cells in rows:
        key, text = cells["cluster"].strip(), cells["query"].strip()
        if key in lines:
            raise _bad(file, number, f"the cluster '{key}' comes twice.")
        lines[key] = Line(number, (text, _is_dropped(cells, number, file)), cells.get("was"))
        if not lines[key].is_changed:
            continue
        if key not in active:
            raise _unknown(file, number, f"no cluster '{key}' becomes a query.")
        if not text:
            raise _bad(file, number, "the query is empty; to leave it out, write yes as 'dropped'.")
    return {key: line for key, line in lines.items() if line.is_changed}


# -- clusters ----------------------------------------------------------------------------------


def _place(cluster: Cluster) -> tuple[str, str, bool]:
    return cluster.key, cluster.name, cluster.dropped


def _clusters(rows: Sequence[Row], file: str) -> dict[str, Line]:
    """Where each document belongs: (key, name, dropped) of its cluster."""
    lines: dict[str, Line] = {}
    first: dict[tuple[str, str], Line] = {}
    for number, cells in rows:
        doc_id = _document(cells, number, file, lines)
        key, name = cells["cluster"].strip(), " ".join(cells["name"].split())
        if not name:
            raise _bad(file, number, "the cluster has no name.")
        line = Line(number, (key, name, _is_dropped(cells, number, file)), cells.get("was"))
        before = first.setdefault((key, "" if key else name), line)
        if before.said != line.said:
            raise _bad(
                file, number, f"the cluster '{key or name}' is called or dropped otherwise in "
                f"line {before.number}.",
            )  # fmt: skip
        lines[doc_id] = line
    return lines


def _left(lines: Lines, file: str) -> Callable[[list[Cluster]], list[Cluster]]:
    """The clusters that stand -> with what was changed in these lines.

    Lines of one key are one cluster; without a key, those of one name are. A cluster is called
    and dropped as it stands, unless every line of it was changed.
    """
    meant = _meant(lines, file, "the cluster of")

    def changed(standing: list[Cluster]) -> list[Cluster]:
        moved = _moved(standing, lines, meant, file)
        left = {line.said[0] for doc_id, line in lines.items() if doc_id not in moved}
        said = {line.said[0]: line.said for line in moved.values() if line.said[0] not in left}
        clusters = []
        for cluster in standing:
            _, name, dropped = said.get(cluster.key, _place(cluster))
            stay = [i for i in cluster.doc_ids if i not in moved]
            come = [i for i, line in moved.items() if line.said[0] == cluster.key]
            doc_ids = (*stay, *come)
            clusters.append(
                replace(cluster, name=str(name), dropped=bool(dropped), doc_ids=doc_ids)
            )
        new: dict[tuple[str | bool, ...], list[str]] = {}
        for doc_id, line in moved.items():
            if not line.said[0]:
                new.setdefault(line.said, []).append(doc_id)
        clusters += [Cluster("", str(s[1]), tuple(ids), bool(s[2])) for s, ids in new.items()]
        return clusters

    return changed


def _moved(standing: Sequence[Cluster], lines: Lines, meant: Meant, file: str) -> dict[str, Line]:
    """The lines that change where a document belongs, or what its cluster is."""
    home = {doc_id: cluster for cluster in standing for doc_id in cluster.doc_ids}
    keys = {cluster.key for cluster in standing}
    lost = home.keys() - lines.keys()
    if lost:
        raise BadInputError(
            f"{file}: document '{min(lost)}' has no line, and would be in no cluster any more.",
            "Leave each document's line. Nothing was changed.",
        )
    moved: dict[str, Line] = {}
    for doc_id, line in lines.items():
        here, key = home.get(doc_id), str(line.said[0])
        if not line.is_changed:
            continue
        if here is None:
            raise _unknown(file, line.number, f"there is no document '{doc_id}' here.")
        if not meant(doc_id, _place(here)):
            continue
        if key and key not in keys:
            raise _unknown(file, line.number, f"there is no cluster '{key}'.")
        moved[doc_id] = line
    return moved


# -- cells -------------------------------------------------------------------------------------


def _document(cells: Mapping[str, str], line: int, file: str, seen: Container[str]) -> str:
    doc_id = cells["doc_id"].strip()
    if doc_id in seen:
        raise _bad(file, line, f"document '{doc_id}' comes twice.")
    return doc_id


def _is_dropped(cells: Mapping[str, str], line: int, file: str) -> bool:
    word = cells["dropped"].strip().casefold()
    if word not in _WORDS:
        raise _bad(file, line, f"'{cells['dropped']}' says neither yes nor no to 'dropped'.")
    return _WORDS[word]


def _bad(file: str, line: int, what: str) -> BadInputError:
    return BadInputError(f"{file}, line {line}: {what}", "Correct that line. Nothing was changed.")


def _unknown(file: str, line: int, what: str) -> UnknownNameError:
    return UnknownNameError(
        f"{file}, line {line}: {what}", "Correct that line. Nothing was changed."
    )
