"""What Explore says where there is no result: which filter leaves nothing."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.types.searches import Query, SearchResults
from pages._common.filter_panel import PageFilters, without
from pages._common.outside_text import escape
from pages._common.shared import attempt, escape_label


def nothing(explorer: Explorer, page: SearchResults, filters: PageFilters) -> None:
    """Say why there is no result to show."""
    query = page.query
    if query.offset and page.total:
        _empty(
            f"Page {query.offset // query.k + 1} does not exist: the ranking has {page.total:,} "
            "documents."
        )
    elif query.filters and not page.truncated:
        _which_filter(explorer, query, filters)
    else:
        met = " and these filters" if query.filters else ""
        _empty(f"No results for this seed with this system{met}. Try another system.")


def _empty(words: str) -> None:
    st.html(f'<div class="sl-empty">{escape(words)}</div>')


def _which_filter(explorer: Explorer, query: Query, filters: PageFilters) -> None:
    """What each filter leaves, with a button that drops it where that helps."""
    effects = explorer.searcher(query.corpus).filter_effects(query)
    st.html(f"<h2>No documents match {'the filter' if len(effects) == 1 else 'all filters'}.</h2>")
    most = max(effects, key=lambda effect: (effect.rest, -effect.alone))
    if len(effects) > 1 and most.rest:
        st.html(f"<p><strong>{escape(most.filter.words)}</strong> excludes most.</p>")
    for position, effect in enumerate(effects):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(escape(f"{effect}."))
            if effect.rest:
                st.button(
                    f"Remove {escape_label(effect.filter.words)}",
                    key=f"explore_drop_{position}", on_click=attempt,
                    args=(partial(filters.change, partial(without, [effect.filter])),),
                )  # fmt: skip
    if len(effects) > 1:
        st.button(
            "Clear all filters", key="explore_drop_all", on_click=attempt,
            args=(partial(filters.change, lambda _: ()),),
        )  # fmt: skip
