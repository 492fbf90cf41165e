"""The numbers of an evaluation or a gap, downloads, and what people bring: runs, judgments, SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import PoolRequest
from engine.types.evaluations import NDCG, CollectionInfo, Evaluation
from engine.types.reranking import Gap, GapRecord
from pages._annotate.annotate_url import annotator, is_lead, of_project
from pages._common import shared
from pages._common.charts import frame_csv, to_csv
from pages._common.kit import button, dim, el, empty, facts, html, line
from pages._common.state import control
from pages._common.tables import MEASURES, frame_chart, table
from pages._common.tasks import report_line
from pages._evaluate import evaluate_charts as charts
from pages._evaluate import evaluate_state as state
from pages._evaluate import evaluate_tables as tables
from pages._evaluate.evaluate_page import (
    answered,
    previous_runs,
)
from pages._login import login
from pages._model.model_settings import chosen

READING = (
    "Fractions, with 95 % bootstrap intervals over queries (10,000 draws). Differences: paired "
    "t-test and randomisation test on the same queries, Holm-corrected."
)
SENTENCES = 6
"""Differences that are put into words; the table has all."""


def evaluation_results(page: state.EvaluatePage) -> None:
    """Everything that the evaluation says, once there is one."""
    measured = answered(page)
    if measured is None:
        return
    evaluation = state.labelled(measured)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Systems", anchor=False)
        terms = {name: words for name, words in MEASURES.items() if name not in page.hidden}
        definitions("Measures", terms, READING)
        _export(page, measured)
    for sentence in evaluation.notes:
        shared.note(sentence)
    columns = {
        "Queries": "Number of queries.",
        "p-MRR queries": "Queries whose seed is judged for another aspect.",
    }
    rows, alt = tables.leaderboard_rows(evaluation), "Systems and their measures"
    table(rows.drop(columns=[*page.hidden, "Seconds"]), "evaluate_leaderboard", alt, columns)
    facts(tables.basis(evaluation))
    sections: tuple[Callable[[], None], ...] = (
        lambda: unjudged_documents(page),
        lambda: _verdicts(evaluation),
        lambda: _queries(page, evaluation),
        lambda: _aspects(page, evaluation),
        lambda: tables.beside_the_paper(page.info, evaluation),
        lambda: _details(evaluation),
    )
    for section in sections:
        with shared.error_boundary():
            section()


def definitions(label: str, terms: Mapping[str, str], more: str = "") -> None:
    """What the words of the page mean, behind a button.

    Args:
        more: below the list.
    """
    narrow, below = "max-width:60ch", "margin:0 0 .5rem"
    with st.popover(label, type="tertiary"):
        lines = [
            html(el("dt", el("strong", name)), el("dd", words, style=below))
            for name, words in terms.items()
        ]
        st.html(html(el("dl", lines, style=narrow), el("p", more, style=narrow)))


def _details(evaluation: Evaluation) -> None:
    """How long each system took, and what a language model was asked."""
    with st.expander("Details", key="evaluate_details", type="compact"):
        rows = tables.leaderboard_rows(evaluation)[["System", "Seconds"]]
        columns = {"Seconds": "Ranking time, without model and evidence."}
        table(rows, "evaluate_seconds", "Ranking time per system", columns)
        if reports := evaluation.model_reports:
            st.subheader("Model requests", anchor=False)
            alt = "Model requests per system"
            table(tables.report_rows(reports), "evaluate_reports", alt, tables.report_columns())


def _beside(
    name: str, left: Callable[[], None], right: Callable[[], None], widths: Sequence[int] = (7, 5)
) -> None:
    """Two parts side by side, one below the other in a narrow window."""
    with st.container(key=f"evaluate_pair_{name}"):
        for column, draw in zip(st.columns(widths, gap="medium"), (left, right), strict=True):
            with column:
                draw()


def _chart(
    evaluation: Evaluation, frame: pd.DataFrame, draw: Callable[..., Figure], *about: str, key: str
) -> None:
    """A chart of an evaluation; ``about``: file, title, caption, alternative text."""
    file, title, words, alt = about
    do = partial(draw, evaluation=evaluation)
    frame_chart(frame, do, file, title, f"{words} {tables.basis(evaluation)}.", alt=alt, key=key)


def _verdicts(evaluation: Evaluation) -> None:
    pairs = sorted(
        evaluation.significance, key=lambda r: (tables.tested(r)[1], -abs(r["difference"]))
    )
    moves = [s.metrics["p-MRR"] for s in evaluation.systems.values()]

    def sentences() -> None:
        if pairs:
            _sentences(pairs)
        else:
            st.caption("Add a second system to test differences.")
        if not any(moves) and any(value is not None for value in moves):
            st.caption("p-MRR is 0: these rankings do not depend on the aspect.")

    def trade_off() -> None:
        _chart(
            *(evaluation, charts.trade_off_frame(evaluation), charts.trade_off),
            "relevance and instruction following",
            "Relevance and instruction following of every system",
            "Means with 95 % intervals.",
            "Relevance against instruction following of every system, with intervals",
            key="evaluate_trade",
        )

    if any(moves):
        _beside("verdicts", sentences, trade_off)
    elif pairs:
        sentences()


def _sentences(pairs: Sequence[Mapping[str, Any]]) -> None:
    st.subheader("Significance", anchor=False)
    facts(f"In {NDCG}:")
    st.html(el("ul.sl-verdicts", [el("li", tables.verdict(row)) for row in pairs[:SENTENCES]]))
    every = f"All {len(pairs)} pairs as a table" if len(pairs) > 1 else "As a table"
    columns = {
        "Difference": "First minus second.",
        "t-test p": "Paired, Holm-corrected.",
        "Random signs p": "Holm-corrected.",
    }
    with st.expander(every, type="compact"):
        alt = "Differences between systems and how sure they are"
        table(tables.pair_rows(pairs), "evaluate_pairs_table", alt, columns)


def _queries(page: state.EvaluatePage, evaluation: Evaluation) -> None:
    st.header("Query by query", anchor=False)
    scores = evaluation.systems.values()
    charted = [measure for measure in state.CHARTED if measure not in page.hidden]
    defined = [m for m in charted if any(s.metrics[m] is not None for s in scores)]
    measure = page.view.measure if page.view.measure in defined else defined[0]
    control(
        *(page.view, "measure", st.segmented_control, "Measure", defined),
        shown=measure,
        read=lambda chosen: chosen or measure,
        also={"model": page.view.model},
        label_visibility="collapsed",
    )
    st.caption(MEASURES[measure])
    frame = tables.query_rows(evaluation, measure, page.titles, page.info)
    strip, column = charts.strip_frame(frame, evaluation, measure), st.column_config
    words = "This seed and aspect on the Explore page."
    columns = {
        "Seed": column.TextColumn(width="medium", pinned=True),
        "Spread": "Best minus worst system.",
        "Explore": column.LinkColumn(display_text="open", help=words),
    }
    shown = frame.drop(columns=["Query", *([] if any(frame["Explore"]) else ["Explore"])])
    alt = f"{measure} of every query"
    _beside(
        "queries",
        lambda: table(shown, "evaluate_queries", alt, columns, most=8),
        lambda: _chart(
            *(evaluation, strip, partial(charts.strip_plot, aspects=page.aspects)),
            *("queries", alt, "Each mark is a query; lines show means."),
            f"{measure}: one dot per query and system, lines show means",
            key="evaluate_strip",
        ),
    )


def _aspects(page: state.EvaluatePage, evaluation: Evaluation) -> None:
    scores = evaluation.systems.values()
    if not any(s.by_aspect for s in scores):
        return
    st.header("Aspect by aspect", anchor=False)
    measure = page.view.measure if page.view.measure in state.CHARTED[:3] else state.CHARTED[0]
    if all(s.metrics[measure] is None for s in scores):
        measure = state.CHARTED[0]
    frame = charts.interval_frame(evaluation, measure, page.aspects)
    rows = tables.aspect_rows(evaluation, page.aspects).drop(columns=page.hidden)
    alt = "Measures of every system for every aspect"
    _beside(
        "aspects",
        lambda: table(rows, "evaluate_aspects", alt),
        lambda: _chart(
            *(evaluation, frame, partial(charts.interval_plot, aspects=page.aspects)),
            *("aspects", f"{measure} by aspect", "Means with 95 % intervals."),
            f"{measure} of every aspect per system with 95 % intervals",
            key="evaluate_intervals",
        ),
    )


@st.fragment
def _export(page: state.EvaluatePage, evaluation: Evaluation) -> None:
    popover = st.popover("Export", key="evaluate_export", on_change="rerun")
    if not popover.open:
        return
    evaluations, measure = page.explorer.evaluations, page.view.measure
    frames = {
        "Systems (CSV)": (
            "systems.csv",
            lambda: tables.leaderboard_rows(evaluation).drop(columns=page.hidden),
        ),
        "Queries (CSV)": (
            f"queries-{measure}.csv",
            lambda: tables.query_rows(evaluation, measure, page.titles, page.info),
        ),
    }
    if reports := evaluation.model_reports:
        frames["Model (CSV)"] = ("model.csv", lambda: tables.report_rows(reports))
    with popover:
        for label, (file, make) in frames.items():
            download(label, lambda make=make: frame_csv(make()), file)  # type: ignore[misc]
        download("Everything (JSON)", lambda: evaluations.to_json(evaluation), "evaluation.json")
        for name, scores in evaluation.systems.items():
            # A run that ended early is not kept.
            if scores.kind != "human" and not (scores.llm and scores.llm.stopped):
                make = partial(evaluations.run_file, page.request, name)
                label = shared.escape_label(f"Run of {name} (TREC)")
                download(label, make, f"{'-'.join(name.split())}.run")
        st.caption("Copy the address to share this page.")


def download(name: str, data: Callable[[], str], file: str) -> None:
    """A button for a file of this page."""
    shared.download(name, file, data, key=f"evaluate_dl_{file}", type="tertiary")


# -- unjudged documents ---------------------------------------------------------------------

TOP = 20
"""As deep as the measures look."""
_ADDED = "evaluate_added"


def unjudged_documents(page: state.EvaluatePage) -> None:
    """Of a project's collection: what is unjudged, put into its pool with one click."""
    explorer, info = page.explorer, page.info
    corpus, _, name = info.key.partition(":")
    if info.source_format != "project" or not name:
        return
    project = explorer.annotation.at(corpus, name)
    runs = explorer.evaluations.rankings(page.request)
    unjudged = {
        (query_id, doc_id)
        for run in explorer.annotation.unjudged(project, k=TOP, runs=runs)
        for query_id, doc_ids in run.missing.items()
        for doc_id in doc_ids
    }
    added = st.session_state.pop(_ADDED, 0)
    if not unjudged and not added:
        return
    known, queries = explorer.library.open(corpus).row_of, explorer.annotation.queries(project)
    # Nobody can judge what the corpus lacks, or the seed itself.
    gone = {(q, d) for q, d in unjudged if d not in known or d == queries[q].seed}
    pooled = {(item.query_id, item.doc_id) for item in explorer.annotation.pool(project)}
    lacking, who = len(unjudged - pooled - gone), annotator(explorer)
    may_add = is_lead(project, who)
    words = _words(len(unjudged), lacking, len(gone), added)
    if lacking and not may_add:
        words += f" Leads can add them: {', '.join(project.leads) or 'ask one'}."
    shared.note(words)

    def fill() -> None:
        explorer.annotation.fill_pool(project, PoolRequest((), TOP, runs=runs))
        st.session_state[_ADDED] = lacking

    with st.container(key="evaluate_unjudged", horizontal=True):
        if lacking and may_add:
            label, words = f"Add {lacking:,} to the pool", "Adds them to the project's queue."
            button(label, "evaluate_add_unjudged", fill, help=words, type="primary")
        may_judge = not project.annotators or who in (*project.annotators, *project.leads)
        waiting = may_judge and len(unjudged) > lacking + len(gone)
        if waiting and st.button("Judge them", key="evaluate_judge_unjudged"):
            of_project(project).go()


