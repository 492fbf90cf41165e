"""The Build page: which build, its steps, running one, and what has to come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer, OpenBuild
from engine.types.builds import BuildState, BuildStep, StepJob, StepRequest, StepState
from pages._annotate.annotate_url import annotator, name_field, names_come_from_login, set_annotator
from pages._build.build_attribute import attribute_form, new_build
from pages._build.build_tables import clusters_step, labels_step, queries_step
from pages._build.build_words import (
    RUNS,
    SHOWN_BY,
    STEPS,
    WORDS,
    BuildView,
    comes_first,
    earlier,
    estimate_line,
    go,
    many,
    step_number,
    steps_data,
)
from pages._build.result import result_step
from pages._common.components import component, listen
from pages._common.kit import button, dim, el, line
from pages._common.shared import engine, error_boundary, show_error, show_problem
from pages._common.state import corpus_box
from pages._common.tasks import TaskPanel
from pages._model.model_settings import calls_box, endpoint, folded_panel, most_calls

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
        bound = view.bound("build", "build_name", step="")
        st.selectbox("Build", ["", *builds], **bound, width=260, format_func=lambda n: n or _NEW)
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
        data={"steps": steps_data(state, view.step, job, clusters)},
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
            st.html(el("div.bd-about", _WORDS[view.step]))
        with error_boundary():
            run_bar(explorer, build, state, run, job)
        # What a run makes as a whole, and not one by one, shows when it has ended.
        if under_way(job) != view.step or view.step == "labels":
            with error_boundary():
                _SHOW[view.step](explorer, build, state)


_MOST = "build_most_calls"
WITHOUT_MODEL: tuple[BuildStep, ...] = ("collapse",)
"""Steps that do something without a model too."""


def run_bar(
    explorer: Explorer, build: OpenBuild, state: BuildState, step: BuildStep, job: StepJob | None
) -> None:
    """The button that runs a step with what it takes, or why it cannot be run; how it went."""
    place = (build.spec.corpus, build.spec.name)
    if blocked := _blocked(build, state, step):
        card(place, step, job)
        why, steps = blocked
        with st.container(horizontal_alignment="center", key="build_blocked"):
            st.html(el("div.bd-blocked", why))
            with st.container(horizontal=True, horizontal_alignment="center", gap="small"):
                for at, shown in enumerate(steps):
                    look: Any = {"type": "secondary" if at else "primary"}
                    button(f"Go to {STEPS[shown]}", f"build_first_{shown}", go, shown, **look)
        return
    now = next(s for s in state.steps if s.step == step)
    idle = not under_way(job)
    if idle:
        _buttons(explorer, state, now)
    card(place, step, job)
    if idle:
        with st.container(width=680):
            folded_panel(explorer, "build", needed=step not in WITHOUT_MODEL and not now.done)
            calls_box(explorer, _MOST)


def _blocked(
    build: OpenBuild, state: BuildState, step: BuildStep
) -> tuple[str, tuple[str, ...]] | None:
    """What has to be there first, and the steps of the page where that can be mended."""
    steps = {one.step: one for one in state.steps}
    for before in state.steps:
        if before.step == step:
            break
        if before.at is None and not before.done:
            shown = SHOWN_BY[before.step]
            return f"Waiting for step {step_number(before.step)}, {STEPS[shown]}.", (shown,)
    if step == "collapse" and not steps[step].total:
        so_far = "" if steps["label"].is_complete else " so far"
        return (
            f"No document shows the attribute{so_far}. Describe it differently, or label some "
            "documents by hand.",
            ("attribute", "labels"),
        )
    if step == "verbalise" and not steps[step].total:
        return (
            "No cluster becomes a query. Change the sizes, or merge, split or restore clusters.",
            ("clusters", "attribute"),
        )
    if step == "expand":
        queries = build.queries()
        if all(query.dropped for query in queries):
            why = "All queries are excluded" if queries else "No queries yet"
            return f"{why}.", ("queries",)
    return None


# -- the buttons of a step -------------------------------------------------------------------


def _buttons(explorer: Explorer, state: BuildState, step: StepState) -> None:
    """The way on where a step is complete, or back where one before it is not; and running it."""
    first, connected = earlier(state, step.step), endpoint(explorer).set_up
    place = (state.spec.corpus, state.spec.name)
    panel = _panel(place, step.step)
    estimate = panel.estimate(StepRequest(*place, step.step), state)
    idle = step.is_complete and not estimate.items
    needs_model = step.step not in WITHOUT_MODEL
    lacks_model = needs_model and not connected and not idle
    with line("build_run"):
        leads = _way(step, first)
        words = "" if first is None else f"{comes_first(first)} "
        if first is None or not idle:
            words += estimate_line(estimate, step, with_model=connected)
        if not needs_model and not connected:
            words += " Without a model, a cluster is named by its most central label, and "
            words += "clusters with the same meaning stay separate until you merge them."
        elif lacks_model:
            words += " Connect a model to estimate requests and tokens."
        if idle:
            dim(words)
            return
        who, label = annotator(explorer), WORDS[step.step].start
        request = StepRequest(*place, step.step, who)
        if step.at is not None or step.done:
            left = step.unfinished or step.done < step.total
            label = "Resume" if left and not step.stale else "Run again"
        panel.button(
            label,
            partial(panel.start, request, who, partial(most_calls, _MOST)),
            words,
            disabled=lacks_model,
            type="secondary" if leads else "primary",
            help="Connect a language model first." if lacks_model else None,
        )


def _way(step: StepState, first: StepState | None) -> bool:
    """The button that leads to the step that comes now; False when that is this one."""
    places = list(STEPS)
    after = places.index(SHOWN_BY[step.step]) + 1
    if first is not None:
        to, words = SHOWN_BY[first.step], "Go to"
    elif step.is_complete and after < len(places):
        to, words = places[after], "Next:"
    else:
        return False
    button(f"{words} {STEPS[to]}", "build_way", go, to, type="primary")
    return True


# -- the last run, found again by whoever opens the build ---------------------------------------


def under_way(job: StepJob | None) -> str:
    """The step of the page that is being run; "" for none."""
    return SHOWN_BY[job.request] if job is not None and job.state == "running" else ""


def _panel(place: tuple[str, str], which: str = "") -> TaskPanel[StepRequest, int]:
    return TaskPanel(
        *(engine().builds, place, "build"),
        doing=lambda job: (WORDS[job.request].doing, ""),
        outcome=lambda job, made: [many(made, WORDS[job.request].made)],
        # How many clusters become no query, and why, stands above the clusters.
        remarks=lambda report: (note for note in report.notes if " no query: " not in note),
        which=which,
        place="build",
    )


def card(place: tuple[str, str], step: BuildStep | None, job: StepJob | None) -> None:
    """How far the run is, whichever step it is of; how it ended, on the page of its own step.
    ``step``: that the page shows; None for the attribute, which does not run."""

    def show(job: StepJob) -> None:
        at = SHOWN_BY[job.request]
        if job.running and job.request != step and st.button(f"Show {STEPS[at]}", key="build_show"):
            go(at)
            st.rerun()

    show_problem("build")
    if job is not None and (job.running or job.request == step):
        _panel(place).card(resume=False, more=show)
