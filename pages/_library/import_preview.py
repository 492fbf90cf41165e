"""The first rows of a source, and its first document as it will be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from engine.explorer import Explorer
from engine.types.corpora import Preview
from engine.types.documents import SourceDocument
from pages._common.outside_text import escape, table_with_marks
from pages._library.corpus_list import cut

CELL_CHARACTERS = 300
SENTENCES, SENTENCE_CHARACTERS = 12, 400


def show_preview(explorer: Explorer, shown: Preview) -> None:
    """The first rows as they are, and the first document."""
    if shown.rows:
        st.dataframe(
            table_with_marks(table(shown)), hide_index=True, key="library_rows", height="content"
        )
    if shown.documents:
        st.html(card(shown.documents[0], explorer.library.sentences_of(shown.documents[0])))


def table(shown: Preview) -> pd.DataFrame:
    """The first rows, every cell as text; long ones are cut, lists are written as people do."""
    rows = [
        [cut(words(row.get(column)), CELL_CHARACTERS) for column in shown.columns]
        for row in shown.rows
    ]
    return pd.DataFrame(rows, columns=list(shown.columns), dtype=str)


def words(value: Any) -> str:
    """A value for people.

    >>> words(["A. Lee", {"name": "B. Okafor"}]), words({"venue": "ACL"}), words(None)
    ('A. Lee, B. Okafor', 'venue: ACL', '')
    """
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(words, value))
    if isinstance(value, Mapping):
        only_name = value.get("name")
        pairs = (f"{key}: {words(item)}" for key, item in value.items())
        return only_name if isinstance(only_name, str) else ", ".join(pairs)
    if isinstance(value, str) and value.lstrip().startswith("["):
        return _listed(value)
    return str(value)


def _listed(text: str) -> str:
    """A list that a cell of a CSV file holds as JSON or as Python writes it."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return words(parsed) if isinstance(parsed, list) else text


def card(document: SourceDocument, sentences: list[str]) -> str:
    """The first document as it will be read; everything from the file is escaped."""

    def safe(text: str, most: int) -> str:
        return escape(cut(text, most))

    people = ", ".join(document.authors[:5]) + (" …" if len(document.authors) > 5 else "")
    facts = [str(document.year or ""), people, document.url or "", f"id {document.doc_id}"]
    about = " · ".join(safe(fact, 200) for fact in facts if fact)
    lines = "".join(f"<li>{safe(s, SENTENCE_CHARACTERS)}</li>" for s in sentences[:SENTENCES])
    more = len(sentences) - SENTENCES
    rest = f'<div class="lib-dim">and {more:,} more sentences</div>' if more > 0 else ""
    return (
        '<div class="lib-card"><div class="lib-dim">Preview of the first document</div>'
        f"<strong>{safe(document.title, 300) or '(no title)'}</strong>"
        f'<div class="lib-dim">{about}</div><ol>{lines}</ol>{rest}</div>'
    )
