"""The tables and sentences of evaluations and gaps: frames and words from records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import pandas as pd
import streamlit as st

from engine.text import counted
from engine.types.evaluations import (
    CSFCUBE_NDCG,
    NDCG,
    CollectionInfo,
    Difference,
    Evaluation,
    Interval,
    Measures,
)
from engine.types.models import ModelReport
from engine.types.reranking import Gap
from pages._common.charts import number
from pages._common.shared import ASSETS
from pages._common.state import PageView
from pages._common.tables import floats, interval, is_signed, signed_number, table
from pages._evaluate.evaluate_state import run_label
from pages._explore.explore_state import View

CERTAIN = 0.05
"""Below this, after Holm's correction, a difference is called one."""


def leaderboard_rows(evaluation: Evaluation) -> pd.DataFrame:
    """One row per system, the best first."""
    rows = [
        {
            "System": name,
            **_main_cells(scores.metrics, scores.confidence),
            **{measure: scores.metrics[measure] for measure in ("RR", "R@100", "Judged@20")},
            **_query_cells(scores.per_query),
            "Seconds": scores.seconds if scores.kind == "system" else None,
        }
        for name, scores in evaluation.systems.items()
    ]
    return floats(rows, "p-MRR", "Seconds").sort_values(NDCG, ascending=False, ignore_index=True)


def aspect_rows(evaluation: Evaluation, aspects: Sequence[str]) -> pd.DataFrame:
    """One row per system and aspect."""
    rows = [
        {
            "System": name,
            "Aspect": aspect,
            **_main_cells(scores.by_aspect[aspect], scores.confidence_by_aspect.get(aspect, {})),
            **_query_cells([q for q in scores.per_query if q["aspect"] == aspect]),
        }
        for name, scores in evaluation.systems.items()
        for aspect in aspects
        if aspect in scores.by_aspect
    ]
    return floats(rows, "p-MRR")


def _main_cells(means: Measures, intervals: Mapping[str, Interval]) -> dict[str, Any]:
    return {
        NDCG: means[NDCG],
        "95 % interval": interval(intervals.get(NDCG)),
        CSFCUBE_NDCG: means[CSFCUBE_NDCG],
        "p-MRR": means["p-MRR"],
        "p-MRR interval": interval(intervals.get("p-MRR")),
    }


