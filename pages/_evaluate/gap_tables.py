"""The tables and sentences of a gap: pure data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from engine.types.evaluations import Interval
from engine.types.reranking import Gap, GapPoint
from pages._evaluate.evaluate_tables import interval, signed_number

DEFINITIONS: Mapping[str, str] = {
    "Verifier": "A language model that ranks a pool of candidates by how well each serves the "
    "seed's aspect. The pool comes in an order that says nothing.",
    "Pool": "Candidates drawn from all retrievers in turn, each document once.",
    "Lower bound": "What the verifier makes of the pool as found: the best possible system does "
    "no worse.",
    "Upper bound": "The same with the missing relevant documents put in: close to what the best "
    "possible system could do by this verifier.",
    "Gap": "The verifier's quality less that of the best retriever alone, query by query. A wide "
    "gap says: relevant documents can be recognised, but are not brought to the top.",
    "Intervals": "95 %, by bootstrap over the queries (10,000 draws).",
}


def verdict(found: Gap) -> str:
    """The largest pool in words."""
    point, best = found.points[-1], found.best
    low, high = (signed_number(value) for value in found.gap(point))
    held = "" if point.found is None else f", which hold {point.found:.0%} of what is relevant"
    return (
        f"With pools of {point.size:,}{held}, {found.verifier} by {found.report.model} reaches "
        f"{found.measure} {point.lower:.3f}, and {point.upper:.3f} with the missing relevant "
        f"documents put in; the best retriever, {best}, reaches {found.retrievers[best]:.3f}. The "
        f"gap lies between {low} and {high} (n = {found.queries:,})."
    )


def point_rows(found: Gap, *, plain: bool = False) -> pd.DataFrame:
    """One row per pool size.

    Args:
        plain: bounds of intervals as numbers in columns of their own, for a file.
    """
    return pd.DataFrame([_row(found, point, plain) for point in found.points])


def _row(found: Gap, point: GapPoint, plain: bool) -> dict[str, Any]:
    low, high = found.gap(point)
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
        "Read": "Documents that the verifier read per query, the mean: fewer than the pool where "
        "the retrievers bring no more.",
        "Read with missing": "The same with the missing relevant documents put in.",
        "Found": "Share of the relevant documents that the pool holds, the mean over queries.",
        "Lower": DEFINITIONS["Lower bound"],
        "Upper": DEFINITIONS["Upper bound"],
        "Gap from": "Lower bound less the best retriever.",
        "Gap to": "Upper bound less the best retriever.",
    }
    shown: dict[str, Any] = {name: number(help=words) for name, words in helps.items()}
    shown |= {name: number(help=helps[name], format="%.1f") for name in list(helps)[:2]}
    shown["Pool"] = number(help="Candidates per query.", pinned=True)
    for name in ("Lower", "Upper", "Gap from", "Gap to"):
        shown[f"{name} 95 %"] = text(help=DEFINITIONS["Intervals"], width=122)
    return shown


def retriever_rows(found: Gap) -> pd.DataFrame:
    """One row per retriever, the best first."""
    rows = [
        {
            "Retriever": name,
            found.measure: value,
            "95 % interval": interval(found.retriever_intervals.get(name)),
        }
        for name, value in sorted(found.retrievers.items(), key=lambda item: -item[1])
    ]
    return pd.DataFrame(rows)
