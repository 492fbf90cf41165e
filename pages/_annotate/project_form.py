"""Making a project, and changing one: scale, guidelines, people, order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import MOST_FIRST, SCALES, GradeMeaning, Project, Scale
from engine.types.lenses import Lens
from pages._annotate.annotate_url import NEW, open_project
from pages._annotate.pool_form import SAID
from pages._common.kit import Fields, button, el, facts, line, select, submit
from pages._common.shared import attempt_at, begun_from, confirm, escape_label, show_problem

ORDERS = {
    "shuffled": "Random per annotator",
    "same": "Random, same for everyone",
    "disagreement": "By system disagreement",
    "rank": "By best rank",
}
CUSTOM = "custom"
_PLACE, _WHOLE, _SAVED = "annotate_project_form", "annotate_whole", "annotate_saved"
SCALE_NAMES = {"graded": "Graded, 0 to 3", "binary": "Binary, 0 or 1", CUSTOM: "Custom"}


def scale_lines(scale: Scale) -> str:
    """A scale as people type it, one grade a line.

    >>> print(scale_lines(SCALES["binary"]))
    0 Not relevant
    1 Relevant
    """
    return "\n".join(
        f"{grade.value} {': '.join(filter(None, (grade.name, grade.meaning)))}"
        for grade in scale.grades
    )


def read_scale(lines: str) -> Scale:
    """``1 Related: touches on it`` per line as a scale; BadInputError for another line."""
    grades = []
    for number, row in enumerate(lines.splitlines(), start=1):
        if not row.strip():
            continue
        value, _, words = row.strip().partition(" ")
        name, _, meaning = words.partition(":")
        if not value.isdecimal() or not name.strip():
            raise BadInputError(
                f"Line {number} of the scale is '{row.strip()}'.",
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


def joined(name: str) -> str:
    """What was entered as a name, without spaces."""
    return "-".join(name.split())


def project_form(explorer: Explorer, project: Project, who: str, *, is_new: bool) -> None:
    """All of a project in one form."""
    lens = explorer.library.lens(project.corpus)
    fields = Fields("annotate", "new" if is_new else f"{project.corpus}_{project.name}")
    begun = f"annotate_begun_{fields.place}"
    before = None if is_new else begun_from(begun, fields("scale"), project)
    if is_new:
        _restore(explorer, project.corpus, who)
    st.header("New project" if is_new else f"Project {project.name}", anchor=False)

    def save() -> None:
        read = _read(project, fields.values, lens)
        annotation = explorer.annotation
        if is_new:
            open_project(annotation.create(read, who), "pool")
            st.session_state[SAID] = "Created. Next: add queries, then fill the pool."
            return
        saved = annotation.save(read, who, before)
        st.session_state.update({begun: saved, _SAVED: "Saved. Earlier judgments are kept."})
        st.session_state[fields("scale")] = _kind(saved.scale)

    # Enter would press the first button of the form, which is that of a template.
    with st.form(f"annotate_form_{fields.place}", border=False, enter_to_submit=False):
        left, right = st.columns(2, gap="large")
        with left:
            _basics(project, fields, is_new=is_new)
        with right:
            _guidelines(explorer, project, lens, fields)
        label, key = "Create project" if is_new else "Save", f"annotate_save_{fields.place}"
        submit(label, key, save, place=_PLACE, type="primary")
        show_problem(_PLACE)
    if is_new:
        return
    if saved := st.session_state.pop(_SAVED, ""):
        facts(saved, role="status")
    with st.expander("Copy, rename or delete"):
        _whole(explorer, project, who)


def _whole(explorer: Explorer, project: Project, who: str) -> None:
    """Another name, a copy, or no project any more."""
    annotation = explorer.annotation

    def named(do: Callable[[Project, str, str], Project], done: str) -> None:
        made = do(project, joined(st.session_state["annotate_other_name"]), who)
        open_project(made, "project")
        st.session_state[_SAVED] = f"{done} {made.name}."

    words = "A copy has settings, queries and pool, without judgments."
    st.text_input("New name", project.name, 64, "annotate_other_name", help=words)
    with line():
        button("Copy", "annotate_copy", named, annotation.copy, "Copied to", place=_WHOLE)
        button("Rename", "annotate_rename", named, annotation.rename, "Renamed to", place=_WHOLE)
        if st.button("Delete project", "annotate_delete"):
            _confirm(explorer, project, who)
    show_problem(_WHOLE)


@st.dialog("Delete this project?")
def _confirm(explorer: Explorer, project: Project, who: str) -> None:
    judgments = counted(len(explorer.annotation.judgments(project)), "judgment")
    kept = "All is kept. You can undo this under New project."
    st.html(el("p", el("strong", project.name), f" has {judgments}. {kept}"))

    def delete() -> None:
        explorer.annotation.delete(project, who)
        open_project(Project(project.corpus), NEW)

    confirm("Delete", "annotate_delete_confirm", attempt_at, _WHOLE, delete)


def _restore(explorer: Explorer, corpus: str, who: str) -> None:
    """One line for every deleted project; with a field where another one has its name."""

    def restore(gone: Project, key: str) -> None:
        name = joined(st.session_state.get(key, ""))
        open_project(explorer.annotation.restore(gone, who, name), "judge")

    taken = {project.name for project in explorer.annotation.projects(corpus)}
    for number, gone in enumerate(explorer.annotation.deleted(corpus)):
        key = f"annotate_restored_name_{gone.key[1]}"
        with line():
            st.text(f"{gone.name} was deleted.")
            if gone.name in taken:
                st.text_input("New name", f"{gone.name}-2", 64, key)
            button("Undo", f"annotate_undelete_{number}", restore, gone, key, place=_PLACE)


def _basics(project: Project, fields: Fields, *, is_new: bool) -> None:
    if is_new:
        st.text_input("Name", key=fields("name"), placeholder="methods-2024", max_chars=64)
    kind = _kind(project.scale)
    names: Any = {"format_func": SCALE_NAMES.__getitem__, "required": True}
    st.segmented_control("Scale", list(SCALE_NAMES), default=kind, key=fields("scale"), **names)
    with st.expander("Custom scale", expanded=kind == CUSTOM):
        label = "One grade per line: value, name, description"
        words = "Used when edited, or with 'Custom'. The lowest grade is 'not relevant'."
        lines = scale_lines(project.scale)
        st.text_area(label, lines, 150, key=fields("grades"), help=words)
    people, leads = st.columns(2)
    words, named = "Comma-separated. Empty: everyone.", ", ".join(project.annotators)
    shown: Any = {"placeholder": "Ada, Grace", "help": words}
    people.text_input("Annotators", named, key=fields("annotators"), **shown)
    words = "Can edit, adjudicate and see others' grades. Empty: everyone."
    leads.text_input("Leads", ", ".join(project.leads), key=fields("leads"), help=words)
    number, first, order = st.columns([2, 2, 3], vertical_alignment="bottom")
    words, bounds = "Annotators per item. Agreement needs at least 2.", (1, 20, project.per_item)
    number.number_input("Annotations per item", *bounds, key=fields("per_item"), help=words)
    words = "Everybody judges this random sample first, so that agreement is known early."
    bounds = ("First items for everybody", 0, MOST_FIRST, project.first)
    first.number_input(*bounds, key=fields("first"), help=words)
    select("Order", ORDERS, fields("order"), order, index=list(ORDERS).index(project.order))
    st.toggle("Blind", project.blind, key=fields("blind"), help="Hides systems and ranks.")
    words = "In qrels, exports and Evaluate, which report how many grades are by a model alone."
    label, key = "Use model grades where no person graded", fields("model_grades")
    st.toggle(label, project.model_grades, key=key, help=words)


def _guidelines(explorer: Explorer, project: Project, lens: Lens, fields: Fields) -> None:
    st.caption(
        "Guidelines in Markdown, shown beside every item. The part for all aspects comes first."
    )

    def fill_in(aspect: str, key: str) -> None:
        given = fields.values
        scaled = replace(project, scale=_scale(project, given["scale"], given["grades"]))
        template = explorer.annotation.guideline_template(scaled, aspect)
        written = st.session_state[key].rstrip()
        st.session_state[key] = "\n\n".join(filter(None, (written, template)))

    names = {"": "All aspects", **{aspect.key: aspect.name for aspect in lens.aspects}}
    for tab, (aspect, name) in zip(st.tabs(list(names.values())), names.items(), strict=True):
        key = fields(f"guide_{aspect}")
        # Set in the session, it would replace what a page that was open at a restart holds.
        begun = "" if key in st.session_state else project.guidelines.get(aspect, "")
        with tab:
            words = "What makes a document relevant here, and what does not?"
            look: Any = {"label_visibility": "collapsed", "placeholder": words}
            st.text_area(f"Guidelines: {name}", begun, 330, key=key, **look)
            label = f"Insert template: {escape_label(name)}"
            words = "Adds headings, a table of the grades and places for examples."
            at = f"annotate_template_{aspect}_{fields.place}"
            submit(label, at, fill_in, aspect, key, help=words)


def _kind(scale: Scale) -> str:
    return scale.name if scale in SCALES.values() else CUSTOM


def _scale(project: Project, kind: str, lines: str) -> Scale:
    """The scale of the form; one that was edited is the one that counts."""
    edited = lines.strip() != scale_lines(project.scale)
    return read_scale(lines) if edited or kind == CUSTOM else SCALES[kind]


def _read(project: Project, given: dict[str, Any], lens: Lens) -> Project:
    """What the form says, as a project."""
    as_given = ("per_item", "first", "order", "blind", "model_grades")
    return replace(
        project,
        name=project.name or joined(given["name"]),
        guidelines={a: given[f"guide_{a}"] for a in ("", *(aspect.key for aspect in lens.aspects))},
        scale=_scale(project, given["scale"], given["grades"]),
        **{name: read_names(given[name]) for name in ("annotators", "leads")},
        **{name: given[name] for name in as_given},
    )
