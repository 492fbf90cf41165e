"""A language model as one annotator among others: what it shall grade, how far it is, its check."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import (
    ANCHORS,
    MOST_ANCHORS,
    GradeCounts,
    GradingRequest,
    Item,
    ModelCheck,
    Project,
)
from engine.types.models import Estimate
from pages._annotate.agreement import WORDS, aspects_table, confusion_html, said_html
from pages._annotate.annotate_url import AnnotateView
from pages._annotate.judging import judging_view
from pages._common.document_view import by_role, title_of
from pages._common.kit import button, dim, el, empty, facts, line, select
from pages._common.shared import error_boundary, show_problem, with_marks
from pages._common.tasks import TaskPanel, at_most
from pages._model.model_settings import endpoint, folded_panel

ABOUT = "Model grades are stored as a separate annotator, with a rationale."
ALL = 0
LIMITS = (10, 100, 1000)  # candidates that one may begin with, to see what comes of it
_KEY = "annotate_model"
_CHOSEN = tuple(f"{_KEY}_{one}_" for one in ("queries", "limit", "anchors", "judged", "again"))
"""Keys of what is chosen of it; see :func:`as_drawn`."""
USUAL = 20  # items of a sample
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
    comparison, is_graded = None, False
    with left, error_boundary():
        is_graded = _grading(explorer, project)
    with right, error_boundary():
        comparison = check(explorer, project, who, is_graded=is_graded)
    if comparison is not None and comparison.items:
        with error_boundary():
            differences(explorer, project, comparison)


def _grading(explorer: Explorer, project: Project) -> bool:
    """The form that starts a run; returns whether nothing is left to grade."""
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
        words = estimate_line(request, estimate, connected=connected)
        blocked = busy or not estimate.items or not connected
        start = partial(panel.start, request)
        look: Any = {"type": "primary" if estimate.items else "secondary"}
        panel.button(label, start, words, disabled=blocked, widgets=_CHOSEN, **look)
    show_problem(_KEY)
    panel.card()
    folded_panel(explorer, _KEY)
    return not estimate.items


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


def estimate_line(request: GradingRequest, estimate: Estimate, *, connected: bool) -> str:
    """``360 candidates of 12 queries: 360 requests, up to 730 including retries.``"""
    counts, words = estimate.counts, "Nothing left to grade."
    if estimate.items:
        queries = counted(counts["queries"], "query", "queries")
        cost = at_most(estimate) if connected else "connect a language model first"
        words = f"{counted(estimate.items, 'candidate')} of {queries}: {cost}."
    left = ("is left to the people who graded it.", "are left to the people who graded them.")
    lacking = counts["without_anchors"] if request.anchors else 0
    sentences = {
        f"{counts['done']:,} already graded.": counts["done"],
        counted(counts["judged"], *left): counts["judged"],
        f"{counted(lacking, 'query has', 'queries have')} no examples.": lacking,
    }
    return " ".join([words, *(sentence for sentence, number in sentences.items() if number)])


def outcome(made: GradeCounts) -> list[str]:
    """What a run did."""
    each = ", ".join(f"{number:,} × {value}" for value, number in made.grades.items() if number)
    graded = f"{counted(made.graded, 'candidate')} graded by {made.annotator}"
    return [
        f"{graded} ({each})" if each else graded,
        *[f"{made.changed:,} changed"] * bool(made.changed),
    ]


def sample_of(explorer: Explorer, project: Project, who: str) -> frozenset[Item]:
    """The items that somebody is checking; after a reload, those of the address that are left."""
    key = (project.corpus, project.name, who)
    place, items = st.session_state.get(_SAMPLE, (None, frozenset()))
    asked = _ASKED.fullmatch(st.query_params.get("sample", ""))
    if place == key or asked is None:
        return items if place == key else frozenset()
    size, before = map(int, asked.groups())
    annotation = explorer.annotation
    left = size + before - len(annotation.judgments(project, annotator=who))
    drawn = frozenset(annotation.grading.sample(project, max(0, left), annotator=who))
    st.session_state[_SAMPLE] = (key, drawn)
    return drawn


def end_sample() -> None:
    """Leave the sample; what was judged is stored."""
    st.session_state.pop(_SAMPLE, None)
    AnnotateView.change(lambda now: replace(now, sample=""))


def check(explorer: Explorer, project: Project, who: str, *, is_graded: bool) -> ModelCheck | None:
    """The comparison with a model, and a button that draws a sample, which comes next once all is
    graded; None before there is one."""
    st.header("People vs. model", anchor=False, help=WORDS)
    grading = explorer.annotation.grading
    models, busy = grading.models(project), grading.jobs.running(project.key) is not None
    if busy or not models:
        none = "No model grades in this project yet. Start a run above."
        empty("Shown when the run has ended." if busy else none)
        return None
    chosen = models[-1]
    if len(models) > 1:
        look: Any = {"index": len(models) - 1, "label_visibility": "collapsed"}
        chosen = select("Model", {name: name for name in models}, "annotate_check_model", **look)
    found = grading.check(project, chosen)
    people = f"{found.items:,} of them" if found.items else "none of them"
    graded = f"{found.annotator} graded {counted(found.graded, 'item')}; people graded {people}."
    facts(" ".join([graded, *found.notes]))
    _draw(explorer, project, who, "primary" if is_graded else "secondary")
    if found.items:
        aspects_table(found, "annotate_check_table", "Agreement of people and the model")
        pair = ("people", found.annotator)
        st.html(confusion_html(pair, found.grades, found.confusion, project.scale))
    return found


def _draw(
    explorer: Explorer, project: Project, who: str, kind: Literal["primary", "secondary"]
) -> None:
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
        asked = f"{len(items)}-{len(explorer.annotation.judgments(project, annotator=who))}"
        AnnotateView.change(lambda now: replace(now, sample=asked))

    words = "A random sample of items graded by the model only, whose grades stay hidden."
    with right:
        label = f"Check a sample of {count:,}"
        button(label, "annotate_sample_begin", begin, help=words, type=kind)


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
    opened, queries = explorer.library.open(project.corpus), explorer.annotation.queries(project)
    for place, one in enumerate(shown):
        if place % 2 == 0:
            columns = st.columns(2, gap="large")
        query, asked = queries.get(one.query_id), one.query_id
        if query is not None:
            asked = f"For: {explorer.notebook.seed_title(query)} · {query.aspect or 'as a whole'}"
        title, whole = one.doc_id, None
        if one.doc_id in opened.row_of:
            document = opened.document(one.doc_id)
            title, card = title_of(document), by_role("Candidate", document, opened.lens)
            whole = el("details", el("summary", "Full text"), card)
        said = [(who, grade, one.notes.get(who, "")) for who, grade in one.said.items()]
        if one.decided_by:
            said.append((f"Decided by {one.decided_by}", one.people, one.decision))
        said.append((f"{comparison.annotator} (a model)", one.model, one.reason))
        about = el("div.title", title), el("div.sl-facts", asked), said_html(said, project.scale)
        columns[place % 2].html(el("section.sl-differ", *about, whole))
