"""The seed card and the result list: components that get plain data and show it as text."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from engine.types import Document, Lens, Result, SearchResults
from pages import _documents
from pages._components import Event, component, dark, listen, listeners

GRADES = ("not alike", "related", "alike", "just what I seek")
"""What the grades 0 to 3 mean when nobody defined them otherwise."""


_SEED = component("seed")
_RESULTS = component("results")
_PICKER = component("picker")


def seed_card(found: SearchResults, lens: Lens, *, on: Mapping[str, Event], key: str) -> None:
    """The seed with its sentences by role.

    Args:
        on: what to do on ``aspect`` (a role was clicked) and ``focus`` (a sentence was).
    """
    seed, query = found.seed, found.query
    _SEED(
        key=key,
        data={
            "pasted": query.text is not None,
            "title": seed.title,
            "meta": _documents.meta(seed),
            "aspect": "" if query.focus else query.aspect or "",
            "aspects": [
                {"key": a.key, "name": a.name, "letter": a.letter, "definition": a.definition}
                for a in lens.aspects
            ],
            "sentences": _documents.sentences(seed, lens),
            "weights": [round(w, 3) for w in found.weights],
            "focus": list(query.focus),
            "dark": dark(),
        },
        **listeners(key, on, "aspect", "focus"),
    )


def picker(documents: Sequence[Document], *, on_pick: Event, key: str) -> None:
    """Titles to choose one from."""
    if documents:
        rows = [
            {"doc_id": d.doc_id, "title": d.title or _documents.shortened(d.text), "year": d.year}
            for d in documents
        ]
        _PICKER(
            key=key,
            data={"documents": rows, "dark": dark()},
            on_pick_change=listen(key, "pick", on_pick),
        )


def result_list(
    found: SearchResults,
    lens: Lens,
    *,
    grades: Mapping[str, int],
    kept: set[str],
    search: str,
    reads_aspect: bool,
    on: Mapping[str, Event],
    key: str,
) -> None:
    """Ranked documents with evidence.

    Args:
        search: names the search; what is unfolded stays so while it is the same.
        on: what to do on ``grade``, ``keep`` and ``seed``.
    """
    _RESULTS(
        key=key,
        data={
            "search": search,
            "reads_aspect": reads_aspect and found.obedience is not None,
            "grades": list(GRADES),
            "graded": {r.doc_id: grades[r.doc_id] for r in found.results if r.doc_id in grades},
            "kept": [r.doc_id for r in found.results if r.doc_id in kept],
            "results": [_result(r, lens) for r in found.results],
            "dark": dark(),
        },
        **listeners(key, on, "grade", "keep", "seed"),
    )


def _result(result: Result, lens: Lens) -> dict[str, Any]:
    document = result.document
    return {
        "rank": result.rank,
        "doc_id": document.doc_id,
        "title": document.title or _documents.shortened(document.text),
        "meta": _documents.meta(document),
        "rank_change": result.rank_change,
        "evidence": [_documents.evidence(e, lens) for e in result.evidence],
        "explanation": result.explanation,
        "sentences": _documents.sentences(document, lens),
    }


def header(found: SearchResults, reads_aspect: bool) -> None:
    """What is shown, by which system, how fast, and how far the aspect changed it."""
    query = found.query
    first = query.offset + 1 if found.results else 0
    more = " (ranked to this depth)" if found.truncated else ""
    parts = [
        f"<strong>{first}–{query.offset + len(found.results)}</strong> of {found.total:,}{more}",
        f'<span class="sl-dim">{html.escape(query.system)}</span>',
        f'<span class="sl-dim">{found.seconds * 1000:.0f} ms</span>',
    ]
    if query.instruction and found.understood:
        parts.append(f'<span class="sl-dim">{html.escape(_reading(found))}</span>')
    line = "".join(f"<span>{part}</span>" for part in parts)
    st.html(f'<div class="sl-head">{line}</div>{_obedience(found, reads_aspect)}')


def _reading(found: SearchResults) -> str:
    """How the person's words were understood."""
    wanted = " and ".join(f"{name} {weight:.0%}" for name, weight in found.understood)
    ruled_out = f", ruling out {' and '.join(found.avoided)}" if found.avoided else ""
    return f"read as {wanted}{ruled_out}".replace(" 100%", "")


OBEDIENCE = (
    "Share of the top 20 that is not among the top 20 of the same search without an aspect. "
    "It says how much the ranking moved, not whether it moved rightly."
)


def _obedience(found: SearchResults, reads_aspect: bool) -> str:
    share = found.obedience
    if share is None:
        return ""
    top = min(20, found.total)
    count = round(share * top)
    if not reads_aspect:
        words = "This system does not read the aspect: the ranking is the same without it."
    elif count == 0 and any(r.rank_change for r in found.results):
        words = "The same documents lead without the aspect, in another order."
    elif count == 0:
        words = "This aspect changes almost nothing: the same documents lead without it."
    else:
        verb = "is" if count == 1 else "are"
        words = f"{count} of the top {top} {verb} here because of the aspect."
    return (
        f'<div class="sl-head sl-obedience" title="{html.escape(OBEDIENCE, quote=True)}">'
        f'<span>Obedience <span class="sl-meter" role="img" aria-label="{share:.0%}">'
        f'<span style="width:{share:.0%}"></span></span></span><span>{words}</span></div>'
    )
