"""The left column of the Compare page (seed, aspect, variants, filters), and reranking by a model.

Calls cost money: no model is asked unless its button was pressed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import streamlit as st

from engine.errors import BadInputError, SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.comparisons import (
    Comparison,
    ComparisonRequest,
    ModelOrders,
    Variant,
    VariantsJob,
    VariantsRequest,
    VariantsSoFar,
)
from engine.types.documents import Document
from engine.types.models import Estimate, ModelReport
from engine.types.reranking import EndpointInfo
from engine.types.searches import PAGE_SIZE
from pages._common import tasks
from pages._common.components import component, listen
from pages._common.document_view import meta, seed_finder
from pages._common.filter_panel import PageFilters
from pages._common.kit import Html, button, dim, el, line
from pages._common.shared import attempt, escape_label, note, show_error, system_label
from pages._common.state import corpus_box, pages
from pages._compare import compare_state as state
from pages._compare.sections import KINDS
from pages._explore.explore_state import DEEPEST, OWN, View
from pages._login import login
from pages._model import reranking_controls as reranking
from pages._model.model_settings import chosen, endpoint, folded_panel, is_panel_busy
from pages._model.wording_reading import (
    ModelReading,
    is_on,
    question,
    read_wordings,
    reading_switch,
    taken_over,
)

_VARIANTS = component("compare_variants")


def left_column(
    page: state.ComparePage, comparison: Comparison | None, found: Sequence[ModelReading]
) -> None:
    """Corpus, seed, aspect and the variants; all there even when nothing can be compared.

    Args:
        found: what a model reads the variants' wordings as.
    """
    explorer, view = page.explorer, page.view
    box, finder = st.columns([2, 3], vertical_alignment="bottom")
    with box:
        corpus_box(view, page.corpora, "compare_corpus")
    with finder:

        def use(seed: str = "", text_id: str = "") -> None:
            state.CompareView.change(
                lambda now: replace(now, seed=seed, text_id=text_id, document="")
            )

        key, text = "compare_finder", partial(use, "")
        seed_finder(explorer, view.corpus, on_document=use, on_text=text, key=key)
    if explorer.library.is_synthetic(explorer.library.corpus(view.corpus)):
        st.html('<span class="sl-tag">synthetic abstracts, written for this demo</span>')
    if comparison is not None:
        _seed_words(page, comparison.seed)
    _aspect_box(page)
    with st.container(horizontal=True, gap="small", key="compare_presets"):
        for name, (label, _, meaning) in state.PRESETS.items():
            button(label, f"compare_preset_{name}", _take_preset, explorer, name, help=meaning)
    _systems_box(page)
    count = 0 if comparison is None else len(view.variants)
    read = [_reading(comparison, i) for i in range(count)] if comparison else []
    variant_rows(page, read, [one.model if one.in_use else "" for one in found])
    filters = PageFilters(explorer, view.corpus, state.CompareView, key="compare")
    filters.chips()
    filters.panel()
    _reading_control(page, found)


def _systems_box(page: state.ComparePage) -> None:
    """The systems of the variants; a change puts every instruction on every system."""
    view, key = page.view, "compare_on_systems"
    own = list(dict.fromkeys(variant.system for variant in view.variants))
    systems = list(dict.fromkeys([*page.explorer.systems_of(page.corpus), *own]))

    def change() -> None:
        if chosen := st.session_state[key]:
            state.CompareView.change(lambda now: now.on_systems(chosen))

    st.session_state[key] = own
    st.multiselect(
        *("Systems", systems),
        key=key,
        format_func=system_label,
        on_change=attempt,
        args=(change,),
        help="Ranks every instruction with each of these systems.",
    )


def _take_preset(explorer: Explorer, name: str) -> None:
    state.CompareView.change(
        lambda now: now.with_variants(state.preset(explorer, now.corpus, now.aspect, name))
    )


def _seed_words(page: state.ComparePage, seed: Document) -> None:
    """The seed, and its sentences of the aspect."""
    keys = [a.key for a in page.lens.aspects]
    index = keys.index(page.view.aspect) if page.view.aspect in keys else None
    serving = [s.text for s in seed.sentences if s.role == index]
    name = "" if index is None else page.lens.aspects[index].name
    details: Html | None = None
    if name and serving:
        summary = f"{counted(len(serving), 'sentence')} of {name}"
        items = el("ul", [el("li", text) for text in serving])
        details = el("details", el("summary", summary), items)
    about, title = meta(seed), el("div.cmp-title", seed.title or "Pasted text")
    st.html(el("div.cmp-seed", title, about and el("div.cmp-meta", about), details))
    if name and not serving:
        note(
            f"The seed has no sentence of {name}.",
            "Instructions for this aspect have no matching sentence in the seed.",
        )


def _aspect_box(page: state.ComparePage) -> None:
    """Which aspect is meant. Built-in wordings follow it, words of one's own stay."""
    view, key = page.view, "compare_aspect"
    names = {a.key: escape_label(f"{a.letter} · {a.name}") for a in page.lens.aspects}

    def change() -> None:
        if aspect := st.session_state[key]:
            state.CompareView.change(lambda now: state.reworded(page.explorer, now, aspect))

    st.session_state[key] = view.aspect if view.aspect in names else None
    st.segmented_control(
        *("Similar in", list(names)),
        format_func=names.__getitem__,
        key=key,
        on_change=attempt,
        args=(change,),
        help="Target aspect for verdicts and measures.",
    )
    meant = next((a.name for a in page.lens.aspects if a.key == view.aspect), "")
    if words := _about_no_aspect(view, pages().found(View), meant):
        dim(words)


