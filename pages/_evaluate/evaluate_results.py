"""The numbers of an evaluation: leaderboard, verdicts, queries, aspects, downloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from engine.explorer import Explorer
from engine.types.evaluations import NDCG, CollectionInfo, Evaluation
from pages._common import figure_file, shared
from pages._common.components import chart
from pages._common.figure_file import FigureFile
from pages._common.outside_text import escape
from pages._common.shared import error_boundary, escape_label, note
from pages._evaluate.evaluate_charts import (
    interval_plot,
    interval_rows,
    strip_plot,
    strip_rows,
    trade_off,
    trade_off_rows,
)
from pages._evaluate.evaluate_page import request_of, set_measure
from pages._evaluate.evaluate_tables import (
    MEASURES,
    REPORT_HELP,
    REPORT_LABELS,
    aspect_rows,
    basis,
    leaderboard_rows,
    pair_rows,
    query_rows,
    report_rows,
    table,
    tested,
    verdict,
)
from pages._evaluate.evaluate_url import CHARTED, EvaluateView
from pages._evaluate.published import beside_the_paper
from pages._evaluate.unjudged import unjudged_documents

READING = (
    "Fractions, with 95 % bootstrap intervals over queries (10,000 draws). Differences: paired "
    "t-test and randomisation test on the same queries, Holm-corrected."
)
SENTENCES = 6
"""Differences that are put into words; the table has all."""


def results(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, evaluation: Evaluation
) -> None:
    """Everything that one evaluation says."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Systems", anchor=False)
        definitions("Measures", MEASURES, READING)
        _export(explorer, view, info, evaluation)
    _leaderboard(evaluation)
    sections: tuple[Callable[[], None], ...] = (
        lambda: unjudged_documents(explorer, view, info),
        lambda: _asked(evaluation),
        lambda: _verdicts(evaluation),
        lambda: _queries(explorer, view, info, evaluation),
        lambda: _aspects(explorer, view, info, evaluation),
        lambda: beside_the_paper(info, evaluation),
    )
    for section in sections:
        with error_boundary():
            section()


def _leaderboard(evaluation: Evaluation) -> None:
    for sentence in evaluation.notes:
        note(sentence)
    table(
        leaderboard_rows(evaluation),
        "evaluate_leaderboard",
        "Systems and their measures",
        {
            "Queries": st.column_config.NumberColumn(help="Number of queries."),
            "p-MRR queries": st.column_config.NumberColumn(
                help="Queries whose seed is judged for another aspect."
            ),
            "Seconds": st.column_config.NumberColumn(
                help="Ranking time, without model and evidence."
            ),
        },
    )
    st.html(f'<div class="sl-facts">{escape(basis(evaluation))}</div>')


def _asked(evaluation: Evaluation) -> None:
    """What a language model was asked, where one took part."""
    reports = evaluation.model_reports
    if not reports:
        return
    st.subheader("Model requests", anchor=False)
    table(
        report_rows(reports), "evaluate_reports", "Model requests per system",
        {
            name: st.column_config.Column(REPORT_LABELS.get(name), help=words)
            for name, words in REPORT_HELP.items()
        },
    )  # fmt: skip


def definitions(label: str, terms: Mapping[str, str], more: str = "") -> None:
    """What the words of the page mean, behind a button.

    Args:
        more: what is said after the list.
    """
    with st.popover(label, type="tertiary"):
        lines = "".join(
            f"<dt><strong>{escape(name)}</strong></dt>"
            f'<dd style="margin:0 0 .5rem">{escape(words)}</dd>'
            for name, words in terms.items()
        )
        st.html(
            f'<dl style="max-width:60ch">{lines}</dl><p style="max-width:60ch">{escape(more)}</p>'
        )


def _verdicts(evaluation: Evaluation) -> None:
    pairs = sorted(evaluation.significance, key=lambda r: (tested(r)[1], -abs(r["difference"])))
    moves = [s.metrics["p-MRR"] for s in evaluation.systems.values()]
    follows = any(moves)
    if not pairs and not follows:
        return
    with st.container(key="evaluate_pair_verdicts"):
        left, right = st.columns([7, 5], gap="medium") if follows else (st.container(), None)
        with left:
            if pairs:
                _sentences(pairs)
            else:
                st.caption("Add a second system to test differences.")
            if not follows and any(value is not None for value in moves):
                st.caption("p-MRR is 0: these rankings do not depend on the aspect.")
        if right is not None:
            with right:
                chart(
                    lambda dark: trade_off(evaluation, dark=dark),
                    FigureFile(
                        "relevance and instruction following",
                        "Relevance and instruction following of every system",
                        f"Means with 95 % intervals. {basis(evaluation)}.",
                        ["system", NDCG, "low", "high", "p-MRR", "low", "high"],
                        trade_off_rows(evaluation),
                    ),
                    alt="Relevance against instruction following of every system, with intervals",
                    key="evaluate_trade",
                )


