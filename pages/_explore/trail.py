"""The trail of the Explore page: the breadcrumb of seeds, and the bar that it stands in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.searches import PAGE_SIZE, Query
from pages._common.components import component, listeners
from pages._common.shared import attempt, engine
from pages._common.state import pages
from pages._compare.compare_state import CompareView
from pages._explore.explore_state import ExplorePage, View
from pages._explore.reading_list import reading_list
from pages._login import login
from pages._map.map_state import LIKENESS, WHOLE, MapView

_TRAIL = component("trail")


def trail_bar(page: ExplorePage, stored: Sequence[Query], help_button: Callable[[], None]) -> None:
    """The breadcrumb of seeds, the link to this search, the reading list, and the help.

    Args:
        stored: the searches of the trail.
    """
    left, right = st.columns([5, 6], vertical_alignment="center")
    tools = right.container(
        key="explore_tools",
        horizontal=True,
        horizontal_alignment="right",
        vertical_alignment="center",
        gap="small",
    )
    with left, st.container(key="explore_trail"):
        _breadcrumb(page, stored)
    with tools:
        CompareView.found_in(pages()).page_link("Compare instructions")
        _on_map(page.view).page_link("Show on the map")
        with st.popover("Share", width="content"):
            st.caption("Link to this search")
            url = (st.context.url or "").partition("?")[0].rstrip("/")
            link = f"{url and url + '/'}{page.view.link()}"
            st.code(link, language=None, wrap_lines=True)
        reading_list(page.explorer, page.view, open_step=_go_back)
        help_button()


def _on_map(view: View) -> MapView:
    """The map as it was left; at first, its layout is what is searched for."""
    left, layout = pages().last(MapView), view.aspect or WHOLE
    fresh = {"layout": layout, "colour": f"{LIKENESS}{layout}"}
    return MapView.elsewhere(**{} if left and left.corpus == view.corpus else fresh)


def _breadcrumb(page: ExplorePage, stored: Sequence[Query]) -> None:
    """One step of each run of the same seed: settings change often, seeds tell the story.

    It is the current one, if that is in the run, and else its last one.
    """
    steps, now = list(stored), None
    try:
        now = _step(page.query)
    except SeedLensError:
        pass  # shown where the results would be
    else:
        # This search is stored once its results are shown.
        steps += [] if now in steps else [now]
    runs = [list(run) for _, run in groupby(steps, key=lambda query: (query.seed, query.text))]
    steps = [now if now is not None and now in run else run[-1] for run in runs]
    titles = page.explorer.notebook.seed_titles(steps)
    _TRAIL(
        key="explore_steps",
        data={
            "steps": [" ".join(title.split())[:200] for title in titles],
            "current": steps.index(now) if now in steps else None,
        },
        **listeners("explore_steps", {"step": lambda e: _go_back(steps[e["index"]])}, "step"),
    )


def own(explorer: Explorer, view: View) -> View:
    """The view, with a trail of one's own where its trail is another person's."""
    trail = explorer.notebook.own_trail(view.trail, login.owner())
    if trail != view.trail:
        view = replace(view, trail=trail)
        view.write()
    return view


def kept_here(page: ExplorePage) -> set[str]:
    """Documents of this corpus that the trail keeps."""
    kept = page.explorer.notebook.kept(page.view.trail)
    return {one.document.doc_id for one in kept if one.corpus == page.corpus}


def remember(page: ExplorePage, stored: Sequence[Query]) -> None:
    """Add the search to the trail, unless it is a former step that somebody went back to.

    Results are not held back by a ledger that is busy.

    Args:
        stored: the searches of the trail.
    """
    step = _step(page.query)
    if step not in stored:
        attempt(lambda: page.explorer.notebook.add_step(page.view.trail, step))


def _step(query: Query) -> Query:
    """A search as the trail has it, however many documents a page of its results shows."""
    return replace(query, k=PAGE_SIZE)


def _go_back(query: Query) -> None:
    text_id = engine().notebook.put_text(query.text) if query.text else ""
    same = ("corpus", "focus", "reading", "system", "steer", "symmetric")
    texts = {name: getattr(query, name) or "" for name in ("seed", "aspect", "instruction")}
    values = {name: getattr(query, name) for name in same} | texts | {"text_id": text_id}
    where = "; ".join(map(str, query.filters))
    View.change(lambda now: replace(now, **values, where=where, page=query.offset // now.size + 1))