def _about_no_aspect(view: state.CompareView, search: View, meant: str) -> str:
    """How a search without an aspect, as Explore has it, appears here; "" where it has one."""
    if search.aspect or not meant:
        return ""
    if search.variant(search.system) is None:
        return f"No aspect or instruction is set on Explore. Comparing instructions for {meant}."
    if all(variant.name != OWN for variant in view.variants):
        return ""
    return f"“{OWN}” has no aspect: its instruction decides. Verdicts and measures use {meant}."


# -- what wordings are interpreted as ------------------------------------------------------


def _reading(comparison: Comparison, index: int) -> str:
    """What a wording was understood to ask for, in one line."""
    ranked = comparison.variants[index]
    parts = [f"{name} {w:.0%}" for name, w in sorted(ranked.understood, key=lambda pair: -pair[1])]
    parts += [f"{'+' if u.term.wanted else '−'} “{u.term.text}”" for u in ranked.terms]
    words = f"Interpreted as {', '.join(parts)}." if parts else ""
    if not parts and not ranked.variant.instruction.strip() and not ranked.variant.aspect:
        words = "No instruction (seed only)."
    avoided = f"Excludes {', '.join(ranked.avoided)}." if ranked.avoided else ""
    return " ".join(filter(None, (words, avoided, *ranked.notes)))


def open_reading(
    explorer: Explorer, view: state.CompareView
) -> tuple[state.CompareView, list[ModelReading]]:
    """The view with the model's reading of its variants' wordings, as far as it is there."""
    lens = explorer.library.lens(view.corpus)
    found = read_wordings(explorer, lens, [question(view.corpus, v) for v in view.variants])
    readings = zip(view.variants, taken_over("compare", found), strict=True)
    variants = tuple(replace(v, reading=reading) for v, reading in readings)
    if variants != view.variants:
        view = view.with_variants(variants)
        view.write()
    questions = [question(view.corpus, v) for v in variants]
    return view, [replace(one, query=q) for one, q in zip(found, questions, strict=True)]


def _reading_control(page: state.ComparePage, found: Sequence[ModelReading]) -> None:
    """The switch under the variants."""
    view, by_model = page.view, {one.query for one in found if one.in_use}

    def switched(on: bool) -> None:
        def changed(now: state.CompareView, variant: Variant) -> Variant:
            ends = on or question(now.corpus, variant) in by_model
            return replace(variant, reading=()) if ends else variant

        state.CompareView.change(
            lambda now: now.with_variants([changed(now, v) for v in now.variants])
        )

    if is_on() or any(v.instruction.strip() for v in view.variants):
        label = "Interpret with a model"
        reading_switch(page.explorer, "compare", label, found, view.corpus, switched)


def variant_rows(page: state.ComparePage, read: Sequence[str], models: Sequence[str]) -> None:
    """The variants as rows to edit, copy, add and remove.

    Args:
        read: what each wording was understood to ask for, in words.
        models: which model read it, "" for none.
    """
    explorer, variants = page.explorer, page.view.variants
    own = [variant.system for variant in variants]
    systems = list(dict.fromkeys([*explorer.systems_of(page.corpus), *own]))

    def change(event: Mapping[str, Any]) -> None:
        known = explorer.comparing.presets(page.corpus, page.view.aspect)
        built_in = {v.name: v.instruction for v in known}
        changed = named_by_words(edited(event["rows"], len(variants)), variants, built_in)
        state.CompareView.change(lambda now: now.with_variants(changed))

    _VARIANTS(
        key="compare_variants",
        data={
            "rows": state.rows_of(variants),
            "read": list(read),
            "models": list(models),
            "systems": systems,
            "names": {name: system_label(name) for name in systems},
            "steered": [name for name in systems if explorer.reads_steer(name)],
            "readers": [name for name in systems if explorer.reads_wording(name)],
            "aspects": [{"key": a.key, "name": a.name} for a in page.lens.aspects],
            "most": state.MOST_VARIANTS,
        },
        on_rows_change=listen("compare_variants", "rows", change),
    )


