"""Explore: pick a seed and an aspect, read what is alike, and why."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.types import PAGE_SIZE
from pages import _cards, _explore
from pages._first_visit import hints, wait_for_demo
from pages._shared import engine, error_boundary, note
from pages._view import read_view, write_view

with error_boundary():
    explorer = engine()
    names = explorer.library.names()
    wait_for_demo(explorer, names)
    view = _explore.start_view(explorer, read_view(), names)
    query = view.to_query(explorer)
    _explore.trail_bar(explorer, view, query)
    hints(view.corpus == explorer.demo_corpus)
    left, right = st.columns([5, 7], gap="medium")
    with left, st.container(key="explore_left"):
        top = st.columns([2, 3], vertical_alignment="bottom")
        with top[0]:
            _explore.corpus_box(view, names)
        with top[1]:
            _explore.seed_finder(explorer, view)
        place = st.container()
        lens = explorer.library.lens(view.corpus)
        _explore.ranking_controls(explorer, view, lens)
    with right, error_boundary():
        found = explorer.search(query)
        reads_aspect = explorer.reads_aspect(view.system)
        with place:
            _cards.seed_card(
                found,
                lens,
                on_aspect=lambda e: write_view(
                    replace(view, aspect=e["key"], instruction="", focus=(), page=1)
                ),
                on_focus=lambda e: write_view(
                    replace(view, focus=tuple(sorted({*view.focus} ^ {int(e["index"])})), page=1)
                ),
                key="explore_seed",
            )
        _cards.header(found, reads_aspect)
        for text in found.notes:
            note(text)
        if found.results:
            _cards.result_list(
                found,
                lens,
                grades=explorer.notebook.grades(query),
                kept={
                    d.doc_id
                    for corpus, d in explorer.notebook.kept(view.trail)
                    if corpus == view.corpus
                },
                search=replace(view, trail="").link(),
                reads_aspect=reads_aspect,
                on={
                    "grade": lambda e: explorer.notebook.judge(
                        query, e["doc_id"], e["relevance"], rank=e["rank"]
                    ),
                    "keep": lambda e: explorer.notebook.keep(
                        view.trail, view.corpus, e["doc_id"], kept=e["kept"]
                    ),
                    "seed": lambda e: _explore.reseed(view, e["doc_id"]),
                },
                key="explore_results",
            )
            _explore.pages_bar(view, min(found.total, 500), PAGE_SIZE)
        else:
            st.html('<div class="sl-empty">No document meets the filters. Loosen them, or '
                    "choose another corpus.</div>")  # fmt: skip
        explorer.notebook.add_step(view.trail, query)
