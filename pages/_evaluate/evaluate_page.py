"""The Evaluate page around its numbers: controls, the run, and previous runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.text import counted
from engine.types.evaluations import (
    NDCG,
    CollectionInfo,
    Evaluation,
    EvaluationRecord,
)
from engine.types.jobs import Job
from engine.types.models import Estimate
from pages._common import shared
from pages._common.kit import button, el, empty, facts, html, line
from pages._common.state import control, join, names, weight_slider
from pages._common.tables import MEASURES, table
from pages._common.tasks import estimate_line
from pages._evaluate import evaluate_state as state
from pages._evaluate.evaluate_tables import difference_row, difference_rows, verdict
from pages._login import login
from pages._model import model_settings

MOST = "evaluate_most_calls"
PREVIOUS_RUNS = 20
"""Listed at most."""
LONGEST_NAME = 80


def about(info: CollectionInfo) -> None:
    """What the collection is, in one line, and what is odd in it."""
    if info.problem:
        shared.note(
            info.problem, "Correct the file; it is read again when it changes.", kind="error"
        )
        return
    zeros = ", unjudged documents count as 0" if info.complete else ""
    parts = [
        f"{counted(info.queries, 'query', 'queries')} over {counted(info.seeds, 'seed')}",
        ", ".join(info.aspects) or "no aspects",
        counted(info.judgments, "grade") + zeros,
        "ranks each query's judged pool" if info.pooled else f"ranks the corpus {info.corpus}",
    ]
    if info.annotators:
        parts.append(f"graded by {len(info.annotators)} people")
    facts(" · ".join(parts), info.synthetic and [" ", el("span.sl-tag", "synthetic")])
    for warning in info.warnings:
        shared.note(warning)


# -- controls ------------------------------------------------------------------------------


def seeds_box(page: state.EvaluatePage) -> None:
    """Which queries to ask: all, or those of a run that a person brought; and of how many seeds."""
    view = page.view
    # What is not drawn is forgotten, or a click on Run would find it changed.
    for name in ("runs", "seeds"):
        st.session_state.pop(f"evaluate_{name}", None)
    if (page.uploaded or view.runs) and view.part == "systems":
        sizes = {n: f"of {n} ({run.queries:,})" for n, run in page.uploaded.items()}
        current, queries = join(view.runs), {"": "of the collection", **sizes}
        queries.setdefault(current, f"of {current}")
        control(
            *(view, "runs", st.selectbox, "Queries", queries),
            shown=current,
            read=names,
            also={"seeds": None},
            width=210,
            help="Queries of a run: those that it ranks and that have judgments.",
        )
        if current:
            return
    wanted, total = page.seeds or 0, page.info.seeds
    choices = sorted({n for n in (*state.SAMPLES, wanted) if 0 < n < total})
    if choices:
        control(
            *(page.view, "seeds", st.selectbox, "Seeds", [*choices, 0]),
            shown=wanted if wanted in choices else 0,
            width=150,
            format_func=lambda n: f"{n} of {total:,}" if n else f"all {total:,}",
            help="Fixed sample; larger samples contain smaller ones.",
        )


def controls(page: state.EvaluatePage) -> None:
    """What to measure, the button that does it, and what that costs."""
    view, labels = page.view, {c.key: state.collection_label(c) for c in page.collections}
    left, right = st.columns([4, 8])
    # Each collection and measurement has a number of seeds that is quick enough.
    also = {"seeds": None}
    of_collection = {**also, "runs": ()}
    control(view, "collection", left.selectbox, "Test collection", labels, also=of_collection)
    control(
        view, "part", right.segmented_control, "Measurement", state.PARTS, also=also, required=True
    )
    (_gap_boxes if page.gap else _system_boxes)(page)
    estimate = _estimate(page)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        seeds_box(page)
        if not page.gap:
            _rerank_boxes(page)
        if view.needs_model:
            model_settings.calls_box(page.explorer, MOST)
        _run_button(page, ready=estimate is not None if page.gap else page.has_systems)
    if estimate is not None:
        words = "All answers are cached: no requests."
        if estimate.calls:
            most = "at most " if estimate.exact else ""
            words = f"Cost: {most}{estimate_line(estimate)}; cached answers are free."
        with st.container(key="evaluate_model", gap="xsmall"):
            st.html(el("div.md-line", el("span", words)))
            model_settings.folded_panel(page.explorer, "evaluate")


def _described(modes: Mapping[str, str]) -> str:
    return " ".join(f"**{name}**: {words}" for name, words in modes.items())


def _system_boxes(page: state.EvaluatePage) -> None:
    view, by_model = page.view, page.explorer.model_systems
    left, right = st.columns([9, 3])
    known = page.explorer.systems_of(page.info.corpus)
    control(
        *(view, "systems", left.multiselect, "Systems"),
        dict.fromkeys([*known, *by_model, *view.systems]),
        format_func=partial(shared.system_label, model=by_model),
        help="Systems to evaluate. Uploaded runs are included.",
    )
    with right:
        weight_slider(view, view.steer, help="0 %: whole document. 100 %: aspect only.")


def _rerank_boxes(page: state.EvaluatePage) -> None:
    view, modes, people = page.view, page.explorer.rerank_modes, bool(page.info.annotators)
    control(
        *(view, "rerank", st.selectbox, "Rerank with a model", ["", *modes]),
        width=190,
        format_func=lambda mode: mode or "no",
        help=f"Adds a reranked row for each system. {_described(modes)}",
    )
    if view.rerank:
        words = "Number of top documents to rerank."
        limits: Any = {"min_value": 1, "max_value": state.DEEPEST, "step": 10, "width": 130}
        control(view, "depth", st.number_input, "Depth", help=words, **limits)
    control(
        *(view, "human", st.toggle, "People"),
        shown=view.human and people,
        disabled=not people,
        help="Adds a human upper bound: each annotator's grades evaluated against the adjudicated "
        "grades."
        if people
        else "This collection has no grades of single annotators.",
    )


def _gap_boxes(page: state.EvaluatePage) -> None:
    view, modes = page.view, page.explorer.rerank_modes
    left, middle, right = st.columns([6, 3, 3])
    known = page.explorer.systems_of(page.info.corpus)
    control(
        *(view, "retrievers", left.multiselect, "Retrievers"),
        dict.fromkeys([*known, *view.retrievers]),
        format_func=shared.system_label,
        help="Candidates come from all of them; the verifier is compared with the best one alone.",
    )
    words = f"How the model ranks a pool. {_described(modes)}"
    control(view, "verifier", middle.selectbox, "Verifier", list(modes), help=words)
    control(
        *(view, "sizes", right.text_input, "Pool sizes"),
        shown=", ".join(map(str, view.sizes)),
        read=state.sizes_of,
        help="Candidates per query, separated by commas.",
    )


def _estimate(page: state.EvaluatePage) -> Estimate | None:
    """What a model is asked at most; None where none is, or nothing can be measured."""
    view = page.view
    if page.info.problem or not (
        view.needs_model and (view.retrievers if page.gap else view.systems)
    ):
        return None
    with shared.error_boundary():
        estimate: Estimate = page.tasks.estimate(page.asked, model_settings.usable(page.explorer))
        return estimate
    return None


def _run_button(page: state.EvaluatePage, *, ready: bool) -> None:
    """The button that starts a measurement; ``ready``: there is something to be measured."""

    def run() -> None:
        request, explorer = page.renewed().asked, page.explorer
        page.tasks.start(
            request, model_settings.chosen(explorer), model_settings.most_calls(MOST), login.owner()
        )

    label, key = ("Measure", "evaluate_gap_run") if page.gap else ("Run", "evaluate_run")
    asked = tuple({*page.view.widgets} - {"evaluate_measure", "evaluate_model"})
    busy, lacks_model = page.job is not None and page.job.running, page.lacks_model
    button(
        *(label, key, shared.as_drawn(asked, run)),
        type="primary",
        disabled=busy or lacks_model or not ready or bool(page.info.problem),
        help="Connect a language model first." if lacks_model else None,
    )


# -- the run -------------------------------------------------------------------------------


def answered(page: state.EvaluatePage) -> Evaluation | None:
    """The stored answer, or how far it is, or what to do to get it.

    What a run left that ended early counts as an answer, and is marked as what it is.
    """
    request, evaluations = page.request, page.explorer.evaluations
    if not page.has_systems:
        empty("Choose at least one system, or upload a run below.")
        return None
    evaluation = evaluations.find(request)
    missing = [] if evaluation is not None else evaluations.missing(request)
    if evaluation is None and not missing and not _runs_or_failed(page.job, page):
        evaluations.measure(request, login.owner())
    job = page.latest_job()
    if job is not None and job.running:
        page.panel.card(job, resume=False)
        return evaluation
    if job is not None and job.request == request:
        if _problem(job) or (evaluation is None and job.state != "done"):
            page.panel.card(job, resume=False)
        if evaluation is None and job.report is not None:
            evaluation = job.report.result.evaluation
    if evaluation is None:
        names = ", ".join(map(state.run_label, missing)) or "these systems"
        to_do = "Connect a language model" if page.lacks_model else "Press Run"
        empty(f"Not ranked yet with these settings: {names}. {to_do}.")
    return evaluation


def _runs_or_failed(job: Job[Any, Any] | None, page: state.EvaluatePage) -> bool:
    return job is not None and (
        job.running or (job.request == page.request and _problem(job) != "")
    )


def _problem(job: Job[Any, Any]) -> str:
    """Why an evaluation ended early; "" where it did not."""
    return job.error or (job.report.problem or job.report.stopped if job.report else "")


# -- previous runs -------------------------------------------------------------------------


def history(page: state.EvaluatePage) -> None:
    """Previous runs on the collection, each a click away; two that are compared."""
    evaluations, measure = page.explorer.evaluations, page.view.measure
    records = evaluations.history(page.info.key)
    views = [(r, record_line(r), state.of_request(r.request, measure)) for r in records]
    previous_runs(page, evaluations, "evaluate_previous", views, compared=True)
    pair = [record for id_ in page.view.pair for record in records if record.id == id_]
    if len(pair) == 2:
        with shared.error_boundary():
            _compared(page, *pair)


def previous_runs(
    page: state.EvaluatePage,
    tasks: Any,
    key: str,
    runs: Sequence[tuple[Any, str, state.EvaluateView]],
    *,
    compared: bool = False,
) -> None:
    """A line for each, which opens its view, is named and deleted.

    Args:
        tasks: whose results they are.
        runs: their records, lines and views.
        compared: two can be ticked and compared.
    """
    removed = st.session_state.get(_removed(tasks))
    if removed is not None and removed.request.collection == page.info.key:

        def undo() -> None:
            tasks.remove(st.session_state.pop(_removed(tasks)), removed=False)

        with line():
            facts("Previous run deleted.", role="status")
            button("Undo", f"{key}_undo", undo)
    if not runs:
        return
    with st.expander(f"Previous runs ({len(runs)})", key=f"{key}_box", type="compact"):
        ticked = []
        for number, (record, words, view) in enumerate(runs[:PREVIOUS_RUNS]):
            with line():
                if compared and st.checkbox(
                    shared.escape_label(f"Compare {words}"),
                    key=f"evaluate_tick_{record.id}",
                    label_visibility="collapsed",
                ):
                    ticked.append(record.id)
                label = shared.escape_label(f"{record.name} · {words}" if record.name else words)
                st.button(label, key=f"{key}_{number}", type="tertiary", on_click=view.write)
                _change(tasks, record, f"evaluate_record_{record.id}")
        if compared and len(runs) > 1:
            button(
                *("Compare", "evaluate_compare", page.view.change),
                lambda now: replace(now, pair=tuple(reversed(ticked))),
                disabled=len(ticked) != 2,
                help="Tick two runs.",
            )


def _removed(tasks: Any) -> str:
    """Where the record is that was taken out of a list last."""
    return f"evaluate_removed_{tasks.kind}"


def _change(tasks: Any, record: Any, key: str) -> None:
    """Name a previous run, or delete it."""
    with st.popover("Edit", help="Rename or delete.", type="tertiary", key=f"{key}_more"):

        def rename() -> None:
            tasks.rename(record, st.session_state[f"{key}_name"])

        def delete() -> None:
            tasks.remove(record)
            st.session_state[_removed(tasks)] = record

        look: Any = {"on_change": shared.attempt, "args": (rename,), "max_chars": LONGEST_NAME}
        st.text_input("Name", record.name, key=f"{key}_name", **look)
        button("Delete", f"{key}_delete", delete)


def record_line(record: EvaluationRecord) -> str:
    """When, how it was asked, and who did best."""
    request = record.request
    scored = {n: v for n, v in record.headline.items() if v is not None and n != "human"}
    best = max(scored, key=scored.__getitem__, default="")
    parts = [
        state.moment(record.time),
        ", ".join(map(state.run_label, request.systems)),
        f"aspect weight {request.steer:.0%}",
        f"queries of {', '.join(request.runs)}" if request.runs else state.seeds_of(request.sample),
        f"reranked {request.rerank}, depth {request.depth:,}" if request.rerank else "",
        request.model.partition(" at ")[0],
        f"best {state.run_label(best)} {scored[best]:.3f}" if best else "",
    ]
    return " · ".join(filter(None, parts))


def _compared(page: state.EvaluatePage, first: EvaluationRecord, second: EvaluationRecord) -> None:
    """Two previous runs against each other: what changed, and how sure that is."""
    names = [record.name or record_line(record) for record in (first, second)]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Comparison of two runs", anchor=False)
        close: Any = (page.view.change, lambda now: replace(now, pair=()))
        button("Close", "evaluate_compare_close", *close, type="tertiary")
    heads = [html(el("strong", which), " ", name) for which, name in zip("AB", names, strict=True)]
    st.html(el("ul.sl-verdicts", [el("li", head) for head in heads]))
    changed = {
        "Judgments": (first.judgments, second.judgments),
        "Corpus or SeedLens": (first.version, second.version),
    }
    if what := [name for name, (one, other) in changed.items() if one and other and one != other]:
        shared.note(
            f"Changed between these runs: {' and '.join(what)}.", "Run both again to compare."
        )
    for which, one, other in (("A", first, second), ("B", second, first)):
        if alone := [state.run_label(name) for name in one.headline if name not in other.headline]:
            facts(f"Only in {which}: {', '.join(alone)}.")
    found = shared.remembered(
        "evaluate_differences",
        (first.id, first.time, second.id, second.time),
        lambda: page.explorer.evaluations.compared(first, second),
    )
    if not found:
        empty("These runs have fewer than two queries in common. Choose two others.")
        return
    order = [name for name in MEASURES if name not in (*page.hidden, "Judged@20")]
    shown = [one for measure in order for one in found if one.measure == measure]
    sentences = [verdict(difference_row(one)) for one in shown if one.measure == NDCG]
    facts(f"In {NDCG}:")
    st.html(el("ul.sl-verdicts", [el("li", sentence) for sentence in sentences]))
    columns = {
        "A": shared.escape_label(names[0]),
        "B": shared.escape_label(names[1]),
        "Difference": "B minus A, on the queries of both.",
        "t-test p": "Paired, Holm-corrected over the systems.",
        "Random signs p": "Holm-corrected over the systems.",
    }
    alt = "Differences between two runs and how sure they are"
    table(difference_rows(shown), "evaluate_differences", alt, columns, most=20)
