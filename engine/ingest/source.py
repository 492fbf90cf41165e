"""A file, a folder or rows in memory as documents that can be read as often as needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from engine.errors import BadInputError
from engine.ingest import memory
from engine.ingest.builder import Builder, is_doi
from engine.ingest.delimited import find_delimiter, is_blank
from engine.ingest.encodings import Encoding, encoding_of
from engine.ingest.formats import (
    detect_format,
    existing,
    files_in,
    fitting,
    named,
    unpacked_name,
)
from engine.ingest.mapping import NAMES, likely, plain_name, resolve
from engine.ingest.repairs import Refuse, checked, documents, each_once, pass_over, raise_at_once
from engine.ingest.rows import Format, InputFile, Row, listed
from engine.ingest.values import Notes, role_labels
from engine.types.corpora import (
    NO_REPAIRS,
    CheckReport,
    Fault,
    FaultKind,
    Mapped,
    Preview,
    Repairs,
    Rows,
)
from engine.types.documents import SourceDocument
from engine.types.lenses import Lens
from engine.types.limits import COLUMNS, PREVIEW_ROWS

_FAULTS: dict[FaultKind, tuple[str, str]] = {
    "broken": ("row cannot be read or is too long", "rows cannot be read or are too long"),
    "empty": ("row has no text", "rows have no text"),
    "id": ("row has no id", "rows have no id"),
    "duplicate": ("row repeats an id with other content", "rows repeat an id with other content"),
}
_SKIP = "leaves such rows out"
_REASONS = 5  # Sentences that say why no document is left


@dataclass(frozen=True, slots=True)
class Source:
    """Documents of one source. Iterating starts from the beginning every time."""

    name: str  # what messages call it
    location: str  # the absolute path; of rows in memory only that they were such
    format: str
    # the first names in the format's first `peek` rows, in order of appearance
    columns: tuple[str, ...]
    # document field -> column, as guessed, fixed by the format, or chosen
    mapping: Mapping[str, str]
    repairs: Repairs  # what was chosen about rows that cannot be used as they are
    encoding: Encoding | None  # of a text file; None for others
    delimiter: str  # of a CSV or TSV file; "" for others
    _rows: Callable[[], Iterator[Row]]
    _builder: Builder

    def __iter__(self) -> Iterator[SourceDocument]:
        return self.read()

    def read(
        self,
        notes: Notes | None = None,
        max_chars: int | None = None,
        refuse: Refuse = raise_at_once,
    ) -> Iterator[SourceDocument]:
        """Documents in their order, repeated ones included; one at a time."""
        notes = notes if notes is not None else Notes()
        return documents(self._rows(), self._builder, notes, refuse, max_chars)

    @property
    def makes_ids(self) -> bool:
        """Whether rows may have ids that are no part of the source, see :meth:`makes`."""
        return self.repairs.number_ids or self._builder.source_format.files

    def makes(self, doc_id: str) -> bool:
        """Whether an id is one that rows without id are given: a number, or the name of their file.

        Of the sections of a paper, this is so of the first alone.
        """
        if self._builder.source_format.files:
            _, mark, section = doc_id.rpartition("#")
            return not mark or section == "0"
        prefix, _, number = doc_id.rpartition("-")
        return self.repairs.number_ids and prefix == self._builder.id_prefix and number.isdecimal()

    def dois_without_text(self) -> tuple[str, ...]:
        """The DOIs of rows that have no text, each once, in their order."""
        found = (self._builder.missing_doi(row) for row in self._rows())
        return tuple(dict.fromkeys(doi for doi in found if doi))

    def other_columns(self, lacking: Collection[str]) -> tuple[str, ...]:
        """A sentence on fields that no document has, with the columns that may hold them."""
        row = next((row for row in islice(self._rows(), PREVIEW_ROWS) if row.values), None)
        used = {*self.mapping.values(), *filter(is_doi, self.columns)}
        free = {} if row is None else {c: row.values.get(c) for c in self.columns if c not in used}
        if not lacking or not free:
            return ()
        found = [(field, column) for field in sorted(lacking) for column in likely(field, free)]
        hint = ", ".join(f"--map {field}={column}" for field, column in found[:5])
        words = f"perhaps {hint}" if hint else f"columns that serve no field: {listed(free, 10)}"
        return (f"No document has {' or '.join(sorted(lacking))}; {words}.",)

    def encoding_remarks(self) -> tuple[str, ...]:
        """A sentence where characters could not be read."""
        n = self.encoding.replaced if self.encoding else 0
        if not self.encoding or not n:
            return ()
        several = f"{n:,} characters" if n > 1 else "1 character"
        return (f"{several} could not be read as {self.encoding.label}; U+FFFD stands for each.",)


def open_source(
    source: Path | str | Rows,
    source_format: str = "auto",
    mapping: Mapped | None = None,
    *,
    lens: Lens,
    repairs: Repairs = NO_REPAIRS,
) -> Source:
    """Look at the first rows of a source and decide how to read it.

    `source`: a path, or rows in memory (see `Rows`). `source_format`: of a path, one of `FORMATS`
    or `auto`. `mapping`: document field -> column, on top of what is guessed. `lens`: whose aspects
    the sentence roles of the source may name. `repairs`: how a file is read, and what to do about
    rows that cannot be used as they are.
    """
    checked(repairs)
    file = None
    if isinstance(source, Path | str):
        name = source_format if source_format != "auto" else detect_format(source)
        read_as = fitting(named(name), path := existing(source))
        repairs = replace(repairs, skip_broken=True) if read_as.files else repairs
        file = _input_file(path, read_as, repairs)
        name, location, rows = path.name, str(path.resolve()), partial(read_as.rows, file)
        if path.is_dir() and not read_as.folders:
            files = [_input_file(one, read_as, repairs) for one in files_in(path)[read_as.name]]
            rows = partial(_rows_of, read_as, files)
        prefix = Path(unpacked_name(path.resolve())).stem
    else:
        read_as = memory.FORMAT
        name = location = memory.NAME
        rows = partial(memory.rows, memory.held(source))
        prefix = "row"
    chosen = dict(mapping or {})
    columns, identifying = _columns(rows, read_as.peek)
    resolved = resolve(columns, read_as.preset, chosen, identifying)
    fixed = frozenset(chosen) | frozenset(read_as.preset or ())
    found = found_abstracts(repairs.abstracts)
    builder = Builder(read_as, resolved, fixed, role_labels(lens), repairs, prefix, found)
    text = file is not None and not read_as.binary
    return Source(
        name=name,
        location=location,
        format=read_as.name,
        columns=columns,
        mapping=resolved,
        repairs=repairs,
        encoding=file.encoding if file and text else None,
        delimiter=file.delimiter if file and read_as.delimited else "",
        _rows=rows,
        _builder=builder,
    )


def _input_file(path: Path, read_as: Format, repairs: Repairs) -> InputFile:
    file = InputFile(path, pdf=repairs.pdf)
    # The folders are published collections, in UTF-8 unless an encoding is chosen.
    if not read_as.binary and (repairs.encoding or path.is_file()):
        file = replace(file, encoding=encoding_of(path, repairs.encoding))
    if read_as.delimited:
        usual = "\t" if read_as.name == "tsv" else ","
        file = replace(file, delimiter=repairs.delimiter or find_delimiter(file, usual))
    return file


def _rows_of(read_as: Format, files: Iterable[InputFile]) -> Iterator[Row]:
    """The rows of several files, one after the other."""
    for file in files:
        yield from read_as.rows(file)


def preview(
    path: Path | str,
    source_format: str = "auto",
    mapping: Mapped | None = None,
    rows: int = PREVIEW_ROWS,
    *,
    lens: Lens,
    repairs: Repairs = NO_REPAIRS,
    max_chars: int | None = None,
) -> Preview:
    """The first ``rows`` rows as they are and as documents; bad rows become ``problems``."""
    source = open_source(path, source_format, mapping, lens=lens, repairs=repairs)
    shown: list[Row] = []
    problems: list[str] = []

    def first_rows() -> Iterator[Row]:
        try:
            for row in islice(source._rows(), rows):
                shown.append(row)
                yield row
        except BadInputError as e:  # reading on is impossible
            problems.append(str(e))

    def refuse(_: FaultKind, error: BadInputError) -> None:
        problems.append(str(error))

    read = tuple(documents(first_rows(), source._builder, Notes(), refuse, max_chars))
    if not shown and not problems:
        problems.append(str(no_documents(source)))
    return Preview(
        source_format=source.format,
        columns=source.columns,
        rows=tuple(row.values for row in shown if row.problem is None),
        mapping=source.mapping,
        documents=read,
        problems=tuple(problems),
        encoding=source.encoding.name if source.encoding else "",
        delimiter=source.delimiter,
    )


def found_abstracts(path: str) -> dict[str, str]:
    """DOI, in small letters -> abstract, of a file of what was looked up; "" for no file."""
    if not path or not Path(path).is_file():
        return {}
    with Path(path).open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {row["doi"].casefold(): row["text"] for row in rows if row.get("doi") and row["text"]}


def no_documents(source: Source) -> BadInputError:
    """The error for a source without a single row."""
    return BadInputError(
        f"There are no documents in {source.name} (0 rows read as {source.format}).",
        "Give at least one row, or choose another format.",
    )


def _columns(
    rows: Callable[[], Iterator[Row]], peek: int
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The column names, and those in which each row has another value."""
    # A dict keeps the order of first appearance. What cannot be read is reported, with its
    # row, when the documents are read.
    columns: dict[str, None] = {}
    ids: dict[str, set[str]] = {}
    read = 0
    try:
        for row in islice(rows(), peek):
            columns.update(dict.fromkeys(map(str, row.values)))
            if len(columns) > COLUMNS:
                break
            read += row.problem is None
            for column, value in row.values.items():
                if plain_name(str(column)) in NAMES["doc_id"] and not is_blank(value):
                    ids.setdefault(str(column), set()).add(str(value))
    except BadInputError:
        pass
    identifying = frozenset(column for column, values in ids.items() if len(values) == read)
    return tuple(islice(columns, COLUMNS)), identifying


