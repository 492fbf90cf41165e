"""The Build page: which build, where its steps stand, and the step that is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer, OpenBuild
from pages._annotate.annotate_url import annotator, name_field, names_come_from_login, set_annotator
from pages._build.build_attribute import attribute_form, new_build
from pages._build.build_lines import steps_data
from pages._build.build_queries import queries_step
from pages._build.build_run import card, run_bar, under_way
from pages._build.build_url import RUNS, SHOWN_BY, BuildView, go
from pages._build.clusters import clusters_step
from pages._build.labels import labels_step
from pages._build.result import result_step
from pages._common.components import component, dark, listen
from pages._common.shared import error_boundary, show_error
from pages._common.url_state import corpus_box

_STEPS = component("build_steps")
_NEW = "a new build"
_WORDS: Mapping[str, str] = {
    "labels": "A model labels every document, with a quote as evidence. Read and correct the "
    "labels; your edits stay when the model runs again.",
    "clusters": "Equal labels form clusters; each cluster of the right size becomes a query. "
    "Rename, merge, split and exclude clusters.",
    "queries": "Queries describe clusters without the words of their documents. Edit queries with "
    "too much word overlap.",
    "result": "Every system searches for each query; the model grades the retrieved documents. "
    "The result is an annotation project.",
}
_SHOW = {
    "labels": labels_step,
    "clusters": clusters_step,
    "queries": queries_step,
    "result": result_step,
}


def open_view(explorer: Explorer, names: Sequence[str]) -> tuple[BuildView, OpenBuild | None]:
    """The view of the URL and its build; one that cannot be opened is explained."""
    build = None
    view = BuildView.opened_on(explorer, names)
    try:
        if view.build:
            build = explorer.builds.open(view.corpus, view.build)
            if not view.step:
                upcoming = build.state().next
                view = replace(view, step=SHOWN_BY[upcoming] if upcoming else "result")
        else:
            view = replace(view, step="attribute")
    except SeedLensError as error:
        show_error(error)
        view, build = BuildView(view.corpus, step="attribute"), None
    view.write()
    return view, build


def controls(explorer: Explorer, view: BuildView, names: Sequence[str]) -> None:
    """Corpus, build, and who works on it."""
    builds = [name for _, name in reversed(explorer.builds.names(view.corpus))]
    with st.container(key="build_controls", horizontal=True, vertical_alignment="bottom"):
        corpus_box(view, names, "build_corpus", width=160)
        st.selectbox(
            "Build", ["", *builds], **view.bound("build", "build_name", step=""), width=260,
            format_func=lambda name: name or _NEW,
        )  # fmt: skip
        if not names_come_from_login():
            name_field(annotator(explorer), "build_who", set_annotator)


def show_step(explorer: Explorer, view: BuildView, build: OpenBuild | None) -> None:
    """The five steps, each a click away, and the one that the view asks for."""
    state = build.state() if build else None
    job = explorer.builds.jobs.latest((view.corpus, view.build)) if build else None
    clusters = len(build.clusters()) if build else None

    def opened(event: Mapping[str, Any]) -> None:
        go(str(event["step"]))

    _STEPS(
        key="build_steps",
        data={"steps": steps_data(state, view.step, under_way(job), clusters), "dark": dark()},
        on_open_change=listen("build_steps", "open", opened),
    )
    if build is None or state is None:
        new_build(explorer, view.corpus)
    elif view.step == "attribute":
        card((view.corpus, view.build), None, job)
        attribute_form(explorer, build.spec, is_new=False)
    else:
        run = RUNS[view.step]
        if not any(step.done for step in state.steps if step.step == run):
            st.html(f'<div class="bd-about">{_WORDS[view.step]}</div>')
        with error_boundary():
            run_bar(explorer, build, state, run, job)
        # What a run makes as a whole, and not one by one, shows when it has ended.
        if under_way(job) != view.step or view.step == "labels":
            with error_boundary():
                _SHOW[view.step](explorer, build, state)
