"""Explore: pick a seed and an aspect, read similar documents, and why they are similar."""

from __future__ import annotations

import streamlit as st

from pages._common.filter_panel import PageFilters
from pages._common.kit import purpose
from pages._common.shared import error_boundary, note
from pages._common.state import corpus_box, open_page
from pages._explore import explore_model, explore_page, trail
from pages._explore.explore_state import ExplorePage, View, open_view
from pages._library import corpus_list
from pages._reading_list import list_choice

with open_page("explore_page.css") as (explorer, names):
    explore_page.skip_link(key="explore_skip")
    purpose("Documents similar to a seed in one aspect, each with the passages that match.")
    tour = explore_page.tour_is_due()
    view = trail.own(explorer, open_view(explorer, names))
    view, by_model = explore_page.open_reading(explorer, view)
    page = ExplorePage(explorer, view, names)
    run = explore_model.open_run(page)
    steps = explorer.notebook.trail(view.trail)
    with error_boundary():
        trail.trail_bar(page, steps, lambda: explore_page.help_button(page, tour=tour))
    left, right = st.columns([4, 9] if view.layout == "table" else [5, 7], gap="medium")
    with left, st.container(key="explore_left"):
        box, finder = st.columns([2, 3], vertical_alignment="bottom")
        with box:
            corpus_box(view, names, "explore_corpus")
        with finder:
            explore_page.seed_finder(page)
        if explorer.library.is_synthetic(explorer.library.corpus(view.corpus)):
            st.html('<span class="sl-tag">synthetic abstracts, written for this demo</span>')
        place = st.container()
        reading = explore_page.search_controls(page)
        filters = PageFilters(explorer, view.corpus, View, key="explore", page=1)
        with error_boundary():
            filters.panel()
        with explore_page.advanced(page), error_boundary():
            explore_model.model_controls(page, run)
    with right, st.container(key="explore_right"), error_boundary():
        filters.chips()
        found = explore_model.search(page, run)
        with st.container(key="explore_head", horizontal=True, vertical_alignment="bottom"):
            head = st.container()
            reading_list = list_choice(explorer)
        events = explore_page.events(page, found.results, reading_list.list_id)
        with place:
            explore_page.seed_card(found.results, page.lens, on=events)
        with reading:
            explore_page.reading_chips(page, found.results, by_model)
            explore_page.reading_control(page, by_model)
        with head:
            explore_page.header(page, found)
        with st.container(key="explore_run", gap="small"), error_boundary():
            explore_model.run_area(page, run)
        with st.container():
            for text in found.results.notes:
                note(text)
        explore_page.learning(page, reading_list.list_id)
        if found.results.results:
            explore_page.result_list(page, found, reading_list.list_id, events)
        else:
            explore_page.no_results(page, found.results, filters)
        explore_page.pages_bar(view, found.results.total)
        corpus_list.show_saved()
        if doc_id := st.session_state.pop(explore_page.EDIT, ""):
            corpus_list.edit_record(explorer, view.corpus, doc_id)
        trail.remember(page, steps)
