"""Judgments out, as files that others read, and in."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import ImportedJudgments, Project
from pages._common.kit import el, empty, facts, html, select
from pages._common.shared import error_boundary, escape_label, note, uploader, with_marks

SPREADSHEET = "spreadsheet"
FORMATS = {
    "trec": "TREC qrels",
    "beir": "BEIR",
    "csv": "CSV, with notes and times",
    SPREADSHEET: "CSV for spreadsheets",
    "jsonl": "JSONL, with notes and times",
    "hand-over": "Full annotator export",
}
ADJUDICATED, EACH = "adjudicated", "each annotator"
MEGABYTES = 100
_SAID = "annotate_imported"


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
    people = list(dict.fromkeys(j.annotator for j in judgments if j.origin != "adjudication"))
    if not people:
        empty("No judgments in this project yet.")
        return
    kind = select("Format", FORMATS, "annotate_as")
    whole = kind == "hand-over"
    choices = people if whole else [ADJUDICATED, EACH, *people]
    chosen = st.selectbox("Grades", choices, key=f"annotate_whose_{whole}", format_func=with_marks)
    median = audit = False
    if not whole and chosen == ADJUDICATED:
        words = "Otherwise items with disagreements are left out. Uses the lower median."
        label = "Use the median for undecided items"
        median = st.toggle(label, key="annotate_median", help=words)
    if not whole and any(j.origin == "audit" for j in judgments):
        words = "Grades that people gave to check a model are left out otherwise."
        audit = st.checkbox("Include audit grades", key="annotate_audit", help=words)
    exported = explorer.annotation.exchange.export(
        project,
        "csv" if kind == SPREADSHEET else kind,
        per_annotator=chosen == EACH,
        annotator="" if chosen in (ADJUDICATED, EACH) else chosen,
        median=median,
        spreadsheet=kind == SPREADSHEET,
        audit=audit,
    )
    name, data = packed(exported.held(), f"{project.name or project.corpus}-{kind}.zip")
    label, key = escape_label(f"Download {name}"), "annotate_download"
    st.download_button(label, data, name, key=key, on_click="ignore", type="primary")
    for text in exported.notes:
        facts(text)


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
    _report()
    words = "Not used in qrels unless enabled under Project; never used as examples."
    by_model = st.toggle("Grades by a model", key="annotate_import_by_model", help=words)
    adjudicated = False
    if by_model:
        name = st.text_input("Model", key="annotate_import_model", placeholder="model name")
    else:
        words = "For files without annotators, such as TREC and BEIR."
        name = st.text_input("Default annotator", who, key="annotate_import_who", help=words)
        adjudicated = st.toggle("Adjudicated", key="annotate_import_adjudicated")
    words, key = "Earlier grades stay in the history.", "annotate_import_overwrite"
    overwrite = st.toggle("File overrides existing grades", key=key, help=words)

    def take(file: str, content: bytes) -> None:
        path, how = explorer.library.save_upload(file, content), explorer.annotation.exchange
        kinds: Any = {"adjudicated": adjudicated, "by_model": by_model, "overwrite": overwrite}
        st.session_state[_SAID] = how.import_(
            project.corpus, path, project.name, annotator=name, **kinds
        )

    words = "Importing a file twice changes nothing. A file with invalid lines is refused."
    label = "TREC, BEIR (TSV or ZIP), CSV, JSONL or full annotator export"
    uploader(label, "annotate_upload", take, megabytes=MEGABYTES, help_=words)


def _report() -> None:
    """What the last import did, once."""
    imported: ImportedJudgments | None = st.session_state.pop(_SAID, None)
    if imported is None:
        return
    new = counted(imported.added, "judgment is", "judgments are")
    note(f"{new} new; {imported.known:,} already stored.")
    for title, lines in (("Conflicts", imported.conflicts), ("Skipped", imported.warnings)):
        if lines:
            with st.expander(f"{title} ({len(lines)})", expanded=True):
                st.html(html(el("div", line) for line in lines[:200]))