def _words(unjudged: int, lacking: int, gone: int, added: int) -> str:
    waiting = unjudged - lacking - gone
    counts = counted(unjudged, "unjudged document counts", "unjudged documents count")
    parts = [
        f"{added:,} added to the pool." if added else "",
        f"In the top {TOP}, {counts} as not relevant." if unjudged else "",
        f"{waiting:,} in the pool, waiting to be judged." if waiting else "",
        f"{lacking:,} not in the pool." if lacking else "",
        f"{gone:,} not in the corpus." if gone else "",
    ]
    return " ".join(filter(None, parts))


# -- the gap --------------------------------------------------------------------------------


def gap_results(page: state.EvaluatePage) -> None:
    """The gap, or how far it is, or what to do to get it; then those of previous runs."""
    view, gaps, job = page.view, page.explorer.gaps, page.latest_job()
    if not view.retrievers:
        empty("Choose at least one retriever.")
        return
    request, records = gaps.checked(page.gap_request), gaps.history(page.info.key)
    latest = next((record.model for record in records if record.request == request), "")
    gap = gaps.find(request, view.model or page.connected or latest)
    running, own = job is not None and job.running, job is not None and job.request == request
    if job is not None and (running or (own and job.state != "done")):
        page.panel.card(job, resume=False)
    if job is not None and own and job.report is not None:
        gap = gap or job.report.result
    if gap is not None:
        with shared.error_boundary():
            _gap(page.explorer, gap)
    elif not running:
        empty(
            "Not measured yet. A language model ranks the retrieved pool at every size. Press "
            "Measure; it runs in the background."
        )
    views = [(r, _gap_line(r), state.of_gap(view, r)) for r in records]
    previous_runs(page, gaps, "evaluate_previous_gap", views)


