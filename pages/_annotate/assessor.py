"""A language model as one annotator among others: what it shall grade, how far it is, its check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import (
    ANCHORS,
    MOST_ANCHORS,
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
from pages._annotate.agreement import WORDS, aspects_table, confusion_html
from pages._annotate.annotate_url import AnnotateView
from pages._annotate.decide import said_html
from pages._annotate.judging_view import judging_view
from pages._common.document_view import by_role, title_of
from pages._common.kit import Html, button, dim, el, empty, facts, line, select
from pages._common.shared import error_boundary, show_problem, with_marks
from pages._common.tasks import TaskPanel, at_most
from pages._model.model_settings import endpoint, folded_panel

ABOUT = "Model grades are stored as a separate annotator, with a rationale."
ALL = 0
LIMITS = (10, 100, 1000)
"""Candidates that one may begin with, to see what comes of it."""
_KEY = "annotate_model"
_CHOSEN = tuple(f"{_KEY}_{one}_" for one in ("queries", "limit", "anchors", "judged", "again"))
"""Keys of what is chosen of it; see :func:`as_drawn`."""
USUAL = 20
"""Items of a sample."""
PER_PAGE = 10
_SAMPLE = "annotate_sample"
_ASKED = re.compile(r"(\d{1,6})-(\d{1,9})")


def model(explorer: Explorer, project: Project, who: str) -> None:
    """The part of the page; while somebody checks a sample, the queue of its items with it."""
    items = sample_of(explorer, project, who)
    if items:
        with st.container(key="annotate_sample_head", horizontal=True, vertical_alignment="center"):
            facts(
                f"A sample of {counted(len(items), 'item')} that a model graded. Its grades are "
                "hidden until you finish. Yours only check it: exports and agreement leave them "
                "out."
            )
            st.button("Show differences", key="annotate_sample_end", on_click=end_sample)
        judging_view(explorer, project, who, None, items)
        return
    with st.container(key=_KEY):
        left, right = st.columns(2, gap="large")
    comparison = None
    with left, error_boundary():
        _grading(explorer, project)
    with right, error_boundary():
        busy = explorer.annotation.grading.jobs.running(project.key) is not None
        comparison = check(explorer, project, who, busy=busy)
    if comparison is not None and comparison.items:
        with error_boundary():
            differences(explorer, project, comparison)


# -- grading -------------------------------------------------------------------------------------


def _grading(explorer: Explorer, project: Project) -> None:
    st.header("Model grading", anchor=False)
    counts = "Model grades are not used in qrels unless enabled under Project."
    if project.model_grades:
        counts = "Model grades count where no person graded (set under Project)."
    dim(f"{ABOUT} {counts}")
    panel: TaskPanel[GradingRequest, GradeCounts] = TaskPanel(
        *(explorer.annotation.grading, project.key, _KEY),
        doing=lambda _: ("Grading", "candidate"),
        outcome=lambda _, made: outcome(made),
        place=_KEY,
    )
    job = panel.job()
    busy = job is not None and job.running
    request = _choices(explorer, project, busy=busy)
    last = explorer.annotation.judgments(project)[-1:]
    basis = len(explorer.annotation.pool(project)), last and last[0].event
    estimate, connected = panel.estimate(request, *basis), endpoint(explorer).set_up
    none = "All graded" if estimate.counts["done"] else "Start grading"
    label = panel.label(estimate, "Start grading", none, busy=busy)
    with line():
        words = estimate_line(request, estimate) if connected else unconnected_line(estimate)
        blocked = busy or not estimate.items or not connected
        start = partial(panel.start, request)
        panel.button(label, start, words, disabled=blocked, widgets=_CHOSEN)
    show_problem(_KEY)
    panel.card()
    folded_panel(explorer, _KEY)


def _choices(explorer: Explorer, project: Project, *, busy: bool) -> GradingRequest:
    """What is to be graded, and with how many examples."""

    def key(field: str) -> Any:
        return {"key": f"{_KEY}_{field}_{project.corpus}_{project.name}", "disabled": busy}

    names = list(explorer.annotation.queries(project))
    look: Any = {"placeholder": "All", "format_func": with_marks}
    queries = st.multiselect("Queries", names, **look, **key("queries"))
    many, examples = st.columns(2)
    limits = {ALL: "all remaining", **{n: f"next {n:,}" for n in LIMITS}}
    limit = select("Candidates", limits, place=many, **key("limit"))
    words = "Documents known to be relevant to the query: adjudicated ones first, never the "
    bounds = ("Examples per query", 0, MOST_ANCHORS, ANCHORS)
    anchors = examples.number_input(*bounds, help=f"{words}candidate.", **key("anchors"))
    words = "For comparing the model with people. It does not see their grades."
    judged = st.toggle("Include human-graded items", help=words, **key("judged"))
    words = "For example after changing the guidelines. Unchanged questions are free."
    again = st.toggle("Regrade", help=words, **key("again"))
    how: Any = {"again": again, "limit": limit or None, "judged": judged}
    return GradingRequest(project, tuple(queries), int(anchors), **how)


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
    left = f"{counted(estimate.items, 'candidate')} of {queries} {have} no human grade."
    return f"{left} Connect a language model first."


def outcome(made: GradeCounts) -> list[str]:
    """What a run did."""
    each = ", ".join(f"{number:,} × {value}" for value, number in made.grades.items() if number)
    graded = f"{counted(made.graded, 'candidate')} graded by {made.annotator}"
    changed = [f"{made.changed:,} changed"] if made.changed else []
    return [f"{graded}{f' ({each})' if each else ''}", *changed]


# -- people against it ---------------------------------------------------------------------------


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
    ``busy``: a model is grading."""
    st.header("People vs. model", anchor=False, help=WORDS)
    grading = explorer.annotation.grading
    models = grading.models(project)
    if busy or not models:
        none = "No model grades in this project yet. Start a run above."
        empty("Shown when the run has ended." if busy else none)
        return None
    chosen = models[-1]
    if len(models) > 1:
        names = {name: name for name in models}
        look: Any = {"index": len(models) - 1, "label_visibility": "collapsed"}
        chosen = select("Model", names, "annotate_check_model", **look)
    found = grading.check(project, chosen)
    people = f"{found.items:,} of them" if found.items else "none of them"
    graded = f"{found.annotator} graded {counted(found.graded, 'item')}; people graded {people}."
    facts(" ".join([graded, *found.notes]))
    _draw(explorer, project, who)
    if found.items:
        aspects_table(found, "annotate_check_table", "Agreement of people and the model")
        pair = ("people", found.annotator)
        st.html(confusion_html(pair, found.grades, found.confusion, project.scale))
    return found


