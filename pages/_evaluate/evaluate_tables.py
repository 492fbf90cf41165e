"""The tables and sentences of evaluations and gaps: pure data, and one way to show a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from engine.text import counted
from engine.types.evaluations import (
    CSFCUBE_NDCG,
    NDCG,
    CollectionInfo,
    Evaluation,
    Interval,
    Measures,
)
from engine.types.models import ModelReport
from engine.types.reranking import Gap, GapPoint
from pages._common.chart_style import number
from pages._common.outside_text import table_with_marks
from pages._common.url_state import UrlState
from pages._explore.explore_url import View

MEASURES = {
    NDCG: "Relevance of the top 20 by graded judgments; 1 is the ideal order.",
    CSFCUBE_NDCG: "nDCG@20, as computed by the CSFCube script (ranks 1 and 2 count alike). 0 to 1.",
    "p-MRR": "Instruction following: how far documents relevant only to this aspect rank higher "
    "than for another aspect of the seed. −1 to 1; 0 means no change.",
    "RR": "1 divided by the rank of the first relevant document (grade 1 or more).",
    "R@100": "Share of the relevant documents in the top 100.",
    "Judged@20": "Judged share of the top 20. Unjudged documents count as 0.",
}
"""What each measure says, wherever it is shown."""
CERTAIN = 0.05
"""Below this, after Holm's correction, a difference is called one."""
SIGNED = ("p-MRR", "Difference", "Gap from", "Gap to")
"""Columns that are shown with their sign."""


def interval(bounds: Interval) -> str:
    """``0.552 – 0.661``; a dash where there is none, or nothing varies."""
    if bounds is None or bounds[0] == bounds[1]:
        return "–"
    return " – ".join(map(number, bounds))


def leaderboard_rows(evaluation: Evaluation) -> pd.DataFrame:
    """One row per system, the best first."""
    rows = [
        {
            "System": name,
            **_main_cells(scores.metrics, scores.confidence),
            "RR": scores.metrics["RR"],
            "R@100": scores.metrics["R@100"],
            "Judged@20": scores.metrics["Judged@20"],
            **_query_cells(scores.per_query),
            "Seconds": scores.seconds if scores.kind == "system" else None,
        }
        for name, scores in evaluation.systems.items()
    ]
    frame = pd.DataFrame(rows).astype({"p-MRR": "float64", "Seconds": "float64"})
    return frame.sort_values(NDCG, ascending=False, ignore_index=True)


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


def signed_number(value: float) -> str:
    """``+0.052``, and plain ``0`` for what does not move at all."""
    return number(value, signed=True) if value else "0"


def table(
    frame: pd.DataFrame,
    key: str,
    alt: str,
    config: Mapping[str, Any] | None = None,
    most: int = 16,
) -> None:
    """A sortable table with three decimals, a dash where a value is undefined.

    Args:
        config: column -> configuration, beside the definitions of measures and intervals.
        most: rows shown before it scrolls.
    """
    numbers = [c for c in frame.columns if frame[c].dtype == "float64"]
    formats = {c: signed_number if c in SIGNED else "{:.3f}" for c in numbers}
    formats |= {c: "{:,}" for c in frame.columns if frame[c].dtype == "int64"}
    formats |= {"Seconds": "{:.1f}"} if "Seconds" in frame else {}
    text = st.column_config.TextColumn
    defined: dict[str, Any] = {
        "System": text(pinned=True),
        "95 % interval": text(
            help="Of the mean, by bootstrap over queries.",
            width=118,
        ),
        "p-MRR interval": text(
            help="95 %, of p-MRR; a dash where all queries are equal.", width=118
        ),
    }
    defined |= {c: st.column_config.NumberColumn(help=MEASURES[c]) for c in MEASURES if c in frame}
    with st.container(key=key):
        st.dataframe(
            table_with_marks(frame).style.format(formats),
            placeholder="–",
            hide_index=True,
            width="stretch",
            height="content" if len(frame) <= most else 460,
            column_config={**defined, **(config or {})},
            alt=alt,
        )


