"""The scenarios of a corpus on the Library page: what there is, writing, weighing, removing.

They are written in the server, whether or not a page shows it; who opens the Library again finds
the job. What is stored stays when the server ends: the next run goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.corpora import CorpusInfo
from engine.types.documents import Document
from engine.types.models import Estimate
from engine.types.scenarios import (
    Component,
    Scenario,
    ScenarioCounts,
    ScenarioJob,
    ScenarioRequest,
    ScenarioSource,
    ScenarioState,
)
from pages._common.document_view import title_of
from pages._common.job_words import at_most, is_finished
from pages._common.kit import Html, dim, el, facts, line, open_part, segments, select
from pages._common.seed_finder import picker
from pages._common.shared import attempt_at, confirm, engine, error_boundary, show_problem
from pages._explore.explore_state import View
from pages._model.model_form import folded_panel
from pages._model.model_settings import endpoint
from pages._model.task_panel import TaskPanel

ABOUT = (
    "Scenarios describe the information needs a document meets. They enable the “scenario” system."
)
BEING_WRITTEN = "Writing scenarios. Results appear here when done."
WRITERS: dict[ScenarioSource, str] = {
    "generated": "Language model",
    "extractive": "Extracts (no model)",
}
_WORDS: dict[ScenarioSource, str] = {
    "generated": "The model reads each document and writes the information needs it meets. Marked "
    "as generated; may be wrong.",
    "extractive": "Title and key sentences by rule, marked as extracts. No clear gain over dense "
    "on CSFCube.",
}
COMPONENTS: dict[Component, str] = {
    "M": "main topic",
    "I": "information need",
    "E": "explanation",
    "M+E": "main topic and explanation",
    "I+E": "information need and explanation",
}
ALL = 0
LIMITS = (10, 100, 1000)
"""Documents that one may begin with, to see what comes of it."""
MOST_FOUND = 6
"""Of documents that are offered for some words."""


def section(
    explorer: Explorer, info: CorpusInfo, job: ScenarioJob | None, panels: list[str], indexing: bool
) -> None:
    """The section of one corpus, which nothing is read for before it is opened.

    Args:
        job: the last run over the corpus.
        panels: corpora with the form for a model, which stands once on the page.
        indexing: documents are being added to it.
    """
    name, task = info.name, _task(explorer, info.name)
    inside = open_part("Scenarios", f"library_scenarios_{name}")
    if not inside.open:
        _card(task, name)
        return
    with inside, st.container(key=f"library_scenarios_in_{name}"), error_boundary():
        state = explorer.scenarios.status(name)
        writing = job is not None and job.running
        busy = indexing or writing
        facts(BEING_WRITTEN if writing else " · ".join(coverage(state)))
        if not state.scenarios:
            dim(ABOUT)
        begun: ScenarioSource = "generated" if job is None else job.request.source
        source = _start(task, info, state, begun, busy, indexing)
        _card(task, name, resume=False)  # the button above does that
        if source == "generated":
            if panels:
                dim(f"Connect the model under {panels[0]}.")
            else:
                panels.append(info.title)
                folded_panel(explorer, "library")
        if state.scenarios:
            _weight(explorer, state, busy=busy)
            st.fragment(reader)(explorer, name)
        if state.scenarios or state.outdated:
            key = f"library_scenarios_remove_{name}"
            if st.button("Remove scenarios", key, type="tertiary", disabled=busy):
                _confirm(state)


# -- what there is -----------------------------------------------------------------------------


def coverage(state: ScenarioState) -> list[str]:
    """What there is for a corpus, a few words each."""
    documents = counted(state.documents, "document")
    parts = [f"No scenarios yet for {documents}"]
    if state.covered:
        parts = [f"{state.scenarios:,} scenarios for {state.covered:,} of {documents}"]
        parts.append(f"compared by {COMPONENTS[state.component]}")
        parts += (
            f"{one.scenarios:,} {by_whom(one.source, one.model)} for "
            f"{counted(one.documents, 'document')}"
            for one in state.authors
        )
    if state.outdated:
        parts.append(f"{counted(state.outdated, 'changed document')}: old scenarios ignored")
    if state.other_components:
        parts.append(f"{state.other_components:,} to re-embed")
    return parts


def by_whom(source: ScenarioSource, model: str) -> str:
    """``generated by judge``, ``extracts``: who wrote scenarios, for a label."""
    if source == "extractive":
        return "extracts"
    if source == "generated":
        return f"generated by {model}" if model else "generated"
    return f"generated by a distilled model{f', {model}' if model else ''}"


def _weight(explorer: Explorer, state: ScenarioState, *, busy: bool) -> None:
    key = f"library_scenarios_weight_{state.corpus}"
    st.session_state[key] = round(state.weight * 100)

    def change() -> None:
        weight = st.session_state[key] / 100
        attempt_at(_place(state.corpus), explorer.scenarios.set_weight, state.corpus, weight)

    st.slider(
        "Document weight",
        max_value=100,
        step=5,
        format="%d %%",
        key=key,
        on_change=change,
        disabled=busy,
        width=420,
        help="The rest is its best scenario's weight. Default 70 %. Applies to the next search.",
    )


@st.dialog("Remove scenarios?")
def _confirm(state: ScenarioState) -> None:
    kept = " Cached answers are kept, so writing them again is free." * bool(state.generated)
    system = f" and its system “scenario”. Documents are kept.{kept}"
    many = f"Removes all {state.scenarios:,} scenarios of "
    st.html(el("p", many, el("strong", state.corpus), system))

    def remove() -> None:
        """Remove the line about the last run, too."""
        scenarios = engine().scenarios
        last = scenarios.jobs.latest(state.corpus)
        scenarios.remove(state.corpus)
        if last is not None:
            scenarios.jobs.dismiss(last.id)

    key = "library_scenarios_confirm"
    confirm("Remove", key, attempt_at, _place(state.corpus), remove)


# -- having them written ---------------------------------------------------------------------------


def _start(
    task: TaskPanel[ScenarioRequest, ScenarioCounts],
    info: CorpusInfo,
    state: ScenarioState,
    begun: ScenarioSource,
    busy: bool,
    indexing: bool,
) -> ScenarioSource:
    """Who writes, what is embedded and how far, what that takes, and the button that starts it."""
    corpus = state.corpus
    # Another box after the corpus was set to a part: the choice is what the corpus has.
    keys = [f"library_scenarios_{one}_{corpus}" for one in ("source", "limit")]
    keys.append(f"library_scenarios_component_{state.component}_{corpus}")
    source = segments("Written by", WRITERS, keys[0], default=begun, disabled=busy)
    limits = {ALL: "all without scenarios", **{n: f"next {n:,}" for n in LIMITS}}
    with st.container(horizontal=True, gap="small"):
        component = select(
            "Compared part",
            COMPONENTS,
            keys[2],
            index=list(COMPONENTS).index(state.component),
            disabled=busy,
            help="The part of a scenario that is embedded. Existing scenarios are re-embedded.",
            width=300,
        )
        limit = select(
            "Documents",
            {n: words for n, words in limits.items() if n < state.documents},
            keys[1],
            persist_state="session",
            disabled=busy,
            help="Skips documents with scenarios by the same writer.",
            width=240,
        )
    request = ScenarioRequest(corpus, source, component, limit=limit or None)
    dim(_WORDS[source])
    estimate = task.estimate(request, state, info.updated_at)
    nothing = not estimate.items and not estimate.counts["embedded"]
    needs_model = source == "generated" and bool(estimate.items)
    lacks_model = needs_model and not endpoint(engine()).set_up
    words = estimate_line(estimate, state.covered)
    if indexing:
        words = "Documents are being added. Wait or cancel below."
    elif lacks_model:
        words += " Connect a model to estimate tokens."
    none = "Re-embed" if estimate.counts["embedded"] else "All written"
    label = task.label(estimate, "Write scenarios", none, busy=busy and not indexing)
    blocked = busy or nothing or lacks_model
    with line():
        begin = partial(task.start, request)
        task.button(label, begin, words, disabled=blocked, widgets=tuple(keys))
    return source


def estimate_line(estimate: Estimate, covered: int) -> str:
    """``360 documents: 360 calls, at most 730 with repeats``. ``covered``: documents that have
    scenarios by whomever."""
    done, embedded = estimate.counts["done"], estimate.counts["embedded"]
    others = min(estimate.items, covered - done) if estimate.items else 0
    asked = f": {at_most(estimate)}" if estimate.calls else ""
    parts = {
        f"{counted(estimate.items, 'document')}{asked}.": estimate.items,
        f"{done:,} up to date, skipped.": done and estimate.items,
        f"Replaces {others:,} existing scenarios.": others > 0,
        f"{counted(embedded, 'scenario')} to re-embed.": embedded,
    }
    return " ".join(words for words, holds in parts.items() if holds) or "Up to date."


def _place(corpus: str) -> str:
    """Where what goes wrong with a corpus's scenarios is shown."""
    return f"scenarios_{corpus}"