def _draw(explorer: Explorer, project: Project, who: str) -> None:
    """A button that leads through items drawn at random, without the model's grades."""
    grading = explorer.annotation.grading
    left = len(grading.sample(project, 10**6, annotator=who))
    if not left:
        facts("People judged every item that a model graded.")
        return
    size, right = st.columns([2, 5], vertical_alignment="bottom")
    key = f"annotate_sample_size_{left}"
    count = min(left, int(size.number_input("Items", 1, left, min(USUAL, left), key=key)))

    def begin() -> None:
        items = frozenset(grading.sample(project, count, annotator=who))
        explorer.annotation.queue(project, who, items)  # refuses a name that cannot judge
        st.session_state[_SAMPLE] = ((project.corpus, project.name, who), items)
        asked = f"{len(items)}-{_judged(explorer, project, who)}"
        AnnotateView.change(lambda now: replace(now, sample=asked))

    words = "A random sample of items graded by the model only. Its grades stay hidden until you "
    with right:
        label, key = f"Check a sample of {count:,}", "annotate_sample_begin"
        button(label, key, begin, help=f"{words}finish.")


def differences(explorer: Explorer, project: Project, comparison: ModelCheck) -> None:
    """What people and the model grade differently, the widest first, with the model's reasons."""
    all_of_them = comparison.differences
    if not all_of_them:
        facts("No differences.")
        return
    st.header(f"Differences ({len(all_of_them):,})", anchor=False)
    pages = -(-len(all_of_them) // PER_PAGE)
    number = st.pagination(pages, key="annotate_check_page") if pages > 1 else 1
    shown = all_of_them[(min(number, pages) - 1) * PER_PAGE :][:PER_PAGE]
    opened, lens = explorer.library.open(project.corpus), explorer.library.lens(project.corpus)
    known = [d.doc_id for d in shown if d.doc_id in opened.row_of]
    documents = {d.doc_id: d for d in opened.documents(list(dict.fromkeys(known)))}
    queries = explorer.annotation.queries(project)
    for place, one in enumerate(shown):
        if place % 2 == 0:
            columns = st.columns(2, gap="large")
        asked = one.query_id
        if (query := queries.get(one.query_id)) is not None:
            title = explorer.notebook.seed_title(query)
            asked = f"For: {title} · {query.aspect or 'as a whole'}"
        told = (one, project.scale, asked, documents.get(one.doc_id), lens, comparison.annotator)
        columns[place % 2].html(difference_html(*told))


def difference_html(
    item: GradingDifference,
    scale: Scale,
    asked: str,
    document: Document | None,
    lens: Lens,
    model: str,
) -> Html:
    """What each person, who decided, and the model said of one item, side by side. ``asked``: what
    the query is, in a few words. ``document``: None when the corpus does not hold it any more."""
    names: Mapping[int, str] = {grade.value: grade.name for grade in scale.grades}
    title, whole = item.doc_id, None
    if document is not None:
        title, card = title_of(document), by_role("Candidate", document, lens)
        whole = el("details", el("summary", "Full text"), card)
    rows = [(who, grade, item.notes.get(who, "")) for who, grade in item.said.items()]
    if item.decided_by:
        rows.append((f"Decided by {item.decided_by}", item.people, item.decision))
    rows.append((f"{model} (a model)", item.model, item.reason))
    said = said_html((who, f"{n} · {names.get(n, '')}", note) for who, n, note in rows)
    return el("section.sl-differ", el("div.title", title), el("div.sl-facts", asked), said, whole)
