"""Disagreements, side by side, and the decision on each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.annotating import Disagreement, Project, Scale
from engine.types.searches import Query
from pages._annotate.annotate_url import found, is_lead
from pages._annotate.judging_data import is_plain, seed_data, seed_of
from pages._common.components import component
from pages._common.document_view import by_role
from pages._common.kit import Fields, Html, button, el, empty, facts, html, submit
from pages._common.shared import escape_label

AT = "annotate_disagreement"
_KEYS = component("annotate_decide")


def disagreements(explorer: Explorer, project: Project, who: str) -> None:
    """One disagreement after another, the widest first."""
    items = found(explorer, project, "disagreements")
    still = [d for d in items if d.decided is None]
    if not items:
        empty(
            "No disagreements. Items that people grade differently, or are unsure of, are listed "
            "here."
        )
        return
    with st.container(key="annotate_decide_head", horizontal=True, vertical_alignment="center"):
        facts(f"{len(still):,} to decide, {len(items) - len(still):,} decided")
        decided = st.toggle("Show decided", key="annotate_decided", value=not still)
        shown, number = items if decided else still, 1
        if len(shown) > 1:
            st.session_state[AT] = min(st.session_state.get(AT) or 1, len(shown))
            number = st.pagination(len(shown), key=AT)
    if shown:
        _one(explorer, project, who, shown[min(number, len(shown)) - 1])
    else:
        empty("All decided.")


def _one(explorer: Explorer, project: Project, who: str, item: Disagreement) -> None:
    lens = explorer.library.lens(project.corpus)
    query = explorer.annotation.queries(project).get(item.query_id)
    document = explorer.library.open(project.corpus).document(item.doc_id)
    seed_card = None
    if query is not None:
        seed = seed_of(explorer, query, {})
        asked = seed_data(item.query_id, query, seed, lens)
        on = {number for number, row in enumerate(asked["sentences"]) if row["on"]}
        seed_card = by_role(kicker_of(query, asked), seed, lens, on)
    at = {sentence.span: index for index, sentence in enumerate(document.sentences)}
    marked: dict[int, list[str]] = {}  # by whom
    for judgment in item.said:
        for span in at.keys() & judgment.marks:
            marked.setdefault(at[span], []).append(judgment.annotator)
    st.html(el("div.sl-papers", seed_card, by_role("Candidate", document, lens, marked, marked)))
    names = [f"{j.annotator}{' (a model)' * (j.origin == 'model')}" for j in item.said]
    grades = (j.verdict if j.relevance is None else j.relevance for j in item.said)
    notes = (judgment.note for judgment in item.said)
    st.html(said_html(zip(names, grades, notes, strict=True), project.scale))
    _decision(explorer, project, who, item)


def kicker_of(query: Query, asked: Mapping[str, Any]) -> str:
    """What stands above a seed: what is asked of it. ``asked``: as
    :func:`pages._annotate.judging_data.seed_data` has it."""
    if is_plain(query):
        return str(asked["kicker"])
    own = asked["asked"] if query.instruction or query.reading else ""
    return f"{asked['kicker']} · {own or asked['aspect'] or query.aspect or 'as a whole'}"


def _decision(explorer: Explorer, project: Project, who: str, item: Disagreement) -> None:
    if not is_lead(project, who):
        facts(f"{', '.join(project.leads) or 'Leads'} decide.")
        return
    before, place = item.decided, f"{item.query_id}\x1f{item.doc_id}"
    grades = {g.value: escape_label(f"{g.value} · {g.name}") for g in project.scale.grades}
    fields = Fields("annotate", place)
    adjudicate = partial(explorer.annotation.adjudicate, project, item.query_id, item.doc_id)

    def decide() -> None:
        grade, reason = fields.values["grade"], fields.values["reason"]
        if grade is None:
            raise BadInputError("No grade selected.", "Choose the final grade.")
        adjudicate(grade, reason, who, seen="" if before is None else before.event)

    with st.form(f"annotate_decide_{place}", border=False):
        with st.container(key="annotate_decision"):
            left, right = st.columns([5, 7], gap="medium")
        left.segmented_control(
            "Decision (required)",
            list(grades),
            format_func=grades.__getitem__,
            key=fields("grade"),
            default=None if before is None else before.relevance,
        )
        label, begun = "Reason (required)", "" if before is None else before.note
        right.text_input(label, begun, 2000, fields("reason"), placeholder="Reason")
        with st.container(horizontal=True, vertical_alignment="center"):
            label = "Decide" if before is None else "Change decision"
            submit(label, f"annotate_decide_button_{place}", decide, type="primary")
            choose = f"<kbd>{min(grades)}</kbd> to <kbd>{max(grades)}</kbd> choose"
            others = "<kbd>N</kbd> goes to the reason, <kbd>Enter</kbd> decides."
            facts(Html(f"Everyone’s own grades are kept. Keys: {choose}, {others}"))
    with st.container(key="annotate_decide_keys"):
        _KEYS(key="annotate_decide_component", data={"grades": list(grades)})
    if before is not None and before.annotator == who:
        # By an event of the decision's own: a second click takes back nothing more.
        back = partial(adjudicate, None, "", who, event=f"back-{before.event}")
        button("Undo decision", f"annotate_decide_back_{place}", back, type="tertiary")


def said_html(rows: Iterable[tuple[str, str | int, str]], scale: Scale) -> Html:
    """What each one said, side by side: who, the grade or a verdict without one, and a note."""
    names = {grade.value: grade.name for grade in scale.grades}

    def box(who: str, grade: str | int, note: str) -> Html:
        if isinstance(grade, int):
            grade = f"{grade} · {names.get(grade, 'not of this scale')}"
        about = el("div.who", who), el("div.grade", grade)
        return el("div", *about, note and el("p.note", note))

    return html(el("div.sl-said", (box(*row) for row in rows)))
