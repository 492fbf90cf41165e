"""The Annotate page: which project, the annotator, and which part of it is shown."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.annotating import Project
from pages._annotate import (
    agreement_tables,
    assessor,
    dashboard,
    decide,
    exchange_files,
    pool_form,
    project_form,
)
from pages._annotate.annotate_url import (
    FOR_LEADS,
    NEW,
    PARTS,
    AnnotateView,
    annotator,
    go,
    is_lead,
    may_lead,
    name_field,
    names_come_from_login,
    set_annotator,
)
from pages._annotate.judging_view import judging_view, leave
from pages._common.outside_text import escape
from pages._common.shared import attempt, escape_label, note, show_error
from pages._common.url_state import corpus_box

EXPLORING = "judgments from Explore"
"""What a corpus's own project, which has no name, is called."""
FOR_EXPLORING = ("agreement", "disagreements", "files")
"""What there is to see of it."""
MOST_NAMED = 12
"""Annotators that somebody without a name can come as by a click."""


def open_view(explorer: Explorer, names: list[str]) -> AnnotateView:
    """The view of the address, with a project that is there."""
    view = AnnotateView.opened_on(explorer, names)
    try:
        explorer.annotation.project(view.corpus, view.project)
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
    with st.container(key="annotate_controls", horizontal=True, vertical_alignment="bottom"):
        corpus_box(view, names, "annotate_corpus", width=140)
        st.selectbox(
            "Project", list(dict.fromkeys((*filter(None, named), ""))), key="annotate_project",
            on_change=attempt, args=(_change_project,), width=210,
            format_func=lambda name: name or EXPLORING,
        )  # fmt: skip
        if may_lead():
            st.button("New project", key="annotate_new", on_click=go, args=(NEW,))
        if not names_come_from_login():
            name_field(who, "annotate_name", _come_as)
        view, refused = _parts(view, project, who)
    if refused:
        note(*refused)
    return view, project


def _parts(
    view: AnnotateView, project: Project, who: str
) -> tuple[AnnotateView, tuple[str, str] | None]:
    """The parts that this annotator may see; another one that was asked for is replaced, and
    why is said."""
    refused = None
    leads = is_lead(project, who)
    parts = [part for part in PARTS if leads or part not in FOR_LEADS]
    if view.part not in (*parts, *((NEW,) if may_lead() else ())):
        if view.part == NEW:
            refused = ("Only leads can create projects.", "Ask a lead.")
        else:
            refused = (
                f"Only leads of this project can open '{PARTS[view.part]}'.",
                _who_leads(project, who),
            )
        view = replace(view, part="judge")
    if len(parts) > 1:
        st.session_state["annotate_part"] = view.part if view.part in parts else None
        st.segmented_control(
            "Part", parts, format_func=PARTS.__getitem__, key="annotate_part", width="content",
            label_visibility="collapsed", on_change=attempt,
            args=(lambda: go(st.session_state["annotate_part"] or view.part),),
        )  # fmt: skip
    return view, refused


def _who_leads(project: Project, who: str) -> str:
    if not project.leads:
        return "Ask a lead."
    named = ", ".join(project.leads)
    if names_come_from_login():
        return f"Leads: {named}."
    known = f"you are '{who}'" if who else "you have no name"
    return f"Leads: {named}; {known}. If you are one of them, enter that name under Annotator."


def _change_project() -> None:
    name = st.session_state["annotate_project"]

    def change(now: AnnotateView) -> AnnotateView:
        part = "judge" if now.part == NEW else now.part
        if not name and part not in FOR_EXPLORING and may_lead():
            part = FOR_EXPLORING[0]
        return replace(now, project=name, part=part, query="", doc="", sample="")

    AnnotateView.change(change)


def _come_as(name: str) -> None:
    set_annotator(name)
    AnnotateView.change(lambda now: replace(now, query="", doc="", sample=""))


def show_part(explorer: Explorer, view: AnnotateView, project: Project) -> None:
    """The part of the page that the view asks for."""
    who = annotator(explorer)
    if view.part != "judge":
        leave(explorer)
    if view.part == NEW:
        project_form.project_form(explorer, Project(view.corpus), who, is_new=True)
    elif view.part == "project" and project.name:
        project_form.project_form(explorer, project, who, is_new=False)
    elif view.part == "agreement":
        with st.container(key="annotate_agreement"):
            agreement_tables.agreement(explorer, project)
    elif view.part == "disagreements":
        decide.disagreements(explorer, project, who)
    elif view.part == "files":
        exchange_files.files(explorer, project, who)
    elif not project.name:
        _without_project(view)
    elif view.part == "progress":
        dashboard.dashboard(explorer, view, project)
    elif view.part == "pool":
        pool_form.pool(explorer, project)
    elif view.part == "model":
        assessor.model(explorer, project, who)
    else:
        _judge(explorer, view, project, who)


def _judge(explorer: Explorer, view: AnnotateView, project: Project, who: str) -> None:
    if not explorer.annotation.pooled(project).items:
        _nothing_to_judge(project, who)
        return
    if project.annotators and who not in (*project.annotators, *project.leads):
        words = "Ask a lead to add you." if names_come_from_login() else "Choose your name."
        note(
            f"'{who}' is not an annotator of this project.",
            f"Annotators: {', '.join(project.annotators)}. {words}",
        )
        if not names_come_from_login():
            with st.container(horizontal=True, gap="small"):
                for name in project.annotators[:MOST_NAMED]:
                    st.button(
                        f"Judge as {escape_label(name)}", key=f"annotate_as_{name}",
                        on_click=_come_as, args=(name,),
                    )  # fmt: skip
        return
    start = (view.query, view.doc) if view.doc else None
    judging_view(explorer, project, who, start)


def _nothing_to_judge(project: Project, who: str) -> None:
    leads = is_lead(project, who)
    named = f" ({', '.join(project.leads)})" if project.leads else ""
    words = (
        "Add queries, then fill the pool." if leads else f"Ask its leads{named} to fill the pool."
    )
    st.html(f'<div class="sl-empty">No items to judge yet. {escape(words)}</div>')
    if leads:
        _, middle, _ = st.columns([4, 2, 4])
        middle.button(
            "Queries and pool", key="annotate_to_pool", on_click=go, args=("pool",),
            type="primary", width="stretch",
        )  # fmt: skip


def _without_project(view: AnnotateView) -> None:
    if not may_lead():
        words = "Choose a project above, or ask a lead to create one."
        st.html(f'<div class="sl-empty">{words}</div>')
        return
    words = f"Create a project to start annotating {view.corpus}."
    st.html(f'<div class="sl-empty">{escape(words)}</div>')
    _, middle, _ = st.columns([4, 2, 4])
    middle.button(
        "Create project", key="annotate_make", on_click=go, args=(NEW,), type="primary",
        width="stretch",
    )  # fmt: skip
