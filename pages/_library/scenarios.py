"""The scenarios of a corpus on the Library page: what there is, writing, weighing, removing.

They are written in the server, whether or not a page shows it; who opens the Library again finds
the job. What is stored stays when the server ends: the next run goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.corpora import CorpusInfo
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
from pages._common.document_view import picker, title_of
from pages._common.kit import Html, dim, el, line, open_part, segments, select
from pages._common.shared import attempt_at, confirm, engine, error_boundary, show_problem
from pages._common.tasks import TaskPanel, at_most, is_finished
from pages._explore.explore_state import View
from pages._model.model_settings import endpoint, folded_panel

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


@dataclass(slots=True)
class Panel:
    """The form for a model stands once on the page: in the section of the first corpus that asks
    one."""

    corpus: str = ""


def section(
    explorer: Explorer, info: CorpusInfo, job: ScenarioJob | None, panel: Panel, *, indexing: bool
) -> None:
    """The section of one corpus, which nothing is read for before it is opened. ``job``: the last
    run over the corpus. ``indexing``: documents are being added to it."""
    name, task = info.name, _task(explorer, info.name)
    inside = open_part("Scenarios", f"library_scenarios_{name}")
    if not inside.open:
        _card(task, name)
        return
    with inside, st.container(key=f"library_scenarios_in_{name}"), error_boundary():
        state = explorer.scenarios.status(name)
        writing = job is not None and job.running
        busy = indexing or writing
        first, *others = [BEING_WRITTEN] if writing else coverage_lines(state)
        about = None if state.scenarios else el("div.sl-dim", ABOUT)
        more = others and el("ul", (el("li", words) for words in others))
        st.html(el("div.sc-standing", el("div", first), more, about))
        request = _choices(state, job, busy=busy)
        _start(explorer, info, state, task, request, busy=busy, indexing=indexing)
        _card(task, name, resume=False)  # the button above does that
        if request.source == "generated":
            if panel.corpus:
                dim(f"Connect the model under {panel.corpus}.")
            else:
                panel.corpus = name
                folded_panel(explorer, "library")
        if state.scenarios:
            _weight(explorer, state, busy=busy)
            reader(explorer, name)
        if state.scenarios or state.outdated:
            key = f"library_scenarios_remove_{name}"
            if st.button("Remove scenarios", key, type="tertiary", disabled=busy):
                _confirm(state)


# -- what there is -----------------------------------------------------------------------------


def coverage_lines(state: ScenarioState) -> list[str]:
    """What there is for a corpus: sentences, the first one about all of it."""
    documents = counted(state.documents, "document")
    lines = [f"No scenarios yet for {documents}."]
    if state.covered:
        have = "has" if state.covered == 1 else "have"
        lines = [
            f"{state.covered:,} of {documents} {have} {state.scenarios:,} scenarios. Searches "
            f"compare the {COMPONENTS[state.component]}."
        ]
    for author in state.authors if state.covered else ():
        number = counted(author.scenarios, "scenario")
        whose = by_whom(author.source, author.model)
        lines.append(f"{whose}: {number} for {counted(author.documents, 'document')}")
    if state.outdated:
        changed = counted(state.outdated, "document has", "documents have")
        lines.append(f"{changed} changed; their old scenarios are ignored until rewritten.")
    if state.other_components:
        lines.append(f"{counted(state.other_components, 'scenario')} to re-embed.")
    return lines


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


def _choices(state: ScenarioState, job: ScenarioJob | None, *, busy: bool) -> ScenarioRequest:
    """Who writes, what is embedded, and how far; kept for the visit."""
    key = f"library_scenarios_{{}}_{state.corpus}"
    begun = "generated" if job is None else job.request.source
    source = segments("Written by", WRITERS, key.format("source"), default=begun, disabled=busy)
    left, right, _ = st.columns([4, 3, 4])
    component = select(
        "Compared part",
        COMPONENTS,
        # Another one after the corpus was set to it: the choice is what the corpus has.
        key.format(f"component_{state.component}"),
        left,
        index=list(COMPONENTS).index(state.component),
        disabled=busy,
        help="The part of a scenario that is embedded. Existing scenarios are re-embedded.",
    )
    limits = {n: f"next {n:,}" for n in LIMITS if n < state.documents}
    limit = select(
        "Documents",
        {ALL: "all without scenarios", **limits},
        key.format("limit"),
        right,
        persist_state="session",
        disabled=busy,
        help="Skips documents with scenarios by the same writer.",
    )
    return ScenarioRequest(state.corpus, source, component, limit=limit or None)


def _start(
    explorer: Explorer,
    info: CorpusInfo,
    state: ScenarioState,
    task: TaskPanel[ScenarioRequest, ScenarioCounts],
    request: ScenarioRequest,
    *,
    busy: bool,
    indexing: bool,
) -> None:
    """What writing takes, and the button that starts it."""
    dim(_WORDS[request.source])
    estimate = task.estimate(request, state, info.updated_at)
    nothing = not estimate.items and not estimate.counts["embedded"]
    by_model = request.source == "generated"
    lacks_model = by_model and not endpoint(explorer).set_up and bool(estimate.items)
    words = estimate_line(estimate, state.covered)
    if indexing:
        words = "Documents are being added. Wait or cancel below."
    elif lacks_model:
        words += " Connect a model to estimate tokens."
    none = "Re-embed" if estimate.counts["embedded"] else "All written"
    label = task.label(estimate, "Write scenarios", none, busy=busy and not indexing)
    choices = ("source", "limit", f"component_{state.component}")
    widgets = tuple(f"library_scenarios_{one}_{state.corpus}" for one in choices)
    blocked = busy or nothing or lacks_model
    with line():
        task.button(label, partial(task.start, request), words, disabled=blocked, widgets=widgets)


def estimate_line(estimate: Estimate, covered: int) -> str:
    """``360 documents: 360 calls, at most 730 with repeats, about 0.42 M tokens``. ``covered``:
    documents that have scenarios by whomever."""
    sentences = []
    done, embedded = estimate.counts["done"], estimate.counts["embedded"]
    if estimate.items:
        asked = f": {at_most(estimate)}" if estimate.calls else ""
        sentences.append(f"{counted(estimate.items, 'document')}{asked}.")
        if done:
            sentences.append(f"{done:,} up to date, skipped.")
        if (others := min(estimate.items, covered - done)) > 0:
            sentences.append(f"Replaces {others:,} existing scenarios.")
    if embedded:
        sentences.append(f"{counted(embedded, 'scenario')} to re-embed.")
    return " ".join(sentences) or "Up to date."


def _place(corpus: str) -> str:
    """Where what goes wrong with a corpus's scenarios is shown."""
    return f"scenarios_{corpus}"


