"""Running a step of a build: what it takes first, then how far it is, then how it ended.

Steps run in the server, whether or not a page shows them; who opens the build again finds them.
"""

from __future__ import annotations

import html
import time
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.types.builds import BuildState, BuildStep, StepEstimate, StepJob, StepState
from pages._annotate_view import annotator
from pages._build_lines import estimate_line, is_whole, outcome_line, progress_line, share
from pages._build_view import SHOWN_BY, STEPS, go
from pages._model import endpoint, endpoint_panel, is_panel_busy, settings
from pages._shared import attempt, engine, escape_label, note

_POLL_SECONDS = 1.0
_MOST = "build_most_calls"
WITHOUT_MODEL: tuple[BuildStep, ...] = ("collapse",)
"""Steps that do something without a model too."""
START: dict[BuildStep, str] = {
    "label": "Label the documents",
    "collapse": "Cluster the labels",
    "verbalise": "Write the queries",
    "expand": "Pool and grade",
}
_Build = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Started:
    job_id: str
    at: float
    stopping: bool = False


@st.cache_resource(show_spinner=False)
def _started() -> dict[_Build, _Started]:
    """Build -> its last run; one for all sessions."""
    return {}


def find(explorer: Explorer, build: _Build) -> StepJob | None:
    """The run under way for a build, or the last one; None for neither, or once dismissed."""
    known = _started().get(build)
    running = explorer.builds.running(*build)
    if running is not None and (known is None or known.job_id != running):
        known = _started()[build] = _Started(running, time.monotonic())
    if known is None:
        return None
    try:
        return explorer.builds.job(known.job_id)
    except UnknownNameError:  # the server keeps the latest only; what was made stays
        _started().pop(build, None)
        return None


def under_way(job: StepJob | None) -> str:
    """The step of the page that is being run; "" for none."""
    return SHOWN_BY[job.progress.step] if job is not None and job.state == "running" else ""


def _start(explorer: Explorer, build: _Build, step: BuildStep) -> None:
    if under_way(find(explorer, build)):
        return  # two clicks, or another visitor's
    most = st.session_state.get(_MOST)
    job_id = explorer.builds.start(
        *build, step, annotator(explorer), **settings(),
        most_calls=None if most is None else int(most),
    )  # fmt: skip
    _started()[build] = _Started(job_id, time.monotonic())


def _cancel(build: _Build) -> None:
    known = _started().get(build)
    if known is not None:
        engine().builds.cancel(known.job_id)
        _started()[build] = replace(known, stopping=True)


def _dismiss(build: _Build) -> None:
    _started().pop(build, None)


# -- the bar of a step ---------------------------------------------------------------------


def run_bar(explorer: Explorer, state: BuildState, step: BuildStep, job: StepJob | None) -> None:
    """The button that runs a step with what it takes, or why it cannot be run; how it went."""
    lens = state.lens
    build = (lens.corpus, lens.name)
    lacking = _lacking(state, step)
    if lacking:
        st.html(f'<div class="sl-empty">{html.escape(lacking)}</div>')
        return
    busy = bool(under_way(job))
    connected = endpoint(explorer).set_up
    if not busy:
        _button(explorer, state, step, connected=connected)
    _card(build, step, job)
    if not busy:
        found = next(s for s in state.steps if s.step == step)
        wanted = step not in WITHOUT_MODEL and not connected and not found.done
        _model(explorer, connected=connected, opened=wanted or is_panel_busy())


def _lacking(state: BuildState, step: BuildStep) -> str:
    """What has to be there first; "" when all is."""
    steps = [found.step for found in state.steps]
    at = steps.index(step)
    before = state.steps[at - 1] if at else None
    if before is None or before.at is not None or before.done:
        return ""
    return f"First comes step {at + 1}, {STEPS[SHOWN_BY[before.step]]}."


