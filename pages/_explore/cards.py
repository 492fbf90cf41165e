"""The seed card and the result list: components that get plain data and show it as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from engine.types.annotating import Scale
from engine.types.documents import Document, Span
from engine.types.lenses import Lens
from engine.types.reranking import Move, Reranking
from engine.types.searches import Result, SearchResults
from pages._common import document_view
from pages._common.components import Event, component, dark, inbox, listeners
from pages._common.job_words import change, change_sentence
from pages._common.outside_text import escape

_SEED = component("seed")
_SKIP = component("skip")
_RESULTS = component("results", "keys", "results_parts", "results_table", "results_pair")


def skip_link(*, key: str) -> None:
    """A button for the keyboard, unseen until it has the focus: to the first result."""
    _SKIP(key=key, data={"dark": dark()})


def seed_card(page: SearchResults, lens: Lens, *, on: Mapping[str, Event], key: str) -> None:
    """The seed with its sentences by role.

    Args:
        on: what to do on ``aspect`` (a role was clicked) and ``focus`` (a sentence was).
    """
    seed, query = page.seed, page.query
    _SEED(
        key=key,
        data={
            **_seed(seed, lens),
            "pasted": query.text is not None,
            "aspect": "" if query.focus else query.aspect or "",
            "aspects": [
                {"key": a.key, "name": a.name, "letter": a.letter, "definition": a.definition}
                for a in lens.aspects
            ],
            "weights": [round(w, 3) for w in page.weights],
            "focus": list(query.focus),
            "dark": dark(),
        },
        **listeners(key, on, "aspect", "focus"),
    )


def result_list(
    page: SearchResults,
    lens: Lens,
    *,
    scale: Scale,
    grades: Mapping[str, int],
    kept: set[str],
    search: str,
    layout: str,
    sort: str,
    reads_aspect: bool,
    reranking: Reranking | None,
    generated: Mapping[str, Mapping[str, Any]],
    on: Mapping[str, Event],
    key: str,
) -> None:
    """Ranked documents with evidence.

    Args:
        scale: by which documents are graded; ``grades`` are those of who is here.
        search: names the search; what is unfolded stays so while it is the same.
        layout: ``cards`` or ``table``.
        sort: the column by which a table is sorted, after ``-`` from high to low.
        reranking: where the order is a model's: the moves are its own then.
        generated: doc_id -> what ``explore_explain.shown`` says of its explanation.
        on: what to do on ``grade``, ``keep``, ``seed``, ``explain``, ``layout`` and
            ``sort``.
    """
    moves = None if reranking is None else reranking.moves
    seed = document_view.beginning(page.seed)
    received, receives = inbox(key, on)
    _RESULTS(
        key=key,
        data={
            "search": search,
            "layout": layout,
            "sort": sort,
            "total": page.total,
            "seed": _seed(seed, lens),
            "aspects": [{"name": a.name, "letter": a.letter} for a in lens.aspects],
            "reads_aspect": bool(reads_aspect or page.terms)
            and page.instruction_following is not None,
            "grades": [[grade.value, grade.name] for grade in scale.grades],
            # Pairs: an object of JavaScript has names of its own, such as "constructor".
            "graded": [[r.doc_id, grades[r.doc_id]] for r in page.results if r.doc_id in grades],
            "kept": [r.doc_id for r in page.results if r.doc_id in kept],
            "results": [_result(r, seed, lens, moves) for r in page.results],
            "generated": [[doc_id, dict(words)] for doc_id, words in generated.items()],
            "dark": dark(),
            **received,
        },
        **receives,
    )


def _seed(seed: Document, lens: Lens) -> dict[str, Any]:
    # A pasted text has no title: its first words stand right below.
    return {**document_view.described(seed, lens), "title": seed.title}


def _result(
    result: Result, seed: Document, lens: Lens, moves: Mapping[str, Move] | None
) -> dict[str, Any]:
    document = document_view.beginning(result.document)
    move = None if moves is None else moves.get(result.doc_id)
    return {
        **document_view.described(document, lens),
        "rank": result.rank,
        "doc_id": document.doc_id,
        "year": document.year,
        "venue": document_view.venue(document),
        "score": result.score,
        "rank_change": result.rank_change,
        "by_model": moves is not None,
        "move": move
        and {
            "by": move.moved,
            "from": move.first_rank,
            "read": move.reranked,
            "sure": move.confidence,
        },
        "evidence": [document_view.evidence(e, lens) for e in result.evidence],
        "explanation": result.explanation,
        "seed_marks": document_view.marks(seed, _spans(e.seed_marks for e in result.evidence)),
        "own_marks": document_view.marks(document, _spans(e.doc_marks for e in result.evidence)),
        "terms": [
            document_view.term(found, document, lens)
            for found in result.terms
            if found.term.wanted or found.has
        ],
        "facts": [document_view.fact(match) for match in result.facts],
        "fact_marks": document_view.fact_marks(document, result.facts),
        "scenario": None if result.scenario is None else document_view.scenario(result.scenario),
    }


def _spans(groups: Iterable[Iterable[Span]]) -> set[Span]:
    return {span for group in groups for span in group}


def header(page: SearchResults, reads_aspect: bool, reranking: Reranking | None = None) -> None:
    """What is shown, by which system, how fast, and how far aspect or model changed it."""
    query = page.query
    more = " (ranked to this depth)" if page.truncated else ""
    last = query.offset + len(page.results)
    parts = [
        f"<strong>{query.offset + 1}–{last}</strong> of {page.total:,}{more}"
        if page.results
        else "No results",
        f'<span class="sl-dim">{escape(_ranked_by(query.system, reranking))}</span>',
        f'<span class="sl-dim">{page.seconds * 1000:.0f} ms</span>',
    ]
    if reranking is not None:
        parts.pop()  # the seconds that count stand in the model's report
    if query.instruction and page.understood:
        parts.append(f'<span class="sl-dim">{escape(_reading(page))}</span>')
    line = "".join(f"<span>{part}</span>" for part in parts)
    moved = _changed(page, reads_aspect, reranking) if page.results else ""
    st.html(f'<div class="sl-head">{line}</div>{moved}')


def _ranked_by(system: str, reranking: Reranking | None) -> str:
    report = None if reranking is None else reranking.report
    if report is None:
        return system
    how = f"{system}, top {report.depth} reranked" if report.depth else system
    return f"{how} by {report.model}"


def _reading(page: SearchResults) -> str:
    """How the person's words were understood."""
    wanted = " and ".join(f"{name} {weight:.0%}" for name, weight in page.understood)
    ruled_out = f", excluding {' and '.join(page.avoided)}" if page.avoided else ""
    return f"interpreted as {wanted}{ruled_out}".replace(" 100%", "")


