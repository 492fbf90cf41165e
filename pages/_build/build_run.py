"""Running a step of a build: what it takes, what has to come first, and the way on after it."""

from __future__ import annotations

import html

import streamlit as st

from engine.explorer import Explorer
from engine.types.builds import BuildState, BuildStep, StepEstimate, StepJob, StepState
from pages._annotate.annotate_view import annotator
from pages._build.build_lines import comes_first, earlier, estimate_line, step_number
from pages._build.build_view import SHOWN_BY, STEPS, go
from pages._build.step_card import card, under_way
from pages._common.shared import attempt_at, escape_label, show_problem
from pages._model.model_form import endpoint_panel, is_panel_busy
from pages._model.model_settings import chosen, endpoint

_MOST = "build_most_calls"
_PLACE = "run"
WITHOUT_MODEL: tuple[BuildStep, ...] = ("collapse",)
"""Steps that do something without a model too."""
START: dict[BuildStep, str] = {
    "label": "Label the documents",
    "collapse": "Cluster the labels",
    "verbalise": "Write the queries",
    "expand": "Pool and grade",
}
_Build = tuple[str, str]
_Blocked = tuple[str, tuple[str, ...]]
"""Why a step cannot be run, and the steps of the page where that can be mended."""


def run_bar(explorer: Explorer, state: BuildState, step: BuildStep, job: StepJob | None) -> None:
    """The button that runs a step with what it takes, or why it cannot be run; how it went."""
    lens = state.lens
    build = (lens.corpus, lens.name)
    blocked = _blocked(explorer, state, step)
    if blocked is not None:
        card(build, step, job)
        _say_blocked(*blocked)
        return
    busy = bool(under_way(job))
    connected = endpoint(explorer).set_up
    if not busy:
        _buttons(explorer, state, step, connected=connected)
    show_problem(_PLACE)
    card(build, step, job)
    if not busy:
        found = next(s for s in state.steps if s.step == step)
        wanted = step not in WITHOUT_MODEL and not connected and not found.done
        _model(explorer, connected=connected, opened=wanted or is_panel_busy())


def _start(explorer: Explorer, build: _Build, step: BuildStep) -> None:
    if under_way(explorer.builds.jobs.latest(build)):
        return  # two clicks, or another visitor's
    most = st.session_state.get(_MOST)
    explorer.builds.start(
        *build, step, annotator(explorer), endpoint=chosen(explorer),
        most_calls=None if most is None else int(most),
    )  # fmt: skip


# -- what has to be there first --------------------------------------------------------------


def _blocked(explorer: Explorer, state: BuildState, step: BuildStep) -> _Blocked | None:
    """What has to be there first; None when all is."""
    lens, steps = state.lens, {found.step: found for found in state.steps}
    for found in state.steps:
        if found.step == step:
            break
        if found.at is None and not found.done:
            shown = SHOWN_BY[found.step]
            return f"First comes step {step_number(found.step)}, {STEPS[shown]}.", (shown,)
    if step == "collapse" and not steps[step].total:
        so_far = "" if steps["label"].is_complete else " so far"
        return (
            f"No document shows it{so_far}, so there is nothing to cluster. Say the lens "
            "differently, or label some by hand.",
            ("lens", "labels"),
        )
    if step == "verbalise" and not steps[step].total:
        return (
            "No cluster becomes a query: each is too small, too large or dropped. Change these "
            "sizes in the lens, or merge, split or take back some clusters.",
            ("clusters", "lens"),
        )
    if step == "expand":
        queries = explorer.builds.queries(lens.corpus, lens.name)
        if all(query.dropped for query in queries):
            why = "Every query was dropped" if queries else "There is no query yet"
            return f"{why}, so there is nothing to search for.", ("queries",)
    return None


