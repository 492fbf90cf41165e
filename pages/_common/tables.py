"""Tables and charts of measures: what each measure means, and one way to show a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from engine.types.evaluations import CSFCUBE_NDCG, NDCG, Interval
from pages._common.charts import FigureFile, for_file, number
from pages._common.components import component
from pages._common.shared import table_with_marks

MEASURES: Mapping[str, str] = {
    NDCG: "Relevance of the top 20 by graded judgments; 1 is the ideal order.",
    CSFCUBE_NDCG: "nDCG@20, as computed by the CSFCube script (ranks 1 and 2 count alike). 0 to 1.",
    "p-MRR": "Instruction following: how far documents relevant only to this aspect rank higher "
    "than for another aspect of the seed. −1 to 1; 0 means no change.",
    "RR": "1 divided by the rank of the first relevant document (grade 1 or more).",
    "R@100": "Share of the relevant documents in the top 100.",
    "Judged@20": "Judged share of the top 20. Unjudged documents count as 0.",
}
"""Measures by judgments: what each says, wherever it is shown."""
SIMILARITY: Mapping[str, tuple[str, str]] = {
    "rbo": (
        "RBO",
        "Rank-biased overlap (p = 0.9): similarity of two rankings, weighted towards the top. 1 "
        "is identical.",
    ),
    "tau": (
        "Kendall's tau",
        "Kendall's tau-b over all documents of both rankings. −1 is reversed, 1 is identical.",
    ),
    "overlap": ("Overlap", "Share of the top 20 that two rankings have in common."),
    "rank_gain": (
        "Rank gain",
        "How far documents relevant only to this aspect rank higher than under the column's "
        "variant. −1 to 1; 0 means no change.",
    ),
}
"""Measures between two rankings: key -> name and meaning."""
SENSITIVITY: Mapping[str, str] = {
    "SICR": "Strict Instruction Compliance Ratio (InfoSearch): share of relevant documents that "
    "rank higher than without an instruction and lower with the reverse. 0 to 1.",
    "WISE": "Weighted Instruction Sensitivity Evaluation (InfoSearch): SICR weighted by rank "
    "change, with penalties for the wrong way. −1 to 1; often below 0 with many relevant "
    "documents.",
    "system's Robustness@10": "Robustness@10 (InstructIR): the lowest nDCG@10 over base, "
    "definition and paraphrases, mean over queries. 0 to 1.",
    "correct aspect": "Share of queries whose aspect was recognised in the instruction. Empty "
    "where it does not apply.",
}
"""Measures of a system over all instructions of a collection."""
SIGNED = (
    *("p-MRR", "Rank gain", "rank_gain", "Kendall's tau", "tau", "WISE"),
    *("Difference", "Gap from", "Gap to"),
)
"""Measures and columns that are shown with their sign; a column may add words after a space."""

_FORMATS = {"Seconds": "{:.1f}", "correct aspect": "{:.0%}"}


def is_signed(name: str) -> bool:
    """Whether a measure, or a column of one, is shown with its sign."""
    return f"{name} ".startswith(tuple(f"{measure} " for measure in SIGNED))


def interval(bounds: Interval) -> str:
    """``0.552 – 0.661``; a dash where there is none, or nothing varies."""
    if bounds is None or bounds[0] == bounds[1]:
        return "–"
    return " – ".join(map(number, bounds))


def signed_number(value: float) -> str:
    """``+0.052``, and plain ``0`` for what does not move at all."""
    return number(value, signed=True) if value else "0"


def floats(rows: list[dict[str, Any]], *columns: str) -> pd.DataFrame:
    """A frame in which these columns are numbers, also where all are undefined."""
    frame = pd.DataFrame(rows)
    return frame.astype({name: "float64" for name in columns if name in frame})


def table(
    frame: pd.DataFrame,
    key: str,
    alt: str,
    config: Mapping[str, Any] | None = None,
    most: int = 16,
    *,
    signed: bool = False,
) -> None:
    """A sortable table with three decimals, a dash where a value is undefined.

    Args:
        config: column -> configuration, or its help, beside the definitions of measures.
        most: rows before it scrolls.
    """
    numbers = [c for c in frame.columns if frame[c].dtype == "float64"]
    formats: dict[str, Any] = {
        c: signed_number if signed or is_signed(c) else "{:.3f}" for c in numbers
    }
    formats |= {c: "{:,}" for c in frame.columns if frame[c].dtype == "int64"}
    formats |= {c: f for c, f in _FORMATS.items() if c in frame}
    text, column = st.column_config.TextColumn, st.column_config.Column
    defined: dict[str, Any] = {
        "System": text(pinned=True),
        "95 % interval": text(help="Of the mean, by bootstrap over queries.", width=118),
        "p-MRR interval": text(
            help="95 %, of p-MRR; a dash where all queries are equal.", width=118
        ),
    }
    meanings = {**MEASURES, **SENSITIVITY}
    defined |= {name: column(help=words) for name, words in meanings.items() if name in frame}
    own = {c: column(help=v) if isinstance(v, str) else v for c, v in (config or {}).items()}
    with st.container(key=key):
        st.dataframe(
            table_with_marks(frame).style.format(formats, na_rep="–"),
            placeholder="–",
            hide_index=True,
            width="stretch",
            height="content" if len(frame) <= most else 460,
            column_config={**defined, **own},
            alt=alt,
        )


_SAVE = component("save_chart", "figure")


def frame_chart(
    frame: pd.DataFrame,
    draw: Callable[..., go.Figure],
    *about: str,
    alt: str,
    key: str,
    heading: str = "",
    words: str = "",
) -> None:
    """A chart of a frame, with a menu that exports it, in light colours, as SVG, PNG and CSV.

    Args:
        about: name, title and caption of the file.
        heading, words: HTML above it.
    """
    name, title, caption = about
    is_dark = st.context.theme.type == "dark"
    shown = draw(frame, dark=is_dark)
    light = draw(frame, dark=False) if is_dark else shown
    menu: Any = nullcontext()
    if heading or words:
        left, menu = st.columns([6, 1], vertical_alignment="bottom")
        left.html(f'{heading}<div class="sl-dim">{words}</div>')
    with menu:
        file = FigureFile.of(name, title, caption, frame)
        _SAVE(key=f"{key}_save", data={**file.data(), **for_file(light)})
    config = {"displayModeBar": False, "scrollZoom": False}
    st.plotly_chart(shown, key=key, theme=None, config=config, alt=alt)