def _task(explorer: Explorer, corpus: str) -> TaskPanel[ScenarioRequest, ScenarioCounts]:
    """Writing the scenarios of a corpus as a task."""

    def doing(job: ScenarioJob) -> tuple[str, str]:
        embeds = job.progress.phase == "embedding"
        return "Re-embedding" if embeds else "Writing scenarios", "document"

    return TaskPanel(
        *(explorer.scenarios, corpus, "library_scenarios"),
        doing=doing,
        outcome=lambda _, made: outcome(made),
        which=corpus,
        place=_place(corpus),
    )


def outcome(made: ScenarioCounts) -> list[str]:
    """What a run did."""
    written = f"{counted(made.scenarios, 'scenario')} for {counted(made.written, 'document')}"
    parts = [written] if made.written or not made.embedded else []
    if made.embedded:
        parts.append(f"{counted(made.embedded, 'scenario')} re-embedded")
    if made.without_text:
        parts.append(f"{made.without_text:,} without text")
    return parts


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
    st.fragment(_reader)(explorer, corpus)


def _reader(explorer: Explorer, corpus: str) -> None:
    picked = f"library_scenarios_read_{corpus}"
    words = st.text_input(
        "Find scenarios",
        key=f"library_scenarios_title_{corpus}",
        live="250ms",
        placeholder="Words or ID of a document",
        width=420,
    )
    with error_boundary():
        found = explorer.find_documents(corpus, words, MOST_FOUND)
        if words.strip() and not found:
            st.caption("No documents contain these words.")
        picker(
            [one.document for one in found],
            on_pick=lambda event: st.session_state.update({picked: event["doc_id"]}),
            key=f"library_scenarios_found_{corpus}",
        )
        doc_id = st.session_state.get(picked)
        try:
            document = explorer.document(corpus, doc_id) if doc_id else None
        except UnknownNameError:  # deleted since
            document = None
        document = document or explorer.browse(corpus, 0, 1)[0]
        scenarios = explorer.scenarios.of_document(corpus, document.doc_id)
        st.html(scenario_list(title_of(document), scenarios))


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