def edited(rows: object, before: int) -> tuple[Variant, ...]:
    """Variants as the editor sent them.

    A row that was added or duplicated gets a name of its own; one that a person gave a name
    that is taken keeps it, and the comparison refuses it.
    """
    try:
        variants = state.variants_from_json(rows)
    except ValueError as error:
        raise BadInputError(f"Invalid variants: {error}.", "Undo the last change.") from error
    if len(variants) <= before:
        return variants
    named: list[Variant] = []
    for v in variants:
        named.append(replace(v, name=state.free_name(v.name, [n.name for n in named])))
    return tuple(named)


def named_by_words(
    variants: Sequence[Variant], before: Sequence[Variant], built_in: Mapping[str, str]
) -> list[Variant]:
    """Variants without the name of a built-in instruction that a person replaced.

    Args:
        built_in: name -> instruction.
    """
    named, known = list(variants), set(built_in.values())
    for place, (now, was) in enumerate(zip(variants, before, strict=False)):
        is_replaced = was.instruction in known and now.instruction not in known
        if is_replaced and now.name == was.name and now.name.startswith(tuple(built_in)):
            named[place] = replace(now, name=state.free_name("mine", [v.name for v in named]))
    return named


# -- the model -----------------------------------------------------------------------------

DEPTHS = (20, state.RERANK_DEPTH, 100, DEEPEST)
ORDER = "compare_order"
BESIDE = (
    "Each system is also reranked once without an instruction: the difference shows whether the "
    "model follows instructions."
)
_NOTHING = VariantsSoFar(Estimate(), ModelOrders(), (), ModelReport(mode="", depth=0, endpoint=""))


def so_far(job: VariantsJob | None) -> VariantsSoFar:
    """What a job made of the rankings so far; nothing before its first report."""
    found: VariantsSoFar = (job and job.progress.partial) or _NOTHING
    return found


@dataclass(frozen=True)
class ModelRun:
    """What a model has to do with a view.

    Attributes:
        request: what it is to rerank; None when it is not wanted, or nothing can be compared.
        job: how far that is; None before it was asked for.
    """

    page: state.ComparePage
    request: VariantsRequest | None = None
    job: VariantsJob | None = None

    @cached_property
    def info(self) -> EndpointInfo:
        """Who is asked."""
        return endpoint(self.page.explorer)

    @property
    def key(self) -> Hashable:
        """By which the visit keeps its jobs."""
        return self.request, self.page.stamp, self.info.address, self.info.model

    @property
    def jobs(self) -> reranking.VisitJobs[Hashable]:
        """Those of the visit."""
        jobs = self.page.explorer.comparing.by_model.jobs
        return reranking.VisitJobs("compare_model", jobs.job, jobs.cancel)

    @property
    def ranks(self) -> bool:
        """Whether the model has ranked anything yet, and its order is looked at."""
        return bool(so_far(self.job).orders.variants) and reranking.shows_model(ORDER)


def open_run(page: state.ComparePage) -> ModelRun:
    """The model's part in a view. Asks nothing; what the ledger knows is there at once."""
    request = _wanted(page.view, page.request)
    run, by_model = ModelRun(page, request), page.explorer.comparing.by_model
    if request is None or not run.info.set_up:
        return run
    job = run.jobs.find(run.key)
    # While the endpoint is tried out, what it can do is not known: no answer would match.
    if job is None and run.info.tried and not is_panel_busy():
        job = run.jobs.recall(run.key, lambda: by_model.recall(request, chosen(page.explorer)))
    return replace(run, job=job)


def _wanted(view: state.CompareView, request: ComparisonRequest) -> VariantsRequest | None:
    """What the model is to rerank in a view; None when it is not to."""
    if not view.rerank:
        return None
    same = {field.name: getattr(request, field.name) for field in fields(request)}
    return VariantsRequest(**same, mode=view.rerank, depth=view.rerank_depth)


