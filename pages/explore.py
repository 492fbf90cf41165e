"""Explore: pick a seed and an aspect, read what is alike, and why."""

from __future__ import annotations

import streamlit as st

from pages import _cards, _explore
from pages._first_visit import hints, wait_for_demo
from pages._shared import engine, error_boundary, note, show_problem

with error_boundary():
    explorer = engine()
    names = explorer.library.names()
    wait_for_demo(explorer, names)
    show_problem()
    view = _explore.open_view(explorer, names)
    lens = explorer.library.lens(view.corpus)
    synthetic = explorer.library.is_synthetic(explorer.library.corpus(view.corpus))
    with error_boundary():
        _explore.trail_bar(explorer, view)
    hints(synthetic)
    left, right = st.columns([5, 7], gap="medium")
    with left, st.container(key="explore_left"):
        top = st.columns([2, 3], vertical_alignment="bottom")
        with top[0]:
            _explore.corpus_box(view, names)
        with top[1]:
            _explore.seed_finder(explorer, view)
        if synthetic:
            st.html('<span class="sl-tag">synthetic abstracts, written for this demo</span>')
        place = st.container()
        _explore.ranking_controls(explorer, view, lens)
    with right, error_boundary():
        query = view.to_query(explorer)
        found = explorer.search(query)
        reads_aspect = explorer.reads_aspect(view.system)
        events = _explore.events(explorer, view, query)
        with place:
            _cards.seed_card(found, lens, on=events, key="explore_seed")
        _cards.header(found, reads_aspect)
        for text in found.notes:
            note(text)
        if found.results:
            _cards.result_list(
                found,
                lens,
                grades=explorer.notebook.grades(query),
                kept=_explore.kept_here(explorer, view),
                search=view.link(),
                reads_aspect=reads_aspect,
                on=events,
                key="explore_results",
            )
        else:
            _explore.nothing(found)
        _explore.pages_bar(view, found.total)
        _explore.remember(explorer, view, query)