def _gap(explorer: Explorer, gap: Gap) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Retrieval–verification gap", anchor=False)
        definitions("Definitions", tables.GAP_TERMS)
        _export_gap(explorer, gap)
    gap = _named(gap)
    for sentence in gap.notes:
        shared.note(sentence)
    if gap.report.stopped:
        shared.note("Partial result.", gap.report.problem)
    words, frame = tables.gap_verdict(gap), charts.gap_frame(gap)
    st.html(el("p.sl-gap-verdict", words))
    alt = f"{gap.measure} and gap at every pool size"
    table(tables.point_rows(gap), "evaluate_gap_points", alt, tables.point_columns(), most=20)
    st.html(f'<div class="md-line sl-dim">{report_line(gap.report)}</div>')
    title = f"Retrieval–verification gap: {gap.collection}"
    chart = frame, partial(charts.gap_chart, gap=gap), "gap", title, words
    alt = (
        f"{gap.measure} of the verifier against pool size, lower and upper bound, and of every "
        "retriever alone"
    )

    def retrievers() -> None:
        st.subheader("Retrievers alone", anchor=False)
        of_all = f"{gap.measure} of every retriever without the verifier"
        table(tables.retriever_rows(gap), "evaluate_gap_retrievers", of_all)

    _beside(
        "gap", lambda: frame_chart(*chart, alt=alt, key="evaluate_gap_chart"), retrievers, (8, 4)
    )


