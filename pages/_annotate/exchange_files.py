"""Judgments out, as files that others read, and in."""

from __future__ import annotations

import io
import zipfile

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import ImportedJudgments, Project
from pages._common.outside_text import escape, with_marks
from pages._common.shared import error_boundary, escape_label, note, uploader

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
        st.html('<div class="sl-empty">No judgments in this project yet.</div>')
        return
    kind = st.selectbox("Format", list(FORMATS), format_func=FORMATS.__getitem__, key="annotate_as")
    whole = kind == "hand-over"
    choices = people if whole else [ADJUDICATED, EACH, *people]
    chosen = st.selectbox("Grades", choices, key=f"annotate_whose_{whole}", format_func=with_marks)
    median = False
    if not whole and chosen == ADJUDICATED:
        median = st.toggle(
            "Use the median for undecided items", key="annotate_median",
            help="Otherwise items with disagreements are left out. Uses the lower median.",
        )  # fmt: skip
    audit = False
    if not whole and any(j.origin == "audit" for j in judgments):
        audit = st.checkbox(
            "Include audit grades", key="annotate_audit",
            help="Grades that people gave to check a model are left out otherwise.",
        )  # fmt: skip
    exported = explorer.annotation.exchange.export(
        project,
        "csv" if kind == SPREADSHEET else kind,
        per_annotator=chosen == EACH,
        annotator="" if chosen in (ADJUDICATED, EACH) else chosen,
        median=median,
        spreadsheet=kind == SPREADSHEET,
        audit=audit,
    )
    made = exported.held()
    name, data = packed(made, f"{project.name or project.corpus}-{kind}.zip")
    st.download_button(
        escape_label(f"Download {name}"), data=data, file_name=name, key="annotate_download",
        on_click="ignore", type="primary",
    )  # fmt: skip
    for text in exported.notes:
        st.html(f'<div class="sl-facts">{escape(text)}</div>')


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
    by_model = st.toggle(
        "Grades by a model", key="annotate_import_by_model",
        help="Not used in qrels unless enabled under Project; never used as examples.",
    )  # fmt: skip
    adjudicated = False
    if by_model:
        name = st.text_input("Model", key="annotate_import_model", placeholder="model name")
    else:
        name = st.text_input(
            "Default annotator", who, key="annotate_import_who",
            help="For files without annotators, such as TREC and BEIR.",
        )  # fmt: skip
        adjudicated = st.toggle("Adjudicated", key="annotate_import_adjudicated")
    overwrite = st.toggle(
        "File overrides existing grades", key="annotate_import_overwrite",
        help="Earlier grades stay in the history.",
    )  # fmt: skip

    def take(file: str, content: bytes) -> None:
        path = explorer.library.save_upload(file, content)
        st.session_state[_SAID] = explorer.annotation.exchange.import_(
            project.corpus, path, project.name, annotator=name, adjudicated=adjudicated,
            by_model=by_model, overwrite=overwrite,
        )  # fmt: skip

    uploader(
        "TREC, BEIR (TSV or ZIP), CSV, JSONL or full annotator export", "annotate_upload", take,
        megabytes=MEGABYTES, help_="Importing a file twice changes nothing. A file with invalid "
        "lines is refused.",
    )  # fmt: skip


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
                st.html("<br>".join(escape(line) for line in lines[:200]))
