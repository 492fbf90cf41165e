"""What the Annotate page shows, as the URL has it, and who is judging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import unquote

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import Project
from pages._common.components import component
from pages._common.kit import button
from pages._common.shared import attempt, remembered
from pages._common.state import PageView, Shared, one_of
from pages._login import login

PARTS = {
    "judge": "Judge",
    "progress": "Progress",
    "pool": "Pool",
    "agreement": "Agreement",
    "disagreements": "Disagreements",
    "model": "Model",
    "files": "Export and import",
    "project": "Project",
}
FOR_LEADS = ("progress", "pool", "agreement", "disagreements", "model", "files", "project")
"""Parts that show what others said, or change what is asked."""
MEASURES = ("krippendorff_alpha", "fleiss_kappa", "raw")
"""What agreement over time can be measured by."""
NEW = "new"  # the part in which a project is made
WHO = "annotate_who"
COOKIE = "seedlens_annotator"
"""Holds the name over a reload and for a second tab. A link does not carry it: who opens a
colleague's link judges under a name of their own."""


_NOWHERE = {"query": "", "doc": "", "sample": ""}


@dataclass(frozen=True)
class AnnotateView(PageView):
    """A part of a project's page."""

    script = "annotate"
    corpus: Shared = ""
    project: str = ""
    part: Annotated[str, one_of((*PARTS, NEW))] = "judge"
    query: str = ""  # query and doc: what is judged; the browser writes them
    doc: str = ""
    sample: str = ""  # <items>-<judged before> while a model is checked
    where: str = ""  # filters of what is pooled
    measure: Annotated[str, one_of(MEASURES)] = MEASURES[0]
    step: Annotated[str, one_of(("items", "day"))] = "items"

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults and what belongs to other parts left out."""
        own = {"query": "judge", "doc": "judge", "where": "pool", "sample": "model"}
        own |= {"measure": "progress", "step": "progress"}
        params = PageView.to_params(self)
        return {name: text for name, text in params.items() if own.get(name) in (None, self.part)}


def of_project(project: Project, part: str = "judge") -> AnnotateView:
    """A part of a project's page, as links from other pages open it."""
    about = {"corpus": project.corpus, "project": project.name, "part": part}
    return AnnotateView.elsewhere(**about, **_NOWHERE)


def go(part: str) -> None:
    """Show another part of the page."""
    AnnotateView.change(lambda now: replace(now, part=part))


def change(fields: Callable[[AnnotateView], dict[str, str]]) -> None:
    """Change who judges what: nothing is judged at first."""
    AnnotateView.change(lambda now: replace(now, **{**_NOWHERE, **fields(now)}))


def open_project(project: Project, part: str) -> None:
    """Show a part of another project of the corpus."""
    change(lambda _: {"project": project.name, "part": part})


def found(explorer: Explorer, project: Project, what: str) -> Any:
    """The progress, agreement or disagreements of a project, kept while nothing changes."""
    annotation = explorer.annotation
    settled = annotation.last_event(project), annotation.retired(project)
    corpus = explorer.library.open(project.corpus).identity
    basis = (project, corpus, *settled, annotation.pooled(project))
    return remembered(f"annotate_{what}", basis, lambda: getattr(annotation, what)(project))


def next_step(explorer: Explorer, project: Project, part: str) -> tuple[str, str] | None:
    """What a lead does after a part of the page, and the part in which it is done."""
    progress, step = found(explorer, project, "progress"), ("export grades", "files")
    if not explorer.annotation.queries(project):
        step = ("add queries", "pool")
    elif not progress.items:
        step = ("fill the pool", "pool")
    elif not progress.is_done:
        step = ("judge", "judge")
    elif part in ("pool", "judge", "progress") and project.per_item + project.first > 1:
        step = ("see agreement", "agreement")
    elif left := sum(one.decided is None for one in found(explorer, project, "disagreements")):
        step = (f"decide {counted(left, 'disagreement')}", "disagreements")
    return None if step[1] == part else step


def step_button(explorer: Explorer, project: Project, part: str) -> bool:
    """A button that leads on to the next step of a project; whether it was clicked."""
    step = next_step(explorer, project, part) if project.name else None
    if step is None:
        return False
    label, to = step
    return button(f"Next: {label}", f"annotate_next_{part}", go, to, type="primary")


def annotator(explorer: Explorer) -> str:
    """Who is judging: who is logged in, or the name that was given in this browser."""
    person = login.person()
    if person is not None:
        return person.name
    if WHO in st.session_state:
        return str(st.session_state[WHO])
    cookie = st.context.cookies.get(COOKIE, "")
    return (unquote(cookie) if isinstance(cookie, str) else "") or explorer.settings.annotator


def set_annotator(name: str) -> None:
    """Judge under this name from now on."""
    st.session_state[WHO] = name.strip()


_NAME_KEEPER = component("annotator_name")


def name_field(who: str, key: str, change: Callable[[str], None]) -> None:
    """A field for the annotator's name, which is kept for the next visit; Enter leaves it."""
    st.session_state[key] = who
    look: Any = {"on_change": attempt, "args": (lambda: change(st.session_state[key]),)}
    words = "Your display name. Saved with your judgments and in this browser."
    st.text_input("Annotator", key=key, width=160, help=words, **look)
    given = who if st.session_state.get(WHO) else ""
    with st.container(key="who_keeper"):
        _NAME_KEEPER(key=f"{key}_keeper", data={"cookie": COOKIE, "name": given})


def names_come_from_login() -> bool:
    """Whether people judge under the name that they have on the list."""
    return login.person() is not None


def may_lead() -> bool:
    """Whether whoever is here may make projects; without login, everybody may."""
    person = login.person()
    return person is None or person.is_lead


def is_lead(project: Project, who: str) -> bool:
    """Whether somebody is a lead (with login), and one of this project if it names any."""
    return may_lead() and (not project.leads or who in project.leads)
