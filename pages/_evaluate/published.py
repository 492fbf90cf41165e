"""Published figures on CSFCube beside ours: facts to compare with, not a race.

``assets/figures/published.csv`` has tables 1 to 3, all times 100, of Maheshwari, Mysore & Zamani,
"Can Instructed Retrieval Models Really Support Exploration?", CHIIR 2026.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.types.evaluations import CSFCUBE_NDCG, NDCG, CollectionInfo, Evaluation
from pages._common.shared import ASSETS
from pages._common.tables import floats, is_signed, table

SOURCE = "Maheshwari et al., CHIIR 2026"
COLUMNS = ("All", "background", "method", "result")


def published(name: str, measure: str) -> pd.DataFrame:
    """The rankers and figures of a published table, as fractions.

    Args:
        name: "relevance" (table 1), "following" (2) or "wordings" (3, of GritLM-7B).
        measure: "nDCG@20" or "p-MRR".
    """
    frame = pd.read_csv(ASSETS / "figures" / "published.csv")
    frame = frame[(frame["table"] == name) & (frame["measure"] == measure)]
    frame = frame.reset_index(drop=True)
    shares = {column: frame[column] / 100 for column in COLUMNS}
    return pd.DataFrame({"Ranker": frame["ranker"], "From": "paper", **shares})


def beside_the_paper(info: CollectionInfo, evaluation: Evaluation) -> None:
    """Their three tables with our rows, where this is the collection they used."""
    if info.source_format != "csfcube":
        return
    with st.expander("Published figures for CSFCube", expanded=True):
        st.caption(
            f"Theirs ({SOURCE}): 200 candidates out of 800,000 papers. Ours: each system ranks the "
            "judged pool of the query, measured by CSFCube's script. The columns do not compare "
            "directly; the order of systems and their distance to people do."
        )
        relevance, following, wordings = st.tabs(
            ["Relevance (table 1)", "Instruction following (table 2)", "Instructions (table 3)"]
        )
        with relevance:
            _table("relevance", NDCG, evaluation)
        with following:
            _table("following", "p-MRR", evaluation)
        with wordings:
            st.caption(
                "Ours use the built-in instruction of each aspect (base). Compare ranks all "
                "variants."
            )
            for column, measure in zip(st.columns(2), (NDCG, "p-MRR"), strict=True):
                with column:
                    st.caption(CSFCUBE_NDCG if measure == NDCG else measure)
                    _table("wordings", measure, evaluation)


def paper_rows(name: str, measure: str, evaluation: Evaluation) -> pd.DataFrame:
    """The rows of a published table, ours above them."""
    own = CSFCUBE_NDCG if measure == NDCG else measure
    rows = [
        {
            "Ranker": system,
            "From": "here",
            COLUMNS[0]: scores.metrics[own],
            **{a: scores.by_aspect.get(a, {}).get(own) for a in COLUMNS[1:]},
        }
        for system, scores in evaluation.systems.items()
    ]
    theirs = published(name, measure)
    return pd.concat([floats(rows, *COLUMNS), theirs], ignore_index=True) if rows else theirs


def _table(name: str, measure: str, ours: Evaluation) -> None:
    frame, signed = paper_rows(name, measure, ours), is_signed(measure)
    table(frame, f"evaluate_paper_{name}_{measure}", f"{measure}: theirs and ours", signed=signed)
