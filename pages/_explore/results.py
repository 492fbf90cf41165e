"""The seed card and the result list: components that get plain data and show it as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.types.documents import Document, Span
from engine.types.lenses import Lens
from engine.types.reranking import Move, Reranking
from engine.types.searches import Result, SearchResults
from pages._common import document_view
from pages._common.components import Event, component, inbox, listeners
from pages._common.kit import Html, el, html
from pages._common.tasks import change, change_sentence
from pages._explore.explore_model import Found
from pages._explore.explore_state import LAYOUTS, RANK, ExplorePage
from pages._login import login
from pages._model.model_settings import endpoint

_SEED = component("seed")
_SKIP = component("skip")
_RESULTS = component("results", "keys")
CHANGED_BY_WORDING = (
    "Share of the top 20 that is new compared with the search without an aspect and instruction. "
    "A measure of change, not of quality."
)
CHANGED = (
    "Share of the top 20 that is new compared with the ranking before the model. A measure of "
    "change, not of quality."
)


def skip_link(*, key: str) -> None:
    """A button to the first result: for the keyboard, unseen until focused, and on phones."""
    _SKIP(key=key, data={})


def seed_card(results: SearchResults, lens: Lens, *, on: Mapping[str, Event]) -> None:
    """The seed with its sentences by role.

    Args:
        on: what to do on ``aspect`` (a role was clicked) and ``focus`` (a sentence was).
    """
    query, key = results.query, "explore_seed"
    names = ("key", "name", "letter", "definition")
    _SEED(
        key=key,
        data={
            **_seed(results.seed, lens),
            "pasted": query.text is not None,
            "aspect": "" if query.focus else query.aspect or "",
            "aspects": [{name: getattr(a, name) for name in names} for a in lens.aspects],
            "weights": [round(w, 3) for w in results.weights],
            "focus": list(query.focus),
        },
        **listeners(key, on, "aspect", "focus"),
    )


def result_list(
    page: ExplorePage,
    found: Found,
    *,
    kept: set[str],
    generated: Sequence[Sequence[Any]],
    on: Mapping[str, Event],
) -> None:
    """Ranked documents with evidence.

    Args:
        kept: the documents on the reading list.
        generated: what ``explore_model.explanations`` found.
        on: what to do on ``grade``, ``keep``, ``seed``, ``explain``, ``layout`` and
            ``sort``.
    """
    view, results, lens = page.view, found.results, page.lens
    moves = None if found.reranking is None else found.reranking.moves
    seed = document_view.beginning(results.seed)
    grades = page.explorer.notebook.grades(page.query, login.name())
    received, receives = inbox("explore_results", on)
    _RESULTS(
        key="explore_results",
        data={
            # What is unfolded stays so while the search is the same.
            "search": replace(view, layout=LAYOUTS[0], sort=RANK).link(),
            "layout": view.layout,
            "sort": view.sort,
            "total": results.total,
            "seed": _seed(seed, lens),
            "aspects": [{"name": a.name, "letter": a.letter} for a in lens.aspects],
            "reads_aspect": bool(found.reads_aspect or results.terms)
            and results.instruction_following is not None,
            "grades": [[grade.value, grade.name] for grade in page.scale.grades],
            # Pairs: an object of JavaScript has names of its own, such as "constructor".
            "graded": [[r.doc_id, grades[r.doc_id]] for r in results.results if r.doc_id in grades],
            "kept": [r.doc_id for r in results.results if r.doc_id in kept],
            "results": [_result(r, seed, lens, moves) for r in results.results],
            "explains": endpoint(page.explorer).set_up,
            "generated": generated,
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
    evidence, marks = result.evidence, document_view.marks
    terms = [term for term in result.terms if term.term.wanted or term.has]
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
        "evidence": [document_view.evidence(e, lens) for e in evidence],
        "explanation": result.explanation,
        "seed_marks": marks(seed, _spans(e.seed_marks for e in evidence)),
        "own_marks": marks(document, _spans(e.doc_marks for e in evidence)),
        "terms": [document_view.term(term, document, lens) for term in terms],
        "facts": [document_view.fact(match) for match in result.facts],
        "fact_marks": document_view.fact_marks(document, result.facts),
        "scenario": None if result.scenario is None else document_view.scenario(result.scenario),
    }


def _spans(groups: Iterable[Iterable[Span]]) -> set[Span]:
    return {span for group in groups for span in group}


# -- above the list ------------------------------------------------------------------------


def header(found: Found) -> None:
    """What is shown, by which system, how fast, and how far aspect or model changed it."""
    results, reranking = found.results, found.reranking
    query = results.query
    parts: list[object] = ["No results"]
    if results.results:
        more = " (ranked to this depth)" if results.truncated else ""
        last = query.offset + len(results.results)
        shown = el("strong", f"{query.offset + 1}–{last}")
        parts = [[shown, f" of {results.total:,}{more}"]]
    details = [_ranked_by(query.system, reranking)]
    if reranking is None:  # else the seconds that count are in the model's report
        details.append(f"{results.seconds * 1000:.0f} ms")
    if query.instruction and results.understood:
        wanted = " and ".join(f"{name} {weight:.0%}" for name, weight in results.understood)
        avoided = f", excluding {' and '.join(results.avoided)}" if results.avoided else ""
        details.append(f"interpreted as {wanted}{avoided}".replace(" 100%", ""))
    parts += [el("span.sl-dim", detail) for detail in details]
    line = el("div.sl-head", [el("span", part) for part in parts])
    st.html(html(line, results.results and _changed(found)))


def _ranked_by(system: str, reranking: Reranking | None) -> str:
    report = None if reranking is None else reranking.report
    if report is None:
        return system
    how = f"{system}, top {report.depth} reranked" if report.depth else system
    return f"{how} by {report.model}"


def _changed(found: Found) -> Html:
    """How much the list changed, and whether each part of the wording is obeyed."""
    results, reranking = found.results, found.reranking
    if reranking is None:
        meter = _changed_by_wording(found)
    else:
        meter = _meter("Changed", change(reranking), change_sentence(reranking), CHANGED)
    parts = [use.sentence(results.corpus_size) for use in results.terms]
    if results.understood and found.reads_aspect:
        names = " and ".join(name for name, _ in results.understood)
        strengths = Counter(result.strength for result in results.results)
        counts = ", ".join(f"{strengths[word]} {word}" for word in ("strong", "moderate", "weak"))
        parts.append(f"Similar in {names}: {counts} of these {len(results.results)}")
    return html(meter, [el("div.sl-head.sl-changed", part) for part in parts])


def _changed_by_wording(found: Found) -> Html:
    """How much the wording, or the aspect, changed the list."""
    results = found.results
    share, query = results.instruction_following, results.query
    if share is None:
        return Html()
    by = "the instruction" if query.instruction or query.reading else "the aspect"
    top = min(20, results.total)
    count = round(share * top)
    words = f"{count} of {top}"
    if not (found.reads_aspect or results.terms):
        words = "This system ignores the aspect."
    elif count == 0:
        moved = any(r.rank_change for r in results.results)
        words = f"Same top {top} without {by}{', in another order' if moved else ''}."
    return _meter(f"Changed by {by}", share, words, CHANGED_BY_WORDING)


def _meter(name: str, share: float, words: str, meaning: str) -> Html:
    meter = el(
        "span.sl-meter",
        el("span", style=f"width:{share:.0%}"),
        role="meter",
        aria_label=f"{name}: {meaning}",
        aria_valuemin=0,
        aria_valuemax=100,
        aria_valuenow=f"{share * 100:.0f}",
        aria_valuetext=f"{share:.0%}",
    )
    line = html(el("span", f"{name} ", meter), el("span", words))
    return el("div.sl-head.sl-changed", line, title=meaning)
