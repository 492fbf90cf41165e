"""Adding documents: choose a source, see how it would be read, name it, index it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.corpora import ImportJob, Preview
from engine.types.lenses import Lens
from engine.types.repairs import CheckReport, Repairs
from pages._common.outside_text import with_marks
from pages._common.shared import (
    attempt_at,
    error_boundary,
    forget_problem,
    note,
    remembered,
    show_problem,
)
from pages._library.import_choices import ask_about, chosen_repairs, what_comes_of_it
from pages._library.import_preview import show_preview
from pages._library.lens_editor import choose_lens
from pages._login import login

ENDINGS = ["jsonl", "ndjson", "csv", "tsv", "txt", "parquet", "bib", "ris"]
UPLOAD, PLACE = "Upload", "Folder or file on this machine"
FIELDS = {
    "doc_id": "Id",
    "title": "Title",
    "text": "Text",
    "year": "Year",
    "authors": "Authors",
    "url": "Link",
}
NO_COLUMN = ""
AUTOMATIC = "Detect"


def add_documents(explorer: Explorer, documents: Mapping[str, int], running: set[str]) -> None:
    """The whole form.

    Args:
        documents: corpus name -> documents it holds.
        running: names of corpora that are being indexed.
    """
    show_problem("imports", keep=True)
    path = _source(explorer)
    if path is None:
        return
    # Choices belong to the file's name: they hold when a corrected file of that name is chosen.
    uploaded = explorer.home.uploads in path.parents
    key = _digest(path.name if uploaded else str(path))
    st.subheader("How it is read", anchor=False)
    reading = _Reading(explorer, path, key)
    with error_boundary():
        reading.look()
    reading.ask_format()
    guess = reading.guess
    if guess is None:
        return
    with error_boundary():
        mapping = _mapping(guess, _digest(f"{guess.columns}{guess.source_format}"))
        repairs = chosen_repairs(reading.encoding, reading.delimiter, guess.source_format, key)
        shown = explorer.library.preview(path, reading.source_format, mapping, repairs)
        show_preview(explorer, shown)
        columns = _roles(shown, mapping, key)
        report = _check(explorer, path, reading.source_format, columns, repairs)
        ask_about(report, key, path.stem)
        what_comes_of_it(report)
        ready = report.documents > 0 and not report.refused
        _index(explorer, reading, columns, repairs, ready, documents, running)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


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
        with st.spinner("Checking every row"):
            return explorer.library.examine(path, source_format, mapping, repairs)

    return remembered("library_check", basis, read)


# -- the source ----------------------------------------------------------------------------


def _source(explorer: Explorer) -> Path | None:
    way = st.segmented_control(
        "Where the documents are",
        [UPLOAD, PLACE],
        default=UPLOAD,
        required=True,
        key="library_way",
        persist_state="session",
    )
    if way == UPLOAD:
        return _upload(explorer)
    text = st.text_input(
        "Path of a file, or of a folder (BEIR, CSFCube)",
        key="library_path",
        persist_state="session",
        placeholder="/home/me/papers.jsonl",
        on_change=forget_problem,
    )
    # Path.expanduser raises when there is no such person; a path that is not there is told below.
    plain = os.path.expanduser(text.strip())  # noqa: PTH111
    return Path(plain) if plain else None


def _upload(explorer: Explorer) -> Path | None:
    # The uploader forgets its file when the page is left; the file itself is kept.
    widget = f"library_file_{st.session_state.get('library_uploads', 0)}"

    def take() -> None:
        file = st.session_state[widget]
        st.session_state.pop("library_uploaded", None)
        if file is not None:
            attempt_at("imports", store, file.name, file.getvalue())

    def store(name: str, content: bytes) -> None:
        st.session_state["library_uploaded"] = str(explorer.library.save_upload(name, content))

    st.file_uploader(
        "JSONL, CSV, TSV, Excel's text, Parquet, BibTeX or RIS",
        type=ENDINGS,
        key=widget,
        on_change=take,
    )
    stored = st.session_state.get("library_uploaded")
    if stored and st.session_state.get(widget) is None:
        st.text(f"Uploaded before: {Path(stored).name}")
    return Path(stored) if stored else None


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
        self.encoding, self.delimiter = self._chosen("encoding"), self._chosen("delimiter")

    def _chosen(self, part: str) -> str:
        return st.session_state.get(f"library_{part}_{self.key}") or ""

    def look(self) -> None:
        """Read the first rows; raises BadInputError when that is impossible."""
        repairs = Repairs(encoding=self.encoding, delimiter=self.delimiter)
        self.guess = self._library.preview(self.path, self.source_format, repairs=repairs)

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
        if guess is not None:
            encoding = library.encodings.get(guess.encoding, guess.encoding.upper())
            mark = library.delimiters.get(guess.delimiter, guess.delimiter)
            used = [guess.source_format, encoding, mark and f"fields parted by {mark}"]
            st.text(f"Read as {', '.join(filter(None, used))}.")

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
                help="The column that holds it.",
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
    st.subheader("The corpus", anchor=False)
    name = st.text_input(
        "Name of the corpus",
        value=explorer.library.suggest_name(folder.name if folder.is_dir() else folder.stem),
        key=f"library_name_{reading.key}",
        live="300ms",
        persist_state="session",
        width=420,
    )
    fits = _name_fits(explorer, name, documents, running)
    lens = _lens(explorer, name, is_there=name in documents) if fits else None
    st.button(
        "Index",
        key="library_index",
        type="primary",
        disabled=not (fits and ready and lens),
        on_click=attempt_at,
        args=("imports", _start, explorer, reading, name, mapping, lens, repairs),
    )


def _lens(explorer: Explorer, name: str, *, is_there: bool) -> Lens | None:
    """The lens to import with; a corpus that is there keeps its own."""
    if is_there:
        own = explorer.library.lens(name)
        st.text(f"Its lens: {own.name}.")
        return own
    return choose_lens(explorer, "library_new")


def _roles(shown: Preview, mapping: Mapping[str, str], key: str) -> Mapping[str, str]:
    """The columns to read; without the sentence roles if the person does not want them."""
    if not shown.mapping.get("roles"):
        return mapping
    use = st.checkbox(
        "Use the roles that the source gives its sentences",
        value=True,
        key=f"library_roles_{key}",
        persist_state="session",
        help="Otherwise they are estimated, as for documents without roles.",
    )
    return mapping if use else {**mapping, "roles": NO_COLUMN}


def _name_fits(
    explorer: Explorer, name: str, documents: Mapping[str, int], running: set[str]
) -> bool:
    try:
        explorer.library.check_name(name)
    except SeedLensError as error:
        note(error.message, error.remedy, kind="error")
        return False
    if name in running:
        note(f"{name} is being indexed.", "Wait until it is done, or cancel it below.")
        return False
    if name in documents:
        note(
            f"{name} exists and holds {documents[name]:,} documents: these will be added to it.",
            "A document whose id is there already takes the place of the old one.",
        )
    elif name in explorer.library.deleted():
        note(f"A corpus called {name} was deleted.", "It cannot be brought back after this.")
    return True


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