def _task(explorer: Explorer, corpus: str) -> TaskPanel[ScenarioRequest, ScenarioCounts]:
    """Writing the scenarios of a corpus as a task."""
    return TaskPanel(
        *(explorer.scenarios, corpus, "library_scenarios"),
        doing=lambda job: (
            "Re-embedding" if job.progress.phase == "embedding" else "Writing scenarios",
            "document",
        ),
        outcome=_outcome,
        which=corpus,
        place=_place(corpus),
    )


def _outcome(_: ScenarioJob, made: ScenarioCounts) -> list[str]:
    written = f"{counted(made.scenarios, 'scenario')} for {counted(made.written, 'document')}"
    parts = [written] if made.written or not made.embedded else []
    parts += [f"{counted(made.embedded, 'scenario')} re-embedded"] * bool(made.embedded)
    return parts + [f"{made.without_text:,} without text"] * bool(made.without_text)


def _card(
    task: TaskPanel[ScenarioRequest, ScenarioCounts], corpus: str, *, resume: bool = True
) -> None:
    """How far a run is, or how it ended; nothing where there is none."""

    def search(job: ScenarioJob) -> None:
        key, ended = f"library_scenarios_search_{corpus}", not job.running
        if ended and is_finished(job.report) and st.button("Search with scenarios", key):
            View.elsewhere(corpus=corpus, system="scenario").go()

    show_problem(_place(corpus), keep=True)
    task.card(resume=resume, more=search)


