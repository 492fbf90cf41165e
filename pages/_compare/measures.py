"""The measures of a comparison, each with its definition."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence

import streamlit as st

from engine.types.comparisons import Comparison, VariantPair, VariantRanking

MEASURES = {
    "rbo": ("RBO", "Rank-biased overlap (p = 0.9): how similar two rankings are, the top counting "
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
NO_TITLES: Mapping[str, str] = {}
Column = tuple[str, str, Callable[[VariantRanking], str]]
"""Head, definition, and the text of a variant's cell."""


def measures(comparison: Comparison) -> None:
    """What each variant reaches where judged, and how far it is from the first everywhere."""
    columns = _columns(comparison)
    table = html_table(
        ["Variant", "System", *(name for name, _, _ in columns)],
        (
            [v.variant.name, v.variant.system, *(text(v) for _, _, text in columns)]
            for v in comparison.variants
        ),
        {name: meaning for name, meaning, _ in columns},
    )
    if comparison.unjudged_reason:
        words = f"{comparison.unjudged_reason} What is shown compares rankings with each other."
    else:
        words = "One seed has no interval; the whole collection has."
    st.html(f'<h3>Measures</h3>{table}<div class="cmp-dim">{html.escape(words)}</div>')


def _columns(comparison: Comparison) -> list[Column]:
    first = comparison.variants[0].variant.name
    after = {p.second: p for p in comparison.pairs if p.first == first}
    before = {p.first: p for p in comparison.pairs if p.second == first}
    by_name: dict[str, Column] = {}
    for name in {name for v in comparison.variants for name in v.measures}:
        short = name.split(" ")[0]
        by_name[short] = (short, DEFINITIONS.get(short, name), _measured(name))
    two = len(comparison.variants) > 1
    if two and "p-MRR" not in by_name and any(p.p_mrr is not None for p in before.values()):
        by_name["p-MRR"] = (f"p-MRR to {first}", MEASURES["p_mrr"][1], _against(before, "p_mrr"))
    columns = [by_name[name] for name in ORDER if name in by_name]
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


def html_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], titles: Mapping[str, str] = NO_TITLES
) -> str:
    """A table that scrolls sideways; its texts are escaped, the first column heads the rows.

    Args:
        titles: tooltips of some of the heads.
    """
    top = "".join(
        f'<th scope="col" title="{html.escape(titles.get(name, name), quote=True)}">'
        f"{html.escape(name)}</th>"
        for name in heads
    )
    body = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td>{html.escape(text)}</td>" for text in others)
        + "</tr>"
        for first, *others in rows
    )
    return (
        f'<div class="cmp-scroll"><table class="cmp-table"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
