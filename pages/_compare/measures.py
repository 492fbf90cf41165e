"""The measures of a comparison, each with its definition."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping

import streamlit as st

from engine.types.comparisons import Comparison, VariantPair, VariantRanking

MEASURES = {
    "rbo": ("RBO", "Rank-biased overlap (p = 0.9): how alike two rankings are, the top counting "
            "most. 1 is the same ranking."),
    "tau": ("Kendall's tau", "Kendall's tau-b over all documents of either ranking, every rank "
            "counting alike. From -1 (reversed) to 1 (the same)."),
    "overlap": ("Overlap", "Share of the top 20 that two rankings have in common, in whatever "
                "order."),
    "p_mrr": ("p-MRR", "How far documents judged alike only in this aspect stand higher under "
              "the row's variant than under the column's. From -1 to 1; 0 when nothing moves."),
}  # fmt: skip
DEFINITIONS = {
    "nDCG@20": "Gain of the first 20 judged documents by their grades, later ranks discounted "
    "(the first two alike, as CSFCube's script has it), against the best order: 0 to 1.",
    "p-MRR": "How far documents judged alike only in this aspect stand higher than in another "
    "ranking of the seed: from -1 to 1.",
    "Judged@20": "Share of the top 20 that anybody judged. Where it is low, nDCG says little.",
}
ORDER = tuple(DEFINITIONS)
Column = tuple[str, str, Callable[[VariantRanking], str]]
"""Head, definition, and the text of a variant's cell."""


def measures(comparison: Comparison) -> None:
    """What each variant reaches where judged, and how far it is from the first everywhere."""
    st.html("<h3>Measures</h3>" + _table(comparison, _columns(comparison)) + _why(comparison))


def _columns(comparison: Comparison) -> list[Column]:
    first = comparison.variants[0].variant.name
    after = {p.second: p for p in comparison.pairs if p.first == first}
    before = {p.first: p for p in comparison.pairs if p.second == first}
    found: dict[str, Column] = {}
    for name in {name for v in comparison.variants for name in v.measures}:
        short = name.split(" ")[0]
        found[short] = (short, DEFINITIONS.get(short, name), _measured(name))
    two = len(comparison.variants) > 1
    if two and "p-MRR" not in found and any(p.p_mrr is not None for p in before.values()):
        found["p-MRR"] = (f"p-MRR to {first}", MEASURES["p_mrr"][1], _against(before, "p_mrr"))
    columns = [found[name] for name in ORDER if name in found]
    if two:
        columns += [
            (f"{MEASURES[key][0]} to {first}", MEASURES[key][1], _against(after, key))
            for key in ("rbo", "tau", "overlap")
        ]
    return columns


def _measured(name: str) -> Callable[[VariantRanking], str]:
    return lambda v: shown(v.measures.get(name), signed=name == "p-MRR")


def _against(pairs: Mapping[str, VariantPair], key: str) -> Callable[[VariantRanking], str]:
    def cell(v: VariantRanking) -> str:
        pair = pairs.get(v.variant.name)
        return shown(None if pair is None else getattr(pair, key), signed=key in ("tau", "p_mrr"))

    return cell


def shown(value: float | None, *, signed: bool = False) -> str:
    """A figure with three digits, or a dash where it is undefined."""
    if value is None:
        return "–"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def _table(comparison: Comparison, columns: list[Column]) -> str:
    heads = "".join(
        f'<th scope="col" title="{html.escape(meaning, quote=True)}">{html.escape(name)}</th>'
        for name, meaning, _ in columns
    )
    rows = "".join(
        f'<tr><th scope="row">{html.escape(v.variant.name)}</th>'
        f"<td>{html.escape(v.variant.system)}</td>"
        + "".join(f"<td>{html.escape(value(v))}</td>" for _, _, value in columns)
        + "</tr>"
        for v in comparison.variants
    )
    return (
        '<div class="cmp-scroll"><table class="cmp-table"><thead><tr><th scope="col">Variant</th>'
        f'<th scope="col">System</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _why(comparison: Comparison) -> str:
    if comparison.unjudged_reason:
        words = f"{comparison.unjudged_reason} What is shown compares rankings with each other."
    else:
        words = "One seed has no interval; the whole collection has."
    return f'<div class="cmp-dim">{html.escape(words)}</div>'
