"""A file, a folder or rows in memory as documents that can be read as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from engine.errors import BadInputError
from engine.ingest import memory
from engine.ingest.builder import Builder
from engine.ingest.formats import detect_format, existing, fitting, named
from engine.ingest.mapping import resolve
from engine.ingest.rows import Row
from engine.ingest.values import Notes, role_labels
from engine.types.corpora import Mapped, Preview, Rows
from engine.types.documents import SourceDocument
from engine.types.lenses import Lens


@dataclass(frozen=True, slots=True)
class Source:
    """Documents of one source. Iterating starts from the beginning every time.

    Attributes:
        name: what messages call it.
        location: the absolute path; of rows in memory only that they were such.
        columns: names in the format's first ``peek`` rows, in order of appearance.
        mapping: document field -> column, as guessed, fixed by the format, or chosen.
    """

    name: str
    location: str
    format: str
    columns: tuple[str, ...]
    mapping: Mapping[str, str]
    _rows: Callable[[], Iterator[Row]]
    _builder: Builder

    def __iter__(self) -> Iterator[SourceDocument]:
        return self.read()

    def read(self, notes: Notes | None = None) -> Iterator[SourceDocument]:
        """Documents in their order, repeated ones included; one at a time.

        Args:
            notes: counts what was corrected on the way.

        Raises:
            BadInputError: at the first row that cannot be used, naming it.
        """
        notes = notes if notes is not None else Notes()
        for row in self._rows():
            yield self._builder.build(row, notes)


def open_source(
    source: Path | str | Rows,
    source_format: str = "auto",
    mapping: Mapped | None = None,
    *,
    lens: Lens,
) -> Source:
    """Look at the first rows of a source and decide how to read it.

    Args:
        source: a path, or rows in memory (see :data:`engine.types.corpora.Rows`).
        source_format: of a path, one of ``FORMATS`` or ``auto``.
        mapping: document field -> column, on top of what is guessed.
        lens: whose aspects the sentence roles of the source may name.

    Raises:
        BadInputError: nothing there, empty, or not of a kind that the format can be.
        UnknownNameError: no such format, field or column.
    """
    if isinstance(source, Path | str):
        name = source_format if source_format != "auto" else detect_format(source)
        path = existing(source)
        read_as = fitting(named(name), path)
        name, location, rows = path.name, str(path.resolve()), partial(read_as.rows, path)
    else:
        read_as = memory.FORMAT
        name = location = memory.NAME
        rows = partial(memory.rows, memory.held(source))
    chosen = dict(mapping or {})
    columns = _columns(rows, read_as.peek)
    resolved = resolve(columns, read_as.preset, chosen)
    fixed = frozenset(chosen) | frozenset(read_as.preset or ())
    builder = Builder(read_as, resolved, fixed, role_labels(lens))
    return Source(name, location, read_as.name, columns, resolved, rows, builder)


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
        for row in islice(source._rows(), rows):
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
        f"There are no documents in {source.name} (0 rows read as {source.format}).",
        "Give at least one row, or choose another format.",
    )


def _columns(rows: Callable[[], Iterator[Row]], peek: int) -> tuple[str, ...]:
    # A dict keeps the order of first appearance. What cannot be read is reported, with its
    # row, by whoever reads the documents.
    columns: dict[str, None] = {}
    try:
        for row in islice(rows(), peek):
            columns.update(dict.fromkeys(map(str, row.values)))
    except BadInputError:
        pass
    return tuple(columns)
