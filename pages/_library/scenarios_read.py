"""Looking at the scenarios of a document, found by its title."""

from __future__ import annotations

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from pages._common import document_view
from pages._common.seed_finder import picker
from pages._common.shared import error_boundary
from pages._library.scenarios_lines import scenario_list

FOUND = 6


def reader(explorer: Explorer, corpus: str) -> None:
    """A box for words of a title, and the scenarios of the document that was picked."""
    st.fragment(_reader)(explorer, corpus)


def _reader(explorer: Explorer, corpus: str) -> None:
    chosen = f"library_scenarios_read_{corpus}"
    words = st.text_input(
        "Look at the scenarios of a document",
        key=f"library_scenarios_title_{corpus}",
        live="250ms",
        placeholder="Words of its title, in any order, or its id",
        width=420,
    )
    with error_boundary():
        found = explorer.find_titles(corpus, words, FOUND) if words.strip() else []
        if words.strip() and not found:
            st.caption("No title has all these words. Try fewer.")
        picker(
            found,
            on_pick=lambda event: st.session_state.update({chosen: event["doc_id"]}),
            key=f"library_scenarios_found_{corpus}",
        )
        _shown(explorer, corpus, st.session_state.get(chosen))


def _shown(explorer: Explorer, corpus: str, doc_id: str | None) -> None:
    """The document that was picked, or the first one as an example."""
    try:
        document = explorer.document(corpus, doc_id) if doc_id else None
    except UnknownNameError:  # deleted since
        document = None
    document = document or explorer.browse(corpus, 0, 1)[0]
    title = document.title or document_view.shortened(document.text)
    st.html(scenario_list(title, explorer.scenarios.of_document(corpus, document.doc_id)))
