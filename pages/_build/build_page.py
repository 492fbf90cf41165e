"""The Build page: which build, where its steps stand, and the step that is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.builds import BuildState, StepJob
from pages._annotate.annotate_view import (
    annotator,
    name_field,
    names_come_from_login,
    set_annotator,
)
from pages._build.build_lens import lens_step
from pages._build.build_lines import steps_data
from pages._build.build_queries import queries_step
from pages._build.build_run import run_bar
from pages._build.build_view import (
    RUNS,
    SHOWN_BY,
    BuildView,
    change_view,
    go,
    read_view,
    write_view,
)
from pages._build.clusters import clusters_step
from pages._build.labels import labels_step
from pages._build.result import result_step
from pages._build.step_card import card, under_way
from pages._common.components import component, dark, listen
from pages._common.shared import attempt, error_boundary, show_error

_STEPS = component("build_steps")
_NEW = "a new build"
_WORDS: Mapping[str, str] = {
    "labels": "A model reads every document once and says what it shows, with the words of the "
    "document that it rests on. Read them and mend what is wrong: what you say stays, even when "
    "the model is asked again.",
    "clusters": "Labels that say the same are put together, and each cluster of the right size "
    "becomes a query. Rename, merge, split and drop until each stands for one thing.",
    "queries": "Each cluster is put into words that its documents do not use, so that no search "
    "finds them by their words alone. Reword what gives too much away.",
    "result": "Each query is searched for with every system, and the model grades what they bring "
    "up, with the cluster's documents as examples. The result is an annotation project.",
}
_SHOW = {
    "labels": labels_step,
    "clusters": clusters_step,
    "queries": queries_step,
    "result": result_step,
}


def open_view(explorer: Explorer, names: Sequence[str]) -> tuple[BuildView, BuildState | None]:
    """The view of the address and its build; one that cannot be opened is explained."""
    state = None
    try:
        view = read_view()
        if view.corpus and view.corpus not in names:
            explorer.library.open(view.corpus)  # says why not
        if not view.corpus:
            first = explorer.demo_corpus if explorer.demo_corpus in names else names[0]
            view = replace(view, corpus=first)
        if view.build:
            state = explorer.builds.state(view.corpus, view.build)
    except SeedLensError as error:
        show_error(error)
        corpus = explorer.demo_corpus if explorer.demo_corpus in names else names[0]
        view = BuildView(corpus=corpus)
    if state is None:
        view = replace(view, step="lens")
    elif not view.step:
        view = replace(view, step=SHOWN_BY[state.next] if state.next else "result")
    write_view(view)
    return view, state


def controls(explorer: Explorer, view: BuildView, names: Sequence[str]) -> None:
    """Corpus, build, and who works on it."""
    builds = [name for _, name in reversed(explorer.builds.names(view.corpus))]
    st.session_state.update(build_corpus=view.corpus, build_name=view.build)
    with st.container(key="build_controls", horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Corpus", names, key="build_corpus", on_change=attempt, args=(_change_corpus,),
            width=160,
        )  # fmt: skip
        st.selectbox(
            "Build", ["", *builds], key="build_name", on_change=attempt, args=(_change_build,),
            width=260, format_func=lambda name: name or _NEW,
        )  # fmt: skip
        if names_come_from_login():
            return
        name_field(annotator(explorer), "build_who", _change_who)


def _change_corpus() -> None:
    write_view(BuildView(corpus=st.session_state["build_corpus"]))


def _change_build() -> None:
    name = st.session_state["build_name"]
    change_view(lambda now: replace(now, build=name, step=""))


def _change_who() -> None:
    set_annotator(st.session_state["build_who"])


def stepper(
    explorer: Explorer, view: BuildView, state: BuildState | None, job: StepJob | None
) -> None:
    """The five steps, each a click away."""
    clusters = len(explorer.builds.clusters(view.corpus, view.build)) if state else None

    def opened(event: Mapping[str, Any]) -> None:
        go(str(event["step"]))

    _STEPS(
        key="build_steps",
        data={"steps": steps_data(state, view.step, under_way(job), clusters), "dark": dark()},
        on_open_change=listen("build_steps", "open", opened),
    )


def show_step(explorer: Explorer, view: BuildView, state: BuildState | None) -> None:
    """The stepper, and the step that the view asks for."""
    job = explorer.builds.jobs.latest((view.corpus, view.build)) if state is not None else None
    stepper(explorer, view, state, job)
    if state is None or view.step == "lens":
        card((view.corpus, view.build), None, job)
        lens_step(explorer, view, None if state is None else state.lens)
        return
    if not any(found.done for found in state.steps if found.step == RUNS[view.step]):
        st.html(f'<div class="bd-about">{_WORDS[view.step]}</div>')
    with error_boundary():
        run_bar(explorer, state, RUNS[view.step], job)
    if under_way(job) == view.step != "labels":
        return  # what there is shows when it has ended: it is made as a whole, not one by one
    with error_boundary():
        _SHOW[view.step](explorer, state)