def _query_cells(queries: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    with_p_mrr = sum(query["p-MRR"] is not None for query in queries)
    return {"Queries": len(queries), "p-MRR queries": with_p_mrr}


def basis(evaluation: Evaluation) -> str:
    """What the numbers rest on, in one line."""
    judged, sample, missing = evaluation.judged, evaluation.sample, evaluation.missing_documents
    people = next((s for s in evaluation.systems.values() if s.kind == "human"), None)
    own = [f"{a} {number(m[NDCG])}" for a, m in people.annotators.items()] if people else []
    parts = [
        counted(evaluation.queries, "query", "queries"),
        f"a sample: {sample.seeds:,} of {sample.of:,} seeds" if sample else "",
        f"{judged.grades:,} grades, {judged.relevant:,} of them relevant",
        f"corpus {evaluation.corpus}",
        f"{missing:,} judged documents are not in it" if missing else "",
        f"{NDCG} of each annotator: {', '.join(own)}" if people else "",
    ]
    return " · ".join(filter(None, parts))


def tested(row: Mapping[str, Any]) -> tuple[str, float]:
    """The test to go by, and its p after Holm: random signs where the t-test is undefined."""
    p = row["t_test_p_holm"]
    return ("paired t-test", p) if p is not None else ("random signs", row["randomisation_p_holm"])


def verdict(row: Mapping[str, Any]) -> str:
    """One pair of systems in a sentence."""
    (first, second), difference = row["systems"], row["difference"]
    if difference < 0:
        first, second, difference = second, first, -difference
    (test, p), n = tested(row), row["queries"]
    chance = "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
    certainty = f"{test} {chance}, Holm-corrected, n = {n:,}"
    if p < CERTAIN:
        return f"{first} is above {second} by {difference:.3f}; {certainty}."
    if not difference:
        return f"{first} and {second} are equal; n = {n:,}."
    return (
        f"No significant difference between {first} and {second} ({difference:.3f}); {certainty}."
    )


def pair_rows(pairs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per pair of systems."""
    names = {
        "difference": "Difference",
        "t_test_p_holm": "t-test p",
        "randomisation_p_holm": "Random signs p",
        "queries": "Queries",
    }
    return pd.DataFrame(
        [
            dict(zip(("First", "Second"), row["systems"], strict=True))
            | {head: row[name] for name, head in names.items()}
            for row in pairs
        ]
    )


def difference_row(found: Difference) -> dict[str, Any]:
    """A difference as a row of tests, in which the second evaluation goes first."""
    before, after = map(run_label, found.systems)
    return {
        "systems": (f"{after} in B", f"{before} in A"),
        "difference": found.difference,
        "t_test_p_holm": found.t_test_p,
        "randomisation_p_holm": found.randomisation_p,
        "queries": found.queries,
    }


def difference_rows(found: Sequence[Difference]) -> pd.DataFrame:
    """One row per system and measure."""
    rows = [
        {
            "System": " / ".join(dict.fromkeys(map(run_label, one.systems))),
            "Measure": one.measure,
            "A": one.means[0],
            "B": one.means[1],
            "Difference": one.difference,
            "95 % interval": interval(one.interval),
            "t-test p": one.t_test_p,
            "Random signs p": one.randomisation_p,
            "Queries": one.queries,
        }
        for one in sorted(found, key=lambda one: one.systems)  # stable: by system, then as given
    ]
    return floats(rows, "A", "B", "t-test p")


def query_rows(
    evaluation: Evaluation, measure: str, titles: Mapping[str, str], info: CollectionInfo
) -> pd.DataFrame:
    """One row per query, one column per system."""
    values = {n: {q["query_id"]: q for q in s.per_query} for n, s in evaluation.systems.items()}
    rows = []
    for query in max((s.per_query for s in evaluation.systems.values()), key=len):
        query_id, aspect = query["query_id"], query["aspect"]
        own = {name: of.get(query_id, {}).get(measure) for name, of in values.items()}
        defined = [
            v for n, v in own.items() if v is not None and evaluation.systems[n].kind != "human"
        ]
        link = None
        if aspect is not None and query_id.endswith(f"_{aspect}"):
            seed = query_id.removesuffix(f"_{aspect}")
            search = View.elsewhere(corpus=info.corpus, seed=seed, text_id="", aspect=aspect)
            link = "/" + PageView.link(search)
        rows.append(
            {
                "Seed": titles.get(query_id, query_id),
                "Aspect": aspect or "",
                **own,
                "Spread": max(defined) - min(defined) if defined else None,
                "Query": query_id,
                "Explore": link,
            }
        )
    return floats(rows, *values, "Spread")


# -- the model ---------------------------------------------------------------------------

_REPORT: Mapping[str, tuple[str, str]] = {
    "Model": ("model", "Which model was asked."),
    "Calls": ("calls", "Requests sent, including retries and tests."),
    "Questions": ("questions", "Comparisons"),
    "Rounds": ("rounds", "Sequential rounds"),
    "Tokens in": ("input_tokens", "Input tokens, as reported by the endpoint."),
    "Tokens out": ("output_tokens", "Output tokens, as reported by the endpoint."),
    "From ledger": ("cached", "From cache, free"),
    "Failed": ("failed", "No response after retries. Run retries them."),
    "Unanswered": ("unanswered", "Invalid and failed responses; not counted."),
    "Position bias": (
        "position_bias",
        "How often the first of two equal documents wins; 0.5 means none. Corrected in the "
        "ranking.",
    ),
    "Cost": ("cost", "Computed from token usage and the configured prices"),
    "Seconds": ("seconds", "Elapsed time"),
}
"""Columns of the table of requests: the field of a report, and what it means."""
_LABELS = {"Calls": "Requests", "From ledger": "Cached"}


def report_rows(reports: Mapping[str, ModelReport]) -> pd.DataFrame:
    """One row per system that a model took part in."""
    rows = [
        {"System": name, **{head: getattr(report, of) for head, (of, _) in _REPORT.items()}}
        for name, report in reports.items()
    ]
    frame = floats(rows, "Position bias", "Cost", "Seconds")
    return frame.drop(columns=[c for c in ("Position bias", "Cost") if frame[c].isna().all()])


def report_columns() -> dict[str, Any]:
    """How the columns of :func:`report_rows` are shown."""
    return {
        name: st.column_config.Column(_LABELS.get(name), help=words)
        for name, (_, words) in _REPORT.items()
    }


# -- the gap -----------------------------------------------------------------------------

GAP_TERMS: Mapping[str, str] = {
    "Verifier": "A language model that ranks a shuffled pool of candidates by how well each "
    "serves the seed's aspect.",
    "Pool": "Candidates from all retrievers in turn, deduplicated.",
    "Lower bound": "Lower bound: verifier on the retrieved pool.",
    "Upper bound": "Upper bound: verifier on the pool plus all relevant documents.",
    "Gap": "Verifier minus best retriever, per query. A wide gap: relevant documents can be "
    "recognised, but are not ranked at the top.",
    "Intervals": "95 %, by bootstrap over queries (10,000 draws).",
}
_BOUNDS = ("Lower", "Upper", "Gap from", "Gap to")


def gap_verdict(gap: Gap) -> str:
    """The largest pool in words."""
    point, best = gap.points[-1], gap.best
    low, high = gap.gap(point)
    lies = between(low, high, " and ")
    lies = f"lies between {lies}" if " and " in lies else f"is {lies}"
    held = "" if point.found is None else f" ({point.found:.0%} of the relevant documents)"
    return (
        f"With pools of {point.size:,}{held}, {gap.verifier} by {gap.report.model} reaches "
        f"{gap.measure} {point.lower:.3f}, and {point.upper:.3f} with the missing relevant "
        f"documents; the best retriever, {best}, reaches {gap.retrievers[best]:.3f}. The gap "
        f"{lies} (n = {gap.queries:,})."
    )


def between(low: float, high: float, words: str) -> str:
    """Both bounds of a gap with ``words`` between them; one where they look the same."""
    return words.join(dict.fromkeys(map(signed_number, (low, high))))


def point_rows(gap: Gap, *, plain: bool = False) -> pd.DataFrame:
    """One row per pool size.

    Args:
        plain: bounds of intervals as numbers in columns of their own, for a file.
    """
    rows = []
    for point in gap.points:
        row: dict[str, Any] = {
            "Pool": point.size,
            "Read": point.documents,
            "Read with missing": point.documents_infused,
            "Found": point.found,
        }
        intervals = (
            *(point.lower_interval, point.upper_interval),
            *(point.gap_lower_interval, point.gap_upper_interval),
        )
        values = (point.lower, point.upper, *gap.gap(point))
        for name, value, bounds in zip(_BOUNDS, values, intervals, strict=True):
            row[name] = value
            if plain:
                row[f"{name} 95 % low"], row[f"{name} 95 % high"] = bounds or (None, None)
            else:
                row[f"{name} 95 %"] = interval(bounds)
        rows.append(row)
    return pd.DataFrame(rows)


def point_columns() -> dict[str, Any]:
    """How the columns are shown, with their definitions."""
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    shown: dict[str, Any] = {
        "Pool": number(help="Candidates per query.", pinned=True),
        "Read": number(help="Mean documents read per query", format="%.1f"),
        "Read with missing": number(
            help="The same on the pool plus all relevant documents.", format="%.1f"
        ),
        "Found": "Mean share of the relevant documents in the pool.",
        "Lower": GAP_TERMS["Lower bound"],
        "Upper": GAP_TERMS["Upper bound"],
        "Gap from": "Lower bound minus the best retriever.",
        "Gap to": "Upper bound minus the best retriever.",
    }
    return shown | {f"{n} 95 %": text(help=GAP_TERMS["Intervals"], width=122) for n in _BOUNDS}


def retriever_rows(gap: Gap) -> pd.DataFrame:
    """One row per retriever, the best first."""
    return pd.DataFrame(
        [
            {
                "Retriever": name,
                gap.measure: value,
                "95 % interval": interval(gap.retriever_intervals.get(name)),
            }
            for name, value in gap.best_first
        ]
    )


# -- published figures -------------------------------------------------------------------

# assets/figures/published.csv has tables 1 to 3, all times 100, of Maheshwari, Mysore & Zamani,
# "Can Instructed Retrieval Models Really Support Exploration?", CHIIR 2026.
SOURCE = "Maheshwari et al., CHIIR 2026"
COLUMNS = ("All", "background", "method", "result")


def published(name: str, measure: str) -> pd.DataFrame:
    """The rankers and figures of a published table, as fractions.

    Args:
        name: "relevance" (table 1), "following" (2) or "wordings" (3, of GritLM-7B).
        measure: "nDCG@20" or "p-MRR".
    """
    frame = pd.read_csv(ASSETS / "figures" / "published.csv")
    frame = frame[(frame["table"] == name) & (frame["measure"] == measure)]
    frame = frame.reset_index(drop=True)
    shares = {column: frame[column] / 100 for column in COLUMNS}
    return pd.DataFrame({"Ranker": frame["ranker"], "From": "paper", **shares})


def beside_the_paper(info: CollectionInfo, evaluation: Evaluation) -> None:
    """Their three tables with our rows, where this is the collection they used."""
    if info.source_format != "csfcube":
        return
    with st.expander("Published figures for CSFCube", expanded=True):
        st.caption(
            f"Theirs ({SOURCE}): 200 candidates out of 800,000 papers. Ours: each system ranks the "
            "judged pool of the query, measured by CSFCube's script. The columns do not compare "
            "directly; the order of systems and their distance to people do."
        )
        relevance, following, wordings = st.tabs(
            ["Relevance (table 1)", "Instruction following (table 2)", "Instructions (table 3)"]
        )
        with relevance:
            _table("relevance", NDCG, evaluation)
        with following:
            _table("following", "p-MRR", evaluation)
        with wordings:
            st.caption(
                "Ours use the built-in instruction of each aspect (base). Compare ranks all "
                "variants."
            )
            for column, measure in zip(st.columns(2), (NDCG, "p-MRR"), strict=True):
                with column:
                    st.caption(CSFCUBE_NDCG if measure == NDCG else measure)
                    _table("wordings", measure, evaluation)


def paper_rows(name: str, measure: str, evaluation: Evaluation) -> pd.DataFrame:
    """The rows of a published table, ours above them."""
    own = CSFCUBE_NDCG if measure == NDCG else measure
    rows = []
    for system, scores in evaluation.systems.items():
        by_aspect = {a: scores.by_aspect.get(a, {}).get(own) for a in COLUMNS[1:]}
        every = scores.metrics[own]
        if measure == "p-MRR":  # the papers have the mean over aspects, not over queries
            known = [value for value in by_aspect.values() if value is not None]
            every = fmean(known) if known else None
        rows.append({"Ranker": system, "From": "here", COLUMNS[0]: every, **by_aspect})
    theirs = published(name, measure)
    return pd.concat([floats(rows, *COLUMNS), theirs], ignore_index=True) if rows else theirs


def _table(name: str, measure: str, ours: Evaluation) -> None:
    frame, signed = paper_rows(name, measure, ours), is_signed(measure)
    table(frame, f"evaluate_paper_{name}_{measure}", f"{measure}: theirs and ours", signed=signed)