# -- a full pass before anything is written: it is sound, or we say where not --------------------


def _options(fault: Fault, repairs: Repairs) -> list[str]:
    """What repairs the refused rows, beyond what was chosen already."""
    title = fault.substitutes and not repairs.title_as_text
    doi = fault.substitutes and not repairs.ids_from_doi
    options: dict[FaultKind, list[str]] = {
        "broken": [f"--skip-broken {_SKIP}"],
        "empty": [f"--skip-empty {_SKIP}"] + ["--title-as-text takes their titles"] * bool(title),
        "id": ["--number-ids numbers such rows"] + ["--ids-from-doi takes their DOIs"] * bool(doi),
        "duplicate": ["--duplicates keep-first, merge or rename decides about them"],
    }
    return options[fault.kind]


def check(source: Source, max_chars: int) -> CheckReport:
    """Read everything once, and refuse a source with a row that cannot be used."""
    first: dict[FaultKind, BadInputError] = {}
    report = _examined(source, max_chars, first.setdefault)
    if first:
        raise _refusal(report.refused, first, source.repairs)
    if not report.documents:
        raise BadInputError(
            f"No document is left of {source.name}. {' '.join(report.warnings[:_REASONS])}",
            "Choose other files or columns, or let something stand in for what rows lack.",
        )
    return report


