"""Disagreements, side by side, and the decision on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.annotating import Disagreement, Judgment, Project, Scale
from engine.types.documents import Document
from engine.types.lenses import Lens
from engine.types.searches import Query
from pages._annotate.annotate_url import is_lead
from pages._annotate.judging_view import DocumentCache, is_plain, seed_data, seeds_of
from pages._common.components import dark
from pages._common.document_view import letter, meta, shortened
from pages._common.outside_text import escape
from pages._common.shared import ASSETS, attempt, escape_label

AT = "annotate_disagreement"
_KEYS = st.components.v2.component(
    "seedlens_decide",
    html='<div class="root"></div>',
    js=(ASSETS / "components" / "annotate_decide.js").read_text("utf-8"),
)


def disagreements(explorer: Explorer, project: Project, who: str) -> None:
    """One disagreement after another, the widest first."""
    items = explorer.annotation.disagreements(project)
    still = [d for d in items if d.decided is None]
    if not items:
        st.html(
            '<div class="sl-empty">No disagreements. Items that people grade differently, or are '
            "unsure of, are listed here.</div>"
        )
        return
    with st.container(key="annotate_decide_head", horizontal=True, vertical_alignment="center"):
        words = f"{len(still):,} to decide, {len(items) - len(still):,} decided"
        st.html(f'<div class="sl-facts">{words}</div>')
        decided = st.toggle("Show decided", key="annotate_decided", value=not still)
        shown = items if decided else still
        if len(shown) > 1:
            st.session_state[AT] = min(st.session_state.get(AT) or 1, len(shown))
            number = st.pagination(len(shown), key=AT)
        else:
            number = 1
    if not shown:
        st.html('<div class="sl-empty">All decided.</div>')
        return
    _one(explorer, project, who, shown[min(number, len(shown)) - 1])


def _one(explorer: Explorer, project: Project, who: str, item: Disagreement) -> None:
    annotation = explorer.annotation
    lens = explorer.library.lens(project.corpus)
    query = annotation.queries(project).get(item.query_id)
    cache = DocumentCache(project.corpus)
    document = explorer.library.open(project.corpus).document(item.doc_id)
    cards = ""
    if query is not None:
        seed = seeds_of(explorer, cache, {item.query_id: query})[item.query_id]
        asked = seed_data(item.query_id, query, seed, lens)
        on = {number for number, row in enumerate(asked["sentences"]) if row["on"]}
        cards = card_html(kicker_of(query, asked), seed, lens, on)
    marked = marks_of(item.said, document)
    cards += card_html("Candidate", document, lens, set(marked), marked)
    st.html(f'<div class="sl-papers">{cards}</div>')
    st.html(said_html(item.said, project.scale))
    _decision(explorer, project, who, item)


def kicker_of(query: Query, asked: Mapping[str, Any]) -> str:
    """What stands above a seed: what is asked of it.

    Args:
        asked: as :func:`pages._annotate.judging_view.seed_data` has it.
    """
    if is_plain(query):
        return str(asked["kicker"])
    own = asked["asked"] if query.instruction or query.reading else ""
    return f"{asked['kicker']} · {own or asked['aspect'] or query.aspect or 'as a whole'}"


def _decision(explorer: Explorer, project: Project, who: str, item: Disagreement) -> None:
    if not is_lead(project, who):
        leads = ", ".join(project.leads) or "Leads"
        st.html(f'<div class="sl-facts">{escape(leads)} decide.</div>')
        return
    before = item.decided
    place = f"{item.query_id}\x1f{item.doc_id}"
    grades = {g.value: escape_label(f"{g.value} · {g.name}") for g in project.scale.grades}
    with st.form(f"annotate_decide_{place}", border=False):
        with st.container(key="annotate_decision"):
            left, right = st.columns([5, 7], gap="medium")
        left.segmented_control(
            "Decision (required)", list(grades), format_func=grades.__getitem__,
            key=f"annotate_grade_{place}", default=None if before is None else before.relevance,
        )  # fmt: skip
        right.text_input(
            "Reason (required)", "" if before is None else before.note,
            key=f"annotate_reason_{place}",
            placeholder="Reason", max_chars=2000,
        )  # fmt: skip

        def decide() -> None:
            grade = st.session_state[f"annotate_grade_{place}"]
            if grade is None:
                raise BadInputError("No grade selected.", "Choose the final grade.")
            reason = st.session_state[f"annotate_reason_{place}"]
            explorer.annotation.adjudicate(
                project, item.query_id, item.doc_id, grade, reason, who,
                seen="" if before is None else before.event,
            )  # fmt: skip

        with st.container(horizontal=True, vertical_alignment="center"):
            st.form_submit_button(
                "Decide" if before is None else "Change decision", type="primary",
                key=f"annotate_decide_button_{place}", on_click=attempt, args=(decide,),
            )  # fmt: skip
            st.html(hint_html(list(grades)))
    with st.container(key="annotate_decide_keys"):
        _KEYS(key="annotate_decide_component", data={"grades": list(grades)})
    if before is not None and before.annotator == who:
        st.button(
            "Undo decision", key=f"annotate_decide_back_{place}", on_click=attempt,
            args=(partial(_take_back, explorer, project, item, who, before.event),),
            type="tertiary",
        )  # fmt: skip


def hint_html(grades: Sequence[int]) -> str:
    """What a decision does not change, and the form's keys."""
    first, last = grades[0], grades[-1]
    return (
        f'<div class="sl-facts">Everyone’s own grades are kept. Keys: <kbd>{first}</kbd> to '
        f"<kbd>{last}</kbd> choose, <kbd>N</kbd> goes to the reason, <kbd>Enter</kbd> decides."
        "</div>"
    )