def _say_blocked(why: str, steps: tuple[str, ...]) -> None:
    with st.container(horizontal_alignment="center", key="build_blocked"):
        st.html(f'<div class="bd-blocked">{html.escape(why)}</div>')
        with st.container(horizontal=True, horizontal_alignment="center", gap="small"):
            for place, step in enumerate(steps):
                st.button(
                    f"Go to the {STEPS[step].lower()}", key=f"build_first_{step}", on_click=go,
                    args=(step,), type="secondary" if place else "primary",
                )  # fmt: skip


# -- the buttons of a step -------------------------------------------------------------------


def _buttons(explorer: Explorer, state: BuildState, step: BuildStep, *, connected: bool) -> None:
    """The way on where a step is complete, or back where one before it is not; and running it."""
    found = next(s for s in state.steps if s.step == step)
    first = earlier(state, step)
    estimate = _estimate(explorer, state, step)
    idle = found.is_complete and not estimate.items
    lacks_model = step not in WITHOUT_MODEL and not connected and not idle
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="build_run"):
        leads = _way(found, first)
        if not idle:
            st.button(
                _label(found), key=f"build_start_{step}", disabled=lacks_model,
                type="secondary" if leads else "primary", on_click=attempt_at,
                help="Connect a language model first." if lacks_model else None,
                args=(_PLACE, lambda: _start(
                    explorer, (state.lens.corpus, state.lens.name), step)),
            )  # fmt: skip
        line = "" if first is None else f"{comes_first(first)} "
        if first is None or not idle:
            line += estimate_line(estimate, found, with_model=connected)
        if step in WITHOUT_MODEL and not connected:
            line += " Without a model, a cluster is called by its most central label, and "
            line += "clusters that mean the same stay apart until you merge them."
        elif lacks_model:
            line += " Connect a model, and calls and tokens are estimated too."
        st.html(f'<div class="md-dim">{html.escape(line)}</div>')


def _way(found: StepState, first: StepState | None) -> bool:
    """The button that leads to the step that comes now; False when that is this one."""
    places = list(STEPS)
    after = places.index(SHOWN_BY[found.step]) + 1
    if first is not None:
        to, words = SHOWN_BY[first.step], "Go to the"
    elif found.is_complete and after < len(places):
        to, words = places[after], "Go on to the"
    else:
        return False
    st.button(
        f"{words} {STEPS[to].lower()}", key="build_way", type="primary", on_click=go, args=(to,)
    )
    return True


def _label(found: StepState) -> str:
    if found.at is None and not found.done:
        return START[found.step]
    left = found.unfinished or found.done < found.total
    return "Go on" if left and not found.stale else "Run again"


def _estimate(explorer: Explorer, state: BuildState, step: BuildStep) -> StepEstimate:
    """What a step takes; reckoned again only when something that it depends on has changed."""
    lens = state.lens
    asked = (state, endpoint(explorer))
    key = f"build_estimate_{lens.corpus}_{lens.name}_{step}"
    known = st.session_state.get(key)
    if known is None or known[0] != asked:
        known = (
            asked,
            explorer.builds.estimate(lens.corpus, lens.name, step, endpoint=chosen(explorer)),
        )
        st.session_state[key] = known
    found: StepEstimate = known[1]
    return found


def _model(explorer: Explorer, *, connected: bool, opened: bool) -> None:
    """The endpoint: open where one is needed before there is anything to read."""
    info = endpoint(explorer)
    name = info.model if connected else "none connected"
    # The key says whether it should be open: as it is, a person may close it.
    with st.expander(
        escape_label(f"Language model: {name}"), expanded=opened, type="compact",
        key=f"build_panel_{opened}",
    ), st.container(width=680):  # fmt: skip
        endpoint_panel(explorer)
        limit = explorer.settings.llm_max_calls
        st.number_input(
            "Calls at most", key=_MOST, min_value=1, max_value=limit or None, value=None, step=100,
            placeholder="no limit" if limit is None else f"{limit:,}", width=170,
            persist_state="session",
            help="A step ends when so many requests were sent, repeats included. What was made "
            "until then is kept.",
        )  # fmt: skip