def _sentences(pairs: Sequence[Mapping[str, Any]]) -> None:
    st.subheader("Significance", anchor=False)
    items = "".join(f"<li>{escape(verdict(row))}</li>" for row in pairs[:SENTENCES])
    st.html(f'<div class="sl-facts">In {NDCG}:</div><ul class="sl-verdicts">{items}</ul>')
    every = f"All {len(pairs)} pairs as a table" if len(pairs) > 1 else "As a table"
    with st.expander(every, type="compact"):
        table(
            pair_rows(pairs),
            "evaluate_pairs_table",
            "Differences between systems and how sure they are",
            {
                "Difference": st.column_config.NumberColumn(help="First minus second."),
                "t-test p": st.column_config.NumberColumn(help="Paired, Holm-corrected."),
                "Random signs p": st.column_config.NumberColumn(help="Holm-corrected."),
            },
        )


def _queries(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, evaluation: Evaluation
) -> None:
    st.header("Query by query", anchor=False)
    measure = _measure_box(view, evaluation)
    titles = explorer.collections.query_titles(info.key)
    frame = query_rows(evaluation, measure, titles, info)
    with st.container(key="evaluate_pair_queries"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            table(
                frame.drop(columns=["Query", *([] if any(frame["Explore"]) else ["Explore"])]),
                "evaluate_queries",
                f"{measure} of every query",
                {
                    "Seed": st.column_config.TextColumn(width="medium", pinned=True),
                    "Spread": st.column_config.NumberColumn(help="Best minus worst system."),
                    "Explore": st.column_config.LinkColumn(
                        display_text="open", help="This seed and aspect on the Explore page."
                    ),
                },
                most=8,
            )
        aspects = _aspect_order(explorer, info)
        with right:
            chart(
                lambda dark: strip_plot(evaluation, measure, titles, aspects, dark=dark),
                FigureFile(
                    "queries",
                    f"{measure} of every query",
                    f"Each mark is a query; lines show means. {basis(evaluation)}.",
                    ["system", "query", "seed", "aspect", measure],
                    strip_rows(evaluation, measure, titles),
                ),
                alt=f"{measure}: one dot per query and system, lines show means",
                key="evaluate_strip",
            )


def _measure_box(view: EvaluateView, evaluation: Evaluation) -> str:
    defined = [
        m for m in CHARTED if any(s.metrics[m] is not None for s in evaluation.systems.values())
    ]
    measure = view.measure if view.measure in defined else defined[0]
    st.session_state["evaluate_measure"] = measure
    st.segmented_control(
        "Measure", defined, key="evaluate_measure", on_change=partial(set_measure, view),
        label_visibility="collapsed",
    )  # fmt: skip
    st.caption(MEASURES[measure])
    return measure


def _aspect_order(explorer: Explorer, info: CollectionInfo) -> list[str]:
    """As in the lens, which gives aspects their colours everywhere."""
    return [aspect.key for aspect in explorer.library.lens(info.corpus).aspects]


def _aspects(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, evaluation: Evaluation
) -> None:
    aspects = _aspect_order(explorer, info)
    if not any(s.by_aspect for s in evaluation.systems.values()):
        return
    st.header("Aspect by aspect", anchor=False)
    measure = view.measure if view.measure in CHARTED[:3] else CHARTED[0]
    if all(s.metrics[measure] is None for s in evaluation.systems.values()):
        measure = CHARTED[0]
    with st.container(key="evaluate_pair_aspects"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            table(
                aspect_rows(evaluation, aspects), "evaluate_aspects",
                "Measures of every system for every aspect",
            )  # fmt: skip
        with right:
            chart(
                lambda dark: interval_plot(evaluation, measure, aspects, dark=dark),
                FigureFile(
                    "aspects",
                    f"{measure} by aspect",
                    f"Means with 95 % intervals. {basis(evaluation)}.",
                    ["system", "aspect", measure, "low", "high"],
                    interval_rows(evaluation, measure, aspects),
                ),
                alt=f"{measure} of every aspect per system with 95 % intervals",
                key="evaluate_intervals",
            )


@st.fragment
def _export(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, evaluation: Evaluation
) -> None:
    popover = st.popover("Export", key="evaluate_export", on_change="rerun")
    if not popover.open:
        return
    evaluations, request = explorer.evaluations, request_of(explorer, view, info)
    titles = explorer.collections.query_titles(info.key)
    with popover:
        download("Systems (CSV)", lambda: to_csv(leaderboard_rows(evaluation)), "systems.csv")
        download(
            "Queries (CSV)", lambda: to_csv(query_rows(evaluation, view.measure, titles, info)),
            f"queries-{view.measure}.csv",
        )  # fmt: skip
        reports = evaluation.model_reports
        if reports:
            download("Model (CSV)", lambda: to_csv(report_rows(reports)), "model.csv")
        download("Everything (JSON)", lambda: evaluations.to_json(evaluation), "evaluation.json")
        for name, scores in evaluation.systems.items():
            # A run that ended early is not kept.
            if scores.kind != "human" and not (scores.llm and scores.llm.stopped):
                download(
                    escape_label(f"Run of {name} (TREC)"),
                    partial(evaluations.run_file, request, name), f"{'-'.join(name.split())}.run",
                )  # fmt: skip
        st.caption("Copy the address to share this page.")


def download(name: str, data: Callable[[], str], file: str) -> None:
    """A button for a file of this page."""
    shared.download(name, file, data, key=f"evaluate_dl_{file}", type="tertiary")


def to_csv(frame: pd.DataFrame) -> str:
    """A table as CSV, in which no text is a formula to a spreadsheet program."""
    cells = frame.astype(object).where(frame.notna(), "")
    return figure_file.to_csv(list(frame.columns), cells.itertuples(index=False))
