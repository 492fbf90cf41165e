"""What the steps of a build share: a table to open one row of, and a document to read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.documents import Document
from pages._common.document_view import meta, shortened
from pages._common.outside_text import escape, table_with_marks
from pages._common.shared import attempt_at

ROWS = 16
"""That a long table shows; the rest is scrolled to."""
_ROW = 33
_FRAME = 3
"""Pixels of a table's head and borders beyond those of a row."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What is open of a table, and what is chosen in it.

    Attributes:
        open: its key; "" for none.
        chosen: keys of ticked rows, in the order of the table.
    """

    open: str
    chosen: tuple[str, ...]


def listing(
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    place: str,
    *,
    alt: str,
    columns: Mapping[str, Any] | None = None,
    choose: bool = True,
    most: int = ROWS,
) -> Listed:
    """A table whose rows open at a click or with the arrow keys, and are chosen by their ticks.

    What is open stays open when the table changes, as long as it is in it; ticks do not, so
    that nothing is done to what a person did not tick.

    Args:
        keys: of the rows.
        place: the beginning of the widget's key, and where it is kept what is open.
        choose: whether rows can be ticked.
        most: rows that are seen at once.
    """
    at = f"{place}_open"
    drawn = hashlib.sha256("\x1f".join(keys).encode()).hexdigest()[:12]
    widget = f"{place}_{drawn}"

    def opened() -> None:
        cells = st.session_state[widget]["selection"]["cells"]
        if cells and cells[0][0] < len(keys):
            st.session_state[at] = keys[cells[0][0]]

    now = st.session_state.get(at, "")
    # A table that is drawn anew, as on return to the page, shows what is open of it.
    shown: Any = None
    if now in set(keys):
        cell = keys.index(now), next(iter(rows[0]))
        shown = {"selection": {"rows": [], "columns": [], "cells": [cell]}}
    with st.container(key=place):
        event = st.dataframe(
            table_with_marks(pd.DataFrame(rows)), key=widget, hide_index=True, width="stretch",
            height=table_height(len(keys), most), column_config=columns or {},
            selection_default=shown,
            on_select=opened, alt=alt, lazy=False, placeholder="–",
            selection_mode=["multi-row", "single-cell"] if choose else "single-cell",
        )  # fmt: skip
    ticked = event["selection"]["rows"] if choose else []
    chosen = tuple(keys[row] for row in sorted(ticked) if row < len(keys))
    return Listed(now if now in set(keys) else "", chosen)


def filters(
    place: str, kinds: Mapping[str, str], rows: str, words_of: str
) -> tuple[str, list[str]]:
    """Which rows of a table to show.

    Args:
        place: ends the widgets' keys.
        kinds: of rows, and their names; the first one is "all".
        rows: what they are, for the label.
        words_of: what of a row is searched for words.

    Returns:
        (kind, words in lower case).
    """
    with st.container(horizontal=True, vertical_alignment="center", key=f"build_filter_{place}"):
        kind = st.segmented_control(
            f"Filter {rows}", list(kinds), format_func=kinds.__getitem__, default="all",
            key=f"build_which_{place}", required=True, persist_state="session",
            label_visibility="collapsed", width="content",
        )  # fmt: skip
        label = f"Search {words_of}"
        words = st.text_input(
            label, key=f"build_words_{place}", live="250ms", width=280, placeholder=label,
            label_visibility="collapsed", persist_state="session",
        )  # fmt: skip
    return kind or "all", (words or "").casefold().split()


def has_words(text: str, words: Iterable[str]) -> bool:
    """Whether a text has all of these words or beginnings of words, in any case."""
    folded = text.casefold()
    return all(word in folded for word in words)


def table_height(rows: int, most: int) -> Any:
    """Of a table that shows whole rows, ``most`` of them at once."""
    return "content" if rows <= most else _ROW * (most + 1) + _FRAME


def opened_html(kicker: str, name: str) -> str:
    """What is open in a pane, in one line of escaped HTML."""
    kicker, name = escape(kicker), escape(name)
    return f'<div class="bd-at"><span>{kicker}</span> <strong>{name}</strong></div>'


def drop_button(dropped: bool, key: str, note: str, place: str, drop: Callable[[], object]) -> None:
    """A button that drops something or brings it back; an error is shown at ``place``."""
    st.button(
        "Restore" if dropped else "Exclude", key=key, help=note, on_click=attempt_at,
        args=(place, drop),
    )  # fmt: skip


def titles(explorer: Explorer, corpus: str, doc_ids: Sequence[str]) -> list[str]:
    """Titles of documents; ids where there is none, or no document any more."""
    opened = explorer.library.open(corpus)
    rows = (opened.row_of.get(doc_id) for doc_id in doc_ids)
    named = (opened.titles[row] if row is not None else "" for row in rows)
    return [title or doc_id for title, doc_id in zip(named, doc_ids, strict=True)]


def read(explorer: Explorer, corpus: str, doc_id: str, quote: str) -> None:
    """One document as text, with the words that were quoted marked."""
    try:
        document = explorer.document(corpus, doc_id)
    except SeedLensError as error:  # deleted since
        st.html(f'<div class="bd-card"><div>{escape(error.message)}</div></div>')
        return
    st.html(document_html(document, quote))


def document_html(document: Document, quote: str) -> str:
    """A document as escaped HTML; where the quote is not in it, it is shown above."""
    title = document.title or shortened(document.text)
    body, missing = marked(document.text, quote), ""
    if quote and "<mark>" not in body + marked(title, quote):
        missing = f'<p class="bd-quote">“{escape(quote)}”</p>'
    about = f'<div class="meta">{escape(meta(document))}</div>' if meta(document) else ""
    label = escape(f"Document: {title}")
    return (
        f'<section class="bd-card" tabindex="0" aria-label="{label}">'
        f'<div class="kicker">Document · {escape(document.doc_id)}</div>'
        f'<div class="title">{marked(title, quote)}</div>{about}{missing}'
        f'<div class="text">{body}</div></section>'
    )


def marked(text: str, quote: str) -> str:
    """Escaped text with a quote marked wherever spaces and case alone differ.

    >>> marked("Bees <fly>  home.", "bees <fly> home")
    '<mark>Bees &lt;fly&gt;  home</mark>.'
    """
    words = quote.split()
    match = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE) if words else None
    if match is None:
        return escape(text)
    start, end = match.span()
    inside = escape(text[start:end])
    return f"{escape(text[:start])}<mark>{inside}</mark>{escape(text[end:])}"


def marked_words(text: str, words: Sequence[str]) -> str:
    """Escaped text with single words marked.

    >>> marked_words("Tides turn <b>", ["tides"])
    '<mark>Tides</mark> turn &lt;b&gt;'
    """
    wanted = {word.casefold() for word in words}
    parts = re.split(r"(\w+)", text)
    return "".join(
        f"<mark>{escape(part)}</mark>" if part.casefold() in wanted else escape(part)
        for part in parts
    )