@st.fragment
def _export_gap(explorer: Explorer, gap: Gap) -> None:
    popover = st.popover("Export", key="evaluate_gap_export", on_change="rerun")
    if popover.open:
        with popover:
            download("Gap (CSV)", lambda: frame_csv(tables.point_rows(gap, plain=True)), "gap.csv")
            download("Everything (JSON)", lambda: explorer.gaps.to_json(gap), "gap.json")
            st.caption(
                "The chart menu exports SVG, PNG and CSV. Copy the address to share this page."
            )


def _named(gap: Gap) -> Gap:
    """With retrievers by what they do."""
    return replace(
        gap,
        retrievers={state.run_label(name): value for name, value in gap.retrievers.items()},
        retriever_intervals={state.run_label(n): own for n, own in gap.retriever_intervals.items()},
    )


def _gap_line(record: GapRecord) -> str:
    """When, how it was asked, and how wide it is."""
    request, (low, high) = record.request, record.bounds
    return " · ".join(
        [
            state.moment(record.time),
            f"{request.verifier} by {record.model.partition(' at ')[0]}",
            ", ".join(map(state.run_label, request.systems)),
            "pools " + ", ".join(map(str, request.sizes)),
            state.seeds_of(request.sample),
            f"gap {tables.between(low, high, ' to ')}",
        ]
    )


