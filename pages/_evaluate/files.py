"""Runs and judgments that people upload on the Evaluate page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.evaluations import CollectionInfo
from pages._common.outside_text import escape
from pages._common.shared import attempt, error_boundary, escape_label, uploader
from pages._evaluate.evaluate_page import collection_label
from pages._evaluate.evaluate_url import EvaluateView

MEGABYTES = 100


def own_files(explorer: Explorer, collections: Sequence[CollectionInfo]) -> None:
    """Two uploads, and what was uploaded before."""
    st.header("Your runs and judgments", anchor=False)
    current = st.session_state.get("evaluate_collection")
    info = next((c for c in collections if c.key == current and not c.problem), None)
    left, right = st.columns(2, gap="large")
    with left, error_boundary():
        if info is not None:
            _runs(explorer, info)
    with right, error_boundary():
        _judgments(explorer, collections)


def _runs(explorer: Explorer, info: CollectionInfo) -> None:
    where = collection_label(info)
    uploader(
        escape_label(f"TREC run for {where}"), "evaluate_run_file",
        lambda name, content: explorer.collections.add_run(info.key, name, content),
        megabytes=MEGABYTES,
        help_="TREC run format. Shown under its tag. "
        + ("Query ids are <seed>_<aspect>." if info.aspects else ""),
    )  # fmt: skip
    for run in explorer.collections.runs(info.key):
        said = [counted(run.queries, "query", "queries"), *(n.rstrip(".") for n in run.notes)]
        _line(
            run.name, f"{'; '.join(said)}.",
            f"evaluate_remove_run_{run.id}", explorer.collections.remove_run, run.id,
        )  # fmt: skip


def _judgments(explorer: Explorer, collections: Sequence[CollectionInfo]) -> None:
    names = explorer.library.names()
    corpus = st.session_state.get("evaluate_qrels_corpus") or names[0]

    def keep(name: str, content: bytes) -> None:
        added = explorer.collections.add_qrels(corpus, name, content)
        EvaluateView(added.key).write()

    uploader(
        "TREC judgments for a corpus", "evaluate_qrels_file", keep, megabytes=MEGABYTES,
        help_="TREC qrels with query ids <seed>_<aspect>. They become a test collection.",
    )  # fmt: skip
    st.selectbox("Judged corpus", names, key="evaluate_qrels_corpus")
    for info in collections:
        if info.uploaded:
            _line(
                info.source, f"{counted(info.queries, 'query', 'queries')} on {info.corpus}.",
                f"evaluate_remove_{info.key}", explorer.collections.remove_qrels, info.key,
            )  # fmt: skip


def _line(name: str, words: str, key: str, remove: Callable[[Any], None], what: Any) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(f'<div class="sl-facts"><strong>{escape(name)}</strong> {escape(words)}</div>')
        st.button("Remove", key=key, on_click=attempt, args=(lambda: remove(what),))