def examine(source: Source, max_chars: int) -> CheckReport:
    """:func:`check` without an error: rows that nothing was chosen for are counted."""
    return _examined(source, max_chars, pass_over)


def unique_documents(
    source: Source,
    notes: Notes | None = None,
    max_chars: int | None = None,
    refuse: Refuse = raise_at_once,
) -> Iterator[SourceDocument]:
    """The documents of a source, each once; exact repeats are left out and counted in ``notes``."""

    def read(notes: Notes, refuse: Refuse) -> Iterator[SourceDocument]:
        return source.read(notes, max_chars, refuse)

    return each_once(read, source.repairs, notes or Notes(), refuse)


def _examined(source: Source, max_chars: int, refuse: Refuse) -> CheckReport:
    """Keeps two 16-byte digests per document, nothing else."""
    notes = Notes()
    documents = characters = 0
    lacking = {"title", "year", "authors"}
    for document in unique_documents(source, notes, max_chars, refuse):
        documents += 1
        characters += len(document.text)
        lacking -= {field for field in lacking if getattr(document, field)}
    faults = notes.faults()
    if not documents and not faults:
        raise no_documents(source)
    warnings = (
        *source.encoding_remarks(),
        *notes.sentences(documents),
        *source.other_columns(lacking),
    )
    return CheckReport(documents, characters, warnings, faults, notes.counts["fillable"])


def _refusal(
    refused: tuple[Fault, ...], first: dict[FaultKind, BadInputError], repairs: Repairs
) -> BadInputError:
    faults = sorted(refused, key=lambda fault: list(first).index(fault.kind))
    more = []
    for fault in faults:
        others = " more" if fault is faults[0] else ""
        if count := fault.refused - bool(others):
            more.append(f"{count:,}{others} {_FAULTS[fault.kind][count > 1]}")
    error = first[faults[0].kind]
    message = error.message + (f" {'; '.join(more)}." if more else "")
    options = "; ".join(option for fault in faults for option in _options(fault, repairs))
    return BadInputError(message, f"{error.remedy} Or: {options}.")
