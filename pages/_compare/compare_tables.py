"""The tables of a comparison and of a whole collection: on the page, as CSV, and published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import streamlit as st

from engine.text import counted
from engine.types.comparisons import (
    Comparison,
    Sensitivity,
    SensitivityRow,
    SystemSensitivity,
    VariantPair,
    VariantRanking,
)
from engine.types.evaluations import CSFCUBE_NDCG, NDCG
from pages._common.chart_style import number as shown
from pages._common.components import chart
from pages._common.figure_file import FigureFile, to_csv
from pages._common.outside_text import escape
from pages._common.shared import note
from pages._compare import compare_charts
from pages._evaluate.published import COLUMNS, WORDINGS

SCROLLED = '<div class="cmp-scroll" tabindex="0" role="region" aria-label="Table">'
"""Around a table that may be wider than the window: who uses the keyboard scrolls it, too."""
_GAIN = (
    "How far documents relevant only to this aspect rank higher than under {}. −1 to 1; 0 means "
    "no change."
)
MEASURES = {
    "rbo": ("RBO", "Rank-biased overlap (p = 0.9): similarity of two rankings, weighted towards "
            "the top. 1 is identical."),
    "tau": ("Kendall's tau", "Kendall's tau-b over all documents of both rankings. −1 is "
            "reversed, 1 is identical."),
    "overlap": ("Overlap", "Share of the top 20 that two rankings have in common."),
    "rank_gain": ("Rank gain", _GAIN.format("the column's variant")),
}  # fmt: skip
DEFINITIONS = {
    CSFCUBE_NDCG: "nDCG@20, as computed by the CSFCube script. 0 to 1.",
    "p-MRR": "p-MRR: instruction following compared with the seed's other judged aspects (base "
    "instruction). −1 to 1; 0 means no change.",
    "Judged@20": "Judged share of the top 20. Low values make nDCG unreliable.",
}
ORDER = tuple(DEFINITIONS)
ROBUSTNESS = (
    "Robustness@10 (InstructIR): the lowest nDCG@10 over base, definition and paraphrases, mean "
    "over queries. 0 to 1."
)
NO_TITLES: Mapping[str, str] = {}
Column = tuple[str, str, Callable[[VariantRanking], str]]
"""Head, definition, and the text of a variant's cell."""
Cell = Callable[[SensitivityRow], str]


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
        words = f"{comparison.unjudged_reason} Comparing rankings only."
    else:
        words = "One seed has no interval. Use the whole collection for intervals."
    st.html(f'<h3>Measures</h3>{table}<div class="cmp-dim">{escape(words)}</div>')


def _columns(comparison: Comparison) -> list[Column]:
    first = comparison.variants[0].variant.name
    after = {p.second: p for p in comparison.pairs if p.first == first}
    before = {p.first: p for p in comparison.pairs if p.second == first}
    by_name: dict[str, Column] = {}
    for name in {name for v in comparison.variants for name in v.measures}:
        by_name[name] = (name, DEFINITIONS.get(name, name), _measured(name))
    two = len(comparison.variants) > 1
    columns = [by_name[name] for name in ORDER if name in by_name]
    if two and any(p.rank_gain is not None for p in before.values()):
        gain = _against(before, "rank_gain")
        columns.append((f"Rank gain over {first}", _GAIN.format(first), gain))
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
        return shown(getattr(pair, key, None), signed=key in compare_charts.SIGNED)

    return cell


