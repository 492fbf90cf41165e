"""A source before its import: its first rows, and what becomes of rows that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from engine.explorer import Explorer
from engine.text import counted, size
from engine.types.corpora import CheckReport, Fault, FaultKind, Preview, Repairs
from engine.types.documents import SourceDocument
from pages._common.kit import Html, document, el, grid
from pages._common.shared import note

CELL_CHARACTERS = 300
SENTENCES, SENTENCE_CHARACTERS = 12, 400
_BY_TITLE = frozenset({"bibtex", "ris", "nbib", "ciw", "enw", "xml", "beir", "json"})
"""Formats whose documents often have no text: the title serves unless somebody objects."""


def cut(text: str, most: int) -> str:
    """The beginning of a long text, with a sign that there is more."""
    return text if len(text) <= most else text[:most] + " …"


# -- the first rows --------------------------------------------------------------------------


def show_preview(explorer: Explorer, shown: Preview) -> None:
    """The first rows as they are, and the first document."""
    if shown.rows:
        grid(rows_of(shown), "library_rows", "The first rows of the source", height="content")
    if shown.documents:
        st.html(first_card(shown.documents[0], explorer.library.sentences_of(shown.documents[0])))


def rows_of(shown: Preview) -> pd.DataFrame:
    """The first rows, every cell as text; long ones are cut, lists are written as people do."""
    rows = [
        [cut(words(row.get(column)), CELL_CHARACTERS) for column in shown.columns]
        for row in shown.rows
    ]
    return pd.DataFrame(rows, columns=list(shown.columns), dtype=str)


def words(value: Any) -> str:
    """A value for people; a list may be in a cell as JSON, too.

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
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return words(parsed) if isinstance(parsed, list) else value
    return str(value)


def first_card(first: SourceDocument, sentences: list[str]) -> Html:
    """The first document as it will be read."""
    people = ", ".join(first.authors[:5]) + (" …" if len(first.authors) > 5 else "")
    about = [str(first.year or ""), people, first.url or "", f"id {first.doc_id}"]
    lines = (el("li", cut(s, SENTENCE_CHARACTERS)) for s in sentences[:SENTENCES])
    more = len(sentences) - SENTENCES
    return document(
        "Preview of the first document",
        cut(first.title, 300) or "(no title)",
        " · ".join(cut(fact, 200) for fact in about if fact),
        el("ol", lines),
        more > 0 and el("div.sl-dim", f"and {more:,} more sentences"),
        kind="lib-card",
    )


# -- rows that cannot be used as they are --------------------------------------------------------


class _Answer(NamedTuple):
    """One answer, what it means, and the fields of ``Repairs`` that it sets.

    ``{left}`` in the caption is the number of rows without a substitute, ``{prefix}`` what begins
    numbered ids; a caption with ``{left}`` is left out where there is none.
    """

    label: str
    caption: str
    sets: dict[str, Any]


_DECLINE = "Or correct the file and upload it again."
_BY_ROW = "{prefix}-1, {prefix}-2 … IDs depend on row order."
_QUESTIONS: dict[FaultKind, tuple[tuple[str, str], dict[str, _Answer]]] = {
    "broken": (
        ("row is unreadable or too long", "rows are unreadable or too long"),
        {"skip": _Answer("Skip", _DECLINE, {"skip_broken": True})},
    ),
    "empty": (
        ("row has no text", "rows have no text"),
        {
            "skip": _Answer("Skip", "", {"skip_empty": True}),
            "title": _Answer(
                "Use the title as text",
                "{left} without a title are skipped.",
                {"title_as_text": True, "skip_empty": True},
            ),
        },
    ),
    "id": (
        ("row has no ID", "rows have no ID"),
        {
            "number": _Answer("Number by row", _BY_ROW, {"number_ids": True}),
            "doi": _Answer(
                "Use the DOI",
                "{left} without a DOI are numbered.",
                {"ids_from_doi": True, "number_ids": True},
            ),
        },
    ),
    "duplicate": (
        (
            "row repeats an earlier ID with other content",
            "rows repeat an earlier ID with other content",
        ),
        {
            name: _Answer(label, caption, {"duplicates": how})
            for name, label, caption, how in (
                ("keep", "Keep the first", "Later ones are skipped.", "keep-first"),
                ("merge", "Merge", "Merge fields; keep the longest text.", "merge"),
                ("rename", "Rename later ones", "ID-2, ID-3 …", "rename"),
            )
        },
    ),
}
"""The question for each kind of fault, and its answers."""


def chosen_repairs(read_as: Repairs, source_format: str, key: str) -> Repairs:
    """The repairs as they are chosen by now; the questions are drawn after the check.

    Args:
        read_as: how the file is read.
        key: ends the keys of the questions.
    """
    if source_format in _BY_TITLE:
        st.session_state.setdefault(_key("empty", key), "title")
    fields: dict[str, Any] = {}
    for kind, (_, answers) in _QUESTIONS.items():
        answer = answers.get(st.session_state.get(_key(kind, key)) or "")
        fields |= answer.sets if answer else {}
    return replace(read_as, **fields)


def ask_about(report: CheckReport, key: str, prefix: str) -> None:
    """A question for every kind of fault that the check found.

    Args:
        prefix: begins the ids of rows that are numbered.
    """
    faults = {fault.kind: fault for fault in report.faults}
    if faults:
        st.subheader("Unresolved rows", anchor=False)
    for kind in _QUESTIONS:
        if kind in faults:
            _ask(faults[kind], key, prefix)


def what_comes_of_it(report: CheckReport) -> None:
    """How many documents there will be, and what is done to the others."""
    if undecided := sum(fault.refused for fault in report.faults):
        rows = "1 row is" if undecided == 1 else f"{undecided:,} rows are"
        note(f"{rows} undecided.", "Resolve the issues above to continue.")
        return
    head = el("strong", f"{counted(report.documents, 'document')} will be indexed.")
    takes = f" Takes up to {size(report.disk)} of disk."
    warnings = [el("li", line) for line in report.warnings]
    st.html(el("div.lib-sum", head, takes, warnings and el("ul", warnings), role="status"))


def _key(kind: FaultKind, key: str) -> str:
    return f"library_choice_{kind}_{key}"


def _ask(fault: Fault, key: str, prefix: str) -> None:
    words, answers = _QUESTIONS[fault.kind]
    label = counted(fault.rows, *words)
    # What stands in for something must be there in one row at least.
    offered = {
        name: answer
        for name, answer in answers.items()
        if fault.substitutes or name not in ("title", "doi")
    }
    left = fault.rows - fault.substitutes
    captions = [
        a.caption.format(left=f"{left:,}", prefix=prefix)
        if left or "{left}" not in a.caption
        else ""
        for a in offered.values()
    ]
    st.radio(
        label,
        list(offered),
        index=None,
        format_func=lambda name: offered[name].label,
        captions=captions,
        key=_key(fault.kind, key),
        persist_state="session",
    )
    with st.expander(f"Rows: {label}", key=f"{_key(fault.kind, key)}_rows", type="compact"):
        more = fault.rows - len(fault.places)
        st.html(
            el("ul.lib-places", (el("li", place) for place in fault.places))
            + (el("div", f"and {more:,} more") if more else "")
        )
