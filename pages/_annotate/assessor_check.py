"""A model that grades: what it takes and how far it is, in words, and people against it."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import (
    GradeCounts,
    GradingDifference,
    GradingRequest,
    Item,
    ModelCheck,
    Project,
    Scale,
)
from engine.types.documents import Document
from engine.types.lenses import Lens
from engine.types.models import Estimate
from engine.types.searches import Query
from pages._annotate.agreement_tables import WORDS, aspects_table, confusion_html
from pages._annotate.annotate_url import AnnotateView
from pages._annotate.decide import card_html
from pages._common.document_view import shortened
from pages._common.job_words import at_most
from pages._common.outside_text import escape, with_marks
from pages._common.shared import attempt


def estimate_line(request: GradingRequest, estimate: Estimate) -> str:
    """``360 candidates of 12 queries: 360 requests, up to 730 including retries.``"""
    counts, sentences = estimate.counts, ["Nothing left to grade."]
    if estimate.items:
        queries = counted(counts["queries"], "query", "queries")
        sentences = [f"{counted(estimate.items, 'candidate')} of {queries}: {at_most(estimate)}."]
    if counts["done"]:
        sentences.append(f"{counts['done']:,} already graded.")
    if counts["judged"]:
        left = ("is left to the people who graded it.", "are left to the people who graded them.")
        sentences.append(counted(counts["judged"], *left))
    if counts["without_anchors"] and request.anchors:
        which = counted(counts["without_anchors"], "query has", "queries have")
        sentences.append(f"{which} no examples.")
    return " ".join(sentences)


def unconnected_line(estimate: Estimate) -> str:
    """What could be graded, while nobody knows by which model."""
    if not estimate.items:
        return "People graded every candidate."
    queries = counted(estimate.counts["queries"], "query", "queries")
    have = "has" if estimate.items == 1 else "have"
    return (
        f"{counted(estimate.items, 'candidate')} of {queries} {have} no human grade. Connect "
        "a language model first."
    )


def outcome(made: GradeCounts) -> list[str]:
    """What a run did."""
    each = ", ".join(f"{number:,} × {value}" for value, number in made.grades.items() if number)
    graded = f"{counted(made.graded, 'candidate')} graded by {made.annotator}"
    changed = [f"{made.changed:,} changed"] if made.changed else []
    return [f"{graded}{f' ({each})' if each else ''}", *changed]


def difference_html(
    item: GradingDifference,
    scale: Scale,
    asked: str,
    document: Document | None,
    lens: Lens,
    model: str,
) -> str:
    """What each person, who decided, and the model said of one item, side by side; all escaped.

    Args:
        asked: what the query is, in a few words.
        document: None when the corpus does not hold it any more.
    """
    names = {grade.value: grade.name for grade in scale.grades}
    title = item.doc_id if document is None else document.title or shortened(document.text)
    whole = (
        ""
        if document is None
        else "<details><summary>Full text</summary>"
        f"{card_html('Candidate', document, lens, set())}</details>"
    )
    rows = [(who, grade, item.notes.get(who, "")) for who, grade in item.said.items()]
    if item.decided_by:
        rows.append((f"Decided by {item.decided_by}", item.people, item.decision))
    rows.append((f"{model} (a model)", item.model, item.reason))
    boxes = "".join(
        f'<div><div class="who">{escape(who)}</div><div class="grade">{grade} · '
        f"{escape(names.get(grade, ''))}</div>"
        + (f'<p class="note">{escape(words)}</p>' if words else "")
        + "</div>"
        for who, grade, words in rows
    )
    return (
        f'<section class="sl-differ"><div class="title">{escape(title)}</div>'
        f'<div class="sl-facts">{escape(asked)}</div>'
        f'<div class="sl-said">{boxes}</div>{whole}</section>'
    )


USUAL = 20
"""Items of a sample."""
PER_PAGE = 10
_SAMPLE = "annotate_sample"
_ASKED = re.compile(r"(\d{1,6})-(\d{1,9})")


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
    AnnotateView.change(lambda now: replace(now, sample=""))


def check(
    explorer: Explorer, project: Project, who: str, *, busy: bool = False
) -> ModelCheck | None:
    """The comparison with one model, and a button that draws a sample; None without any model.

    Args:
        busy: a model is grading.
    """
    st.header("People vs. model", anchor=False, help=WORDS)
    models = explorer.annotation.grading.models(project)
    if not models or busy:
        words = "Shown when the run has ended."
        if not busy:
            words = "No model grades in this project yet. Start a run above."
        st.html(f'<div class="sl-empty">{words}</div>')
        return None
    chosen = models[-1]
    if len(models) > 1:
        chosen = st.selectbox(
            "Model",
            models,
            index=len(models) - 1,
            key="annotate_check_model",
            label_visibility="collapsed",
            format_func=with_marks,
        )
    comparison = explorer.annotation.grading.check(project, chosen)
    _standing(comparison)
    _draw(explorer, project, who)
    if not comparison.items:
        return comparison
    aspects_table(comparison, "annotate_check_table", "Agreement of people and the model")
    pair = ("people", comparison.annotator)
    st.html(confusion_html(pair, comparison.grades, comparison.confusion, project.scale))
    return comparison


def _standing(comparison: ModelCheck) -> None:
    graded = counted(comparison.graded, "item")
    people = "none of them" if not comparison.items else f"{comparison.items:,} of them"
    words = [f"{comparison.annotator} graded {graded}; people graded {people}.", *comparison.notes]
    st.html(f'<div class="sl-facts">{escape(" ".join(words))}</div>')


def _draw(explorer: Explorer, project: Project, who: str) -> None:
    """A button that leads through items drawn at random, without the model's grades."""
    left = len(explorer.annotation.grading.sample(project, 10**6, annotator=who))
    if not left:
        st.html('<div class="sl-facts">People judged every item that a model graded.</div>')
        return
    size, button = st.columns([2, 5], vertical_alignment="bottom")
    count = min(
        left,
        int(
            size.number_input(
                "Items", 1, left, min(USUAL, left), key=f"annotate_sample_size_{left}"
            )
        ),
    )

    def begin() -> None:
        items = frozenset(explorer.annotation.grading.sample(project, count, annotator=who))
        explorer.annotation.queue(project, who, items)  # refuses a name that cannot judge
        st.session_state[_SAMPLE] = ((project.corpus, project.name, who), items)
        asked = f"{len(items)}-{_judged(explorer, project, who)}"
        AnnotateView.change(lambda now: replace(now, sample=asked))

    button.button(
        f"Check a sample of {count:,}",
        key="annotate_sample_begin",
        on_click=attempt,
        args=(begin,),
        help="A random sample of items graded by the model only. Its grades stay hidden until you "
        "finish.",
    )


def differences(explorer: Explorer, project: Project, comparison: ModelCheck) -> None:
    """What people and the model grade differently, the widest first, with the model's reasons."""
    if not comparison.differences:
        st.html('<div class="sl-facts">No differences.</div>')
        return
    st.header(f"Differences ({len(comparison.differences):,})", anchor=False)
    pages = -(-len(comparison.differences) // PER_PAGE)
    number = st.pagination(pages, key="annotate_check_page") if pages > 1 else 1
    shown = comparison.differences[(min(number, pages) - 1) * PER_PAGE :][:PER_PAGE]
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
                difference,
                project.scale,
                asked,
                documents.get(difference.doc_id),
                lens,
                comparison.annotator,
            )
        )


def _asked(query: Query, title: str) -> str:
    return f"For: {title} · {query.aspect or 'as a whole'}"