def html_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], titles: Mapping[str, str] = NO_TITLES
) -> str:
    """A table that scrolls sideways; its texts are escaped, the first column heads the rows.

    Args:
        titles: tooltips of some of the heads.
    """
    top = "".join(
        f'<th scope="col" title="{escape(titles.get(name, name))}">{escape(name)}</th>'
        for name in heads
    )
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in others)
        + "</tr>"
        for first, *others in rows
    )
    return (
        f'{SCROLLED}<table class="cmp-table"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


# -- a whole collection -------------------------------------------------------------------


def collection_tables(table: Sensitivity) -> None:
    """The overview, the figures by aspect, and how similarly the wordings rank."""
    aspects = sorted({name for s in table.systems for r in s.rows for name in r.by_aspect})
    st.html(_overview(table))
    if table.single_aspect:
        note("No seed is judged for two aspects, so p-MRR is undefined.",
             "RBO, tau and overlap need no judgments.")  # fmt: skip
    if aspects:
        with st.expander("By aspect"):
            st.html(_by_aspect(table, aspects))
    _matrices(table)


def _overview(table: Sensitivity) -> str:
    columns: list[tuple[str, str, Cell]] = [
        (CSFCUBE_NDCG, f"{DEFINITIONS[CSFCUBE_NDCG]} Mean over queries with its 95 % interval.",
         lambda r: _with_interval(r, CSFCUBE_NDCG, signed=False)),
        ("p-MRR", "p-MRR: mean over pairs of aspects of a seed with its 95 % interval. −1 to 1.",
         lambda r: _with_interval(r, "p-MRR", signed=True)),
        ("SICR", "Strict Instruction Compliance Ratio (InfoSearch): share of relevant documents "
         "that rank higher than without an instruction and lower with the reverse. 0 to 1.",
         lambda r: shown(r.metrics.get("SICR"))),
        ("WISE", "Weighted Instruction Sensitivity Evaluation (InfoSearch): SICR weighted by rank "
         "change, with penalties for the wrong way. −1 to 1; often below 0 with many relevant "
         "documents.",
         lambda r: shown(r.metrics.get("WISE"), signed=True)),
        ("RBO", MEASURES["rbo"][1] + " Compared with base.", lambda r: shown(r.metrics.get("rbo"))),
        ("tau", MEASURES["tau"][1] + " Compared with base.",
         lambda r: shown(r.metrics.get("tau"), signed=True)),
        ("overlap", MEASURES["overlap"][1] + " Compared with base.",
         lambda r: shown(r.metrics.get("overlap@20"))),
        ("correct aspect", "Share of queries whose aspect was recognised in the instruction. Empty "
         "where it does not apply.",
         lambda r: "–" if r.read_as_asked is None else f"{r.read_as_asked:.0%}"),
    ]  # fmt: skip
    heads = "".join(
        f'<th scope="col" title="{escape(meaning)}">{name}</th>' for name, meaning, _ in columns
    )
    body = "".join(_group(system, columns) for system in table.systems)
    return (
        f'<div class="cmp-dim">{table.queries} queries. Queries with a judged pool rank only its '
        f'documents.</div>{SCROLLED}<table class="cmp-table cmp-wide">'
        f'<thead><tr><th scope="col">Variant</th>{heads}</tr></thead>{body}</table></div>'
    )


def _group(system: SystemSensitivity, columns: Sequence[tuple[str, str, Cell]]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(row.variant)}</th>'
        + "".join(f"<td>{cell(row)}</td>" for _, _, cell in columns)
        + "</tr>"
        for row in with_mean(system.rows)
    )
    return (
        f'<tbody><tr><th class="cmp-group" scope="rowgroup" colspan="{len(columns) + 1}">'
        f'{escape(system.system)} <span class="cmp-dim" title="{ROBUSTNESS}">'
        f"{system.seconds:.1f} s · Robustness@10 {shown(system.robustness)}</span></th>"
        f"</tr>{rows}</tbody>"
    )


def with_mean(rows: Sequence[SensitivityRow]) -> list[SensitivityRow]:
    """The rows, and behind the paraphrases their mean, which is what the paper reports."""
    places = [i for i, row in enumerate(rows) if row.variant.startswith("paraphrase-")]
    if len(places) < 2:
        return list(rows)
    several = [rows[i] for i in places]

    def mean(values: Sequence[float | None]) -> float | None:
        known = [v for v in values if v is not None]
        return sum(known) / len(known) if known else None

    both = SensitivityRow(
        variant="paraphrases, mean",
        metrics={m: mean([r.metrics.get(m) for r in several]) for m in several[0].metrics},
        by_aspect={
            aspect: {m: mean([r.by_aspect[aspect].get(m) for r in several]) for m in metrics}
            for aspect, metrics in several[0].by_aspect.items()
        },
        intervals={},
        read_as_asked=mean([r.read_as_asked for r in several]),
    )
    return [*rows[: places[-1] + 1], both, *rows[places[-1] + 1 :]]


def _with_interval(row: SensitivityRow, measure: str, *, signed: bool) -> str:
    value = shown(row.metrics.get(measure), signed=signed)
    interval = row.intervals.get(measure)
    if interval is None:
        return value
    low, high = (shown(bound, signed=signed) for bound in interval)
    return f'{value} <span class="cmp-dim">[{low}, {high}]</span>'


def _by_aspect(table: Sensitivity, aspects: Sequence[str]) -> str:
    columns = [(measure, aspect) for measure in (CSFCUBE_NDCG, "p-MRR") for aspect in aspects]
    rows = [
        [f"{system.system} · {row.variant}"]
        + [shown(row.by_aspect.get(a, {}).get(m), signed=m == "p-MRR") for m, a in columns]
        for system in table.systems
        for row in with_mean(system.rows)
    ]
    return html_table(["Variant", *(f"{m} {a}" for m, a in columns)], rows)