def model_controls(run: ModelRun) -> None:
    """The switch under the variants, how to rerank, and the panel to connect a model."""
    explorer, view = run.page.explorer, run.page.view
    words = "A language model reorders the top documents of each variant by its instruction."
    look: Any = {"depth_field": "rerank_depth", "words": words}
    reranking.rerank_controls(explorer, "compare", view, DEPTHS, **look)
    if view.rerank and not run.info.set_up:
        dim(reranking.NOT_CONNECTED, " Showing the original rankings.")
    one, many = "other comparison", "other comparisons"
    reranking.other_jobs(run.jobs, run.job, "compare_cancel_others", one, many)
    folded_panel(explorer, "compare", needed=bool(view.rerank))


def run_area(run: ModelRun) -> None:
    """What the model is to do, how far it is, or what it took; of the same height throughout."""
    job, report = run.job, so_far(run.job).report
    if run.request is None:
        return
    if not run.info.set_up:
        dim("Not reranked: no language model is connected. Connect one under “Language model”.")
        return
    if job is not None and job.running:
        _running(run, job)
    elif job is not None and job.state == "failed":
        note(job.error, f"{job.remedy} Showing the original rankings.", kind="error")
    elif job is not None:
        tasks.what_was_asked(report)
    with line():
        if so_far(job).orders.variants:
            reranking.order_switch(ORDER, "Order of the rankings")
        if job is None or not (job.running or reranking.is_whole(job, report)):
            _button(run, run.request)
    if job is None:
        words = f"{run.info.model} will reorder the top documents of each variant."
        dim("Not reranked yet. ", words)


def _running(run: ModelRun, job: VariantsJob) -> None:
    whole, jobs = len(so_far(job).whole), run.page.explorer.comparing.by_model.jobs
    tasks.JobCard(
        lambda: jobs.job(job.id),
        key="compare",
        label="Reranking",
        line=progress_line,
        cancel=jobs.cancel,
        # Another variant is ranked, and its ranking is looked at, or the first that can be.
        is_news=lambda now: len(so_far(now).whole) > whole and (run.ranks or not whole),
        border=False,
        poll=reranking.POLL_SECONDS,
        what_stays="Cached answers and partial rankings are kept.",
    ).show(job)


def _button(run: ModelRun, request: VariantsRequest) -> None:
    """The button that asks for what is missing, with its estimate."""
    explorer, by_model = run.page.explorer, run.page.explorer.comparing.by_model
    try:
        do = partial(by_model.estimate, request, chosen(explorer))
        estimate = state.kept(do, "estimate", request, run.page.stamp, run.info)
    except SeedLensError as error:
        show_error(error)
        return

    def start() -> None:
        # A click may come before the page has caught up: other variants are not what was agreed to.
        now = replace(run.page, view=state.CompareView.read())
        if _wanted(now.view, now.request) == request:
            job_id = by_model.start(request, chosen(explorer), owner=login.owner())
            run.jobs.keep(run.key, job_id)
            st.session_state[ORDER] = reranking.OWN

    button(reranking.ask_label("Rerank", run.job), "compare_ask", start, type="primary")
    words, count = tasks.estimate_line(estimate), len(request.variants)
    if so_far(run.job).report.questions:
        words += "; cached answers are free"
    elif count > 1:
        words = f"All {count} variants: {words}"
    st.html(el("div.md-line", el("span", words, title=BESIDE)))


def progress_line(job: VariantsJob) -> str:
    """Variants, rounds, calls, tokens, cost and time so far, in one line of HTML."""
    now = so_far(job)
    parts = [f"{len(now.whole)} of {counted(len(job.request.variants), 'variant')} done"]
    if now.report.rounds:
        parts += tasks.asked_so_far(now.estimate, now.report)
    return tasks.joined([*parts, tasks.duration(job.seconds)])


def in_order(run: ModelRun, comparison: Comparison) -> Comparison:
    """The comparison in the model's order where there is one and it is looked at."""
    if run.job is None or not run.ranks:
        return comparison
    now = so_far(run.job)
    return run.page.compared((run.job.id, run.job.state, len(now.whole)), now.orders)


def changes(before: Comparison, after: Comparison, run: ModelRun) -> Mapping[str, str]:
    """For each variant that a model reranked, what that changed: plain text."""
    kinds = {v.variant: KINDS[v.kind][0] for v in before.verdicts}
    sentences: dict[str, str] = {}
    for old, new in zip(before.variants, after.variants, strict=True):
        name = new.variant.name
        if name in after.by_model:
            first, top = (ranked.ranking.doc_ids[:PAGE_SIZE] for ranked in (old, new))
            moved = sum(a != b for a, b in zip(first, top, strict=True))
            came, whole = len({*top} - {*first}), name in so_far(run.job).whole
            words = tasks.top_sentence(moved, came, len(top), whole=whole)
            sentences[name] = f"{words} Original: {kinds[name]}."
    return sentences