# -- own runs and judgments, and SQL ------------------------------------------------------------

MEGABYTES = 100
"""Of a file."""
MOST_ROWS, MOST_MB, SECONDS = 10_000, 20, 20
"""Of a result of a query on the page; a query is stopped after so many seconds."""
EXAMPLES = {
    "Sentences by aspect": """SELECT aspect, count(*) AS sentences
FROM sentences
GROUP BY aspect
ORDER BY sentences DESC""",
    "Measures and judgments": """SELECT system, query_id, value, count(doc_id) AS judged
FROM measures LEFT JOIN judgments USING (query_id)
WHERE measure = 'nDCG@20'
GROUP BY ALL
ORDER BY value""",
}
_QUERY, _RESULT = "evaluate_sql", "evaluate_sql_result"


def own_files(explorer: Explorer, collections: Sequence[CollectionInfo]) -> None:
    """Two uploads, and what was uploaded before."""
    st.header("Your runs and judgments", anchor=False)
    current = st.session_state.get("evaluate_collection")
    info = next((c for c in collections if c.key == current and not c.problem), None)
    left, right = st.columns(2, gap="large")
    with left, shared.error_boundary():
        if info is not None:
            _runs(explorer, info)
    with right, shared.error_boundary():
        _judgments(explorer, collections)


def _runs(explorer: Explorer, info: CollectionInfo) -> None:
    ids = " Query ids are <seed>_<aspect>." if info.aspects else ""

    def keep(name: str, content: bytes) -> None:
        """A run that leaves queries out is measured with the systems on those that it has."""
        run = explorer.collections.add_run(info.key, name, content)
        if run.queries < info.queries:
            state.EvaluateView.change(lambda now: replace(now, runs=(run.name,), seeds=None))
            page = state.EvaluatePage(explorer, state.EvaluateView.read(), [info])
            if not page.view.needs_model:
                explorer.evaluations.start(page.request, chosen(explorer), None, login.owner())

    shared.uploader(
        shared.escape_label(f"TREC run for {state.collection_label(info)}"),
        "evaluate_run_file",
        keep,
        megabytes=MEGABYTES,
        help_=f"TREC run format. Shown under its tag.{ids}",
    )
    for run in explorer.collections.runs(info.key):
        parts = [n.rstrip(".") for n in run.notes] or [counted(run.queries, "query", "queries")]
        key, remove = f"evaluate_remove_run_{run.id}", explorer.collections.remove_run
        _line(run.name, f"{'; '.join(parts)}.", key, remove, run.id)


