"""The scenarios of a corpus on the Library page: what there is, writing, weighing, removing.

They are written in the server, whether or not a page shows it; who opens the Library again finds
the job. What is stored stays when the server ends: the next run goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.types.corpora import CorpusInfo
from engine.types.models import Estimate
from engine.types.scenarios import (
    Component,
    ScenarioCounts,
    ScenarioJob,
    ScenarioRequest,
    ScenarioSource,
    ScenarioState,
)
from pages._common import document_view
from pages._common.job_words import is_finished
from pages._common.outside_text import escape
from pages._common.seed_finder import picker
from pages._common.shared import (
    attempt_at,
    confirm,
    engine,
    error_boundary,
    show_problem,
)
from pages._explore.explore_url import View
from pages._library.scenarios_lines import (
    COMPONENTS,
    estimate_line,
    outcome,
    scenario_list,
    standing,
)
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
ALL = 0
LIMITS = (10, 100, 1000)
"""Documents that one may begin with, to see what comes of it."""
MOST_FOUND = 6
"""Of documents that are offered for some words."""


@dataclass(slots=True)
class Panel:
    """The form for a model stands once on the page: in the first section that asks one.

    Attributes:
        corpus: whose section has it; "" for none yet.
    """

    corpus: str = ""


def section(
    explorer: Explorer, info: CorpusInfo, job: ScenarioJob | None, panel: Panel, *, indexing: bool
) -> None:
    """The section of one corpus, which nothing is read for before it is opened.

    Args:
        job: the last run over the corpus.
        indexing: documents are being added to it.
    """
    name = info.name
    inside = st.expander(
        "Scenarios", key=f"library_scenarios_{name}", type="compact", on_change="rerun"
    )
    if not inside.open:
        scenarios_card(explorer, name)
        return
    with inside, st.container(key=f"library_scenarios_in_{name}"), error_boundary():
        state = explorer.scenarios.status(name)
        writing = job is not None and job.state == "running"
        _show_standing(state, writing=writing)
        busy = indexing or writing
        by_model = _controls(explorer, info, state, job, busy=busy, indexing=indexing)
        scenarios_card(explorer, name, resume=False)
        if by_model:
            _panel(explorer, name, panel)
        if state.scenarios:
            _weight(explorer, state, busy=busy)
            reader(explorer, name)
        if state.scenarios or state.outdated:
            _remove_button(state, busy=busy)


def _show_standing(state: ScenarioState, *, writing: bool) -> None:
    first, *others = [BEING_WRITTEN] if writing else standing(state)
    items = "".join(f"<li>{escape(line)}</li>" for line in others)
    about = f'<div class="md-dim">{ABOUT}</div>' if not state.scenarios else ""
    st.html(
        f'<div class="sc-standing"><div>{escape(first)}</div>'
        f"{f'<ul>{items}</ul>' if items else ''}{about}</div>"
    )


def _panel(explorer: Explorer, corpus: str, panel: Panel) -> None:
    if panel.corpus:
        st.html(f'<div class="md-dim">Connect the model under {escape(panel.corpus)}.</div>')
        return
    panel.corpus = corpus
    folded_panel(explorer, "library")


def _weight(explorer: Explorer, state: ScenarioState, *, busy: bool) -> None:
    key = f"library_scenarios_weight_{state.corpus}"
    st.session_state[key] = round(state.weight * 100)

    def change() -> None:
        weight = st.session_state[key] / 100
        attempt_at(place_of(state.corpus), explorer.scenarios.set_weight, state.corpus, weight)

    st.slider(
        "Document weight",
        0,
        100,
        step=5,
        format="%d %%",
        key=key,
        on_change=change,
        disabled=busy,
        width=420,
        help="The rest is its best scenario's weight. Default 70 %. Applies to the next search.",
    )


def _remove_button(state: ScenarioState, *, busy: bool) -> None:
    if st.button(
        "Remove scenarios",
        key=f"library_scenarios_remove_{state.corpus}",
        type="tertiary",
        disabled=busy,
    ):
        _confirm(state)


@st.dialog("Remove scenarios?")
def _confirm(state: ScenarioState) -> None:
    corpus = escape(state.corpus)
    kept = " Cached answers are kept, so writing them again is free."
    st.html(
        f"<p>Removes all {state.scenarios:,} scenarios of <strong>{corpus}</strong> and its system "
        f"“scenario”. Documents are kept.{kept if state.generated else ''}</p>"
    )
    confirm("Remove", "library_scenarios_confirm", remove, state.corpus)


# -- having them written ---------------------------------------------------------------------------


def remove(corpus: str) -> None:
    """Remove all scenarios of a corpus, and the line about the last run with them."""
    scenarios = engine().scenarios
    last = scenarios.jobs.latest(corpus)

    def do() -> None:
        scenarios.remove(corpus)
        if last is not None:
            scenarios.jobs.dismiss(last.id)

    attempt_at(place_of(corpus), do)


def _controls(
    explorer: Explorer,
    info: CorpusInfo,
    state: ScenarioState,
    job: ScenarioJob | None,
    *,
    busy: bool,
    indexing: bool,
) -> bool:
    """The choices, the estimate and the button; returns whether a model is wanted.

    Args:
        job: the last run over the corpus.
        busy: scenarios are being written, or documents added.
        indexing: documents are being added.
    """
    request = _choices(state, job, busy=busy)
    st.html(f'<div class="md-dim sc-words">{_WORDS[request.source]}</div>')
    by_model, panel = request.source == "generated", task_panel(explorer, info.name)
    estimate = panel.estimate(request, state, info.updated_at)
    nothing = not estimate.items and not estimate.counts["embedded"]
    lacks_model = by_model and not endpoint(explorer).set_up and bool(estimate.items)
    line = estimate_line(estimate, state.covered)
    if indexing:
        line = "Documents are being added. Wait or cancel below."
    elif lacks_model:
        line = f"{line} Connect a model to estimate tokens."
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        panel.button(
            _label(estimate, busy=busy and not indexing),
            partial(panel.start, request),
            line,
            disabled=busy or nothing or lacks_model,
            widgets=_chosen_for(state),
        )
    return by_model


def _chosen_for(state: ScenarioState) -> tuple[str, ...]:
    """Keys of what :func:`_choices` asks for; see :func:`as_drawn`."""
    choices = ("source", "limit", f"component_{state.component}")
    return tuple(f"library_scenarios_{one}_{state.corpus}" for one in choices)


def _choices(state: ScenarioState, job: ScenarioJob | None, *, busy: bool) -> ScenarioRequest:
    """Who writes, what is embedded, and how far; kept for the visit."""
    key = f"library_scenarios_{{}}_{state.corpus}"
    source = st.segmented_control(
        "Written by",
        list(WRITERS),
        format_func=WRITERS.__getitem__,
        default="generated" if job is None else job.request.source,
        required=True,
        key=key.format("source"),
        persist_state="session",
        disabled=busy,
    )
    left, right, _ = st.columns([4, 3, 4])
    component: Component = left.selectbox(
        "Compared part",
        list(COMPONENTS),
        index=list(COMPONENTS).index(state.component),
        format_func=COMPONENTS.__getitem__,
        # Another one after the corpus was set to it: the choice is what the corpus has.
        key=key.format(f"component_{state.component}"),
        disabled=busy,
        help="The part of a scenario that is embedded. Existing scenarios are re-embedded.",
    )
    limit = right.selectbox(
        "Documents",
        [ALL, *(n for n in LIMITS if n < state.documents)],
        format_func=lambda n: f"next {n:,}" if n else "all without scenarios",
        key=key.format("limit"),
        persist_state="session",
        disabled=busy,
        help="Skips documents with scenarios by the same writer.",
    )
    return ScenarioRequest(state.corpus, source or "generated", component, limit=limit or None)


def _label(estimate: Estimate, *, busy: bool) -> str:
    if busy:
        return "Running"
    if estimate.items:
        return "Resume" if estimate.counts["done"] else "Write scenarios"
    return "Re-embed" if estimate.counts["embedded"] else "All written"


# -- the run under way, or the last one ------------------------------------------------------------


def place_of(corpus: str) -> str:
    """Where what goes wrong with a corpus's scenarios is shown."""
    return f"scenarios_{corpus}"


