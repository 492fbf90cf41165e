"""Map: all documents in the plane, by what they are as a whole or in one aspect."""

from __future__ import annotations

import streamlit as st

from pages._common.filter_panel import PageFilters
from pages._common.kit import purpose
from pages._common.shared import error_boundary
from pages._common.state import corpus_box, open_page
from pages._map import map_page
from pages._map.map_state import MapView
from pages._map.selection import selection_panel

with open_page("map_page.css") as (explorer, names):
    purpose("See what a corpus contains: similar documents are close to each other.")
    view = map_page.open_view(explorer, names)
    drawn = explorer.maps.view(view.corpus)
    map_page.job_card(explorer, view.corpus)
    if drawn is None:
        corpus_box(view, names, "map_corpus", width=160)
        map_page.nothing_drawn(explorer, view.corpus)
    else:
        page = map_page.open_map(explorer, view, names, drawn)
        chosen = map_page.selection(page)
        map_page.controls(page)
        left, right = st.columns([8, 4], gap="medium")
        with left, st.container(key="map_left"), error_boundary():
            map_page.show_map(page, chosen)
            map_page.cluster_names(page)
        with right, st.container(key="map_right"):
            with error_boundary():  # beside the map, so that it is seen to follow
                filters = PageFilters(explorer, view.corpus, MapView, key="map")
                filters.chips()
                filters.panel(unfolds=False)
            with error_boundary():
                selection_panel(page, chosen)
