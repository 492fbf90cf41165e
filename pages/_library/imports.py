"""Adding documents: choose a source, see how it would be read, name it, index it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from engine.explorer import Explorer
from engine.types.corpora import CheckReport, PdfParts, Preview, Repairs
from engine.types.lenses import Lens
from pages._common.kit import segments, select
from pages._common.shared import (
    attempt_at,
    error_boundary,
    forget_problem,
    note,
    remembered,
    show_problem,
)
from pages._library.import_choices import ask_about, chosen_repairs, show_preview, what_comes_of_it
from pages._library.naming import Naming
from pages._library.sources import from_datasets, from_services
from pages._login import login

ENDINGS = [
    *("jsonl", "ndjson", "json", "csv", "tsv", "txt", "xlsx", "parquet", "bib", "ris", "nbib"),
    *("ciw", "enw", "xml", "gz", "pdf", "zip"),
]
WAYS = ("Upload", "Folder or file", "Online service", "Test collection")
UPLOAD, PLACE, SERVICE, DATASET = WAYS
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
_CHOSEN = tuple(
    f"library_{one}"
    for one in (
        *("path", "uploaded", "format_", "encoding_", "delimiter_", "pdf_", "map_", "roles_"),
        *("choice_", "fill_"),
    )
)
"""Keys of what an import goes by; see :func:`as_drawn`."""


def add_documents(explorer: Explorer, documents: Mapping[str, int], running: set[str]) -> None:
    """The whole form.

    Args:
        documents: corpus name -> documents it holds.
        running: names of corpora that are being indexed.
    """
    show_problem("imports", keep=True)
    naming = Naming(explorer, documents, running)
    way = segments("Source", dict(zip(WAYS, WAYS, strict=True)), "library_way")
    if way in (SERVICE, DATASET):
        with error_boundary():
            (from_services if way == SERVICE else from_datasets)(naming)
        return
    path = _upload(explorer) if way == UPLOAD else _place()
    if path is not None:
        _from_file(naming, path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


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

    label = (
        "PDFs (or a zip of them), or one file: JSON, CSV, Excel, Parquet, or references (RIS, "
        "BibTeX, PubMed, Web of Science, EndNote)"
    )
    chosen = st.file_uploader(
        label, type=ENDINGS, accept_multiple_files=True, key=widget, on_change=take
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


def _from_file(naming: Naming, path: Path) -> None:
    """How a file or folder is read, what becomes of its rows, and the button that indexes it."""
    library = naming.explorer.library
    # Choices belong to the file's name: they hold when a corrected file of that name is chosen.
    uploaded = naming.explorer.home.uploads in path.parents
    key = _digest(path.name if uploaded else str(path))
    st.subheader("Format", anchor=False)

    def chosen(part: str) -> str:
        return st.session_state.get(f"library_{part}_{key}") or ""

    guess, source_format = None, chosen("format") or "auto"
    parts: PdfParts = "sections" if chosen("pdf") == "sections" else "papers"
    read_as = Repairs(chosen("encoding"), chosen("delimiter"), pdf=parts)
    with error_boundary():
        guess = library.preview(path, source_format, repairs=read_as)
    _ask_format(naming.explorer, guess, key)
    if guess is None:
        return
    with error_boundary():
        of_pdf = guess.source_format == PDF
        columns_key = _digest(f"{guess.columns}{guess.source_format}")
        mapping = {} if of_pdf else _mapping(guess, columns_key)
        repairs = chosen_repairs(read_as, guess.source_format, key)
        shown = library.preview(path, source_format, mapping, repairs)
        show_preview(naming.explorer, shown)
        columns = _roles(shown, mapping, key)
        report = _check(naming.explorer, path, source_format, columns, repairs)
        if _lacks_text(shown, report):
            note("No text column found.", "Choose a column under Text.")
        else:
            if of_pdf:  # files that cannot be read are left out in any case, and named below
                faults = tuple(fault for fault in report.faults if fault.kind != "broken")
                report = replace(report, faults=faults)
            ask_about(report, key, path.stem)
            what_comes_of_it(report)
        if report.fillable:
            repairs = replace(repairs, fill_abstracts=_fill(report.fillable, key))

        def start(name: str, lens: Lens) -> None:
            owner = login.owner()
            library.start_import(path, name, source_format, columns, lens, owner, repairs)
            # An empty form says that this one is under way; the uploader only forgets under a
            # new key.
            st.session_state["library_uploads"] = st.session_state.get("library_uploads", 0) + 1
            st.session_state.pop("library_uploaded", None)
            st.session_state["library_path"] = ""

        folder = path.resolve()
        suggested = folder.name if folder.is_dir() else folder.stem
        ready = report.documents > 0 and not report.refused
        naming.start(suggested, key, "Index", "library_index", start, _CHOSEN, ready=ready)


def _ask_format(explorer: Explorer, guess: Preview | None, key: str) -> None:
    """Format, encoding and delimiter, and what is in use."""
    library = explorer.library
    boxes = {"format": ("Format", {"auto": AUTOMATIC, **{name: name for name in library.formats}})}
    if guess is None or guess.encoding:
        boxes["encoding"] = ("Encoding", {"": AUTOMATIC, **library.encodings})
    if guess is not None and guess.delimiter:
        boxes["delimiter"] = ("Delimiter", {"": AUTOMATIC, **library.delimiters})
    if guess is not None and guess.source_format == PDF:
        boxes["pdf"] = ("Document unit", PARTS)
    with st.container(horizontal=True, gap="small"):
        for part, (label, names) in boxes.items():
            # Labels stay as they are: a browser sends the label that it was shown.
            select(label, names, f"library_{part}_{key}", persist_state="session", width=260)
    if guess is not None:
        encoding = library.encodings.get(guess.encoding, guess.encoding.upper())
        mark = library.delimiters.get(guess.delimiter, guess.delimiter)
        used = [guess.source_format, encoding, mark and f"delimiter: {mark}"]
        st.text(f"Using {', '.join(filter(None, used))}.")


def _mapping(guess: Preview, key: str) -> dict[str, str]:
    """What the person chose; empty while everything is as guessed."""
    columns = [NO_COLUMN, *dict.fromkeys([*guess.columns, *guess.mapping.values()])]
    names = {column: column or "(none)" for column in columns}
    guessed = {field: guess.mapping.get(field, NO_COLUMN) for field in FIELDS}
    chosen = {}
    with st.container(horizontal=True, gap="small"):
        for field, label in FIELDS.items():
            chosen[field] = select(
                label,
                names,
                f"library_map_{field}_{key}",
                index=columns.index(guessed[field]),
                persist_state="session",
                help="Source column.",
                width=170,
            )
    if chosen == guessed:
        return {}
    # All of them: a choice for one field must not move the guess for another behind one's back.
    known = {NO_COLUMN, *guess.columns}
    return {field: column for field, column in chosen.items() if column in known}


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


def _check(
    explorer: Explorer, path: Path, source_format: str, mapping: Mapping[str, str], repairs: Repairs
) -> CheckReport:
    """What importing the whole file would meet; read again when something changed."""
    there = path.stat()
    basis = (path, there.st_mtime_ns, there.st_size, source_format, dict(mapping), repairs)

    def read() -> CheckReport:
        with st.spinner("Validating"):
            return explorer.library.examine(path, source_format, mapping, repairs)

    return remembered("library_check", basis, read)
