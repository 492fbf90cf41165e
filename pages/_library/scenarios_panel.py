"""The scenarios of a corpus on the Library page: what there is, writing, weighing, removing."""

from __future__ import annotations

import html
from dataclasses import dataclass

import streamlit as st

from engine.explorer import Explorer
from engine.types.corpora import CorpusInfo
from engine.types.scenarios import ScenarioJob, ScenarioState
from pages._common.shared import attempt_at, error_boundary
from pages._library import scenarios_make
from pages._library.scenarios_job import place_of, scenarios_card
from pages._library.scenarios_lines import standing
from pages._library.scenarios_read import reader
from pages._model.model_form import folded_panel

ABOUT = (
    "A scenario says which need a document meets, and why: what the text only implies. They are "
    "written once; then the system “scenario” finds documents by them too."
)

BEING_WRITTEN = "Scenarios are being written; what there is shows here when that is done."


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
        scenarios_card(explorer, name, job)
        return
    with inside, st.container(key=f"library_scenarios_in_{name}"), error_boundary():
        state = explorer.scenarios.status(name)
        writing = job is not None and job.state == "running"
        _standing(state, writing=writing)
        busy = indexing or writing
        by_model = scenarios_make.controls(explorer, info, state, job, busy=busy, indexing=indexing)
        scenarios_card(explorer, name, job, resume=False)
        if by_model:
            _panel(explorer, name, panel)
        if state.scenarios:
            _weight(explorer, state, busy=busy)
            reader(explorer, name)
        if state.scenarios or state.outdated:
            _remove(state, busy=busy)


def _standing(state: ScenarioState, *, writing: bool) -> None:
    first, *others = [BEING_WRITTEN] if writing else standing(state)
    items = "".join(f"<li>{html.escape(line)}</li>" for line in others)
    about = f'<div class="md-dim">{ABOUT}</div>' if not state.scenarios else ""
    st.html(
        f'<div class="sc-standing"><div>{html.escape(first)}</div>'
        f"{f'<ul>{items}</ul>' if items else ''}{about}</div>"
    )


def _panel(explorer: Explorer, corpus: str, panel: Panel) -> None:
    if panel.corpus:
        st.html(f'<div class="md-dim">The model is connected under {html.escape(panel.corpus)}.'
                "</div>")  # fmt: skip
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
        "What the document itself counts for", 0, 100, step=5, format="%d %%", key=key,
        on_change=change, disabled=busy, width=420,
        help="Score = this share of the document's cosine, the rest of its best scenario's. 70 % "
        "is the default. It holds from the next search; nothing is written anew.",
    )  # fmt: skip


def _remove(state: ScenarioState, *, busy: bool) -> None:
    if st.button(
        "Remove all scenarios",
        key=f"library_scenarios_remove_{state.corpus}",
        type="tertiary",
        disabled=busy,
    ):
        _confirm(state)


@st.dialog("Remove these scenarios?")
def _confirm(state: ScenarioState) -> None:
    corpus = html.escape(state.corpus)
    kept = " What a model answered stays in the ledger: writing the same again costs nothing."
    st.html(
        f"<p>All {state.scenarios:,} scenarios of <strong>{corpus}</strong> go, and the system "
        f"“scenario” with them. The documents stay.{kept if state.generated else ''}</p>"
    )
    with st.container(horizontal=True):
        yes = st.button(
            "Remove",
            key="library_scenarios_confirm",
            type="primary",
            on_click=scenarios_make.remove,
            args=(state.corpus,),
        )
        if st.button("Keep", key="library_scenarios_keep") or yes:
            st.rerun()