def _judgments(explorer: Explorer, collections: Sequence[CollectionInfo]) -> None:
    names, titles = explorer.library.names(), explorer.library.titles()
    corpus = st.session_state.get("evaluate_qrels_corpus") or names[0]

    def keep(name: str, content: bytes) -> None:
        added = explorer.collections.add_qrels(corpus, name, content)
        state.EvaluateView(added.key).write()

    shared.uploader(
        "TREC judgments for a corpus",
        "evaluate_qrels_file",
        keep,
        megabytes=MEGABYTES,
        help_="TREC qrels with query ids <seed>_<aspect>. They become a test collection.",
    )
    called = {name: shared.with_marks(titles[name]) for name in names}
    st.selectbox(
        "Judged corpus", names, key="evaluate_qrels_corpus", format_func=called.__getitem__
    )
    for info in collections:
        if info.uploaded:
            title = titles.get(info.corpus, info.corpus)
            words = f"{counted(info.queries, 'query', 'queries')} on {title}."
            key, remove = f"evaluate_remove_{info.key}", explorer.collections.remove_qrels
            _line(info.source, words, key, remove, info.key)


def _line(name: str, words: str, key: str, remove: Callable[[Any], None], what: Any) -> None:
    with line():
        facts(el("strong", name), f": {words}")
        button("Remove", key, remove, what)


@st.fragment
def sql_panel(explorer: Explorer, corpus: str) -> None:
    """A query over the corpus; drawn while it is open."""
    box = st.expander("SQL", key="evaluate_sql_box", type="compact", on_change="rerun")
    if not box.open:
        return
    with box:
        query = st.text_area(
            "Query",
            key=_QUERY,
            height=140,
            help="One SELECT in the SQL of DuckDB. It changes nothing.",
            placeholder="SELECT year, count(*) FROM documents GROUP BY year",
        )
        with st.container(horizontal=True):
            clicked = st.button("Run", key="evaluate_sql_run", type="primary")
            for number, (label, example) in enumerate(EXAMPLES.items()):
                fill = st.session_state.__setitem__
                key = f"evaluate_sql_example_{number}"
                st.button(label, key=key, on_click=fill, args=(_QUERY, example))
        with shared.error_boundary():
            if clicked:
                st.session_state.pop(_RESULT, None)
                limits = {"most_rows": MOST_ROWS, "most_mb": MOST_MB, "seconds": SECONDS}
                with st.spinner("Running the query"):
                    who = annotator(explorer)
                    found = explorer.analysis.run(corpus, query, who=who, **limits)
                st.session_state[_RESULT] = (corpus, found)
            _show_result(corpus)
        with shared.error_boundary():
            views = explorer.analysis.views(corpus).items()
            lines = [el("li", el("strong", view), f" {', '.join(of)}") for view, of in views]
            dim("Views and their columns")
            st.html(el("ul.sl-facts", lines))


def _show_result(corpus: str) -> None:
    """The latest result on this corpus."""
    of, found = st.session_state.get(_RESULT, ("", None))
    if of != corpus or found is None:
        return
    names, rows = found.table.column_names, list(found.rows())
    if not rows:
        empty("No rows. Change the conditions of the query.")
        return
    if found.truncated:
        shared.note(
            f"The result is too large: its first {len(rows):,} rows are shown.",
            "Add a LIMIT, or use seedlens sql for all rows.",
        )
    st.dataframe(
        shared.table_with_marks(pd.DataFrame(rows, columns=names).convert_dtypes()),
        placeholder="–",
        hide_index=True,
        width="stretch",
        height="content" if len(rows) <= 16 else 460,
        alt="Result of the query",
    )
    st.caption(f"{len(rows):,} rows in {found.seconds:.2f} s")
    left, right, _ = st.columns([2, 2, 8])
    with left:
        make, key = (lambda: to_csv(names, found.rows())), "evaluate_sql_csv"
        shared.download("CSV", "query.csv", make, key=key)
    right.download_button(
        *("Parquet", found.to_parquet(), shared.file_name("query.parquet")),
        key="evaluate_sql_parquet",
        on_click="ignore",
        width="stretch",
    )
