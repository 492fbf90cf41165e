"""Explore: pick a seed and an aspect, read what is alike, and why."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages._common.filter_panel import PageFilters
from pages._common.shared import error_boundary, note, show_problem
from pages._common.url_state import corpus_box
from pages._explore import (
    cards,
    explore_explain,
    explore_help,
    explore_model,
    explore_page,
    explore_reading,
    no_results,
    reading_chips,
    trail,
)
from pages._explore.explore_url import LAYOUTS, RANK, View
from pages._explore.first_visit import open_page
from pages._login import login

with error_boundary():
    explorer, names = open_page()
    # Containers for what is not always there: the widgets after it must not change their place.
    with st.container():
        show_problem()
    cards.skip_link(key="explore_skip")
    tour = explore_help.tour_is_due()
    view = trail.own(explorer, explore_page.open_view(explorer, names))
    lens = explorer.library.lens(view.corpus)
    view, by_model = explore_reading.open_reading(explorer, view, lens)
    synthetic = explorer.library.is_synthetic(explorer.library.corpus(view.corpus))
    run = explore_model.open_run(explorer, view)
    scale = explorer.annotation.project(view.corpus).scale
    steps = explorer.notebook.trail(view.trail)
    with error_boundary():
        trail.trail_bar(explorer, view, steps, lambda: explore_help.help_button(scale, tour=tour))
    left, right = st.columns([4, 9] if view.layout == "table" else [5, 7], gap="medium")
    with left, st.container(key="explore_left"):
        top = st.columns([2, 3], vertical_alignment="bottom")
        with top[0]:
            corpus_box(view, names, "explore_corpus")
        with top[1]:
            explore_page.seed_finder(explorer, view)
        if synthetic:
            st.html('<span class="sl-tag">synthetic abstracts, written for this demo</span>')
        place = st.container()
        reading = explore_page.ranking_controls(explorer, view, lens)
        with error_boundary():
            explore_model.model_controls(explorer, view, run)
        filters = PageFilters(explorer, view.corpus, View, key="explore", page=1)
        with error_boundary():
            filters.panel()
    with right, error_boundary():
        filters.chips()
        query = view.to_query(explorer)
        shown = explore_model.shown(explorer, view, query, run)
        page = shown.results
        events = explore_page.events(explorer, view, query)
        with place:
            cards.seed_card(page, lens, on=events, key="explore_seed")
        with reading:
            reading_chips.reading_chips(view, page, lens, by_model)
            explore_reading.reading_control(explorer, view, by_model)
        cards.header(page, shown.reads_aspect, shown.reranking)
        with st.container(key="explore_run", gap="small"), error_boundary():
            explore_model.run_area(run)
        with st.container():
            for text in page.notes:
                note(text)
        if page.results:
            generated = explore_explain.shown(explorer, query, [r.doc_id for r in page.results])
            cards.result_list(
                page,
                lens,
                scale=scale,
                grades=explorer.notebook.grades(query, login.name()),
                kept=trail.kept_here(explorer, view),
                search=replace(view, layout=LAYOUTS[0], sort=RANK).link(),
                layout=view.layout,
                sort=view.sort,
                reads_aspect=shown.reads_aspect,
                reranking=shown.reranking,
                generated=generated,
                on=events,
                key="explore_results",
            )
            explore_explain.watch(explorer, query, generated)
        else:
            no_results.nothing(explorer, page, filters)
        explore_page.pages_bar(view, page.total)
        trail.remember(explorer, view, steps, query)
