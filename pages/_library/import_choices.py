"""What becomes of rows that cannot be used as they are: one question for each kind of fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from engine.text import size
from engine.types.corpora import CheckReport, Fault, FaultKind, Repairs
from pages._common.outside_text import escape
from pages._common.shared import note

_BY_TITLE = frozenset({"bibtex", "ris", "nbib", "ciw", "enw", "xml", "beir", "json"})
"""Formats whose documents often have no text: the title serves unless somebody objects."""


class _Answer(NamedTuple):
    """One answer, what it means, and the fields of ``Repairs`` that it sets.

    ``{left}`` in the caption is the number of rows without a substitute, ``{prefix}`` what begins
    numbered ids; a caption with ``{left}`` is left out where there is none.
    """

    label: str
    caption: str
    sets: dict[str, Any]


class _Question(NamedTuple):
    one: str
    several: str
    answers: dict[str, _Answer]


_QUESTIONS: dict[FaultKind, _Question] = {
    "broken": _Question(
        "1 row is unreadable or too long",
        "{n} rows are unreadable or too long",
        {
            "skip": _Answer(
                "Skip", "Or correct the file and upload it again.", {"skip_broken": True}
            )
        },
    ),
    "empty": _Question(
        "1 row has no text",
        "{n} rows have no text",
        {
            "skip": _Answer("Skip", "", {"skip_empty": True}),
            "title": _Answer(
                "Use the title as text",
                "{left} without a title are skipped.",
                {"title_as_text": True, "skip_empty": True},
            ),
        },
    ),
    "id": _Question(
        "1 row has no ID",
        "{n} rows have no ID",
        {
            "number": _Answer(
                "Number by row",
                "{prefix}-1, {prefix}-2 … IDs depend on row order.",
                {"number_ids": True},
            ),
            "doi": _Answer(
                "Use the DOI",
                "{left} without a DOI are numbered.",
                {"ids_from_doi": True, "number_ids": True},
            ),
        },
    ),
    "duplicate": _Question(
        "1 row repeats an earlier ID with other content",
        "{n} rows repeat an earlier ID with other content",
        {
            "keep": _Answer(
                "Keep the first", "Later ones are skipped.", {"duplicates": "keep-first"}
            ),
            "merge": _Answer(
                "Merge",
                "Merge fields; keep the longest text.",
                {"duplicates": "merge"},
            ),
            "rename": _Answer("Rename later ones", "ID-2, ID-3 …", {"duplicates": "rename"}),
        },
    ),
}


def chosen_repairs(read_as: Repairs, source_format: str, key: str) -> Repairs:
    """The repairs as they are chosen by now; the questions are drawn after the check.

    Args:
        read_as: how the file is read.
        key: ends the keys of the questions.
    """
    if source_format in _BY_TITLE:
        st.session_state.setdefault(_key("empty", key), "title")
    fields: dict[str, Any] = {}
    for kind, question in _QUESTIONS.items():
        answer = question.answers.get(st.session_state.get(_key(kind, key)) or "")
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
    takes = f"Takes up to {size(report.disk)} of disk."
    documents = "1 document" if report.documents == 1 else f"{report.documents:,} documents"
    lines = "".join(f"<li>{escape(line)}</li>" for line in report.warnings)
    st.html(
        f'<div class="lib-sum" role="status"><strong>{documents} will be indexed.</strong> {takes}'
        f"{f'<ul>{lines}</ul>' if lines else ''}</div>"
    )


def _key(kind: FaultKind, key: str) -> str:
    return f"library_choice_{kind}_{key}"


def _ask(fault: Fault, key: str, prefix: str) -> None:
    question = _QUESTIONS[fault.kind]
    words = question.one if fault.rows == 1 else question.several.format(n=f"{fault.rows:,}")
    # What stands in for something must be there in one row at least.
    answers = {
        name: answer
        for name, answer in question.answers.items()
        if fault.substitutes or name not in ("title", "doi")
    }
    left = fault.rows - fault.substitutes

    def caption(answer: _Answer) -> str:
        needless = "{left}" in answer.caption and not left
        return "" if needless else answer.caption.format(left=f"{left:,}", prefix=prefix)

    st.radio(
        words,
        list(answers),
        index=None,
        format_func=lambda name: answers[name].label,
        captions=[caption(answer) for answer in answers.values()],
        key=_key(fault.kind, key),
        persist_state="session",
    )
    with st.expander(f"Rows: {words}", key=f"{_key(fault.kind, key)}_rows", type="compact"):
        lines = "".join(f"<li>{escape(place)}</li>" for place in fault.places)
        more = fault.rows - len(fault.places)
        rest = f"<div>and {more:,} more</div>" if more else ""
        st.html(f'<ul class="lib-places">{lines}</ul>{rest}')
