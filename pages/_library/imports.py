"""Adding documents: choose a source, see how it would be read, name it, index it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from engine.explorer import Explorer
from engine.types.corpora import CheckReport, ImportJob, PdfParts, Preview, Repairs
from engine.types.lenses import Lens
from pages._common.outside_text import with_marks
from pages._common.shared import (
    attempt_at,
    error_boundary,
    forget_problem,
    note,
    remembered,
    show_problem,
)
from pages._library.from_datasets import from_datasets
from pages._library.from_services import from_services
from pages._library.import_choices import ask_about, chosen_repairs, what_comes_of_it
from pages._library.import_preview import show_preview
from pages._library.naming import ask_name, start_button
from pages._login import login

ENDINGS = [
    *("jsonl", "ndjson", "json", "csv", "tsv", "txt", "xlsx", "parquet", "bib", "ris", "nbib"),
    *("ciw", "enw", "xml", "gz", "pdf", "zip"),
]
UPLOAD, PLACE = "Upload", "Folder or file"
SERVICE, DATASET = "Online service", "Test collection"
FIELDS = {
    "doc_id": "Id",
    "title": "Title",
    "text": "Text",
    "year": "Year",
    "authors": "Authors",
    "url": "Link",
}
PDF = "pdf"
PARTS = {"papers": "Paper (abstract)", "sections": "Abstract and sections"}
NO_COLUMN = ""
AUTOMATIC = "Detect"
_CHOSEN = (
    "library_path", "library_uploaded", "library_format_", "library_encoding_",
    "library_delimiter_", "library_pdf_", "library_map_", "library_roles_", "library_choice_",
    "library_fill_",
)  # fmt: skip
"""Keys of what an import goes by; see :func:`as_drawn`."""


def add_documents(explorer: Explorer, documents: Mapping[str, int], running: set[str]) -> None:
    """The whole form.

    Args:
        documents: corpus name -> documents it holds.
        running: names of corpora that are being indexed.
    """
    show_problem("imports", keep=True)
    way = st.segmented_control(
        "Source",
        [UPLOAD, PLACE, SERVICE, DATASET],
        default=UPLOAD,
        required=True,
        key="library_way",
        persist_state="session",
    )
    if way in (SERVICE, DATASET):
        with error_boundary():
            form = from_services if way == SERVICE else from_datasets
            form(explorer, documents, running)
        return
    path = _upload(explorer) if way == UPLOAD else _place()
    if path is None:
        return
    # Choices belong to the file's name: they hold when a corrected file of that name is chosen.
    uploaded = explorer.home.uploads in path.parents
    key = _digest(path.name if uploaded else str(path))
    st.subheader("Format", anchor=False)
    reading = _Reading(explorer, path, key)
    with error_boundary():
        reading.look()
    reading.ask_format()
    guess = reading.guess
    if guess is None:
        return
    with error_boundary():
        of_pdf = guess.source_format == PDF
        mapping = (
            {} if of_pdf else _mapping(guess, _digest(f"{guess.columns}{guess.source_format}"))
        )
        repairs = chosen_repairs(reading.repairs, guess.source_format, key)
        shown = explorer.library.preview(path, reading.source_format, mapping, repairs)
        show_preview(explorer, shown)
        columns = _roles(shown, mapping, key)
        report = _check(explorer, path, reading.source_format, columns, repairs)
        if _lacks_text(shown, report):
            note("No text column found.", "Choose a column under Text.")
        else:
            # Files that cannot be read are left out in any case, and named below.
            ask_about(_without_broken(report) if of_pdf else report, key, path.stem)
            what_comes_of_it(report)
        if report.fillable:
            repairs = replace(repairs, fill_abstracts=_fill(report.fillable, key))
        ready = report.documents > 0 and not report.refused
        _index(explorer, reading, columns, repairs, ready, documents, running)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


def _fill(documents: int, key: str) -> bool:
    """Whether abstracts that are missing are to be looked up."""
    which = "1 document has" if documents == 1 else f"{documents:,} documents have"
    return st.checkbox(
        f"Look up missing abstracts: {which} a DOI but no text",
        key=f"library_fill_{key}",
        persist_state="session",
        help="Sends DOIs to OpenAlex and Crossref.",
    )


def _lacks_text(shown: Preview, report: CheckReport) -> bool:
    """Whether no row has a text because no column is read as one: leaving rows out is no answer."""
    empty = any(fault.kind == "empty" and fault.refused for fault in report.faults)
    columns = (shown.mapping.get(field) for field in ("text", "sentences", "title"))
    return empty and not report.documents and not any(columns)


def _without_broken(report: CheckReport) -> CheckReport:
    faults = tuple(fault for fault in report.faults if fault.kind != "broken")
    return replace(report, faults=faults)


def _check(
    explorer: Explorer,
    path: Path,
    source_format: str,
    mapping: Mapping[str, str],
    repairs: Repairs,
) -> CheckReport:
    """What importing the whole file would meet; read again when something changed."""
    there = path.stat()
    basis = (path, there.st_mtime_ns, there.st_size, source_format, dict(mapping), repairs)

    def read() -> CheckReport:
        with st.spinner("Validating"):
            return explorer.library.examine(path, source_format, mapping, repairs)

    return remembered("library_check", basis, read)


# -- the source ----------------------------------------------------------------------------


def _place() -> Path | None:
    text = st.text_input(
        "Path of a file or folder (PDFs, BEIR, CSFCube)",
        key="library_path",
        persist_state="session",
        placeholder="/home/me/papers.jsonl",
        on_change=forget_problem,
    )
    return Path(text.strip()) if text.strip() else None


def _upload(explorer: Explorer) -> Path | None:
    # The uploader forgets its file when the page is left; the file itself is kept.
    widget = f"library_file_{st.session_state.get('library_uploads', 0)}"

    def take() -> None:
        files = [(file.name, file.getvalue()) for file in st.session_state[widget]]
        st.session_state.pop("library_uploaded", None)
        if files:
            attempt_at("imports", store, files)

    def store(files: Sequence[tuple[str, bytes]]) -> None:
        library = explorer.library
        together = len(files) > 1 and _all_pdfs(name for name, _ in files)
        path = library.save_papers(files) if together else library.save_upload(*files[-1])
        st.session_state["library_uploaded"] = str(path)

    chosen = st.file_uploader(
        "PDFs (or a zip of them), or one file: JSON, CSV, Excel, Parquet, or references (RIS, "
        "BibTeX, PubMed, Web of Science, EndNote)",
        type=ENDINGS,
        accept_multiple_files=True,
        key=widget,
        on_change=take,
    )
    if len(chosen) > 1 and not _all_pdfs(file.name for file in chosen):
        last = chosen[-1].name
        note(f"Only {last} will be imported.", "Upload several files as PDFs only.")
    stored = st.session_state.get("library_uploaded")
    if stored and not chosen:
        st.text(f"Uploaded earlier: {Path(stored).name}")
    return Path(stored) if stored else None


def _all_pdfs(names: Iterable[str]) -> bool:
    return all(name.lower().endswith(".pdf") for name in names)


# -- how it is read --------------------------------------------------------------------------


class _Reading:
    """Format, encoding and delimiter of a file, as detected or chosen.

    Attributes:
        guess: the first rows by these; None where they cannot be read.
    """

    def __init__(self, explorer: Explorer, path: Path, key: str) -> None:
        self.path, self.key = path, key
        self._library = explorer.library
        self.guess: Preview | None = None
        self.source_format: str = self._chosen("format") or "auto"
        parts: PdfParts = "sections" if self._chosen("pdf") == "sections" else "papers"
        self.repairs = Repairs(self._chosen("encoding"), self._chosen("delimiter"), pdf=parts)

    def _chosen(self, part: str) -> str:
        return st.session_state.get(f"library_{part}_{self.key}") or ""

    def look(self) -> None:
        """Read the first rows; raises BadInputError when that is impossible."""
        self.guess = self._library.preview(self.path, self.source_format, repairs=self.repairs)

    def ask_format(self) -> None:
        """The controls, and what is in use."""
        guess, library = self.guess, self._library
        formats = {"auto": AUTOMATIC, **{name: name for name in library.formats}}
        with st.container(horizontal=True, gap="small"):
            self._ask("Format", "format", formats)
            if guess is None or guess.encoding:
                self._ask("Encoding", "encoding", {"": AUTOMATIC, **library.encodings})
            if guess is not None and guess.delimiter:
                self._ask("Delimiter", "delimiter", {"": AUTOMATIC, **library.delimiters})
            if guess is not None and guess.source_format == PDF:
                self._ask("Document unit", "pdf", PARTS)
        if guess is not None:
            encoding = library.encodings.get(guess.encoding, guess.encoding.upper())
            mark = library.delimiters.get(guess.delimiter, guess.delimiter)
            used = [guess.source_format, encoding, mark and f"delimiter: {mark}"]
            st.text(f"Using {', '.join(filter(None, used))}.")

    def _ask(self, label: str, part: str, names: Mapping[str, str]) -> None:
        # Labels stay as they are: a browser sends the label that it was shown.
        st.selectbox(
            label,
            list(names),
            format_func=names.__getitem__,
            key=f"library_{part}_{self.key}",
            persist_state="session",
            width=260,
        )


def _mapping(guess: Preview, key: str) -> dict[str, str]:
    """What the person chose; empty while everything is as guessed."""
    columns = list(dict.fromkeys([*guess.columns, *guess.mapping.values()]))
    guessed = {field: guess.mapping.get(field, NO_COLUMN) for field in FIELDS}
    chosen = {}
    with st.container(horizontal=True, gap="small"):
        for field, label in FIELDS.items():
            chosen[field] = st.selectbox(
                label,
                [NO_COLUMN, *columns],
                index=[NO_COLUMN, *columns].index(guessed[field]),
                format_func=lambda column: with_marks(column) or "(none)",
                key=f"library_map_{field}_{key}",
                persist_state="session",
                help="Source column.",
                width=170,
            )
    if chosen == guessed:
        return {}
    # All of them: a choice for one field must not move the guess for another behind one's back.
    known = {NO_COLUMN, *guess.columns}
    return {field: column for field, column in chosen.items() if column in known}


# -- naming and starting ------------------------------------------------------------------------


def _index(
    explorer: Explorer,
    reading: _Reading,
    mapping: Mapping[str, str],
    repairs: Repairs,
    ready: bool,
    documents: Mapping[str, int],
    running: set[str],
) -> None:
    folder = reading.path.resolve()
    suggested = folder.name if folder.is_dir() else folder.stem
    name, lens = ask_name(explorer, suggested, reading.key, documents, running)
    start = partial(_start, explorer, reading, name, mapping, lens, repairs)
    start_button("Index", "library_index", start, _CHOSEN, disabled=not (ready and lens))


def _roles(shown: Preview, mapping: Mapping[str, str], key: str) -> Mapping[str, str]:
    """The columns to read; without the sentence roles if the person does not want them."""
    if not shown.mapping.get("roles"):
        return mapping
    use = st.checkbox(
        "Use the source's sentence roles",
        value=True,
        key=f"library_roles_{key}",
        persist_state="session",
        help="Otherwise roles are predicted.",
    )
    return mapping if use else {**mapping, "roles": NO_COLUMN}


def _start(
    explorer: Explorer,
    reading: _Reading,
    name: str,
    mapping: Mapping[str, str],
    lens: Lens | None,
    repairs: Repairs,
) -> ImportJob:
    job = explorer.library.start_import(
        *(reading.path, name, reading.source_format, mapping, lens, login.owner(), repairs)
    )
    # An empty form says that this one is under way; the uploader only forgets under a new key.
    st.session_state["library_uploads"] = st.session_state.get("library_uploads", 0) + 1
    st.session_state.pop("library_uploaded", None)
    st.session_state["library_path"] = ""
    return job
