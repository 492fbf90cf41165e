"""People against the model: how far they agree, a sample to look at, and where they differ."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import streamlit as st

from engine.explorer import Explorer
from engine.types.annotating import Project
from engine.types.grading import ModelCheck
from engine.types.plurals import counted
from engine.types.searches import Query
from pages._annotate.agreement_tables import WORDS, aspects_table, confusion_html
from pages._annotate.annotate_view import change_view
from pages._annotate.assessor_lines import difference_html
from pages._common.shared import attempt

USUAL = 20
"""Items of a sample."""
PER_PAGE = 10
_SAMPLE = "annotate_sample"
_ASKED = re.compile(r"(\d{1,6})-(\d{1,9})")
Item = tuple[str, str]
"""(query_id, doc_id)"""


def sample_of(explorer: Explorer, project: Project, who: str) -> frozenset[Item]:
    """The items that somebody is checking; none when they are not.

    After a reload, those of the address that are left: the order of drawing stays the same.
    """
    key = (project.corpus, project.name, who)
    place, items = st.session_state.get(_SAMPLE, (None, frozenset()))
    asked = _ASKED.fullmatch(st.query_params.get("sample", ""))
    if place == key or asked is None:
        return items if place == key else frozenset()
    size, before = map(int, asked.groups())
    left = size - (_judged(explorer, project, who) - before)
    drawn = explorer.annotation.grading.sample(project, left, annotator=who) if left > 0 else ()
    st.session_state[_SAMPLE] = (key, frozenset(drawn))
    return frozenset(drawn)


def _judged(explorer: Explorer, project: Project, who: str) -> int:
    return len(explorer.annotation.judgments(project, annotator=who))


def end_sample() -> None:
    """Leave the sample; what was judged is stored."""
    st.session_state.pop(_SAMPLE, None)
    change_view(lambda now: replace(now, sample=""))


def check(
    explorer: Explorer, project: Project, who: str, *, busy: bool = False
) -> ModelCheck | None:
    """The comparison with one model, and a button that draws a sample; None without any model.

    Args:
        busy: a model is grading.
    """
    st.header("People against the model", anchor=False, help=WORDS)
    models = explorer.annotation.grading.models(project)
    if not models or busy:
        words = "It follows when the run has ended."
        if not busy:
            words = "No model has graded anything in this project yet."
        st.html(f'<div class="sl-empty">{words}</div>')
        return None
    chosen = models[-1]
    if len(models) > 1:
        chosen = st.selectbox(
            "Model", models, index=len(models) - 1, key="annotate_check_model",
            label_visibility="collapsed",
        )  # fmt: skip
    found = explorer.annotation.grading.check(project, chosen)
    _standing(found)
    _draw(explorer, project, who)
    if not found.items:
        return found
    names = explorer.annotation.measure_names
    aspects_table(found, names, "annotate_check_table", "Agreement of people and the model")
    pair = ("people", found.annotator)
    st.html(confusion_html(pair, found.grades, found.confusion, project.scale))
    return found


def _standing(found: ModelCheck) -> None:
    graded = counted(found.graded, "item")
    people = "none of them" if not found.items else f"{found.items:,} of them"
    words = [f"{found.annotator} graded {graded}; people graded {people}.", *found.notes]
    st.html(f'<div class="sl-facts">{html.escape(" ".join(words))}</div>')


def _draw(explorer: Explorer, project: Project, who: str) -> None:
    """A button that leads through items drawn at random, without the model's grades."""
    left = len(explorer.annotation.grading.sample(project, 10**6, annotator=who))
    if not left:
        st.html(
            '<div class="sl-facts">Every item of the pool that a model graded was judged by '
            "people.</div>"
        )
        return
    size, button = st.columns([2, 5], vertical_alignment="bottom")
    count = min(left, int(size.number_input("Items", 1, left, min(USUAL, left),
                                            key=f"annotate_sample_size_{left}")))  # fmt: skip

    def begin() -> None:
        items = frozenset(explorer.annotation.grading.sample(project, count, annotator=who))
        explorer.annotation.queue(project, who, items)  # refuses a name that cannot judge
        st.session_state[_SAMPLE] = ((project.corpus, project.name, who), items)
        asked = f"{len(items)}-{_judged(explorer, project, who)}"
        change_view(lambda now: replace(now, sample=asked))

    button.button(
        f"Check a sample of {count:,}", key="annotate_sample_begin", on_click=attempt,
        args=(begin,),
        help="Items that it graded and no person has, drawn at random. You judge them on the desk "
        "as any other, without seeing its grades; then you see where you differ.",
    )  # fmt: skip


def differences(explorer: Explorer, project: Project, found: ModelCheck) -> None:
    """What people and the model grade differently, the widest first, with the model's reasons."""
    if not found.differences:
        st.html('<div class="sl-facts">They agree on every item that both graded.</div>')
        return
    st.header(f"Where they differ ({len(found.differences):,})", anchor=False)
    pages = -(-len(found.differences) // PER_PAGE)
    number = st.pagination(pages, key="annotate_check_page") if pages > 1 else 1
    shown = found.differences[(min(number, pages) - 1) * PER_PAGE :][:PER_PAGE]
    opened, lens = explorer.library.open(project.corpus), explorer.library.lens(project.corpus)
    known = [d.doc_id for d in shown if d.doc_id in opened.row_of]
    documents = {d.doc_id: d for d in opened.documents(list(dict.fromkeys(known)))}
    queries = explorer.annotation.queries(project)
    titles = explorer.notebook.seed_title
    for place, difference in enumerate(shown):
        if place % 2 == 0:
            columns = st.columns(2, gap="large")
        query = queries.get(difference.query_id)
        asked = difference.query_id if query is None else _asked(query, titles(query))
        columns[place % 2].html(
            difference_html(
                difference, project.scale, asked, documents.get(difference.doc_id), lens,
                found.annotator,
            )
        )  # fmt: skip


def _asked(query: Query, title: str) -> str:
    return f"For: {title} · {query.aspect or 'as a whole'}"