def _take_back(
    explorer: Explorer, project: Project, item: Disagreement, who: str, decided: str
) -> None:
    """By an event of the decision's own: a second click takes back nothing more."""
    explorer.annotation.adjudicate(
        project, item.query_id, item.doc_id, None, "", who, event=f"back-{decided}"
    )


def marks_of(said: Sequence[Judgment], document: Document) -> dict[int, list[str]]:
    """Index of a sentence -> who marked it."""
    at = {sentence.span: index for index, sentence in enumerate(document.sentences)}
    marks: dict[int, list[str]] = {}
    for judgment in said:
        for span in judgment.marks:
            if span in at:
                marks.setdefault(at[span], []).append(judgment.annotator)
    return marks


def card_html(
    kicker: str,
    document: Document,
    lens: Lens,
    on: set[int],
    marked: dict[int, list[str]] | None = None,
) -> str:
    """A document with its sentences by role, as escaped HTML.

    Args:
        on: sentences that stand out.
        marked: who marked which.
    """
    rows = ""
    for number, sentence in enumerate(document.sentences):
        who = ", ".join((marked or {}).get(number, ()))
        by = f' <span class="by">marked by {escape(who)}</span>' if who else ""
        rows += (
            f'<li class="role-{"none" if sentence.role is None else sentence.role}'
            f'{" on" if number in on else ""}"><span class="letter">'
            f'{escape(letter(sentence.role, lens))}</span><span class="text">'
            f"{escape(sentence.text)}{by}</span></li>"
        )
    title = escape(document.title or shortened(document.text))
    theme, label = " dark" if dark() else "", escape(kicker)
    return (
        f'<section class="sl-paper{theme}" tabindex="0" aria-label="{label}">'
        f'<div class="kicker">{escape(kicker)}</div><div class="title">{title}</div>'
        f'<div class="meta">{escape(meta(document))}</div><ul>{rows}</ul></section>'
    )


def said_html(said: Sequence[Judgment], scale: Scale) -> str:
    """What each annotator said, side by side."""
    names = {grade.value: grade.name for grade in scale.grades}
    cells = ""
    for judgment in said:
        if judgment.relevance is None:
            grade: str = judgment.verdict
        else:
            grade = f"{judgment.relevance} · {names.get(judgment.relevance, 'not of this scale')}"
        origin = " (a model)" if judgment.origin == "model" else ""
        note = f'<p class="note">{escape(judgment.note)}</p>' if judgment.note else ""
        cells += (
            f'<div><div class="who">{escape(judgment.annotator)}{origin}</div>'
            f'<div class="grade">{escape(grade)}</div>{note}</div>'
        )
    return f'<div class="sl-said">{cells}</div>'
