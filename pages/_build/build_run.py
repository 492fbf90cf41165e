"""Running a step of a build: what it takes, what has to come first, and the way on after it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.explorer import Explorer, OpenBuild
from engine.types.builds import BuildState, BuildStep, StepJob, StepRequest, StepState
from pages._annotate.annotate_url import annotator
from pages._build.build_lines import (
    WORDS,
    comes_first,
    earlier,
    estimate_line,
    many,
    step_number,
)
from pages._build.build_url import SHOWN_BY, STEPS, go
from pages._common.outside_text import escape
from pages._common.shared import engine, show_problem
from pages._model.model_form import calls_box, folded_panel, most_calls
from pages._model.model_settings import endpoint
from pages._model.task_panel import TaskPanel

_MOST = "build_most_calls"
WITHOUT_MODEL: tuple[BuildStep, ...] = ("collapse",)
"""Steps that do something without a model too."""
_Place = tuple[str, str]
"""(corpus, build)."""
_Blocked = tuple[str, tuple[str, ...]]
"""Why a step cannot be run, and the steps of the page where that can be mended."""


def run_bar(
    explorer: Explorer, build: OpenBuild, state: BuildState, step: BuildStep, job: StepJob | None
) -> None:
    """The button that runs a step with what it takes, or why it cannot be run; how it went."""
    place = (build.spec.corpus, build.spec.name)
    blocked = _blocked(build, state, step)
    if blocked is not None:
        card(place, step, job)
        _say_blocked(*blocked)
        return
    busy = bool(under_way(job))
    connected = endpoint(explorer).set_up
    now = next(s for s in state.steps if s.step == step)
    if not busy:
        _buttons(explorer, state, now, connected=connected)
    card(place, step, job)
    if not busy:
        with st.container(width=680):
            folded_panel(explorer, "build", needed=step not in WITHOUT_MODEL and not now.done)
            calls_box(explorer, _MOST)


# -- what has to be there first --------------------------------------------------------------


def _blocked(build: OpenBuild, state: BuildState, step: BuildStep) -> _Blocked | None:
    """What has to be there first; None when all is."""
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


def _say_blocked(why: str, steps: tuple[str, ...]) -> None:
    with st.container(horizontal_alignment="center", key="build_blocked"):
        st.html(f'<div class="bd-blocked">{escape(why)}</div>')
        with st.container(horizontal=True, horizontal_alignment="center", gap="small"):
            for place, step in enumerate(steps):
                st.button(
                    f"Go to {STEPS[step]}",
                    key=f"build_first_{step}",
                    on_click=go,
                    args=(step,),
                    type="secondary" if place else "primary",
                )


# -- the buttons of a step -------------------------------------------------------------------


def _buttons(explorer: Explorer, state: BuildState, step: StepState, *, connected: bool) -> None:
    """The way on where a step is complete, or back where one before it is not; and running it."""
    first = earlier(state, step.step)
    place = (state.spec.corpus, state.spec.name)
    panel = _panel(place, step.step)
    estimate = panel.estimate(StepRequest(*place, step.step), state)
    idle = step.is_complete and not estimate.items
    needs_model = step.step not in WITHOUT_MODEL
    lacks_model = needs_model and not connected and not idle
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="build_run"):
        leads = _way(step, first)
        line = "" if first is None else f"{comes_first(first)} "
        if first is None or not idle:
            line += estimate_line(estimate, step, with_model=connected)
        if not needs_model and not connected:
            line += " Without a model, a cluster is named by its most central label, and "
            line += "clusters with the same meaning stay separate until you merge them."
        elif lacks_model:
            line += " Connect a model to estimate requests and tokens."
        if idle:
            st.html(f'<div class="md-dim">{escape(line)}</div>')
            return
        who = annotator(explorer)
        panel.button(
            _label(step),
            partial(
                panel.start, StepRequest(*place, step.step, who), who, partial(most_calls, _MOST)
            ),
            line,
            disabled=lacks_model,
            secondary=leads,
            help_="Connect a language model first." if lacks_model else None,
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
    st.button(f"{words} {STEPS[to]}", key="build_way", type="primary", on_click=go, args=(to,))
    return True


def _label(step: StepState) -> str:
    if step.at is None and not step.done:
        return WORDS[step.step].start
    left = step.unfinished or step.done < step.total
    return "Resume" if left and not step.stale else "Run again"


# -- the last run, found again by whoever opens the build ---------------------------------------


def under_way(job: StepJob | None) -> str:
    """The step of the page that is being run; "" for none."""
    return SHOWN_BY[job.request] if job is not None and job.state == "running" else ""


def _panel(place: _Place, which: str = "") -> TaskPanel[StepRequest, int]:
    return TaskPanel(
        engine().builds,
        place,
        "build",
        doing=lambda job: (WORDS[job.request].doing, ""),
        outcome=lambda job, made: [many(made, WORDS[job.request].made)],
        # How many clusters become no query, and why, stands above the clusters.
        remarks=lambda report: (note for note in report.notes if " no query: " not in note),
        which=which,
        place="build",
    )


def card(place: _Place, step: BuildStep | None, job: StepJob | None) -> None:
    """How far the run is, whichever step it is of; how it ended, on the page of its own step.

    Args:
        step: that the page shows; None for the attribute, which does not run.
    """
    show_problem("build")
    if job is not None and (job.running or job.request == step):
        _panel(place).card(resume=False, more=partial(_show_button, step))


def _show_button(shown: BuildStep | None, job: StepJob) -> None:
    step = SHOWN_BY[job.request]
    if job.running and job.request != shown and st.button(f"Show {STEPS[step]}", key="build_show"):
        go(step)
        st.rerun()