# -- reading them ----------------------------------------------------------------------------------


def reader(explorer: Explorer, corpus: str) -> None:
    """A box for words of a document, and the scenarios of the one that was picked."""
    with error_boundary():
        document = found_document(explorer, corpus, "library_scenarios")
        scenarios = explorer.scenarios.of_document(corpus, document.doc_id)
        st.html(scenario_list(title_of(document), scenarios))


def found_document(explorer: Explorer, corpus: str, key: str) -> Document:
    """The document that was picked among those found for typed words, at first the first one."""
    picked = f"{key}_read_{corpus}"
    words = st.text_input(
        "Find a document",
        key=f"{key}_title_{corpus}",
        live="250ms",
        placeholder="Words or ID of a document",
        width=420,
    )
    found = explorer.find_documents(corpus, words, MOST_FOUND)
    if words.strip() and not found:
        st.caption("No documents contain these words.")
    picker(
        [one.document for one in found],
        on_pick=lambda event: st.session_state.update({picked: event["doc_id"]}),
        key=f"{key}_found_{corpus}",
    )
    with suppress(UnknownNameError):  # nothing was picked, or it was deleted since
        return explorer.document(corpus, st.session_state.get(picked, ""))
    return explorer.browse(corpus, 0, 1)[0]


def scenario_list(title: str, scenarios: Sequence[Scenario]) -> Html:
    """The scenarios of one document."""
    head = el("div.sc-title", title)
    if not scenarios:
        return el("div.sc-read", head, el("div.sl-dim", "No scenarios for the current text."))
    one = scenarios[0]
    tag = el("span.sl-tag", by_whom(one.source, one.model))
    topic = el("span", "" if one.topic == title else f"Main topic: {one.topic}")
    rows = (
        el("li", el("div.sl-dim", s.aspect), el("div", s.need), el("div.sc-why", s.explanation))
        for s in scenarios
    )
    return el("div.sc-read", head, el("div.sc-by", tag, topic), el("ol", rows))
