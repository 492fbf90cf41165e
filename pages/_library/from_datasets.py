"""Adding a data set of ir_datasets: choose a name, see what it brings, name the corpus, start."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.corpora import DatasetInfo, ImportJob, NamedDataset
from engine.types.lenses import Lens
from pages._common.outside_text import escape
from pages._common.shared import forget_problem
from pages._library.naming import ask_name, start_button
from pages._login import login

_NAME = "library_dataset"


def from_datasets(explorer: Explorer, documents: Mapping[str, int], running: set[str]) -> None:
    """The form, as far as it is filled in; arguments as :func:`ask_name`."""
    names = explorer.library.datasets()
    chosen = st.selectbox(
        "Data set",
        names,
        index=None,
        key=_NAME,
        persist_state="session",
        placeholder="Name, such as beir/scifact",
        help="Data sets of ir_datasets (see ir-datasets.com). Nothing is downloaded before you "
        "start.",
        width=720,
        on_change=forget_problem,
    )
    if chosen is None:
        return
    info = explorer.library.describe_dataset(chosen)
    st.html(dataset_card(info))
    name, lens = ask_name(explorer, info.name, info.name, documents, running)
    label = "Index" if info.is_there else "Download and index"
    start = partial(_start, explorer, info.name, name, lens)
    start_button(label, "library_dataset_start", start, (_NAME,), disabled=lens is None)


def dataset_card(info: DatasetInfo) -> str:
    """What a data set brings, in a few lines; all of it escaped."""
    head = "documents" if info.documents is None else counted(info.documents, "document")
    lines = ["No queries with judgments: cannot be evaluated."]
    if info.judged:
        queries = "queries" if info.queries is None else counted(info.queries, "query", "queries")
        judged = "judgments"
        if info.judgments is not None:
            judged = counted(info.judgments, "judgment")
        part = "" if info.judged == info.name else f", those of {info.judged}"
        lines = [f"{queries} and {judged}{part}, available on Evaluate once indexed."]
    lines.append(
        "Already downloaded."
        if info.is_there
        else "Downloaded from the publisher; its terms apply."
    )
    said = "".join(f"<div>{escape(line[0].upper() + line[1:])}</div>" for line in lines)
    return (
        f'<div class="lib-card" role="status"><strong>{escape(info.name)}: {head}</strong>'
        f"{said}</div>"
    )


def _start(explorer: Explorer, dataset: str, name: str, lens: Lens | None) -> ImportJob:
    job = explorer.library.start_import(NamedDataset(dataset), name, lens=lens, owner=login.owner())
    st.session_state[_NAME] = None  # an empty form says that this one is under way
    return job
