"""Adding documents: choose a source, see how it would be read, name it, index it."""

from __future__ import annotations

import hashlib
import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.corpora import ImportJob, Preview
from engine.types.documents import SourceDocument
from engine.types.lenses import Lens
from pages._common.shared import attempt_at, error_boundary, forget_problem, note, show_problem
from pages._library.corpus_list import cut
from pages._library.lens_editor import choose_lens
from pages._login import login

ENDINGS = ["jsonl", "ndjson", "csv", "tsv", "parquet", "bib", "ris"]
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
CELL_CHARACTERS = 300
SENTENCES, SENTENCE_CHARACTERS = 12, 400


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
    # One key for every source and format: a guess for one file is none for the next.
    source = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    chosen = st.session_state.get(f"library_format_{source}", "auto")
    guess = None
    with error_boundary():
        guess = explorer.library.preview(path, chosen)
    _format(explorer, source, guess)
    if guess is None:
        return
    key = f"{source}_{guess.source_format}"
    mapping = _mapping(guess, key)
    with error_boundary():
        shown = explorer.library.preview(path, chosen, mapping) if mapping else guess
        _preview(explorer, shown)
        _index(explorer, path, chosen, mapping, shown, documents, running)


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
        "JSONL, CSV, TSV, Parquet, BibTeX or RIS",
        type=ENDINGS,
        key=widget,
        on_change=take,
    )
    stored = st.session_state.get("library_uploaded")
    if stored and st.session_state.get(widget) is None:
        st.text(f"Uploaded before: {Path(stored).name}")
    return Path(stored) if stored else None


# -- how it is read --------------------------------------------------------------------------


def _format(explorer: Explorer, source: str, guess: Preview | None) -> None:
    automatic = f"detected: {guess.source_format}" if guess else "detect"
    st.selectbox(
        "Format",
        ["auto", *explorer.library.formats],
        format_func=lambda name: automatic if name == "auto" else name,
        key=f"library_format_{source}",
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
                format_func=lambda column: column or "(none)",
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


def _preview(explorer: Explorer, shown: Preview) -> None:
    if shown.rows:
        st.dataframe(table(shown), hide_index=True, key="library_rows", height="content")
    for words in shown.problems:
        note(words, kind="error")
    if shown.documents:
        st.html(card(shown.documents[0], explorer.library.sentences_of(shown.documents[0])))


def table(shown: Preview) -> pd.DataFrame:
    """The first rows as they are, every cell as text; long ones are cut."""
    rows = [[_cell(row.get(column)) for column in shown.columns] for row in shown.rows]
    return pd.DataFrame(rows, columns=list(shown.columns), dtype=str)


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return cut(text, CELL_CHARACTERS)


def card(document: SourceDocument, sentences: list[str]) -> str:
    """The first document as it will be read; everything from the file is escaped."""

    def safe(text: str, most: int) -> str:
        return html.escape(cut(text, most))

    people = ", ".join(document.authors[:5]) + (" …" if len(document.authors) > 5 else "")
    facts = [str(document.year or ""), people, document.url or "", f"id {document.doc_id}"]
    about = " · ".join(safe(fact, 200) for fact in facts if fact)
    lines = "".join(f"<li>{safe(s, SENTENCE_CHARACTERS)}</li>" for s in sentences[:SENTENCES])
    more = len(sentences) - SENTENCES
    rest = f'<div style="opacity:.75">and {more:,} more sentences</div>' if more > 0 else ""
    return (
        '<div style="max-width:75ch;overflow-wrap:anywhere">'
        '<div style="opacity:.75">The first document, as it will be read</div>'
        f"<strong>{safe(document.title, 300) or '(no title)'}</strong>"
        f'<div style="opacity:.75">{about}</div>'
        f'<ol style="margin:.3rem 0">{lines}</ol>{rest}</div>'
    )


# -- naming and starting ------------------------------------------------------------------------


def _index(
    explorer: Explorer,
    path: Path,
    source_format: str,
    mapping: Mapping[str, str],
    shown: Preview,
    documents: Mapping[str, int],
    running: set[str],
) -> None:
    folder = path.resolve()
    name = st.text_input(
        "Name of the corpus",
        value=explorer.library.suggest_name(folder.name if folder.is_dir() else folder.stem),
        key=f"library_name_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}",
        live="300ms",
        persist_state="session",
        width=420,
    )
    fits = _name_fits(explorer, name, documents, running)
    lens = _lens(explorer, name, is_there=name in documents) if fits else None
    columns = _roles(shown, mapping, str(path))
    if shown.problems:
        st.caption(
            "Nothing is indexed while a row cannot be read: correct the file or the columns."
        )
    st.button(
        "Index",
        key="library_index",
        type="primary",
        disabled=not fits or bool(shown.problems) or lens is None,
        on_click=attempt_at,
        args=("imports", _start, explorer, path, name, source_format, columns, lens),
    )


def _lens(explorer: Explorer, name: str, *, is_there: bool) -> Lens | None:
    """The lens to import with; a corpus that is there keeps its own."""
    if is_there:
        own = explorer.library.lens(name)
        st.text(f"Its lens: {own.name}.")
        return own
    return choose_lens(explorer, "library_new")


def _roles(shown: Preview, mapping: Mapping[str, str], source: str) -> Mapping[str, str]:
    """The columns to read; without the sentence roles if the person does not want them."""
    if not shown.mapping.get("roles"):
        return mapping
    use = st.checkbox(
        "Use the roles that the source gives its sentences",
        value=True,
        key=f"library_roles_{hashlib.sha256(source.encode()).hexdigest()[:8]}",
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
    path: Path,
    name: str,
    source_format: str,
    mapping: Mapping[str, str],
    lens: Lens | None,
) -> ImportJob:
    owner = login.owner()
    job = explorer.library.start_import(path, name, source_format, mapping, lens, owner)
    # An empty form says that this one is under way; the uploader only forgets under a new key.
    st.session_state["library_uploads"] = st.session_state.get("library_uploads", 0) + 1
    st.session_state.pop("library_uploaded", None)
    st.session_state["library_path"] = ""
    return job