def basis(evaluation: Evaluation) -> str:
    """What the numbers rest on, in one line."""
    judged = evaluation.judged
    parts = [counted(evaluation.queries, "query", "queries")]
    if evaluation.sample is not None:
        parts.append(f"a sample: {evaluation.sample.seeds:,} of {evaluation.sample.of:,} seeds")
    parts.append(f"{judged.grades:,} grades, {judged.relevant:,} of them relevant")
    parts.append(f"corpus {evaluation.corpus}")
    if evaluation.missing_documents:
        parts.append(f"{evaluation.missing_documents:,} judged documents are not in it")
    people = next((s for s in evaluation.systems.values() if s.kind == "human"), None)
    if people is not None:
        own = (f"{a} {number(m[NDCG])}" for a, m in people.annotators.items())
        parts.append(f"{NDCG} of each annotator: {', '.join(own)}")
    return " · ".join(parts)


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
    return pd.DataFrame(
        {
            "First": [r["systems"][0] for r in pairs],
            "Second": [r["systems"][1] for r in pairs],
            "Difference": [r["difference"] for r in pairs],
            "t-test p": [r["t_test_p_holm"] for r in pairs],
            "Random signs p": [r["randomisation_p_holm"] for r in pairs],
            "Queries": [r["queries"] for r in pairs],
        }
    )


def query_rows(
    evaluation: Evaluation, measure: str, titles: Mapping[str, str], info: CollectionInfo
) -> pd.DataFrame:
    """One row per query, one column per system."""
    values = {n: {q["query_id"]: q for q in s.per_query} for n, s in evaluation.systems.items()}
    asked = max((s.per_query for s in evaluation.systems.values()), key=len)
    rows = []
    for query in asked:
        query_id = query["query_id"]
        own = {name: of.get(query_id, {}).get(measure) for name, of in values.items()}
        defined = [v for n, v in own.items() if v is not None and n != "human"]
        rows.append(
            {
                "Seed": titles.get(query_id, query_id),
                "Aspect": query["aspect"] or "",
                **own,
                "Spread": max(defined) - min(defined) if defined else None,
                "Query": query_id,
                "Explore": _explore_link(query_id, query["aspect"], info),
            }
        )
    numbers = dict.fromkeys([*values, "Spread"], "float64")
    return pd.DataFrame(rows).astype(numbers)


def _explore_link(query_id: str, aspect: str | None, info: CollectionInfo) -> str | None:
    if aspect is None or not query_id.endswith(f"_{aspect}"):
        return None
    seed = query_id.removesuffix(f"_{aspect}")
    place = View.elsewhere(corpus=info.corpus, seed=seed, text_id="", aspect=aspect)
    return "/" + UrlState.link(place)


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
    return pd.DataFrame(rows).astype({"p-MRR": "float64"})


# -- the model ---------------------------------------------------------------------------

REPORT_LABELS = {"Calls": "Requests", "From ledger": "Cached"}
REPORT_HELP: Mapping[str, str] = {
    "Calls": "Requests sent, including retries and tests.",
    "Questions": "Comparisons",
    "Rounds": "Sequential rounds",
    "Tokens in": "Input tokens, as reported by the endpoint.",
    "Tokens out": "Output tokens, as reported by the endpoint.",
    "From ledger": "From cache, free",
    "Failed": "No response after retries. Run retries them.",
    "Unanswered": "Invalid and failed responses; not counted.",
    "Position bias": "How often the first of two equal documents wins; 0.5 means none. Corrected "
    "in the ranking.",
    "Cost": "Computed from token usage and the configured prices",
    "Seconds": "Elapsed time",
}


