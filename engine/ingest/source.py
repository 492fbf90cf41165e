"""Documents of a file, a folder or rows in memory, to be read repeatedly."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain, count, islice
from pathlib import Path

from engine.bibliographic import doi_of
from engine.errors import BadInputError
from engine.ingest import tables
from engine.ingest.documents import (
    NAMES,
    RowFormat,
    build,
    is_doi,
    missing_doi,
    plain_name,
    resolve,
    role_labels,
)
from engine.ingest.files import (
    Encoding,
    Format,
    InputFile,
    Notes,
    Row,
    RowError,
    encoding_of,
    listed,
    refusal,
    short,
)
from engine.ingest.formats import detect_format, existing, files_in, named, unpacked_name
from engine.types.corpora import (
    DUPLICATES,
    NO_REPAIRS,
    PDF_PARTS,
    CheckReport,
    FaultKind,
    Mapped,
    Preview,
    Repairs,
    Rows,
)
from engine.types.documents import SourceDocument
from engine.types.lenses import Lens
from engine.types.limits import ID_CHARS, TITLE_CHARS

COLUMNS = 1_000  # that can be chosen as fields; those beyond are metadata
PREVIEW_ROWS = 5  # shown of a file before it is imported

Refuse = Callable[[FaultKind, BadInputError], object]
"""Called with a row that nothing was chosen for, which is left out."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of a source. `refuse`: None to raise the error of the first such row."""

    source: Source
    notes: Notes = field(default_factory=Notes)
    max_chars: int | None = None
    refuse: Refuse | None = None

    def documents(self, rows: Iterable[Row] | None = None) -> Iterator[SourceDocument]:
        """The documents of all rows, or of some, in their order, repeated ones included."""
        source, notes = self.source, self.notes
        for number, row in enumerate(source.rows() if rows is None else rows, start=1):
            try:
                document = build(source, row, number, notes)
                _check_length(document, self.max_chars)
                yield document
            except BadInputError as error:
                fault: FaultKind = error.kind if isinstance(error, RowError) else "broken"
                if fault == "broken":
                    notes.found(fault, short(row.where) + error.message.removeprefix(row.where))
                if source.repairs.skips(fault):
                    notes.left_out(fault, row.where, error, file=source.source_format.files)
                else:
                    notes.refused(fault)
                    self._refuse(fault, error)

    def unique(self) -> Iterator[SourceDocument]:
        """Documents, each once: repeats are left out, merged or renamed, and noted. Keeps two
        16-byte digests per document; where documents are merged, also those that wait for their
        last part, which takes a second reading. Where ids are DOIs, rows of one DOI are merged."""
        duplicates, notes = self.source.repairs.duplicates, self.notes
        by_doi = self.source.repairs.ids_from_doi and not duplicates
        joined = bool if duplicates == "merge" else doi_of if by_doi else None
        ids: set[bytes] = set()
        contents: set[bytes] = set()
        for document in self._merged(joined) if joined else self.documents():
            content = bytes.fromhex(content_hash(document))
            if content in contents:
                notes.add({"duplicates"})
                continue
            contents.add(content)
            if (key := id_digest(document.doc_id)) not in ids:
                ids.add(key)
                yield document
                continue
            self._repeated(document)
            if duplicates == "rename":
                others = (f"{document.doc_id}-{number}" for number in count(2))
                free = next(doc_id for doc_id in others if id_digest(doc_id) not in ids)
                ids.add(id_digest(free))
                notes.add({"renamed"}, f"{document.where} → {free[:80]}")
                yield replace(document, doc_id=free)
            elif duplicates == "keep-first":
                notes.add({"kept_first"}, document.where)
            else:
                notes.refused("duplicate")
                self._refuse("duplicate", self._conflict(document))

    def _refuse(self, fault: FaultKind, error: BadInputError) -> None:
        if self.refuse is None:
            raise error
        self.refuse(fault, error)

    def _merged(self, wanted: Callable[[str], object]) -> Iterator[SourceDocument]:
        """Documents of which those with one id that is ``wanted`` are joined."""
        ids = (document.doc_id for document in self._again())
        times = Counter(id_digest(doc_id) for doc_id in ids if wanted(doc_id))
        left = {key: count for key, count in times.items() if count > 1}
        del times
        held: dict[bytes, SourceDocument] = {}
        contents: set[str] = set()
        for document in self.documents():
            key = id_digest(document.doc_id)
            if key not in left:
                yield document
                continue
            content = content_hash(document)
            if content in contents:
                self.notes.add({"duplicates"})
            elif key in held:
                self._repeated(document)
                self.notes.add({"merged"}, document.where)
                held[key] = _joined(held[key], document)
            else:
                held[key] = document
            contents.add(content)
            left[key] -= 1
            if not left[key]:
                yield held.pop(key)

    def _repeated(self, document: SourceDocument) -> None:
        line = f"{short(document.where)}: id {document.doc_id[:80]} again"
        self.notes.found("duplicate", line)

    def _again(self) -> Iterator[SourceDocument]:
        """Another reading, in which nothing is noted or refused."""
        return replace(self, notes=Notes(), refuse=lambda *_: None).documents()

    def _conflict(self, document: SourceDocument) -> BadInputError:
        # The first one is looked up only now: remembering all rows would cost memory.
        same = (one.where for one in self._again() if one.doc_id == document.doc_id)
        return BadInputError(
            f"{document.where}: the id {document.doc_id[:80]!r} is taken by {next(same, '')},"
            " with different content.",
            "Give every document a different id, or remove one of the two.",
        )


