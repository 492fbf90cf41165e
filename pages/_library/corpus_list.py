"""The corpora on the Library page, one row each with what can be done with it, and imports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted, size
from engine.types.corpora import CorpusInfo, ImportJob, Progress
from engine.types.documents import Document
from pages._common.document_view import title_of
from pages._common.kit import Fields, button, el, facts, line, open_part, submit
from pages._common.shared import (
    attempt_at,
    confirm,
    error_boundary,
    escape,
    escape_label,
    show_problem,
)
from pages._common.tasks import JobCard, time_left
from pages._explore.explore_state import View
from pages._library import scenarios
from pages._library.imports import INTO, cut
from pages._library.lens import LensView
from pages._login import login

ROWS = 20
HEADS = ("Name", "Documents", "State", "Aspects", "Encoder", "Size", "Last change")
_PLACE, _SAVED = "corpora", "library_saved"
_LABELS = {"venue": "Journal", "doi": "DOI", "issn": "ISSN"}


def corpora_list(
    explorer: Explorer, corpora: list[CorpusInfo], running: Mapping[str, ImportJob]
) -> None:
    """All corpora, twenty to a page, under one head."""
    pages = -(-len(corpora) // ROWS)
    page = st.pagination(pages, key="library_page") if pages > 1 else 1
    left, _ = st.columns([8, 3])
    heads = (el("div.lib-cell", head) for head in HEADS)
    left.html(el("div.lib-row.lib-heads", heads, aria_hidden="true"))
    panels: list[str] = []  # corpora with a form for the model
    for info in corpora[(page - 1) * ROWS : page * ROWS]:
        with st.container(key=f"library_corpus_{info.name}", gap="xsmall"):
            _corpus(explorer, info, running.get(info.name), panels)


def undo_list(explorer: Explorer) -> None:
    """One line for every deleted corpus that can be brought back."""
    titles = explorer.library.titles()
    for name in explorer.library.deleted():
        with line():
            st.text(f"{titles[name]} was deleted.")
            key = f"library_undo_{name}"
            button("Undo", key, explorer.library.restore, name, place=_PLACE)


def _row(explorer: Explorer, info: CorpusInfo, job: ImportJob | None) -> None:
    """One corpus; on narrow screens each value has its head beside it, for readers always."""
    tag = el("span.sl-tag", "synthetic", title="Invented documents, to try SeedLens")
    changed = datetime.fromisoformat(info.updated_at).astimezone()
    state = f"incomplete: {info.documents:,} of {info.expected:,}"
    if job is not None:
        now = job.progress
        of = f" {now.done:,} of {now.total:,}" if now.phase == "indexing" else ""
        state = f"indexing{of}"
    elif info.state == "ready":
        state = "ready"
    day = el("span", f"{changed:%Y-%m-%d}", style="white-space:nowrap")
    values: tuple[Any, ...] = (
        (el("strong", info.title), explorer.library.is_synthetic(info) and (" ", tag)),
        f"{info.documents:,}",
        state,
        ", ".join(aspect.name for aspect in info.lens.aspects),
        Path(info.encoder).name,
        size(info.bytes),
        (day, f" {changed:%H:%M}"),
    )
    cells = (
        el("div.lib-cell", el("span.lib-label", head), " ", value)
        for head, value in zip(HEADS, values, strict=True)
    )
    st.html(el("div.lib-row", cells))


def _live_row(explorer: Explorer, name: str) -> None:
    with error_boundary():
        _row(explorer, explorer.library.corpus(name), explorer.library.jobs.running(name))


def _corpus(explorer: Explorer, info: CorpusInfo, job: ImportJob | None, panels: list[str]) -> None:
    name, library = info.name, explorer.library
    left, right = st.columns([8, 3], vertical_alignment="center")
    with left:
        if job is not None:  # no control stands in here: the clock's reruns would close a dialog
            st.fragment(_live_row, run_every=1.0)(explorer, name)
        else:
            _row(explorer, info, None)
            if info.state == "indexing":
                source = library.source_name(info.source)
                facts(f"Import {source} again into {info.title}. Stored documents are kept.")
    writing = explorer.scenarios.jobs.latest(name)
    busy = job is not None or (writing is not None and writing.running)
    why = "It is being indexed." if busy else None
    with right, st.container(horizontal=True, gap="small"):
        label = escape_label(info.title)
        if st.button(f"Open {label}", f"library_open_{name}", disabled=info.state != "ready"):
            View.elsewhere(corpus=name).go()
        into = partial(st.session_state.update, {INTO: name})
        add: Any = {"help": why or "Then choose a file at the top.", "disabled": busy}
        if st.button(f"Add to {label}", f"library_add_{name}", on_click=into, **add):
            st.toast("Choose a file at the top.")
        if info.state == "ready" and info.sources:
            look: Any = {"disabled": busy, "help": why or "Fetches new documents from its sources."}
            key, update = f"library_update_{name}", partial(library.update, name, login.owner())
            button(f"Update {label}", key, update, place=_PLACE, **look)
        if st.button(f"Delete {label}", f"library_delete_{name}", disabled=busy, help=why):
            _confirm(explorer, info)
    inside = open_part("Details", f"library_inside_{name}")
    if inside.open:
        with inside, error_boundary():
            _contents(explorer, info)
            if library.can_undo_import(name):
                look = {"help": "Takes back the last import or edit.", "disabled": busy}
                key = f"library_undo_import_{name}"
                button("Undo last change", key, library.undo_import, name, place=_PLACE, **look)
            _rename(explorer, info)
            if info.documents:
                idle = not busy and info.state == "ready"
                with st.expander("Edit record", key=f"library_edit_{name}", type="compact"):
                    st.fragment(_records)(explorer, info, not idle)
                edit = LensView(name).write
                st.button("Change lens", f"library_lens_{name}", on_click=edit, disabled=not idle)
    if info.documents and info.state == "ready":
        scenarios.section(explorer, info, writing, panels, job is not None)


def _rename(explorer: Explorer, info: CorpusInfo) -> None:
    key = f"library_rename_{info.name}"

    def rename() -> None:
        explorer.library.rename(info.name, st.session_state[f"{key}_to"])

    with st.form(key, border=False), line(align="bottom"):
        st.text_input("New name", info.title, key=f"{key}_to", width=320)
        submit("Rename", f"{key}_do", rename, place=_PLACE, help="Links keep working.")


def _records(explorer: Explorer, info: CorpusInfo, disabled: bool) -> None:
    """A document to find, and the form of its record."""
    with error_boundary():
        if document := scenarios.found_document(explorer, info.name, "library_edit"):
            facts("Editing: ", el("strong", title_of(document)))
            _record(explorer, info, document, disabled)


@st.dialog("Edit record", width="large")
def edit_record(explorer: Explorer, corpus: str, doc_id: str) -> None:
    """The form of a record, where it is read."""
    with error_boundary():
        info = explorer.library.corpus(corpus)
        _record(explorer, info, explorer.document(corpus, doc_id), disabled=False)


def show_saved() -> None:
    """That a record was saved, once."""
    if st.session_state.pop(_SAVED, False):
        st.toast("Saved.")


def _record(explorer: Explorer, info: CorpusInfo, document: Document, disabled: bool) -> None:
    at = f"{info.name}_{document.doc_id}_{info.updated_at}"
    fields, known = Fields("library_record", at), dict(document.metadata)
    drawn = {name: getattr(document, name) or "" for name in ("title", "text", "year", "url")}
    drawn["authors"] = "\n".join(document.authors)
    names = [
        name
        for name in explorer.library.citation_fields(known)
        if name not in {"doc_id", *drawn}  # as of a source with metadata of such a name
    ]
    drawn |= {name: "" if known.get(name) is None else known[name] for name in names}
    if drawn.get("doi") == "":  # an import may have it in the link only
        drawn["doi"] = (document.url or "").partition("https://doi.org/")[2]

    def save() -> None:
        changed = {n: typed for n, typed in fields.values.items() if typed != str(drawn[n])}
        if "authors" in changed:  # a name may have an "and" or a comma
            changed["authors"] = changed["authors"].split("\n")
        if changed:
            explorer.library.edit(info.name, document.doc_id, changed)
        st.session_state[_SAVED] = True

    with st.form(f"library_record_{at}", border=False):
        st.text_input("Title", drawn["title"], key=fields("title"))
        st.text_area("Abstract", drawn["text"], key=fields("text"), height=180)
        authors = drawn["authors"]
        st.text_area("Authors, one per line", authors, key=fields("authors"), height=90)
        year = str(drawn["year"])
        with st.container(horizontal=True, gap="small"):
            st.text_input("Year", year, key=fields("year"), width=160)
            st.text_input("Link", document.url or "", key=fields("url"), width=380)
            for name in names:
                value = str(drawn[name])
                label = _LABELS.get(name, escape_label(name.capitalize()))
                st.text_input(label, value, key=fields(name), width=160)
        show_problem(at, keep=True)
        submit("Save", f"library_save_{info.name}", save, place=at, disabled=disabled)
    if _SAVED in st.session_state:
        st.rerun()


@st.dialog("Delete this corpus?")
def _confirm(explorer: Explorer, info: CorpusInfo) -> None:
    kept = "Judgments, trails and source files are kept. You can undo this for 24 hours."
    holds = f" holds {info.documents:,} documents. {kept}"
    st.html(el("p", el("strong", info.title), holds))
    delete = explorer.library.delete
    confirm("Delete", "library_confirm", attempt_at, _PLACE, delete, info.name)


def _contents(explorer: Explorer, info: CorpusInfo) -> None:
    if not info.documents:
        st.text("No documents yet.")
        return
    contents = explorer.library.contents(info.name)
    years = "{} to {}".format(*contents.years) if contents.years else "none"
    if contents.years and contents.undated:
        years += f" ({contents.undated:,} without a year)"
    shares = " · ".join(f"{aspect.name} {share:.0%}" for aspect, share in contents.shares)
    if contents.sampled < info.documents:
        shares += f" (estimated from {contents.sampled:,} documents)"
    services = "; ".join(
        f"{one.name}, {str(one.query).partition(':')[2]}: "
        f"{counted(one.documents, 'document')} on {one.updated_at[:10]}"
        for one in info.sources
    )
    source = f"{explorer.library.source_name(info.source)} ({info.source_format})"
    if info.source in {str(one.query) for one in info.sources}:
        source = ""
    titles = el("ul", (el("li", cut(title, 200) or "(no title)") for title in contents.titles))
    known = {"First titles": titles, "Years": years, "Sentences by aspect": shares}
    known |= {"Source": source, "Services": services}
    pairs = ((el("dt.sl-dim", name), el("dd", value)) for name, value in known.items() if value)
    st.html(el("dl.lib-card", pairs))


# -- imports ---------------------------------------------------------------------------------

_PHASES = {
    "retrieving": "Downloading",
    "checking": "Checking documents and loading the model",
    "indexing": "Indexing",
    "finishing": "Building the search indexes",
    "mapping": "Computing the map (search is available)",
    "done": "Done",
}


def progress_line(progress: Progress) -> str:
    """Phase, documents done of total, rate and time left, in one line."""
    parts = [_PHASES[progress.phase]]
    if progress.phase in ("retrieving", "indexing"):
        parts.append(f"{progress.done:,} of {progress.total:,} documents")
        if progress.rate > 0:
            rate = f"{progress.rate:.0f}" if progress.rate >= 10 else f"{progress.rate:.1f}"
            parts += [f"{rate} documents/s", time_left(progress.seconds_left)]
    return " · ".join(parts)


def jobs_section(explorer: Explorer) -> None:
    """All imports, newest first."""
    show_problem("jobs", keep=True)
    library, titles = explorer.library, explorer.library.titles()
    listed = library.jobs.list()
    if listed:
        st.subheader("Imports", anchor=False)
    for job in listed:
        name = el("strong", titles.get(job.request.name, job.request.name))
        source = library.source_name(str(job.request.source))
        where = el("span.sl-dim", source, style="overflow-wrap:anywhere")
        st.html(el("div.sl-head", name, where, el("span", "" if job.running else job.state)))
        JobCard(
            partial(library.jobs.job, job.id),
            key="library",
            which=job.id,
            label=f"Importing {titles.get(job.request.name, job.request.name)}",
            line=lambda now: escape(progress_line(now.progress)),
            cancel=library.jobs.cancel,
            ended=_report,
            resume=None if job.state == "done" else partial(library.jobs.resume, job.id),
            dismiss=library.jobs.dismiss,
            is_news=partial(_is_news, job),
            what_stays="Indexed documents are kept.",
            place="jobs",
        ).show(job)


def _is_news(before: ImportJob, now: ImportJob) -> bool:
    """Whether the corpus of an import is listed since."""
    first = ("retrieving", "checking")
    return (before.progress.phase in first) != (now.progress.phase in first)


def _report(job: ImportJob) -> str:
    """One line below the other, also in a row of the card."""
    if (report := job.report) is None:
        return ""
    done = f"{counted(report.documents, 'document')}: {report.done}"
    if report.cancelled:
        done = f"Stopped after {counted(report.read, 'document')}: {report.done}"
    lines = (el("div", line, style="max-width:75ch") for line in (done, *report.warnings))
    return el("div", lines)
