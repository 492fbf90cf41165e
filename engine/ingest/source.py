"""A path as a stream of documents that can be read as often as needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from engine.errors import BadInputError
from engine.ingest.builder import Builder
from engine.ingest.formats import detect_format, existing, fitting, named
from engine.ingest.mapping import resolve
from engine.ingest.rows import Format, Row
from engine.ingest.values import Notes, role_labels
from engine.types.corpora import Mapped, Preview
from engine.types.documents import SourceDocument
from engine.types.lenses import Lens


@dataclass(frozen=True, slots=True)
class Source:
    """Documents of one file or folder. Iterating starts from the beginning every time.

    Attributes:
        columns: names in the format's first ``peek`` rows, in order of appearance.
        mapping: document field -> column, as guessed, fixed by the format, or chosen.
    """

    path: Path
    format: str
    columns: tuple[str, ...]
    mapping: Mapping[str, str]
    _format: Format
    _builder: Builder

    def __iter__(self) -> Iterator[SourceDocument]:
        return self.read()

    def read(self, notes: Notes | None = None) -> Iterator[SourceDocument]:
        """Documents in file order, repeated ones included; one row is in memory at a time.

        Args:
            notes: counts what was mended on the way.

        Raises:
            BadInputError: at the first row that cannot be used, naming it.
        """
        notes = notes if notes is not None else Notes()
        for row in self._format.rows(self.path):
            yield self._builder.build(row, notes)


def open_source(
    path: Path | str,
    source_format: str = "auto",
    mapping: Mapped | None = None,
    *,
    lens: Lens,
) -> Source:
    """Look at a path's first rows and decide how to read it.

    Args:
        source_format: one of ``FORMATS`` or ``auto``.
        mapping: document field -> column, on top of what is guessed.
        lens: whose aspects the sentence roles of the source may name.

    Raises:
        BadInputError: nothing there, empty, or not of a kind that the format can be.
        UnknownNameError: no such format, field or column.
    """
    name = source_format if source_format != "auto" else detect_format(path)
    chosen = dict(mapping or {})
    found = existing(path)
    known = fitting(named(name), found)
    columns = _columns(known, found)
    resolved = resolve(columns, known.preset, chosen)
    fixed = frozenset(chosen) | frozenset(known.preset or ())
    builder = Builder(known, resolved, fixed, role_labels(lens))
    return Source(found, name, columns, resolved, known, builder)


def preview(
    path: Path | str,
    source_format: str = "auto",
    mapping: Mapped | None = None,
    rows: int = 5,
    *,
    lens: Lens,
) -> Preview:
    """The first ``rows`` rows as they are and as documents; bad rows become ``problems``.

    Raises:
        BadInputError: as ``open_source``; never because of a row.
    """
    source = open_source(path, source_format, mapping, lens=lens)
    notes = Notes()
    shown: list[Row] = []
    documents: list[SourceDocument] = []
    problems: list[str] = []
    try:
        for row in islice(source._format.rows(source.path), rows):
            shown.append(row)
            try:
                documents.append(source._builder.build(row, notes))
            except BadInputError as e:
                problems.append(str(e))
    except BadInputError as e:  # reading on is impossible
        problems.append(str(e))
    if not shown and not problems:
        problems.append(str(no_documents(source)))
    return Preview(
        source_format=source.format,
        columns=source.columns,
        rows=tuple(row.values for row in shown if row.problem is None),
        mapping=source.mapping,
        documents=tuple(documents),
        problems=tuple(problems),
    )


def no_documents(source: Source) -> BadInputError:
    """The error for a source without a single row."""
    return BadInputError(
        f"{source.path.name} holds no documents (0 rows read as {source.format}).",
        "Choose a file with at least one row, or another format.",
    )


def _columns(source_format: Format, path: Path) -> tuple[str, ...]:
    # A dict keeps the order of first appearance. What cannot be read is reported, with its
    # row, by whoever reads the documents.
    columns: dict[str, None] = {}
    try:
        for row in islice(source_format.rows(path), source_format.peek):
            columns.update(dict.fromkeys(map(str, row.values)))
    except BadInputError:
        pass
    return tuple(columns)
