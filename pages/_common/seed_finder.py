"""Finding a seed: by its title, by paging through the corpus, or by pasting a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from engine.explorer import Explorer
from engine.types.documents import Document
from pages._common import document_view
from pages._common.components import Event, component, dark, listen
from pages._common.shared import attempt, error_boundary

BROWSE_PAGE = 10
_PICKER = component("picker")


def seed_finder(
    explorer: Explorer,
    corpus: str,
    *,
    on_document: Callable[[str], None],
    on_text: Callable[[str], None],
    key: str,
) -> None:
    """Three ways to a seed.

    Args:
        on_document: gets the doc_id that was picked.
        on_text: gets the id of the text that was pasted.
        key: the beginning of the widgets' keys.
    """
    with st.popover("Choose another seed", width="stretch"):
        by_title, browse, paste = st.tabs(["By title", "Browse", "Paste a text"])
        with by_title, error_boundary():
            _by_title(explorer, corpus, on_document, key)
        with browse, error_boundary():
            _browse(explorer, corpus, on_document, key)
        with paste, error_boundary():
            _paste(explorer, on_text, key)


def _by_title(explorer: Explorer, corpus: str, pick: Callable[[str], None], key: str) -> None:
    words = st.text_input(
        "Words of the title",
        key=f"{key}_title",
        live="250ms",
        placeholder="Words of the title, in any order, or an id",
    )
    if not words.strip():
        st.caption("The list narrows as you type.")
        return
    documents = explorer.find_titles(corpus, words)
    if not documents:
        st.caption("No title has all these words. Try fewer, or Browse.")
    _choices(documents, pick, f"{key}_found")


def _browse(explorer: Explorer, corpus: str, pick: Callable[[str], None], key: str) -> None:
    total = explorer.library.corpus(corpus).documents
    pages = max(1, -(-total // BROWSE_PAGE))
    page = st.pagination(pages, key=f"{key}_browse") if pages > 1 else 1
    _choices(explorer.browse(corpus, (page - 1) * BROWSE_PAGE, BROWSE_PAGE), pick, f"{key}_browsed")


def _choices(documents: list[Document], pick: Callable[[str], None], key: str) -> None:
    picker(documents, on_pick=lambda event: pick(event["doc_id"]), key=key)


def _paste(explorer: Explorer, use: Callable[[str], None], key: str) -> None:
    text = st.text_area("Text to start from", key=f"{key}_paste", height=180)

    def start() -> None:
        pasted = st.session_state[f"{key}_paste"]
        if pasted.strip():
            use(explorer.notebook.put_text(pasted))

    st.button(
        "Start from this text",
        on_click=attempt,
        args=(start,),
        disabled=not text.strip(),
        key=f"{key}_use",
    )


def picker(documents: Sequence[Document], *, on_pick: Event, key: str) -> None:
    """Titles to choose one from."""
    if documents:
        rows = [
            {
                "doc_id": d.doc_id,
                "title": document_view.title_of(d),
                "year": d.year,
            }
            for d in documents
        ]
        _PICKER(
            key=key,
            data={"documents": rows, "dark": dark()},
            on_pick_change=listen(key, "pick", on_pick),
        )
