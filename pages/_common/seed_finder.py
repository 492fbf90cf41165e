"""Finding a document: by words, by paging through the corpus, or by pasting a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.documents import Document
from engine.types.searches import FoundDocument
from pages._common import document_view
from pages._common.components import Event, component, listen, listeners
from pages._common.shared import error_boundary, remembered

BROWSE_PAGE = 10
MOST_FOUND = 12
_PICKER = component("picker")
_FINDER = component("finder")


def seed_finder(
    explorer: Explorer,
    corpus: str,
    *,
    on_document: Callable[[str], None],
    on_text: Callable[[str], None],
    key: str,
    label: str = "Choose another seed",
) -> None:
    """A button that opens three ways to a seed: ``on_document`` gets the doc_id that was picked,
    ``on_text`` the id of the text that was pasted.

    Typing runs the finder alone; the page runs once something was chosen.
    """

    def chosen(use: Callable[[str], None], value: str) -> None:
        # Before it is used: should that fail, the page has to run too, to say why.
        st.session_state.update({f"{key}_asked": _NOTHING, f"{key}_chosen": True})
        use(value)

    on: dict[str, Event] = {
        "search": lambda e: st.session_state.update({f"{key}_asked": (e["words"], e["page"])}),
        "pick": lambda e: chosen(on_document, e["doc_id"]),
        "paste": lambda e: chosen(on_text, explorer.notebook.put_text(e["text"])),
    }
    with st.popover(label, width="stretch", key=key):
        st.fragment(_finder)(explorer, corpus, on, key)


_NOTHING = ("", 0)


def _finder(explorer: Explorer, corpus: str, on: Mapping[str, Event], key: str) -> None:
    if st.session_state.pop(f"{key}_chosen", False):
        st.rerun()
    with error_boundary():
        words, page = st.session_state.get(f"{key}_asked", _NOTHING)
        asked = (corpus, explorer.library.state(corpus), words, page)
        data = remembered(f"{key}_found", asked, lambda: _found(explorer, corpus, words, page))
        _FINDER(
            key=f"{key}_words",
            data={**data, "words": words},
            **listeners(f"{key}_words", on, "search", "pick", "paste"),
        )


def _found(explorer: Explorer, corpus: str, words: str, page: int) -> dict[str, Any]:
    """What the finder shows: documents for words, or a page of the corpus."""
    if words.strip():
        found = explorer.find_documents(corpus, words, MOST_FOUND)
        return {"found": list(map(_row, found)), "status": _status(found), "page": 0, "pages": 1}
    total = explorer.library.corpus(corpus).documents
    documents = explorer.browse(corpus, page * BROWSE_PAGE, BROWSE_PAGE)
    return {
        "found": [_row(FoundDocument(document, "title"), browsed=True) for document in documents],
        "status": f"All {counted(total, 'document')} of {corpus}, in source order.",
        "page": page,
        "pages": max(1, -(-total // BROWSE_PAGE)),
    }


def _status(found: Sequence[FoundDocument]) -> str:
    if not found:
        return "No documents contain these words."
    if all(one.where == "meaning" for one in found):
        return "No exact matches. Showing semantically similar documents."
    return f"{counted(len(found), 'document')}, best first."


def _row(found: FoundDocument, *, browsed: bool = False) -> dict[str, Any]:
    document = found.document
    snippet, marks = document_view.excerpt(found.snippet, found.marks)
    return {
        "doc_id": document.doc_id,
        "title": document_view.title_of(document),
        "title_marks": found.title_marks,
        "year": document.year,
        "where": "" if browsed else found.where,
        "snippet": snippet,
        "marks": marks,
    }


def picker(documents: Sequence[Document], *, on_pick: Event, key: str) -> None:
    """Titles to choose one from."""
    if documents:
        titles = document_view.title_of
        rows = [{"doc_id": d.doc_id, "title": titles(d), "year": d.year} for d in documents]
        heard = listen(key, "pick", on_pick)
        _PICKER(key=key, data={"documents": rows}, on_pick_change=heard)
