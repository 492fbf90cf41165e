"""Published figures on CSFCube beside ours: facts to compare with, not a race."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from engine.types.evaluations import CollectionInfo, Evaluation
from pages._evaluate.paper import COLUMNS, OBEDIENCE, RELEVANCE, SOURCE, WORDINGS, Row


def beside_the_paper(info: CollectionInfo, found: Evaluation) -> None:
    """Their three tables, with our rows where this is the collection they used."""
    comparable = info.source_format == "csfcube"
    with st.expander("Beside the published figures for CSFCube", expanded=comparable):
        st.caption(
            f"Theirs ({SOURCE}): each system re-ranks 200 candidates found among 800,000 papers. "
            + (
                "Ours: each system ranks the judged pool of the query. The columns do not compare "
                "directly; the order of systems and their distance to people do."
                if comparable
                else "This collection is another one, so ours are not shown; import CSFCube to "
                "see them side by side."
            )
        )
        ours = found if comparable else None
        relevance, obedience, wordings = st.tabs(
            ["Relevance (table 1)", "Obedience (table 2)", "Wordings (table 3)"]
        )
        with relevance:
            _table(paper_rows(RELEVANCE, ours, "nDCG@20"), "nDCG@20", signed=False)
        with obedience:
            _table(paper_rows(OBEDIENCE, ours, "p-MRR"), "p-MRR", signed=True)
        with wordings:
            st.caption(
                "Ours are ranked under the built-in wording of each aspect (base); the Compare "
                "page ranks all wordings."
            )
            left, right = st.columns(2)
            with left:
                st.caption("nDCG@20")
                first = {f"GritLM-7B, {name}": both[0] for name, both in WORDINGS.items()}
                _table(paper_rows(first, ours, "nDCG@20"), "nDCG@20, wordings", signed=False)
            with right:
                st.caption("p-MRR")
                second = {f"GritLM-7B, {name}": both[1] for name, both in WORDINGS.items()}
                _table(paper_rows(second, ours, "p-MRR"), "p-MRR, wordings", signed=True)


def paper_rows(theirs: Mapping[str, Row], found: Evaluation | None, measure: str) -> pd.DataFrame:
    """Their figures as fractions, ours above them."""
    rows: list[dict[str, Any]] = []
    for name, scores in (found.systems if found else {}).items():
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
        frame.style.format(formats, na_rep="–"), key=f"evaluate_paper_{what}", hide_index=True,
        width="stretch", height="content", alt=f"{what}: theirs and ours",
    )  # fmt: skip
