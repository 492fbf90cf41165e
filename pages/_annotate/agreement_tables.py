"""How far annotators agree: coefficients with intervals, and who confuses what with what."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine.explorer import Explorer
from engine.types.annotating import Agreement, AgreementMeasure, ModelCheck, Project, Scale
from engine.types.evaluations import NDCG, Interval, SystemScores
from pages._common.outside_text import escape, table_with_marks, with_marks
from pages._common.shared import remembered
from pages._evaluate.evaluate_tables import table

WORDS = (
    "1 = perfect agreement, 0 = chance. Krippendorff's alpha is ordinal and handles missing "
    "grades. 95 % bootstrap intervals."
)


HUMAN = (
    "Leave-one-out human performance: each annotator's grades evaluated against the others' "
    "consensus. An upper bound for systems."
)


def agreement(explorer: Explorer, project: Project) -> None:
    """Over all, by aspect, and in pairs."""
    result = explorer.annotation.agreement(project)
    if not any(measure.items for measure in result.measures) and not result.pairs:
        st.html(f'<div class="sl-empty">{escape(no_agreement_words(project))}</div>')
    else:
        if result.notes:
            st.html(f'<div class="sl-facts">{escape(" ".join(result.notes))}</div>')
        st.header("People", anchor=False, help=WORDS)
        aspects_table(result, "annotate_overall", "Agreement over all people")
        _pairs(result, project.scale)
    _human(explorer, project)


def no_agreement_words(project: Project) -> str:
    """Why there is no agreement yet, and what gives some."""
    words = "No item has grades by two people yet."
    if project.name and project.per_item == 1:
        words += " For agreement, set 'Annotations per item' to 2 or more under 'Project'."
    return words


def aspects_table(result: Agreement | ModelCheck, key: str, alt: str) -> None:
    """A row for all aspects together and for each of them, a column per measure."""
    rows = [("all", result.measures)]
    if len(result.by_aspect) > 1:
        rows += [(aspect or "as a whole", row) for aspect, row in result.by_aspect.items()]
    frame = pd.DataFrame({"Aspect": aspect, **_cells(row)} for aspect, row in rows)
    st.dataframe(table_with_marks(frame), key=key, hide_index=True, alt=alt, placeholder="–")


def _cells(measures: Sequence[AgreementMeasure]) -> dict[str, str]:
    items = max((measure.items for measure in measures), default=0)
    cells = {"Items": f"{items:,}"}
    for measure in measures:
        words = "–" if measure.value is None else f"{measure.value:.2f}".replace("-", "−")
        if measure.interval is not None:
            words += f" ({interval(measure.interval)})"
        if measure.value is not None and measure.items < items:
            words += f", {measure.items:,} items"
        cells[measure.title] = words
    return cells


def interval(bounds: Interval, digits: int = 2) -> str:
    """``0.55 to 0.66``; a dash where there is none."""
    if bounds is None:
        return "–"
    low, high = (f"{bound:.{digits}f}".replace("-", "−") for bound in bounds)
    return f"{low} to {high}"


def _pairs(result: Agreement, scale: Scale) -> None:
    if not result.pairs:
        return
    st.header("Pairwise agreement", anchor=False, help=WORDS)
    pairs = sorted(result.pairs, key=result.with_model)  # people with people come first
    pair = pairs[0]

    def named(pair: tuple[str, str]) -> str:
        return with_marks(" and ".join(pair)) + (" (a model)" if result.with_model(pair) else "")

    if len(pairs) > 1:
        pair = st.selectbox(
            "Pair", pairs, format_func=named, key="annotate_pair",
            label_visibility="collapsed",
        )  # fmt: skip
    cells = _cells(result.pairs[pair])
    frame = pd.DataFrame({"Measure": cells.keys(), "Value": cells.values()})
    left, right = st.columns(2, gap="small")
    with left:
        table(frame, "annotate_pair_table", f"Agreement of {named(pair)}", {})
    with right:
        st.html(confusion_html(pair, result.grades, result.confusion[pair], scale))


def _human(explorer: Explorer, project: Project) -> None:
    rows = _human_rows(explorer, project)
    if not rows:
        return
    st.header("Leave-one-out", anchor=False, help=HUMAN)
    frame = pd.DataFrame(
        {
            "Annotator": who,
            NDCG: scores.metrics[NDCG],
            "95 % interval": interval(scores.confidence.get(NDCG), 3),
            "p-MRR": scores.metrics["p-MRR"],
            "p-MRR interval": interval(scores.confidence.get("p-MRR"), 3),
            "Queries": len(scores.per_query),
        }
        for who, scores in rows.items()
    ).astype({NDCG: "float64", "p-MRR": "float64"})
    alt = "Leave-one-out measures of each annotator"
    config = {
        "95 % interval": st.column_config.TextColumn(help=f"Of {NDCG}, over queries."),
        "p-MRR interval": st.column_config.TextColumn(help="Of p-MRR, over queries."),
    }
    table(frame, "annotate_human", alt, config)


def _human_rows(explorer: Explorer, project: Project) -> dict[str, SystemScores]:
    """Computed once for what stands: every query of the project is ranked for it."""
    judgments = explorer.annotation.judgments(project)
    identity = explorer.library.open(project.corpus).identity
    key = (project, identity, [judgment.event for judgment in judgments])

    def ranked() -> dict[str, SystemScores]:
        with st.spinner("Ranking by each annotator's grades", show_time=True):
            return explorer.human_rows(project)

    return remembered("annotate_human_rows", key, ranked)


def wide(label: str, table: str) -> str:
    """A table that scrolls by itself where the window is too narrow for it.

    Args:
        label: what it is, for screen readers.
        table: its HTML.
    """
    name = escape(label)
    return f'<div class="sl-wide" tabindex="0" role="region" aria-label="{name}">{table}</div>'


def confusion_html(
    pair: tuple[str, str],
    grades: tuple[int, ...],
    counts: tuple[tuple[int, ...], ...],
    scale: Scale,
) -> str:
    """Counts of items by the two grades that they got; the darker, the more."""
    most = max((n for row in counts for n in row), default=0) or 1
    names = {grade.value: grade.name for grade in scale.grades}
    one, other = (escape(name) for name in pair)
    head = "".join(f'<th scope="col" title="{escape(names.get(g, ""))}">{g}</th>' for g in grades)
    body = ""
    for grade, row in zip(grades, counts, strict=True):
        cells = "".join(
            f'<td class="{"same" if column == grade else ""}" '
            f'style="--share:{100 * number / most:.0f}%">{f"{number:,}" if number else "·"}</td>'
            for column, number in zip(grades, row, strict=True)
        )
        body += f'<tr><th scope="row">{grade} {escape(names.get(grade, ""))}</th>{cells}</tr>'
    return wide(
        f"Grades of {pair[0]} and {pair[1]}",
        f'<table class="sl-confusion"><caption>Rows: grades of {one}. Columns: grades of {other}. '
        "They agree on the diagonal.</caption>"
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>",
    )
