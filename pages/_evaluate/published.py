"""Published figures on CSFCube, all times 100, beside ours: facts to compare with, not a race.

Maheshwari, Mysore & Zamani, "Can Instructed Retrieval Models Really Support Exploration?",
CHIIR 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from engine.types.evaluations import CSFCUBE_NDCG, CollectionInfo, Evaluation
from pages._common.outside_text import table_with_marks

SOURCE = "Maheshwari et al., CHIIR 2026"
COLUMNS = ("All", "background", "method", "result")
Row = tuple[float, float, float, float]
"""One figure per column."""

RELEVANCE: Mapping[str, Row] = {
    "Human": (77.91, 82.75, 70.38, 81.00),
    "SciNCL": (36.43, 45.22, 26.19, 38.24),
    "SPECTER2": (36.42, 43.44, 26.34, 40.43),
    "otAspire": (36.02, 45.33, 23.89, 39.35),
    "GritLM-7B": (42.38, 53.15, 28.82, 45.90),
    "gpt-3.5-turbo, pointwise": (20.40, 32.16, 9.73, 20.20),
    "gpt-4o, pointwise": (23.71, 41.79, 21.46, 36.87),
    "Mistral-7B, pairwise": (27.34, 36.51, 15.58, 30.35),
    "Llama-3-8B, pairwise": (24.40, 18.51, 20.94, 33.48),
    "Llama-3-70B, pairwise": (34.79, 43.50, 24.68, 36.71),
    "gpt-3.5-turbo, pairwise": (30.82, 37.33, 19.11, 36.40),
    "gpt-4o, pairwise": (41.07, 52.40, 30.04, 41.43),
}
"""nDCG@20 x 100, their table 1."""
INSTRUCTION_FOLLOWING: Mapping[str, Row] = {
    "Human": (25.3, 29.8, 22.2, 24.0),
    "SciNCL": (0.0, 0.0, 0.0, 0.0),
    "SPECTER2": (0.0, 0.0, 0.0, 0.0),
    "otAspire": (3.88, 4.53, 3.13, 3.98),
    "GritLM-7B": (2.02, 2.99, 1.14, 1.92),
    "gpt-3.5-turbo, pointwise": (0.80, 2.60, -3.74, 3.55),
    "gpt-4o, pointwise": (0.85, 1.17, 1.13, 0.24),
    "Mistral-7B, pairwise": (-1.10, 3.29, -8.67, 2.07),
    "Llama-3-8B, pairwise": (-4.00, 0.68, -3.06, -9.59),
    "Llama-3-70B, pairwise": (4.44, 8.23, 0.37, 4.73),
    "gpt-3.5-turbo, pairwise": (0.86, 2.03, -4.20, 4.74),
    "gpt-4o, pairwise": (0.97, 3.79, 1.50, -2.39),
}
"""p-MRR x 100, their table 2."""
WORDINGS: Mapping[str, tuple[Row, Row]] = {
    "base": ((42.38, 53.15, 28.82, 45.90), (2.02, 2.99, 1.14, 1.92)),
    "generic": ((42.08, 52.46, 28.94, 45.53), (0.18, 0.26, 0.20, 0.09)),
    "definition": ((41.43, 52.54, 28.18, 44.25), (2.01, 2.38, 1.22, 2.44)),
    "paraphrases": ((42.03, 52.24, 28.87, 45.38), (1.53, 2.70, 0.95, 0.93)),
    "subset": ((38.21, 47.70, 25.48, 42.07), (5.89, 7.60, 5.96, 4.10)),
}
"""nDCG@20 and p-MRR x 100 of GritLM-7B under other wordings, their table 3."""


def beside_the_paper(info: CollectionInfo, evaluation: Evaluation) -> None:
    """Their three tables, with our rows where this is the collection they used."""
    comparable = info.source_format == "csfcube"
    with st.expander("Published figures for CSFCube", expanded=comparable):
        st.caption(
            f"Theirs ({SOURCE}): 200 candidates out of 800,000 papers. "
            + (
                "Ours: each system ranks the judged pool of the query, measured by CSFCube's "
                "script. The columns do not compare directly; the order of systems and their "
                "distance to people do."
                if comparable
                else "This collection is another one, so ours are not shown; import CSFCube to "
                "see them side by side."
            )
        )
        ours = evaluation if comparable else None
        relevance, following, wordings = st.tabs(
            ["Relevance (table 1)", "Instruction following (table 2)", "Instructions (table 3)"]
        )
        with relevance:
            _table(paper_rows(RELEVANCE, ours, CSFCUBE_NDCG), CSFCUBE_NDCG, signed=False)
        with following:
            _table(paper_rows(INSTRUCTION_FOLLOWING, ours, "p-MRR"), "p-MRR", signed=True)
        with wordings:
            st.caption(
                "Ours use the built-in instruction of each aspect (base). Compare ranks all "
                "variants."
            )
            left, right = st.columns(2)
            with left:
                st.caption(CSFCUBE_NDCG)
                first = {f"GritLM-7B, {name}": both[0] for name, both in WORDINGS.items()}
                _table(paper_rows(first, ours, CSFCUBE_NDCG), "nDCG@20, instructions", signed=False)
            with right:
                st.caption("p-MRR")
                second = {f"GritLM-7B, {name}": both[1] for name, both in WORDINGS.items()}
                _table(paper_rows(second, ours, "p-MRR"), "p-MRR, instructions", signed=True)


def paper_rows(
    theirs: Mapping[str, Row], evaluation: Evaluation | None, measure: str
) -> pd.DataFrame:
    """Their figures as fractions, ours above them."""
    rows: list[dict[str, Any]] = []
    for name, scores in (evaluation.systems if evaluation else {}).items():
        means = [scores.metrics[measure]]
        means += [scores.by_aspect.get(a, {}).get(measure) for a in COLUMNS[1:]]
        rows.append({"Ranker": name, "From": "here", **dict(zip(COLUMNS, means, strict=True))})
    for name, values in theirs.items():
        figures = {c: v / 100 for c, v in zip(COLUMNS, values, strict=True)}
        rows.append({"Ranker": name, "From": "paper", **figures})
    return pd.DataFrame(rows).astype(dict.fromkeys(COLUMNS, "float64"))


def _table(frame: pd.DataFrame, what: str, *, signed: bool) -> None:
    formats = dict.fromkeys(COLUMNS, "{:+.3f}" if signed else "{:.3f}")
    st.dataframe(
        table_with_marks(frame).style.format(formats, na_rep="–"),
        key=f"evaluate_paper_{what}", hide_index=True, width="stretch", height="content",
        alt=f"{what}: theirs and ours",
    )  # fmt: skip