def _button(explorer: Explorer, state: BuildState, step: BuildStep, *, connected: bool) -> None:
    found = next(s for s in state.steps if s.step == step)
    estimate = _estimate(explorer, state, step)
    idle = found.is_complete and not estimate.items
    lacks_model = step not in WITHOUT_MODEL and not connected and not idle
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="build_run"):
        st.button(
            "All done" if idle else _label(found), key=f"build_start_{step}",
            type="secondary" if found.is_complete else "primary", disabled=lacks_model or idle,
            help="Connect a language model first." if lacks_model else None, on_click=attempt,
            args=(lambda: _start(explorer, (state.lens.corpus, state.lens.name), step),),
        )  # fmt: skip
        line = estimate_line(estimate, found, with_model=connected)
        if step in WITHOUT_MODEL and not connected:
            line += " Without a model, a cluster is called by its most central label, and "
            line += "clusters that mean the same stay apart until you merge them."
        elif lacks_model:
            line += " Connect a model, and calls and tokens are estimated too."
        st.html(f'<div class="md-dim">{html.escape(line)}</div>')


def _label(found: StepState) -> str:
    if found.at is None and not found.done:
        return START[found.step]
    return "Go on" if found.done < found.total and not found.stale else "Run again"


def _estimate(explorer: Explorer, state: BuildState, step: BuildStep) -> StepEstimate:
    """What a step takes; reckoned again only when something that it depends on has changed."""
    lens = state.lens
    asked = (state, endpoint(explorer))
    key = f"build_estimate_{lens.corpus}_{lens.name}_{step}"
    known = st.session_state.get(key)
    if known is None or known[0] != asked:
        known = (asked, explorer.builds.estimate(lens.corpus, lens.name, step, **settings()))
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
        limit = explorer.verifier.most_calls
        st.number_input(
            "Calls at most", key=_MOST, min_value=1, max_value=limit or None, value=None, step=100,
            placeholder="no limit" if limit is None else f"{limit:,}", width=170,
            persist_state="session",
            help="A step ends when so many requests were sent, repeats included. What was made "
            "until then is kept.",
        )  # fmt: skip


# -- how far, how it ended -----------------------------------------------------------------


def _card(build: _Build, step: BuildStep, job: StepJob | None) -> None:
    if job is None or (job.state != "running" and job.progress.step != step):
        return
    with st.container(border=True, key="build_job"):
        if job.state == "running":
            st.fragment(_running, run_every=_POLL_SECONDS)(build, step)
        else:
            _ended(build, job)


def _running(build: _Build, shown: BuildStep) -> None:
    """One line that changes in place; the page is renewed when there is more to show."""
    known, job = _started().get(build), find(engine(), build)
    if known is None or job is None or job.state != "running":
        st.rerun()
    percent = round(100 * share(job.progress))
    line = progress_line(job.progress, time.monotonic() - known.at, stopping=known.stopping)
    left, right = st.columns([8, 3], vertical_alignment="center")
    left.html(
        f'<div class="md-bar" role="progressbar" aria-label="How far the step is" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent}">'
        f'<span style="width:{percent}%"></span></div><div class="md-line">{line}</div>'
    )
    with right, st.container(horizontal=True, gap="small"):
        st.button(
            "Cancel", key="build_cancel", disabled=known.stopping, on_click=attempt,
            args=(lambda: _cancel(build),),
            help="Ends after the batch at hand; what is made stays, and the step goes on from "
            "there.",
        )  # fmt: skip
        step = SHOWN_BY[job.progress.step]
        if job.progress.step != shown and st.button(f"Show {STEPS[step]}", key="build_show"):
            go(step)
            st.rerun()


def _ended(build: _Build, job: StepJob) -> None:
    left, right = st.columns([9, 2], vertical_alignment="center")
    with left:
        if job.state == "failed":
            note(job.error, job.remedy, kind="error")
        else:
            st.html(f'<div class="md-line" role="status">{outcome_line(job)}</div>')
        if job.report is not None:
            for text in filter(None, (job.report.problem, *job.report.notes)):
                note(text)
        if job.state == "failed" or not is_whole(job):
            st.html('<div class="md-dim">What was made is kept; running goes on from there.</div>')
    right.button(
        "Dismiss", key="build_dismiss", on_click=_dismiss, args=(build,),
        help="Takes this line away. What was made stays.",
    )  # fmt: skip
