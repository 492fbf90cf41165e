"""What the steps of a build share: a table with what is open of it, and a document to read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.documents import Document
from pages._common import kit
from pages._common.document_view import meta, title_of
from pages._common.kit import Html, el, empty, grid, html, segments

Item = TypeVar("Item")
Kinds = Mapping[str, tuple[str, Callable[[Item], object]]]
"""Kinds of rows, by key: a name, and whether an item is of it; the first one is "all"."""
TEXT, NUMBER = st.column_config.TextColumn, st.column_config.NumberColumn
ROWS = 16
"""That a long table shows; the rest is scrolled to."""


class Listed(NamedTuple):
    """What is open of a table ("" for nothing), and what is ticked, in the order of the table."""

    open: str
    ticked: tuple[str, ...]


def table_view(
    name: str,
    items: Mapping[str, Item],
    kinds: Kinds[Item],
    words: Callable[[Item], str],
    row: Callable[[Item], dict[str, Any]],
    columns: Mapping[str, Any],
    *,
    rows: str,
    words_of: str,
    hint: str,
    opened: Callable[[str], None],
    ticked: Callable[[tuple[str, ...]], None] | None = None,
) -> None:
    """Items by key as a table that is filtered, on the left; on the right, what is open of it.

    Args:
        name: of the step; part of all keys.
        words: of an item, to be searched; ``words_of`` says what they are.
        row: of the table; ``columns`` are its columns, ``rows`` what its rows are.
        hint: what to do, where nothing is open.
        opened, ticked: draw what one, and several, are changed with.
    """
    with kit.line(f"build_filter_{name}"):
        names = {key: label for key, (label, _) in kinds.items()}
        look: dict[str, Any] = {"label_visibility": "collapsed", "persist_state": "session"}
        kind = segments(f"Filter {rows}", names, f"build_which_{name}", width="content", **look)
        label = f"Search {words_of}"
        look |= {"placeholder": label, "live": "250ms", "width": 280}
        wanted = (st.text_input(label, key=f"build_words_{name}", **look) or "").casefold().split()
    shown = {
        key: item
        for key, item in items.items()
        if kinds[kind][1](item) and all(word in words(item).casefold() for word in wanted)
    }
    with st.container(key=f"build_pair_{name}"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            table = [*map(row, shown.values())]
            listed = Listed("", ())
            if table:
                place, choose = f"build_{name}", ticked is not None
                listed = listing(table, [*shown], place, columns, alt=rows.title(), choose=choose)
            else:
                empty(f"No matching {rows}.")
        with right, st.container(key=f"build_pane_{name}"):
            if ticked is not None:
                ticked(listed.ticked)
            if listed.open:
                opened(listed.open)
            else:
                st.html(el("div.bd-hint", hint))


def listing(
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    place: str,
    columns: Mapping[str, Any] | None = None,
    *,
    alt: str,
    choose: bool = True,
    most: int = ROWS,
) -> Listed:
    """A table whose rows open at a click or with the arrow keys, and are chosen by their ticks.

    What is open stays open when the table changes, as long as it is in it; ticks do not, so
    that nothing is done to what a person did not tick.

    Args:
        keys: of the rows.
        place: the beginning of the widget's key, and where it is kept what is open.
        most: rows that are seen at once.
    """
    at = f"{place}_open"
    widget = f"{place}_{hashlib.sha256(chr(31).join(keys).encode()).hexdigest()[:12]}"

    def opened() -> None:
        cells = st.session_state[widget]["selection"]["cells"]
        if cells and cells[0][0] < len(keys):
            st.session_state[at] = keys[cells[0][0]]

    now = st.session_state.get(at, "")
    now = now if now in set(keys) else ""
    # A table that is drawn anew, as on return to the page, shows what is open of it.
    cells = [(keys.index(now), next(iter(rows[0])))] if now else []
    shown = {"selection": {"rows": [], "columns": [], "cells": cells}} if now else None
    with st.container(key=place):
        event = grid(
            rows,
            widget,
            alt,
            width="stretch",
            height=table_height(len(keys), most),
            column_config=columns or {},
            selection_default=shown,
            on_select=opened,
            lazy=False,
            placeholder="–",
            selection_mode=["multi-row", "single-cell"] if choose else "single-cell",
        )
    ticked = event["selection"]["rows"] if choose else []
    return Listed(now, tuple(keys[row] for row in sorted(ticked) if row < len(keys)))


def table_height(rows: int, most: int) -> Any:
    """Of a table that shows whole rows of 33 pixels under its head, ``most`` of them at once."""
    return "content" if rows <= most else 33 * (most + 1) + 3


def opened_line(kicker: str, name: str) -> None:
    """What is open in a pane."""
    st.html(el("div.bd-at", el("span", kicker), " ", el("strong", name)))


def drop_button(
    dropped: bool, key: str, words: str, place: str, drop: Callable[[], object]
) -> None:
    """A button that drops something or brings it back; an error is shown at ``place``."""
    kit.button("Restore" if dropped else "Exclude", key, drop, place=place, help=words)


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
        st.html(el("div.bd-card", el("div", error.message)))
        return
    st.html(document_html(document, quote))


def document_html(document: Document, quote: str) -> Html:
    """A document; where the quote is not in it, it is shown above."""
    title, body = marked(title_of(document), quote), marked(document.text, quote)
    missing = quote and "<mark>" not in body + title and el("p.bd-quote", f"“{quote}”")
    text = el("div.text", body)
    kicker = f"Document · {document.doc_id}"
    return kit.document(kicker, title, meta(document), missing or None, text, kind="bd-card")


def marked(text: str, quote: str) -> Html:
    """A text with a quote marked wherever spaces and case alone differ.

    >>> marked("Bees <fly>  home.", "bees <fly> home")
    '<mark>Bees &lt;fly&gt;  home</mark>.'
    """
    words = quote.split()
    match = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE) if words else None
    if match is None:
        return html(text)
    start, end = match.span()
    return html(text[:start], el("mark", text[start:end]), text[end:])


def marked_words(text: str, words: Sequence[str]) -> Html:
    """A text with single words marked.

    >>> marked_words("Tides turn <b>", ["tides"])
    '<mark>Tides</mark> turn &lt;b&gt;'
    """
    wanted = {word.casefold() for word in words}
    parts = re.split(r"(\w+)", text)
    return html(el("mark", p) if p.casefold() in wanted else p for p in parts)
