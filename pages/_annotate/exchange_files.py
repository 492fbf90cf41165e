"""Judgments out, as files that others read, and in."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import ImportedJudgments, Project
from pages._common.kit import button, el, empty, facts, html, line, select
from pages._common.shared import (
    error_boundary,
    escape_label,
    note,
    remembered,
    uploader,
)

SPREADSHEET = "spreadsheet"
FORMATS = {
    "trec": "TREC qrels",
    "beir": "BEIR",
    "csv": "CSV, with notes and times",
    SPREADSHEET: "CSV for spreadsheets",
    "jsonl": "JSONL, with notes and times",
    "hand-over": "One annotator",
}
ADJUDICATED, EACH = "adjudicated", "each annotator"
MEGABYTES = 100
_SAID, _UPLOADED = "annotate_imported", "annotate_uploaded"
"""What the last import did, shown once; the project and path of a file that is not imported yet."""
PREVIEWED, PREVIEW_LINES = 4_000, 6
"""Bytes and lines of a file that are shown before it is downloaded."""


def files(explorer: Explorer, project: Project, who: str) -> None:
    """Export on the left, import on the right."""
    left, right = st.columns(2, gap="large")
    with left, error_boundary():
        _export(explorer, project)
    with right, error_boundary():
        _import(explorer, project, who)


def _export(explorer: Explorer, project: Project) -> None:
    st.header("Export", anchor=False)
    judgments = explorer.annotation.judgments(project)
    if not judgments:
        empty("No judgments in this project yet.")
        return
    words = "'One annotator' has a person's history; JSONL by each annotator moves all judgments."
    kind = select("Format", FORMATS, "annotate_as", help=words)
    whole = kind == "hand-over"
    judging = (j for j in judgments if whole or j.origin != "adjudication")
    people = {j.annotator: j.annotator for j in judging}
    all_of_them = {} if whole else {ADJUDICATED: ADJUDICATED, EACH: f"{EACH} (all judgments)"}
    chosen = select("Grades", all_of_them | people, f"annotate_whose_{whole}")
    median = audit = False
    if not whole and chosen == ADJUDICATED:
        words = "Otherwise items with disagreements are left out. Uses the lower median."
        label = "Use the median for undecided items"
        median = st.toggle(label, key="annotate_median", help=words)
    if not whole and any(j.origin == "audit" for j in judgments):
        words = "Grades that people gave to check a model are left out otherwise."
        audit = st.checkbox("Include audit grades", key="annotate_audit", help=words)
    spreadsheet = kind == SPREADSHEET
    whose: Any = {"median": median, "audit": audit, "per_annotator": chosen == EACH}
    whose["annotator"] = "" if chosen in (ADJUDICATED, EACH) else chosen
    exported = explorer.annotation.exchange.export(
        project, "csv" if spreadsheet else kind, spreadsheet=spreadsheet, **whose
    )
    made = exported.held()
    name, data = packed(made, f"{project.name or project.corpus}-{kind}.zip")
    for text in (f"{exported.counts}.", *exported.notes):
        facts(text)
    label, key = escape_label(f"Download {name}"), "annotate_download"
    st.download_button(label, data, name, key=key, on_click="ignore", type="primary")
    with st.expander("Preview"):
        for file, content in made.items():
            st.caption(escape_label(file))
            lines = content[:PREVIEWED].decode(errors="ignore").splitlines()[:PREVIEW_LINES]
            st.code("\n".join(lines), language=None)


def packed(made: dict[str, bytes], archive: str) -> tuple[str, bytes]:
    """One file as it is, several in an archive: its name and content."""
    if len(made) == 1:
        return next(iter(made.items()))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as folder:
        for name, content in made.items():
            folder.writestr(name, content)
    return archive, out.getvalue()


def _import(explorer: Explorer, project: Project, who: str) -> None:
    st.header("Import", anchor=False)
    words = "Not used in qrels unless enabled under Project; never used as examples."
    by_model = st.toggle("Grades by a model", key="annotate_import_by_model", help=words)
    adjudicated = False
    if by_model:
        name = st.text_input("Model", key="annotate_import_model", placeholder="model name")
    else:
        words = "For files without annotators, such as TREC and BEIR."
        name = st.text_input("Default annotator", who, key="annotate_import_who", help=words)
        words, key = "Each grade is the item's final decision.", "annotate_import_adjudicated"
        adjudicated = st.toggle("Adjudicated", key=key, help=words)
    words, key = "Earlier grades stay in the history.", "annotate_import_overwrite"
    overwrite = st.toggle("File overrides existing grades", key=key, help=words)
    state, whose = st.session_state, {"annotator": name, "adjudicated": adjudicated}
    kinds: Any = {**whose, "by_model": by_model, "overwrite": overwrite}

    def read(path: Path, *, dry_run: bool) -> ImportedJudgments:
        import_, place = explorer.annotation.exchange.import_, (project.corpus, path, project.name)
        return import_(*place, **kinds, dry_run=dry_run)

    def preview(path: Path) -> ImportedJudgments:
        """Read once for these settings and what is stored."""
        basis = (path, kinds, project, explorer.annotation.last_event(project))
        return remembered("annotate_previewed", basis, lambda: read(path, dry_run=True))

    def take(file: str, content: bytes) -> None:
        state[_SAID] = None
        path = explorer.library.save_upload(file, content)
        preview(path)  # refuses what is wrong
        state[_UPLOADED] = (project.key, path)

    def store() -> None:
        state[_SAID] = read(path, dry_run=False)
        del state[_UPLOADED]

    words = "Importing a file twice changes nothing. A file with invalid lines is refused."
    label = "TREC, BEIR (TSV or ZIP), CSV, JSONL or an export of one annotator"
    uploader(label, "annotate_upload", take, megabytes=MEGABYTES, help_=words)
    if done := state.pop(_SAID, None):
        new = counted(done.added, "judgment is", "judgments are")
        note(f"{new} new; {done.known:,} already stored.")
        _details(done)
    key, path = state.get(_UPLOADED, (None, Path()))
    if key != project.key:
        return
    about = st.container()
    with line():
        first = st.container(width="content")
        button("Cancel", "annotate_import_cancel", state.pop, _UPLOADED)
    found = preview(path)
    judgments = counted(found.added, "judgment")
    with about:
        facts(f"{path.name}: {found.counts}.")
        queries = counted(found.queries, "new query", "new queries")
        conflicts = counted(len(found.conflicts), "conflict")
        facts(f"{judgments} to add, {found.known:,} already stored, {conflicts}, {queries}.")
        _details(found)
    with first:
        look: Any = {"type": "primary", "disabled": not found.added}
        button(f"Import {judgments}", "annotate_import", store, **look)


def _details(imported: ImportedJudgments) -> None:
    for title, lines in (("Conflicts", imported.conflicts), ("Skipped", imported.warnings)):
        if lines:
            with st.expander(f"{title} ({len(lines)})", expanded=True):
                st.html(html(el("div", text) for text in lines[:200]))