def _check_length(document: SourceDocument, max_chars: int | None) -> None:
    for name, words, most in (
        ("title", document.title, TITLE_CHARS),
        ("id", document.doc_id, ID_CHARS),
        ("text", document.text, max_chars),
    ):
        if most is not None and len(words) > most:
            split = "Split it into several documents, or raise SEEDLENS_MAX_DOCUMENT_CHARS."
            other = f"Shorten it, or choose the column that holds the {name}."
            raise BadInputError(
                f"{document.where}: the {name} has {len(words):,} characters,"
                f" more than the {most:,} allowed.",
                split if name == "text" else other,
            )


def _joined(first: SourceDocument, other: SourceDocument) -> SourceDocument:
    """One document of two: what the first lacks, and the longer text with its sentences."""
    longer = other if len(other.text) > len(first.text) else first
    return replace(
        first,
        title=first.title or other.title,
        text=longer.text,
        sentences=longer.sentences,
        roles=longer.roles,
        year=other.year if first.year is None else first.year,
        authors=first.authors or other.authors,
        url=first.url or other.url,
        metadata={**other.metadata, **first.metadata},
    )


def id_digest(doc_id: str) -> bytes:
    """16 bytes that stand for an id."""
    return hashlib.blake2b(doc_id.encode(), digest_size=16).digest()


def content_hash(document: SourceDocument) -> str:
    """32 hex digits (BLAKE2b, 128 bits) over everything that is indexed. Equal for equal documents
    from any place: ``where`` is not part of it."""
    content = {one.name: getattr(document, one.name) for one in fields(document)}
    del content["where"]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(RowFormat):
    """Documents of one source. Iterating starts from the beginning every time."""

    name: str  # what messages call it
    location: str  # the absolute path; of rows in memory only that they were such
    # the first names in the format's first `peek` rows, in order of appearance
    columns: tuple[str, ...]
    encoding: Encoding | None  # of a text file; None for others
    delimiter: str  # of a CSV or TSV file; "" for others
    rows: Callable[[], Iterator[Row]]  # from the beginning

    @property
    def format(self) -> str:
        """The name of the format."""
        return self.source_format.name

    def __iter__(self) -> Iterator[SourceDocument]:
        return _Reading(self).documents()

    def makes(self, doc_id: str) -> bool:
        """Whether an id is one that rows without id are given: a number, or the name of their file.
        Of the sections of a paper, this is so of the first alone."""
        if self.source_format.files:
            _, mark, section = doc_id.rpartition("#")
            return not mark or section == "0"
        prefix, _, number = doc_id.rpartition("-")
        return self.repairs.number_ids and prefix == self.id_prefix and number.isdecimal()

    def dois_without_text(self) -> tuple[str, ...]:
        """The DOIs of rows that have no text, each once, in their order."""
        found = (missing_doi(self, row) for row in self.rows())
        return tuple(dict.fromkeys(doi for doi in found if doi))

    def other_columns(self, lacking: Collection[str]) -> tuple[str, ...]:
        """A sentence on fields that no document has, with the columns that serve no field."""
        used = {*self.mapping.values(), *filter(is_doi, self.columns)}
        free = [column for column in self.columns if column not in used]
        if not lacking or not free:
            return ()
        fields = " or ".join(sorted(lacking))
        return (f"No document has {fields}; columns that serve no field: {listed(free, 10)}.",)


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
    for choice, known in (("duplicates", DUPLICATES), ("pdf", PDF_PARTS)):
        if (value := getattr(repairs, choice)) not in known:
            choices = ", ".join(filter(None, known))
            raise BadInputError(f"{choice} cannot be {value!r}.", f"Choose one of {choices}.")
    if len(repairs.delimiter) > 1 or repairs.delimiter in ("\r", "\n", '"'):
        raise BadInputError(
            f"{repairs.delimiter!r} is no delimiter.", "Give one character, such as ; or a tab."
        )
    file = None
    if isinstance(source, Path | str):
        name = source_format if source_format != "auto" else detect_format(source)
        read_as, path = named(name), existing(source)
        repairs = replace(repairs, skip_broken=True) if read_as.files else repairs
        file = _input_file(path, read_as, repairs)
        name, location = path.name, str(path.resolve())
        rows: Callable[[], Iterator[Row]] = partial(read_as.rows, file)
        if path.is_dir() and not read_as.folders:
            found = files_in(path).get(read_as.name)
            if not found:
                raise BadInputError(
                    f"{path.name or path} is a folder without files of {read_as.name}.",
                    "Choose a file.",
                )
            files = [_input_file(one, read_as, repairs) for one in found]
            rows = lambda: chain.from_iterable(map(read_as.rows, files))  # noqa: E731
        prefix = Path(unpacked_name(path.resolve())).stem
    else:
        read_as = tables.TABLE_FORMAT
        name = location = tables.TABLE_NAME
        rows = partial(tables.memory_rows, tables.held(source))
        prefix = "row"
    chosen = dict(mapping or {})
    columns, identifying = _columns(rows, read_as.peek)
    return Source(
        source_format=read_as,
        mapping=resolve(columns, read_as.preset, chosen, identifying),
        chosen=frozenset(chosen) | frozenset(read_as.preset or ()),
        labels=role_labels(lens),
        repairs=repairs,
        id_prefix=prefix,
        abstracts=found_abstracts(repairs.abstracts),
        name=name,
        location=location,
        columns=columns,
        encoding=file.encoding if file and not read_as.binary else None,
        delimiter=file.delimiter if file and read_as.delimited else "",
        rows=rows,
    )


