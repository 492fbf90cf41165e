"""The tables and sentences of an evaluation: pure data, and one way to show a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from engine.types.evaluations import CollectionInfo, Evaluation, Interval, SystemScores
from pages._evaluate.evaluate_view import MEASURES

CERTAIN = 0.05
"""Below this, after Holm's correction, a difference is called one."""
SIGNED = ("p-MRR", "Difference", "Gap from", "Gap to")
"""Columns that are shown with their sign."""


def interval(bounds: Interval) -> str:
    """``0.552 – 0.661``; a dash where there is none, or nothing varies."""
    if bounds is None or bounds[0] == bounds[1]:
        return "–"
    low, high = (f"{b:.3f}".replace("-", "−") for b in bounds)
    return f"{low} – {high}"


def leaderboard_rows(found: Evaluation) -> pd.DataFrame:
    """One row per system, the best first."""
    rows = []
    for name, scores in found.systems.items():
        rows.append(
            {
                "System": name,
                "nDCG@20": scores.metrics["nDCG@20"],
                "95 % interval": interval(scores.confidence.get("nDCG@20")),
                "nDCG@20 (CSFCube)": scores.metrics["nDCG@20 (CSFCube)"],
                "p-MRR": scores.metrics["p-MRR"],
                "p-MRR interval": interval(scores.confidence.get("p-MRR")),
                "RR": scores.metrics["RR"],
                "R@100": scores.metrics["R@100"],
                "Judged@20": scores.metrics["Judged@20"],
                "Queries": len(scores.per_query),
                "p-MRR queries": sum(q["p-MRR"] is not None for q in scores.per_query),
                "Seconds": scores.seconds if scores.kind == "system" else None,
            }
        )
    frame = pd.DataFrame(rows).astype({"p-MRR": "float64", "Seconds": "float64"})
    return frame.sort_values("nDCG@20", ascending=False, ignore_index=True)


def signed_number(value: float) -> str:
    """``+0.052``, and plain ``0`` for what does not move at all."""
    return f"{value:+.3f}".replace("-", "−") if value else "0"


def table(
    frame: pd.DataFrame, key: str, alt: str, config: Mapping[str, Any], most: int = 16
) -> None:
    """A sortable table with three decimals, a dash where a value is undefined.

    Args:
        config: column -> configuration, beside the definitions of the measures.
        most: rows shown before it scrolls.
    """
    numbers = [c for c in frame.columns if frame[c].dtype == "float64"]
    formats = {c: signed_number if c in SIGNED else "{:.3f}" for c in numbers}
    formats |= {c: "{:,}" for c in frame.columns if frame[c].dtype == "int64"}
    formats |= {"Seconds": "{:.1f}"} if "Seconds" in frame else {}
    defined = {c: st.column_config.NumberColumn(help=MEASURES[c]) for c in MEASURES if c in frame}
    with st.container(key=key):
        st.dataframe(
            frame.style.format(formats),
            placeholder="–",
            hide_index=True,
            width="stretch",
            height="content" if len(frame) <= most else 460,
            column_config={**defined, **config},
            alt=alt,
        )


def basis(found: Evaluation) -> str:
    """What the numbers rest on, in one line."""
    judged = found.judged
    parts = [f"{found.queries:,} {'query' if found.queries == 1 else 'queries'}"]
    if found.sample is not None:
        parts.append(f"a sample: {found.sample.seeds:,} of {found.sample.of:,} seeds")
    parts.append(f"{judged.grades:,} grades, {judged.relevant:,} of them relevant")
    parts.append(f"corpus {found.corpus}")
    if found.missing_documents:
        parts.append(f"{found.missing_documents:,} judged documents are not in it")
    people = next((s for s in found.systems.values() if s.kind == "human"), None)
    if people is not None:
        own = (f"{a} {_shown(m['nDCG@20'])}" for a, m in people.annotators.items())
        parts.append("nDCG@20 of each annotator: " + ", ".join(own))
    return " · ".join(parts)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


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
    certainty = f"{test} {chance} after Holm, n = {n:,}"
    if p < CERTAIN:
        return f"{first} is above {second} by {difference:.3f}; {certainty}."
    if not difference:
        return f"{first} and {second} do equally well; n = {n:,}."
    return f"{first} and {second} cannot be told apart (difference {difference:.3f}); {certainty}."


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
    found: Evaluation, measure: str, titles: Mapping[str, str], info: CollectionInfo
) -> pd.DataFrame:
    """One row per query, one column per system."""
    values = {n: {q["query_id"]: q for q in s.per_query} for n, s in found.systems.items()}
    asked = max((s.per_query for s in found.systems.values()), key=len)
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
    return "/?" + urlencode({"corpus": info.corpus, "seed": seed, "aspect": aspect})


def aspect_rows(found: Evaluation, aspects: Sequence[str]) -> pd.DataFrame:
    """One row per system and aspect."""
    rows = [
        {"System": name, "Aspect": aspect, **_aspect_cells(scores, aspect)}
        for name, scores in found.systems.items()
        for aspect in aspects
        if aspect in scores.by_aspect
    ]
    return pd.DataFrame(rows).astype({"p-MRR": "float64"})


def _aspect_cells(scores: SystemScores, aspect: str) -> dict[str, Any]:
    means, bounds = scores.by_aspect[aspect], scores.confidence_by_aspect.get(aspect, {})
    return {
        "nDCG@20": means["nDCG@20"],
        "95 % interval": interval(bounds.get("nDCG@20")),
        "nDCG@20 (CSFCube)": means["nDCG@20 (CSFCube)"],
        "p-MRR": means["p-MRR"],
        "p-MRR interval": interval(bounds.get("p-MRR")),
        "Queries": sum(q["aspect"] == aspect for q in scores.per_query),
        "p-MRR queries": sum(
            q["aspect"] == aspect and q["p-MRR"] is not None for q in scores.per_query
        ),
    }
