"""The Annotate page: which project, the annotator, which part of it is shown, and what is next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.annotating import Project
from pages._annotate import agreement, assessor, exchange_files
from pages._annotate import project as project_page
from pages._annotate.annotate_url import (
    FOR_LEADS,
    NEW,
    PARTS,
    WHO,
    AnnotateView,
    annotator,
    change,
    found,
    go,
    is_lead,
    may_lead,
    name_field,
    names_come_from_login,
    set_annotator,
    step_button,
)
from pages._annotate.judging import judging_view, leave
from pages._common.kit import button, dim, empty, line, select
from pages._common.shared import attempt, escape_label, note, show_error
from pages._common.state import control, corpus_box

ABOUT = "Judge documents together, see how far people agree, and export the grades."
EXPLORING = "judgments from Explore"  # what a corpus's own project, which has no name, is called
FOR_EXPLORING = ("agreement", "disagreements", "files")  # what there is to see of it
MOST_NAMED = 12  # annotators that somebody without a name can come as by a click


def open_view(explorer: Explorer, names: list[str]) -> AnnotateView:
    """The view of the address, with a project that is there."""
    view = AnnotateView.opened_on(explorer, names)
    try:  # a link may have the name that it had before
        project = explorer.annotation.project(view.corpus, view.project)
        view = replace(view, project=project.name)
    except SeedLensError as error:
        show_error(error)
        view = AnnotateView(view.corpus)
    projects = [p.name for p in explorer.annotation.projects(view.corpus) if p.name]
    if not view.project and projects and view.part == "judge":
        view = replace(view, project=projects[-1])
    view.write()
    return view


def controls(
    explorer: Explorer, view: AnnotateView, names: list[str]
) -> tuple[AnnotateView, Project]:
    """Corpus, project, who is judging, and the parts of the page."""
    named = {p.name: p for p in explorer.annotation.projects(view.corpus)}
    project = named.get(view.project) or explorer.annotation.project(view.corpus, view.project)
    who = annotator(explorer)
    st.session_state["annotate_project"] = view.project
    dim(ABOUT)
    with st.container(key="annotate_controls", horizontal=True, vertical_alignment="bottom"):
        corpus_box(view, names, "annotate_corpus", width=140)
        projects = {**{name: name for name in named if name}, "": EXPLORING}
        change: Any = {"on_change": attempt, "args": (_change_project,)}
        select("Project", projects, "annotate_project", width=210, **change)
        if may_lead():
            button("New project", "annotate_new", go, NEW)
        if not names_come_from_login():
            name_field(who, "annotate_name", _come_as)
    with line("annotate_parts"):
        view, refused = _parts(explorer, view, project, who)
    if refused and WHO not in st.session_state:  # not where only the name was changed
        note(*refused)
    return view, project


def _parts(
    explorer: Explorer, view: AnnotateView, project: Project, who: str
) -> tuple[AnnotateView, tuple[str, str] | None]:
    """The parts that this annotator may see; another one that was asked for is replaced, and
    why is said."""
    refused, leads = None, is_lead(project, who)
    there = parts_with_content(explorer, project) if leads else ["judge"]
    parts = [part for part in PARTS if leads or part not in FOR_LEADS]
    if leads and project.name and view.part == "judge" and "judge" not in there:
        view = replace(view, part="pool")
        view.write()
    if view.part == NEW and not may_lead():
        refused = ("Only leads can create projects.", "Ask a lead.")
    elif view.part not in (*parts, NEW):
        named = f"Leads: {', '.join(project.leads)}" if project.leads else "Ask a lead"
        if project.leads and not names_come_from_login():
            named += f"; you are '{who}'. If you are one of them, enter that name under Annotator"
        refused = (f"Only leads of this project can open '{PARTS[view.part]}'.", f"{named}.")
    view = replace(view, part="judge") if refused else view
    shown = {part: PARTS[part] for part in parts if part in (*there, view.part)}
    if leads and len(shown) > 1:
        now = view.part if view.part in shown else None
        how: Any = {"shown": now, "read": lambda part: part or view.part, "width": "content"}
        how["label_visibility"] = "collapsed"
        control(view, "part", st.segmented_control, "Part", shown, **how)
        if view.part not in (NEW, "judge"):  # the queue has its own
            step_button(explorer, project, view.part)
    return view, refused


def parts_with_content(explorer: Explorer, project: Project) -> list[str]:
    """The parts in which a lead finds something, or can do something."""
    annotation = explorer.annotation
    pooled = bool(project.name and annotation.pooled(project).items)
    judgments = annotation.judgments(project)
    grades = (j for j in judgments if j.origin != "adjudication" and j.relevance is not None)
    there = {
        **dict.fromkeys(("judge", "progress", "model"), pooled),
        **dict.fromkeys(("pool", "project"), bool(project.name)),
        "agreement": len({j.annotator for j in grades}) > 1,
        "disagreements": bool(found(explorer, project, "disagreements")),
        "files": bool(project.name or judgments),
    }
    return [part for part in PARTS if there[part]]


def _change_project() -> None:
    name = st.session_state["annotate_project"]

    def part(now: AnnotateView) -> str:
        if not name and now.part not in FOR_EXPLORING and may_lead():
            return "files"
        return "judge" if now.part == NEW else now.part

    change(lambda now: {"project": name, "part": part(now)})


def _come_as(name: str) -> None:
    set_annotator(name)
    change(lambda _: {})


def show_part(explorer: Explorer, view: AnnotateView, project: Project) -> None:
    """The part of the page that the view asks for."""
    who = annotator(explorer)
    if view.part != "judge":
        leave(explorer)
    if view.part == NEW:
        project_page.project_form(explorer, Project(view.corpus), who, is_new=True)
    elif view.part == "project" and project.name:
        project_page.project_form(explorer, project, who, is_new=False)
    elif view.part == "agreement":
        with st.container(key="annotate_agreement"):
            agreement.agreement(explorer, project)
    elif view.part == "disagreements":
        agreement.disagreements(explorer, project, who)
    elif view.part == "files":
        exchange_files.files(explorer, project, who)
    elif not project.name and may_lead():
        empty(f"Create a project to start annotating {explorer.library.titles()[view.corpus]}.")
        with st.columns([4, 2, 4])[1]:
            button("Create project", "annotate_make", go, NEW, type="primary", width="stretch")
    elif not project.name:
        empty("Choose a project above, or ask a lead to create one.")
    elif view.part == "progress":
        agreement.dashboard(explorer, view, project)
    elif view.part == "pool":
        project_page.pool(explorer, project, who)
    elif view.part == "model":
        assessor.model(explorer, project, who)
    elif not explorer.annotation.pooled(project).items:
        named = f" ({', '.join(project.leads)})" if project.leads else ""
        empty(f"No items to judge yet. Ask the leads{named} to fill the pool.")
    elif project.annotators and who not in (*project.annotators, *project.leads):
        logged_in = names_come_from_login()
        words = "Ask a lead to add you." if logged_in else "Choose your name."
        named = f"Annotators: {', '.join(project.annotators)}. {words}"
        note(f"'{who}' is not an annotator of this project.", named)
        with line():
            for name in () if logged_in else project.annotators[:MOST_NAMED]:
                button(f"Judge as {escape_label(name)}", f"annotate_as_{name}", _come_as, name)
    else:
        judging_view(explorer, project, who, (view.query, view.doc) if view.doc else None)