def _input_file(path: Path, read_as: Format, repairs: Repairs) -> InputFile:
    file = InputFile(path, pdf=repairs.pdf)
    # The folders are published collections, in UTF-8 unless an encoding is chosen.
    if not read_as.binary and (repairs.encoding or path.is_file()):
        file = replace(file, encoding=encoding_of(path, repairs.encoding))
    if read_as.delimited:
        usual = "\t" if read_as.name == "tsv" else ","
        file = replace(file, delimiter=repairs.delimiter or tables.find_delimiter(file, usual))
    return file


def preview(
    path: Path | str,
    source_format: str = "auto",
    mapping: Mapped | None = None,
    *,
    lens: Lens,
    repairs: Repairs = NO_REPAIRS,
    max_chars: int | None = None,
) -> Preview:
    """The first rows as they are and as documents; bad rows become ``problems``."""
    source = open_source(path, source_format, mapping, lens=lens, repairs=repairs)
    shown: list[Row] = []
    problems: list[str] = []
    end: list[str] = []
    try:
        shown.extend(islice(source.rows(), PREVIEW_ROWS))
    except BadInputError as error:  # reading on is impossible
        end.append(str(error))
    reading = _Reading(source, Notes(), max_chars, lambda _, error: problems.append(str(error)))
    read = tuple(reading.documents(shown))
    problems += end
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
                if plain_name(str(column)) in NAMES["doc_id"] and not tables.is_blank(value):
                    ids.setdefault(str(column), set()).add(str(value))
    except BadInputError:
        pass
    identifying = frozenset(column for column, values in ids.items() if len(values) == read)
    return tuple(islice(columns, COLUMNS)), identifying


# -- a full pass before anything is written: it is sound, or we say where not --------------------


def check(source: Source, max_chars: int) -> CheckReport:
    """Read everything once, and refuse a source with a row that cannot be used."""
    first: dict[FaultKind, BadInputError] = {}
    report = examine(source, max_chars, first.setdefault)
    if first:
        raise refusal(report.refused, first, source.repairs)
    if not report.documents:
        raise BadInputError(
            f"No document is left of {source.name}. {' '.join(report.warnings[:5])}",
            "Choose other files or columns, or let something stand in for what rows lack.",
        )
    return report


def examine(source: Source, max_chars: int, refuse: Refuse = lambda *_: None) -> CheckReport:
    """Read everything once; rows that nothing was chosen for are counted. Keeps two 16-byte digests
    per document, nothing else."""
    notes = Notes()
    documents = characters = abstracts = 0
    lacking = {"title", "year", "authors"}
    for document in unique_documents(source, notes, max_chars, refuse):
        documents += 1
        characters += len(document.text)
        abstracts += document.text != document.title
        lacking -= {name for name in lacking if getattr(document, name)}
    faults = notes.faults()
    if not documents and not faults:
        raise no_documents(source)
    unread = []
    if source.encoding and (n := source.encoding.replaced):
        words = f"{n:,} characters" if n > 1 else "1 character"
        label = source.encoding.label
        unread = [f"{words} could not be read as {label}; U+FFFD stands for each."]
    warnings = (*unread, *notes.sentences(documents), *source.other_columns(lacking))
    fillable = notes.counts["fillable"]
    return CheckReport(documents, characters, warnings, faults, fillable, abstracts)


def unique_documents(
    source: Source,
    notes: Notes | None = None,
    max_chars: int | None = None,
    refuse: Refuse | None = None,
) -> Iterator[SourceDocument]:
    """The documents of a source, each once; exact repeats are left out and counted in ``notes``."""
    return _Reading(source, notes or Notes(), max_chars, refuse).unique()
