"""The controls of the Explore page. Each writes the view back into the URL, nothing else."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.explorer import Explorer
from engine.types.lenses import Lens
from engine.types.searches import Query
from pages._common import seed_finder as _seed_finder
from pages._common.components import Event
from pages._common.outside_text import with_marks
from pages._common.shared import attempt, system_label
from pages._common.url_state import aspect_that_is_there, seed_is_there
from pages._explore import explore_explain
from pages._explore.explore_url import DEFAULT, View
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


def open_view(explorer: Explorer, names: list[str]) -> View:
    """The view of the address, with what a first visit leaves open: a corpus, a good seed, an
    aspect, a trail."""
    view = View.opened_on(explorer, names)
    lens = explorer.library.lens(view.corpus)
    view = replace(view, aspect=aspect_that_is_there(lens, view.aspect))
    if not seed_is_there(explorer, view.corpus, view.seed, view.text_id):
        seed, aspect = explorer.starting_point(view.corpus)
        view = replace(view, seed=seed, text_id="", aspect=view.aspect or aspect, focus=())
    view = replace(view, trail=view.trail or secrets.token_urlsafe(9))
    view.write()
    return view


def _reseed(doc_id: str = "", text_id: str = "") -> None:
    """Start from another document or pasted text, keeping how to rank."""
    View.change(lambda now: replace(now, seed=doc_id, text_id=text_id, focus=(), page=1))


def seed_finder(explorer: Explorer, view: View) -> None:
    """Ways to another seed: words, the corpus page by page, or a text of one's own."""
    _seed_finder.seed_finder(
        explorer, view.corpus, on_document=_reseed,
        on_text=lambda text_id: _reseed(text_id=text_id), key=FINDER,
    )  # fmt: skip


def _choose_aspect(key: str) -> None:
    """Ask for an aspect, or with "" for none; a person's own wording stays."""
    View.change(lambda now: replace(now, aspect=key, reading=(), focus=(), page=1))


def ranking_controls(explorer: Explorer, view: View, lens: Lens) -> DeltaGenerator:
    """Instruction, steer and system; returns the place for what the instruction is read as."""
    own, helped = explorer.library.corpus(view.corpus).systems, explorer.model_systems
    systems = [*own, *helped]
    # A link may name a system that is not to be had here: any other can be chosen then.
    st.session_state["explore_system"] = view.system if view.system in systems else None
    with st.container(key="explore_asked"):
        place = _instruction(view, lens)
    steered = [name for name in own if explorer.reads_steer(name)]
    st.slider(
        "Aspect weight", 0, 100, step=5, format="%d %%",
        **view.bound(
            "steer", "explore_steer", round(view.steer * 100), lambda percent: percent / 100, page=1
        ),
        disabled=view.system not in steered,
        help=f"0 %: whole document. 100 %: aspect only. Used by {' and '.join(steered)}.",
    )  # fmt: skip
    st.selectbox(
        "System", systems, index=0 if view.system in systems else None,
        **View.sets("system", "explore_system", lambda name: name or DEFAULT.system, page=1),
        placeholder="Choose a system",
        help="\n".join(f"- {name}: {words}" for name, words in SYSTEMS.items() if name in systems),
        format_func=partial(system_label, model=helped),
    )  # fmt: skip
    if view.system == "late-interaction":
        st.toggle(
            "Symmetric scoring", **view.bound("symmetric", "explore_symmetric", page=1),
            help="Average of seed→document and document→seed.",
        )  # fmt: skip
    return place


def _instruction(view: View, lens: Lens) -> DeltaGenerator:
    presets = {a.instruction: a for a in lens.aspects}

    def preset() -> None:
        aspect = presets.get(st.session_state["explore_preset"])
        _choose_aspect("" if aspect is None else aspect.key)

    current = next((a.instruction for a in lens.aspects if a.key == view.aspect), None)
    st.session_state["explore_preset"] = current
    st.selectbox(
        "Similar in", list(presets), index=None, key="explore_preset",
        format_func=with_marks,
        on_change=attempt, args=(preset,),
        placeholder="Choose an aspect or describe it",
    )  # fmt: skip
    st.text_input(
        "Instruction",
        # A correction of what other words were read as says nothing of these.
        **view.bound(
            "instruction", "explore_instruction", read=str.strip, page=1, reading=()
        ),
        placeholder="similar evaluation set-up, ignore the topic",
        help="Refines the aspect, or replaces it if none is selected. You can correct the "
        "interpretation below.",
    )  # fmt: skip
    return st.container()


def events(explorer: Explorer, view: View, query: Query) -> dict[str, Event]:
    """What the clicks on seed and results do.

    Grades and keeping are about what was shown when it was clicked, all else about what the
    URL says now.
    """
    notebook = explorer.notebook

    def focus(event: Mapping[str, Any]) -> None:
        def pick(now: View) -> View:
            if (now.corpus, now.seed, now.text_id) != (view.corpus, view.seed, view.text_id):
                return now  # another seed by now: its sentences are others
            return replace(now, focus=tuple(sorted({*now.focus} ^ {int(event["index"])})), page=1)

        View.change(pick)

    return {
        "aspect": lambda e: _choose_aspect(e["key"]),
        "focus": focus,
        "seed": lambda e: _reseed(e["doc_id"]),
        "keep": lambda e: notebook.keep(view.trail, view.corpus, e["doc_id"], kept=e["kept"]),
        "grade": lambda e: notebook.judge(
            query, e["doc_id"], e["relevance"], rank=e["rank"], annotator=login.name()
        ),
        "explain": explore_explain.ask(explorer, query),
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
