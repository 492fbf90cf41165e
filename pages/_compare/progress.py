"""The model above the verdicts: the button with its estimate, how far it is, what it took.

Calls cost money: nothing is asked unless the button was pressed.
"""

from __future__ import annotations

import html

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.comparisons import VariantsJob
from engine.types.plurals import counted
from pages._common.job_card import progress, what_was_asked
from pages._common.shared import attempt, engine, note
from pages._compare import compare_run
from pages._compare.compare_run import BEFORE, ORDER, OWN, ModelRun
from pages._compare.compare_session import asked, estimated
from pages._compare.compare_view import read_view
from pages._model.model_lines import duration, estimate_line, joined, money, tokens
from pages._model.model_settings import chosen

BESIDE = (
    "Each system is also reranked once without a wording, which is counted here: against that "
    "shows whether the model follows a wording or merely ranks better."
)
_POLL_SECONDS = 0.5


def run_area(explorer: Explorer, run: ModelRun) -> None:
    """What the model is to do, how far it is, or what it took; of the same height throughout."""
    if run.request is None:
        return
    if not run.info.set_up:
        st.html(
            '<div class="md-dim">Nothing is reranked, as no language model is connected: connect '
            "one under “Language model”, below the variants.</div>"
        )
        return
    job = run.job
    if job is not None and job.state == "running":
        st.session_state["compare_whole"] = len(job.whole)
        follows = compare_run.shows_model(run)
        st.fragment(_progress, run_every=_POLL_SECONDS)(job.id, follows=follows)
    elif job is not None:
        _report(job)
    if job is None or job.state != "running":
        _switch_and_button(explorer, run)
    elif compare_run.has_orders(job):
        _order_switch()


def _report(job: VariantsJob) -> None:
    """What it took, or why it failed."""
    if job.state == "failed":
        note(job.error, f"{job.remedy} The rankings below are those without the model.",
             kind="error")  # fmt: skip
        return
    what_was_asked(job.report)


def _switch_and_button(explorer: Explorer, run: ModelRun) -> None:
    """Which order is shown, and the button that asks for what is missing, with its estimate."""
    job = run.job
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if compare_run.has_orders(job):
            _order_switch()
        if job is None or not compare_run.is_whole(job):
            _button(explorer, run)
    if job is None:
        model = html.escape(run.info.model)
        st.html(
            f'<div class="md-dim">Not reranked yet. When you press the button, {model} reads what '
            "each variant ranks first, and its wording.</div>"
        )


def _button(explorer: Explorer, run: ModelRun) -> None:
    if run.request is None:
        return
    try:
        model = explorer.verifier.model(explorer.verifier.connection(chosen(explorer)))
        estimate = estimated(explorer, run.request, run.stamp, run.info, model)
    except SeedLensError as error:
        note(error.message, error.remedy, kind="error")
        return
    job = run.job
    label = "Rerank" if job is None else "Try again" if job.state == "failed" else "Go on"
    st.button(
        label, key="compare_ask", type="primary", on_click=attempt,
        args=(lambda: _start(explorer, run),),
    )  # fmt: skip
    line, count = estimate_line(estimate), len(run.request.variants)
    if job is not None and job.report.questions:
        line += "; what was answered is free"
    elif count > 1:
        line = f"All {count} variants: {line}"
    st.html(
        f'<div class="md-line"><span title="{html.escape(BESIDE, quote=True)}">'
        f"{html.escape(line)}</span></div>"
    )


def _start(explorer: Explorer, run: ModelRun) -> None:
    # A click may come before the page has caught up: other variants are not what was agreed to.
    now = read_view(explorer)
    if compare_run.wanted(now, asked(explorer, now)) == run.request:
        compare_run.start(explorer, run)


def _order_switch() -> None:
    st.session_state[ORDER] = st.session_state.get(ORDER, OWN)
    st.segmented_control(
        "Order of the rankings", [OWN, BEFORE], key=ORDER, required=True,
        label_visibility="collapsed",
    )  # fmt: skip


def _progress(job_id: str, *, follows: bool) -> None:
    """One line that changes in place; the page is renewed when another variant is ranked."""
    by_model = engine().comparing.by_model
    try:
        job = by_model.state(job_id)
    except SeedLensError:
        st.rerun()
    more = len(job.whole) > st.session_state.get("compare_whole", 0)
    first = more and not st.session_state.get("compare_whole", 0)
    if job.state != "running" or (more and (follows or first)):
        st.rerun()
    line = progress_line(job, compare_run.seconds(job_id))
    with st.container(
        key="compare_progress", horizontal=True, vertical_alignment="center", gap="small"
    ):
        progress(line, progress_share(job), "Reranking")
        st.button(
            "Cancel", key="compare_cancel", on_click=by_model.cancel, args=(job_id,),
            help="What was answered is kept, and so is every order so far.",
        )  # fmt: skip


def progress_share(job: VariantsJob) -> float:
    """How far a job is, 0 to 1, by its questions."""
    return min(1.0, job.settled / job.estimate.calls) if job.estimate.calls else 0.0


def progress_line(job: VariantsJob, seconds: float) -> str:
    """Variants, rounds, calls, tokens, cost and time so far, in one line of HTML."""
    report = job.report
    of = "" if job.estimate.exact else "about "
    parts = [f"{len(job.whole)} of {counted(len(job.request.variants), 'variant')} done"]
    if report.rounds:
        rounds = max(report.rounds, job.estimate.rounds)
        lost = report.failed + report.unread
        parts += [
            f"round {report.rounds:,} of {of}{rounds:,}",
            counted(report.calls, "call"),
            tokens(report.input_tokens + report.output_tokens),
            *([money(report.cost)] if report.cost is not None else []),
            *([f"{report.cached:,} from the ledger"] if report.cached else []),
            *([f"{lost:,} without an answer"] if lost else []),
        ]
    parts.append(duration(seconds))
    return joined(parts)
