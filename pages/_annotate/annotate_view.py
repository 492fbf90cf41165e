"""What the Annotate page shows, as the URL has it, and who is judging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import unquote

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.annotating import Project
from pages._login import login

PARTS = {
    "judge": "Judge",
    "pool": "Pool",
    "agreement": "Agreement",
    "disagreements": "Disagreements",
    "model": "Model",
    "files": "Files",
    "project": "Project",
}
FOR_LEADS = ("pool", "agreement", "disagreements", "model", "files", "project")
"""Parts that show what others said, or change what is asked."""
NEW = "new"
"""The part in which a project is made."""
_WHO, _HELD = "annotate_who", "annotate_held"
COOKIE = "seedlens_annotator"
"""Holds the name over a reload and for a second tab. A link does not carry it: who opens a
colleague's link judges under a name of their own."""


@dataclass(frozen=True, slots=True)
class AnnotateView:
    """A part of a project's page.

    Attributes:
        query, doc: the item on the desk; the desk itself keeps them up to date in the URL.
        sample: ``<items>-<judged before>`` while a sample of a model's grades is checked.
    """

    corpus: str = ""
    project: str = ""
    part: str = "judge"
    query: str = ""
    doc: str = ""
    sample: str = ""

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out."""
        found = {
            "corpus": self.corpus,
            "project": self.project,
            "part": "" if self.part == "judge" else self.part,
            "query": self.query if self.part == "judge" else "",
            "doc": self.doc if self.part == "judge" else "",
            "sample": self.sample if self.part == "model" else "",
        }
        return {k: v for k, v in found.items() if v}


def read_view() -> AnnotateView:
    """The view of the URL, or the one that this visit left the page with.

    Raises:
        BadInputError: a part that the page does not have.
    """
    params = st.query_params.to_dict()
    held: AnnotateView | None = st.session_state.get(_HELD)
    if not params and held is not None:
        return held
    part = params.get("part", "judge")
    if part not in (*PARTS, NEW):
        raise BadInputError(
            f"This link cannot be read: there is no part '{part}'.",
            f"Use {', '.join(PARTS)}.",
        )
    return AnnotateView(
        corpus=params.get("corpus", ""),
        project=params.get("project", ""),
        part=part,
        query=params.get("query", ""),
        doc=params.get("doc", ""),
        sample=params.get("sample", ""),
    )


def write_view(view: AnnotateView) -> None:
    """Hold a view for the visit, and put it into the URL."""
    st.session_state[_HELD] = view
    params = view.to_params()
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)


def change_view(change: Callable[[AnnotateView], AnnotateView]) -> None:
    """Change what the page shows now."""
    write_view(change(st.session_state.get(_HELD) or read_view()))


def go(part: str) -> None:
    """Show another part of the page."""
    change_view(lambda now: replace(now, part=part))


def annotator(explorer: Explorer) -> str:
    """Who is judging: whoever is logged in.

    Without login, the name given on this visit, or on one before it in this browser.
    """
    person = login.person()
    if person is not None:
        return person.name
    if _WHO in st.session_state:
        return str(st.session_state[_WHO])
    cookie = st.context.cookies.get(COOKIE, "")
    return (unquote(cookie) if isinstance(cookie, str) else "") or explorer.settings.annotator


def set_annotator(name: str) -> None:
    """Judge under this name from now on."""
    st.session_state[_WHO] = name.strip()


def was_named() -> bool:
    """Whether somebody gave their name on this visit; who logged in does not give one."""
    return not names_come_from_login() and bool(st.session_state.get(_WHO))


def names_come_from_login() -> bool:
    """Whether people judge under the name that they have on the list."""
    return login.person() is not None


def may_lead() -> bool:
    """Whether whoever is here may make projects; without login, everybody may."""
    person = login.person()
    return person is None or person.is_lead


def is_lead(project: Project, who: str) -> bool:
    """Whether somebody may see and change what is for the leads of a project.

    With login, they have to be a lead there, and one of this project if it names any.
    """
    return may_lead() and (not project.leads or who in project.leads)