def task_panel(explorer: Explorer, corpus: str) -> TaskPanel[ScenarioRequest, ScenarioCounts]:
    """The scenarios of a corpus as a task."""
    return TaskPanel(
        explorer.scenarios,
        corpus,
        "library_scenarios",
        doing=lambda job: (
            "Re-embedding" if job.progress.phase == "embedding" else "Writing scenarios",
            "document",
        ),
        outcome=lambda _, made: outcome(made),
        which=corpus,
        place=place_of(corpus),
    )


def scenarios_card(explorer: Explorer, corpus: str, *, resume: bool = True) -> None:
    """How far a run is, or how it ended; nothing where there is none.

    Args:
        resume: with a button to go on; without it where another button does so.
    """
    show_problem(place_of(corpus), keep=True)
    task_panel(explorer, corpus).card(resume=resume, more=partial(_search_button, corpus))


def _search_button(corpus: str, job: ScenarioJob) -> None:
    if (
        not job.running
        and is_finished(job.report)
        and st.button("Search with scenarios", key=f"library_scenarios_search_{corpus}")
    ):
        View.elsewhere(corpus=corpus, system="scenario").go()


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
        _shown(explorer, corpus, st.session_state.get(picked))


def _shown(explorer: Explorer, corpus: str, doc_id: str | None) -> None:
    """The document that was picked, or the first one as an example."""
    try:
        document = explorer.document(corpus, doc_id) if doc_id else None
    except UnknownNameError:  # deleted since
        document = None
    document = document or explorer.browse(corpus, 0, 1)[0]
    title = document.title or document_view.shortened(document.text)
    st.html(scenario_list(title, explorer.scenarios.of_document(corpus, document.doc_id)))
