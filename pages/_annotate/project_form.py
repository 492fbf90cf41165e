"""Making a project, and changing one: scale, guidelines, people, order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.annotating import SCALES, GradeMeaning, Project, Scale
from engine.types.lenses import Lens
from pages._annotate.annotate_url import AnnotateView
from pages._common.shared import attempt, attempt_at, begun_from, escape_label, show_problem

ORDERS = {
    "shuffled": "Random per annotator",
    "same": "Random, same for everyone",
    "disagreement": "By system disagreement",
    "rank": "By best rank",
}
CUSTOM = "custom"
_PLACE = "annotate_project_form"
SCALE_NAMES = {"graded": "Graded, 0 to 3", "binary": "Binary, 0 or 1", CUSTOM: "Custom"}


def scale_lines(scale: Scale) -> str:
    """A scale as people type it, one grade a line.

    >>> print(scale_lines(SCALES["binary"]))
    0 Not relevant
    1 Relevant
    """
    return "\n".join(
        f"{g.value} {g.name}" + (f": {g.meaning}" if g.meaning else "") for g in scale.grades
    )


def read_scale(lines: str) -> Scale:
    """``1 Related: touches on it`` per line as a scale; BadInputError for another line."""
    grades = []
    for number, line in enumerate(lines.splitlines(), start=1):
        if not line.strip():
            continue
        value, _, words = line.strip().partition(" ")
        name, _, meaning = words.partition(":")
        if not value.isdecimal() or not name.strip():
            raise BadInputError(
                f"Line {number} of the scale is '{line.strip()}'.",
                "Write value, name and description: 1 Related: touches on it.",
            )
        grades.append(GradeMeaning(int(value), name.strip(), meaning.strip()))
    return Scale(CUSTOM, tuple(grades))


def read_names(text: str) -> tuple[str, ...]:
    """Names between commas or on lines.

    >>> read_names("Ada, Grace")
    ('Ada', 'Grace')
    """
    parts = text.replace("\n", ",").split(",")
    return tuple(dict.fromkeys(name.strip() for name in parts if name.strip()))


def project_form(explorer: Explorer, project: Project, who: str, *, is_new: bool) -> None:
    """All of a project in one form."""
    lens = explorer.library.lens(project.corpus)
    place = "new" if is_new else f"{project.corpus}_{project.name}"
    begun = f"annotate_begun_{place}"
    before = None if is_new else begun_from(begun, f"annotate_scale_{place}", project)
    values: dict[str, Any] = {}
    st.header("New project" if is_new else f"Project {project.name}", anchor=False)
    # Enter would press the first button of the form, which is that of a template.
    with st.form(f"annotate_form_{place}", border=False, enter_to_submit=False):
        left, right = st.columns(2, gap="large")
        with left:
            _basics(project, values, place, is_new=is_new)
        with right:
            _guidelines(explorer, project, lens, values, place)

        def save() -> None:
            state = st.session_state
            given = {field: state[key] for field, key in values.items()}
            read = _read(project, given, lens)
            if is_new and any(
                p.name == read.name for p in explorer.annotation.projects(read.corpus)
            ):
                raise BadInputError(
                    f"'{read.corpus}' already has a project '{read.name}'.", "Choose another name."
                )
            saved = explorer.annotation.save(read, who, before)
            done = "pool" if is_new else "project"
            AnnotateView.change(
                lambda now: replace(now, project=saved.name, part=done, query="", doc="")
            )
            state.update({begun: saved, "annotate_saved": saved.name})
            state[values["scale"]] = _kind(saved.scale)

        st.form_submit_button(
            "Create project" if is_new else "Save", type="primary",
            key=f"annotate_save_{place}", on_click=attempt_at, args=(_PLACE, save),
        )  # fmt: skip
        show_problem(_PLACE)
    if not is_new and st.session_state.pop("annotate_saved", None) == project.name:
        st.html('<div class="sl-facts" role="status">Saved. Earlier judgments are kept.</div>')


def _basics(project: Project, values: dict[str, Any], place: str, *, is_new: bool) -> None:
    def key(field: str) -> str:
        values[field] = f"annotate_{field}_{place}"
        return str(values[field])

    if is_new:
        st.text_input("Name", key=key("name"), placeholder="methods-2024", max_chars=64)
    kind = _kind(project.scale)
    st.segmented_control(
        "Scale", list(SCALE_NAMES), default=kind, format_func=SCALE_NAMES.__getitem__,
        key=key("scale"),
        required=True,
    )  # fmt: skip
    with st.expander("Custom scale", expanded=kind == CUSTOM):
        st.text_area(
            "One grade per line: value, name, description", scale_lines(project.scale),
            key=key("grades"), height=150,
            help="Used when edited, or with 'Custom'. The lowest grade is 'not relevant'.",
        )  # fmt: skip
    people, leads = st.columns(2)
    people.text_input(
        "Annotators", ", ".join(project.annotators), key=key("annotators"),
        placeholder="Ada, Grace", help="Comma-separated. Empty: everyone.",
    )  # fmt: skip
    leads.text_input(
        "Leads", ", ".join(project.leads), key=key("leads"),
        help="Can edit, adjudicate and see others' grades. Empty: everyone.",
    )  # fmt: skip
    number, order = st.columns([1, 2])
    number.number_input(
        "Annotations per item", 1, 20, project.per_item, key=key("per_item"),
        help="Annotators per item. Agreement needs at least 2.",
    )  # fmt: skip
    order.selectbox(
        "Order", list(ORDERS), list(ORDERS).index(project.order), key=key("order"),
        format_func=ORDERS.__getitem__,
    )  # fmt: skip
    st.toggle(
        "Blind", project.blind, key=key("blind"),
        help="Hides systems and ranks.",
    )  # fmt: skip
    st.toggle(
        "Use model grades where no person graded", project.model_grades,
        key=key("model_grades"),
        help="In qrels, exports and Evaluate, which report how many grades are by a model alone.",
    )  # fmt: skip


def _guidelines(
    explorer: Explorer, project: Project, lens: Lens, values: dict[str, Any], place: str
) -> None:
    st.caption(
        "Guidelines in Markdown, shown beside every item. The part for all aspects comes first."
    )

    def fill_in(aspect: str, key: str) -> None:
        state = st.session_state
        scale = _scale(project, state[values["scale"]], state[values["grades"]])
        asked = replace(project, scale=scale)
        parts = (state[key].rstrip(), explorer.annotation.guideline_template(asked, aspect))
        state[key] = "\n\n".join(filter(None, parts))

    names = {"": "All aspects", **{aspect.key: aspect.name for aspect in lens.aspects}}
    for tab, (aspect, name) in zip(st.tabs(list(names.values())), names.items(), strict=True):
        key = f"annotate_guide_{aspect}_{place}"
        values[f"guide:{aspect}"] = key
        # Set in the session, it would replace what a page that was open at a restart holds.
        begun = "" if key in st.session_state else project.guidelines.get(aspect, "")
        tab.text_area(
            f"Guidelines: {name}", begun, key=key, height=330, label_visibility="collapsed",
            placeholder="What makes a document relevant here, and what does not?",
        )  # fmt: skip
        tab.form_submit_button(
            f"Insert template: {escape_label(name)}", key=f"annotate_template_{aspect}_{place}",
            on_click=attempt, args=(partial(fill_in, aspect, key),),
            help="Adds headings, a table of the grades and places for examples.",
        )  # fmt: skip


def _kind(scale: Scale) -> str:
    return scale.name if scale in SCALES.values() else CUSTOM


def _scale(project: Project, kind: str, lines: str) -> Scale:
    """The scale of the form; one that was edited is the one that counts."""
    edited = lines.strip() != scale_lines(project.scale)
    return read_scale(lines) if edited or kind == CUSTOM else SCALES[kind]


def _read(project: Project, given: dict[str, Any], lens: Lens) -> Project:
    """What the form says, as a project."""
    scale = _scale(project, given["scale"], given["grades"])
    name = project.name or "-".join(str(given["name"]).split())
    if not name:
        raise BadInputError("The project has no name.", "Enter a short one, like methods-2024.")
    aspects: Sequence[str] = ("", *(aspect.key for aspect in lens.aspects))
    return Project(
        corpus=project.corpus,
        name=name,
        guidelines={a: given[f"guide:{a}"] for a in aspects if given[f"guide:{a}"].strip()},
        scale=scale,
        annotators=read_names(given["annotators"]),
        leads=read_names(given["leads"]),
        per_item=int(given["per_item"]),
        order=given["order"],
        blind=bool(given["blind"]),
        model_grades=bool(given["model_grades"]),
    )