def report_rows(reports: Mapping[str, ModelReport]) -> pd.DataFrame:
    """One row per system that a model took part in."""
    rows = [
        {
            "System": name,
            "Model": report.model,
            "Calls": report.calls,
            "Questions": report.questions,
            "Rounds": report.rounds,
            "Tokens in": report.input_tokens,
            "Tokens out": report.output_tokens,
            "From ledger": report.cached,
            "Failed": report.failed,
            "Unanswered": report.unanswered,
            "Position bias": report.position_bias,
            "Cost": report.cost,
            "Seconds": report.seconds,
        }
        for name, report in reports.items()
    ]
    frame = pd.DataFrame(rows).astype(
        {"Position bias": "float64", "Cost": "float64", "Seconds": "float64"}
    )
    optional = [c for c in ("Position bias", "Cost") if frame[c].isna().all()]
    return frame.drop(columns=optional)


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


def gap_verdict(gap: Gap) -> str:
    """The largest pool in words."""
    point, best = gap.points[-1], gap.best
    low, high = (signed_number(value) for value in gap.gap(point))
    held = "" if point.found is None else f" ({point.found:.0%} of the relevant documents)"
    return (
        f"With pools of {point.size:,}{held}, {gap.verifier} by {gap.report.model} reaches "
        f"{gap.measure} {point.lower:.3f}, and {point.upper:.3f} with the missing relevant "
        f"documents; the best retriever, {best}, reaches {gap.retrievers[best]:.3f}. The gap lies "
        f"between {low} and {high} (n = {gap.queries:,})."
    )


def point_rows(gap: Gap, *, plain: bool = False) -> pd.DataFrame:
    """One row per pool size.

    Args:
        plain: bounds of intervals as numbers in columns of their own, for a file.
    """
    return pd.DataFrame([_row(gap, point, plain) for point in gap.points])


def _row(gap: Gap, point: GapPoint, plain: bool) -> dict[str, Any]:
    low, high = gap.gap(point)
    return {
        "Pool": point.size,
        "Read": point.documents,
        "Read with missing": point.documents_infused,
        "Found": point.found,
        "Lower": point.lower,
        **_bounds("Lower", point.lower_interval, plain),
        "Upper": point.upper,
        **_bounds("Upper", point.upper_interval, plain),
        "Gap from": low,
        **_bounds("Gap from", point.gap_lower_interval, plain),
        "Gap to": high,
        **_bounds("Gap to", point.gap_upper_interval, plain),
    }


def _bounds(name: str, bounds: Interval, plain: bool) -> dict[str, Any]:
    if not plain:
        return {f"{name} 95 %": interval(bounds)}
    low, high = bounds or (None, None)
    return {f"{name} 95 % low": low, f"{name} 95 % high": high}


def point_columns() -> dict[str, Any]:
    """How the columns are shown, with their definitions."""
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    helps = {
        "Read": "Mean documents read per query",
        "Read with missing": "The same on the pool plus all relevant documents.",
        "Found": "Mean share of the relevant documents in the pool.",
        "Lower": GAP_TERMS["Lower bound"],
        "Upper": GAP_TERMS["Upper bound"],
        "Gap from": "Lower bound minus the best retriever.",
        "Gap to": "Upper bound minus the best retriever.",
    }
    shown: dict[str, Any] = {name: number(help=words) for name, words in helps.items()}
    shown |= {name: number(help=helps[name], format="%.1f") for name in list(helps)[:2]}
    shown["Pool"] = number(help="Candidates per query.", pinned=True)
    for name in ("Lower", "Upper", "Gap from", "Gap to"):
        shown[f"{name} 95 %"] = text(help=GAP_TERMS["Intervals"], width=122)
    return shown


def retriever_rows(gap: Gap) -> pd.DataFrame:
    """One row per retriever, the best first."""
    rows = [
        {
            "Retriever": name,
            gap.measure: value,
            "95 % interval": interval(gap.retriever_intervals.get(name)),
        }
        for name, value in gap.best_first
    ]
    return pd.DataFrame(rows)