CHANGED_BY_WORDING = (
    "Share of the top 20 that is new compared with the search without an aspect and instruction. "
    "A measure of change, not of quality."
)


CHANGED = (
    "Share of the top 20 that is new compared with the ranking before the model. A measure of "
    "change, not of quality."
)


def _changed(page: SearchResults, reads_aspect: bool, reranking: Reranking | None) -> str:
    """How much the list changed, and whether each part of the wording is obeyed."""
    if reranking is None:
        meter = _changed_by_wording(page, reads_aspect)
    else:
        meter = _meter("Changed", change(reranking), change_sentence(reranking), CHANGED)
    parts = [escape(use.sentence(page.corpus_size)) for use in page.terms]
    if page.understood and reads_aspect:
        names = escape(" and ".join(name for name, _ in page.understood))
        found = Counter(result.strength for result in page.results)
        counts = ", ".join(f"{found[word]} {word}" for word in ("strong", "moderate", "weak"))
        parts.append(f"Similar in {names}: {counts} of these {len(page.results)}")
    return meter + "".join(f'<div class="sl-head sl-changed">{part}</div>' for part in parts)


def _meter(name: str, share: float, words: str, title: str) -> str:
    meaning = escape(title)
    return (
        f'<div class="sl-head sl-changed" title="{meaning}">'
        f'<span>{name} <span class="sl-meter" role="meter" aria-label="{name}: {meaning}" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{share * 100:.0f}" '
        f'aria-valuetext="{share:.0%}">'
        f'<span style="width:{share:.0%}"></span></span></span><span>{words}</span></div>'
    )


def _changed_by_wording(page: SearchResults, reads_aspect: bool) -> str:
    """How much the wording, or the aspect, changed the list."""
    share, query = page.instruction_following, page.query
    if share is None:
        return ""
    by = "the instruction" if query.instruction or query.reading else "the aspect"
    top = min(20, page.total)
    count = round(share * top)
    if not (reads_aspect or page.terms):
        words = "This system ignores the aspect."
    elif count == 0 and any(r.rank_change for r in page.results):
        words = f"Same top {top} without {by}, in another order."
    elif count == 0:
        words = f"Same top {top} without {by}."
    else:
        words = f"{count} of {top}"
    return _meter(f"Changed by {by}", share, words, CHANGED_BY_WORDING)
