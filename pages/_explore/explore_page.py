"""The controls of the Explore page. Each writes the view back into the URL, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.types.searches import PAGE_SIZE, SearchResults
from pages._common.components import Event, component, listeners
from pages._common.document_view import seed_finder as find_seed
from pages._common.filter_panel import PageFilters, without
from pages._common.kit import button, el, empty, fold, html, line
from pages._common.shared import attempt, escape_label, system_label
from pages._common.state import control, weight_slider
from pages._common.visit_memory import memory
from pages._explore import explore_model
from pages._explore.explore_state import DEFAULT, ExplorePage, View
from pages._login import login

FINDER = "explore_finder"
SYSTEMS = {
    "aspect": "document and aspect vectors, weighted by the aspect weight.",
    "transport": "sentences matched to sentences.",
    "instructed": "instruction-conditioned encoder.",
    "dense": "single vector.",
    "late-interaction": "late interaction.",
    "bm25": "words.",
    "bm25-aspect": "word match on the aspect's sentences.",
    "hybrid": "bm25 and dense, fused by rank.",
    "facts": "filters by dates, amounts and places, stated or implied; with +facts, they raise "
    "another system's results.",
    "scenario": "dense, and the scenarios of each document (see Library).",
    "rewrite": "a model rewrites the query for dense.",
    "multi-hop": "iterative search: the model reads 25 documents per round and refines the query, "
    "four rounds.",
}
"""What each system goes by, a line each."""
_TOUR = "explore_tour"
_HELP = component("help", "keys", "tour")


def _reseed(doc_id: str = "", text_id: str = "") -> None:
    """Start from another document or pasted text, keeping how to rank."""
    View.change(lambda now: replace(now, seed=doc_id, text_id=text_id, focus=(), page=1))


def seed_finder(page: ExplorePage) -> None:
    """Ways to another seed: words, the corpus page by page, or a text of one's own."""
    text = partial(_reseed, "")
    find_seed(page.explorer, page.corpus, on_document=_reseed, on_text=text, key=FINDER)


def search_controls(page: ExplorePage) -> DeltaGenerator:
    """Aspect, instruction and aspect weight; returns the place for how they are interpreted."""
    explorer, view = page.explorer, page.view
    presets = {aspect.key: aspect.instruction for aspect in page.lens.aspects}
    with st.container(key="explore_asked"):
        control(
            *(view, "aspect", st.selectbox, "Similar in", presets),
            shown=view.aspect or None,
            read=lambda key: key or "",
            also={"reading": (), "focus": ()},
            index=None,
            placeholder="Choose an aspect or describe it",
        )
        control(
            *(view, "instruction", st.text_input, "Instruction"),
            read=str.strip,
            also={"reading": ()},  # a correction of other words says nothing of these
            placeholder="similar evaluation set-up, ignore the topic",
            help="Refines the aspect, or replaces it if none is selected. You can correct the "
            "interpretation below.",
        )
        place = st.container()
    own = explorer.library.corpus(page.corpus).systems
    steered = [name for name in own if explorer.reads_steer(name)]
    weight_slider(
        *(view, view.steer),
        disabled=view.system not in steered,
        help=f"0 %: whole document. 100 %: aspect only. Used by {' and '.join(steered)}.",
    )
    return place


def advanced(page: ExplorePage) -> Any:
    """The system and its settings, and the place for the model; open where either was chosen."""
    explorer, view = page.explorer, page.view
    chosen = [system_label(view.system)] if view.system != DEFAULT.system else []
    chosen += ["reranked"] if view.rerank else []
    label = f"Advanced: {', '.join(chosen) or 'system, model'}"
    place = fold(escape_label(label), "explore_advanced", opened=bool(chosen))
    systems = [*explorer.library.corpus(page.corpus).systems, *explorer.model_systems]
    with place:
        # A link may name a system that is not available here: any other can be chosen then.
        control(
            *(view, "system", st.selectbox, "System", systems),
            shown=view.system if view.system in systems else None,
            read=lambda name: name or DEFAULT.system,
            index=0 if view.system in systems else None,
            placeholder="Choose a system",
            help="\n".join(
                f"- {name}: {about}" for name, about in SYSTEMS.items() if name in systems
            ),
            format_func=partial(system_label, model=explorer.model_systems),
        )
        if view.system == "late-interaction":
            words = "Average of seed→document and document→seed."
            control(view, "symmetric", st.toggle, "Symmetric scoring", help=words)
    return place


