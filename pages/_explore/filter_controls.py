"""The filters of the Explore page, as its URL has them, and which of them leaves nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.facets import YEAR
from engine.types.searches import Filter, Query, SearchResults
from pages._common.filter_panel import (
    Change,
    Unread,
    filter_chips,
    filter_panel,
    without,
)
from pages._common.outside_text import escape
from pages._common.shared import attempt, escape_label
from pages._explore.explore_url import View, filters_of


def filter_controls(explorer: Explorer, view: View) -> None:
    """Facets of the corpus; what is chosen there is in the URL."""
    filters, unread = _set_now(explorer, view)
    filter_panel(explorer, view.corpus, filters, _change(explorer), key="explore", unread=unread)


def chips(explorer: Explorer, view: View) -> None:
    """What is set, to stand above the results that it is about."""
    filters, unread = _set_now(explorer, view)
    filter_chips(filters, _change(explorer), key="explore", unread=unread)


def _change(explorer: Explorer) -> Change:
    """What changes the filters of the view."""

    def change(changed: Callable[[Sequence[Filter]], Sequence[Filter]]) -> None:
        def new(now: View) -> View:
            return replace(now, **filters_of(changed(now.filters(explorer))), page=1)

        View.change(new)

    return change


def _set_now(explorer: Explorer, view: View) -> tuple[tuple[Filter, ...], list[Unread]]:
    """The filters of a view, and what of it is none."""
    parts = {
        "year_from": f"{YEAR}>={view.year_from}" if view.year_from else "",
        "year_to": f"{YEAR}<={view.year_to}" if view.year_to else "",
        "where": view.where,
    }
    read: list[Filter] = []
    unread: list[Unread] = []
    for name, text in parts.items():
        try:
            read += explorer.parse_filters(text)
        except BadInputError:
            unread.append((text, partial(View.change, partial(_cleared, name))))
    return tuple(read), unread


def _cleared(name: str, view: View) -> View:
    cleared: dict[str, Any] = {name: "", "page": 1}
    return replace(view, **cleared)


# -- no results ----------------------------------------------------------------------------


def nothing(explorer: Explorer, page: SearchResults) -> None:
    """Say why there is no result to show."""
    query = page.query
    if query.offset and page.total:
        _empty(f"The ranking ends at {page.total:,}; this page is beyond it.")
    elif query.filters and not page.truncated:
        _which_filter(explorer, query)
    else:
        met = " that meets the filters" if query.filters else ""
        _empty(
            f"No document{met} shares anything with this seed under this system. "
            "Try another system."
        )


def _empty(words: str) -> None:
    st.html(f'<div class="sl-empty">{escape(words)}</div>')


def _which_filter(explorer: Explorer, query: Query) -> None:
    """What each filter leaves, with a button that drops it where that helps."""
    effects = explorer.searcher(query.corpus).filter_effects(query)
    st.html(f"<h2>No document meets {'the filter' if len(effects) == 1 else 'all filters'}.</h2>")
    most = max(effects, key=lambda effect: (effect.rest, -effect.alone))
    if len(effects) > 1 and most.rest:
        st.html(f"<p><strong>{escape(most.filter.words)}</strong> excludes most.</p>")
    for position, effect in enumerate(effects):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(escape(f"{effect}."))
            if effect.rest:
                st.button(
                    f"Drop {escape_label(effect.filter.words)}",
                    key=f"explore_drop_{position}", on_click=attempt,
                    args=(partial(_change(explorer), partial(without, [effect.filter])),),
                )  # fmt: skip
    if len(effects) > 1:
        st.button(
            "Drop all filters", key="explore_drop_all", on_click=attempt,
            args=(partial(_change(explorer), lambda _: ()),),
        )  # fmt: skip