def _matrices(table: Sensitivity) -> None:
    st.html("<h3>Rank similarity</h3>")
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    with left:
        names = [s.system for s in table.systems]
        chosen = st.selectbox("System", names, key="compare_matrix_system")
    system = next((s for s in table.systems if s.system == chosen), table.systems[0])
    keys = {_plain(key): key for key in system.matrix}
    known = [key for key in MEASURES if key in keys]
    if not known:
        return
    with right:
        measure = st.segmented_control(
            "Measure",
            known,
            format_func=lambda key: MEASURES[key][0],
            default=known[0],
            required=True,
            key="compare_matrix_measure",
        )
    measure = measure or known[0]
    names, values = [row.variant for row in system.rows], _pairs(system.matrix[keys[measure]])
    mean = f"Mean over {counted(table.queries, 'query', 'queries')}."
    similarity_chart(
        names, values, measure, f"between variants, system {system.system}",
        words=f"{MEASURES[measure][1]} {mean}", source=f"Corpus {table.corpus}.",
        file=f"rank similarity {system.system} {measure}", key="compare_collection_matrix",
    )  # fmt: skip


def similarity_chart(
    names: Sequence[str],
    values: compare_charts.Values,
    measure: str,
    between: str,
    *,
    words: str,
    source: str,
    file: str,
    key: str,
) -> None:
    """Every variant against every other as a chart with its file.

    Args:
        values: (first, second) -> value; None where there is none.
        measure: a key of :data:`MEASURES`.
        between: what is compared, behind the measure's name in the title.
        words: under the chart; the file says ``source``, too.
    """
    title = f"{MEASURES[measure][0]} {between}"
    rows = compare_charts.matrix_rows(names, values)
    chart(
        lambda dark: compare_charts.matrix(names, values, measure, dark=dark),
        FigureFile(file, title, f"{words} {source}", ["variant", *names], rows),
        words=words,
        alt=title,
        key=key,
    )


def _plain(measure: str) -> str:
    """The key of MEASURES for a measure's name: ``overlap@20`` is ``overlap``."""
    return measure.split("@")[0].lower().replace("-", "_")


def _pairs(
    matrix: Mapping[str, Mapping[str, float | None]],
) -> dict[tuple[str, str], float | None]:
    return {(a, b): value for a, row in matrix.items() for b, value in row.items()}


def paper_table() -> None:
    """The published figures for the same wordings."""
    rows = [
        [name, f"{ndcg[0]:.2f}", f"{p_mrr[0]:+.2f}",
         *(f"{value:.2f}" for value in ndcg[1:]), *(f"{value:+.2f}" for value in p_mrr[1:])]
        for name, (ndcg, p_mrr) in WORDINGS.items()
    ]  # fmt: skip
    measures = (NDCG, "p-MRR")  # as published: which discount they used is not said
    heads = [*measures, *(f"{m} {aspect.capitalize()}" for m in measures for aspect in COLUMNS[1:])]
    st.html(
        '<h3>Published figures</h3><div class="cmp-dim">GritLM-7B as published, times 100: '
        "Maheshwari, Mysore and Zamani, “Can Instructed Retrieval Models Really Support "
        "Exploration?”, CHIIR 2026, Table 3. Not directly comparable: it re-ranks 200 candidates "
        "out of 800,000 papers. Compare how the rows differ.</div>"
        + html_table(["Variant", *heads], rows)
    )


# -- files ---------------------------------------------------------------------------------


def table_csv(table: Sensitivity) -> str:
    """A line per system and variant, with intervals and the figures by aspect.

    What is undefined is an empty field.
    """
    rows = [(s, row) for s in table.systems for row in with_mean(s.rows)]
    names = list(dict.fromkeys(name for _, row in rows for name in row.metrics))
    bounded = [n for n in names if any(row.intervals.get(n) for _, row in rows)]
    by_aspect = sorted({(a, m) for _, r in rows for a, of in r.by_aspect.items() for m in of})
    head = ["system", "variant", *names]
    head += [f"{name} {end}" for name in bounded for end in ("low", "high")]
    head += ["correct aspect", *(f"{measure} {aspect}" for aspect, measure in by_aspect)]
    head.append("system's Robustness@10")
    lines = [
        [
            system.system,
            row.variant,
            *(row.metrics.get(name) for name in names),
            *(bound for name in bounded for bound in row.intervals.get(name) or (None, None)),
            row.read_as_asked,
            *(row.by_aspect.get(aspect, {}).get(measure) for aspect, measure in by_aspect),
            system.robustness,
        ]
        for system, row in rows
    ]
    return to_csv(head, lines)


def matrix_csv(table: Sensitivity) -> str:
    """A line per system, measure and ordered pair of variants: the mean over queries."""
    lines = [
        [s.system, measure, first, second, value]
        for s in table.systems
        for measure, matrix in s.matrix.items()
        for (first, second), value in _pairs(matrix).items()
    ]
    return to_csv(["system", "measure", "first", "second", "mean"], lines)