def events(page: ExplorePage, results: SearchResults, list_id: str) -> dict[str, Event]:
    """What the clicks on seed and results do.

    Args:
        list_id: the reading list that documents are kept in.

    Grades and keeping are about what was shown when it was clicked, all else about what the
    URL says now.
    """
    view, query, notebook = page.view, page.query, page.explorer.notebook
    lists, evidence = page.explorer.reading_lists, {r.doc_id: r.evidence for r in results.results}

    def focus(event: Mapping[str, Any]) -> None:
        def pick(now: View) -> View:
            if (now.corpus, now.seed, now.text_id) != (view.corpus, view.seed, view.text_id):
                return now  # another seed by now: its sentences are others
            return replace(now, focus=tuple(sorted({*now.focus} ^ {int(event["index"])})), page=1)

        View.change(pick)

    def keep(event: Mapping[str, Any]) -> None:
        doc_id = event["doc_id"]
        if not event["kept"]:
            lists.remove(list_id, view.corpus, doc_id)
            return
        pair = next(iter(evidence.get(doc_id, ())), None)
        lists.keep(
            *(list_id, view.corpus, doc_id),
            trail=view.trail,
            query=replace(query, k=PAGE_SIZE, offset=0),
            evidence=None if pair is None else (pair.seed_text, pair.doc_text),
        )

    return {
        "aspect": lambda e: View.change(
            lambda now: replace(now, aspect=e["key"], reading=(), focus=(), page=1)
        ),
        "focus": focus,
        "seed": lambda e: _reseed(e["doc_id"]),
        "keep": keep,
        "grade": lambda e: notebook.judge(
            query, e["doc_id"], e["relevance"], rank=e["rank"], annotator=login.name()
        ),
        "explain": partial(explore_model.ask, page.explorer, query),
        "layout": lambda e: View.change(lambda now: now.shown_as(e["layout"])),
        "sort": lambda e: View.change(lambda now: replace(now, sort=e["sort"])),
    }


def pages_bar(view: View, total: int) -> None:
    """Pages of the ranking."""
    pages = -(-total // view.size)
    if pages < 2:
        return

    # The key names the search and the page, so that the URL decides which page is shown.
    key = f"explore_page_{view.link()}"

    def turn() -> None:
        page = st.session_state[key]
        # Of this ranking: one that was asked for meanwhile begins on its first page.
        View.change(lambda now: replace(now, page=page) if now.link() == view.link() else now)

    st.pagination(pages, default=min(view.page, pages), key=key, on_change=attempt, args=(turn,))


# -- no results ----------------------------------------------------------------------------


def no_results(page: ExplorePage, found: SearchResults, filters: PageFilters) -> None:
    """Why there is no result, and what to do."""
    query = found.query
    if query.offset and found.total:
        number = query.offset // query.k + 1
        words = f"Page {number} does not exist: the ranking has {found.total:,} documents."
    elif query.filters and not found.truncated:
        _which_filter(page, filters)
        return
    else:
        met = " and these filters" if query.filters else ""
        words = f"No results for this seed with this system{met}. Try another system."
    empty(words)


def _which_filter(page: ExplorePage, filters: PageFilters) -> None:
    """What each filter leaves, with a button that drops it where that helps."""
    effects = page.explorer.searcher(page.corpus).filter_effects(page.query)
    st.html(f"<h2>No documents match {'the filter' if len(effects) == 1 else 'all filters'}.</h2>")
    most = max(effects, key=lambda effect: (effect.rest, -effect.alone))
    if len(effects) > 1 and most.rest:
        st.html(el("p", el("strong", most.filter.words), " excludes most."))
    for position, effect in enumerate(effects):
        with line():
            st.html(html(effect, "."))
            if effect.rest:
                label = f"Remove {escape_label(effect.filter.words)}"
                drop = partial(filters.change, partial(without, [effect.filter]))
                button(label, f"explore_drop_{position}", drop)
    if len(effects) > 1:
        clear = partial(filters.change, lambda _: ())
        button("Clear all filters", "explore_drop_all", clear)


# -- help ----------------------------------------------------------------------------------


def tour_is_due() -> bool:
    """Whether the tour begins by itself: on the first visit, until it is left.

    A visitor who follows a link came for what that shows, and finds the tour in the help. To be
    asked before the page writes its address.
    """
    return bool(memory().setdefault(_TOUR, not st.query_params))


def help_button(page: ExplorePage, *, tour: bool) -> None:
    """The button for keys and tour; with it, the keys that need no result.

    Args:
        tour: begin the tour.
    """
    key, leave = "explore_help", lambda _: memory().update({_TOUR: False})
    _HELP(
        key=key,
        data={
            "finder": FINDER,
            "grades": [str(grade.value) for grade in page.scale.grades],
            "tour": tour,
        },
        width="content",
        **listeners(key, {"left": leave}, "left"),
    )
