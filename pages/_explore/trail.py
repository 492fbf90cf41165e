"""The trail of the Explore page: the breadcrumb of seeds, and the bar that it stands in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.searches import PAGE_SIZE, Query
from pages._common import workspace
from pages._common.components import component, listeners
from pages._common.shared import attempt, engine
from pages._compare.compare_url import CompareView
from pages._explore.explore_url import View
from pages._explore.reading_list import reading_list
from pages._login import login
from pages._map.map_url import LIKENESS, WHOLE, MapView

_TRAIL = component("trail")


def trail_bar(
    explorer: Explorer, view: View, stored: Sequence[Query], help_button: Callable[[], None]
) -> None:
    """The breadcrumb of seeds, the link to this search, the reading list, and the help.

    Args:
        stored: the searches of the trail.
    """
    left, right = st.columns([5, 6], vertical_alignment="center")
    tools = right.container(
        key="explore_tools", horizontal=True, horizontal_alignment="right",
        vertical_alignment="center", gap="small",
    )  # fmt: skip
    steps, now = list(stored), None
    try:
        now = _step(view.to_query(explorer))
    except SeedLensError:
        pass  # shown where the results would be
    else:
        if now not in steps:
            steps = [*steps, now]  # this search is stored once its results are shown
    steps = _seeds_in_order(steps, now)
    with left, st.container(key="explore_trail"):
        _breadcrumb(explorer, steps, now)
    with tools:
        CompareView.found_in(workspace.pages()).page_link("Compare instructions")
        _on_map(view).page_link("Show on the map")
        with st.popover("Share", width="content"):
            st.caption("Link to this search")
            st.code(_address() + view.link(), language=None, wrap_lines=True)
        reading_list(explorer, view, open_step=_go_back)
        help_button()


def _address() -> str:
    """Where the browser has this page, without parameters; "" where it did not say."""
    url = (st.context.url or "").partition("?")[0]
    return url and url.rstrip("/") + "/"


def _on_map(view: View) -> MapView:
    """The map as it was left; at first, its layout is what is searched for."""
    left = workspace.pages().last(MapView)
    layout = view.aspect or WHOLE
    fresh = {"layout": layout, "colour": f"{LIKENESS}{layout}"}
    return MapView.elsewhere(**{} if left and left.corpus == view.corpus else fresh)


def _breadcrumb(explorer: Explorer, steps: list[Query], now: Query | None) -> None:
    _TRAIL(
        key="explore_steps",
        data={
            "steps": [" ".join(t.split())[:200] for t in explorer.notebook.seed_titles(steps)],
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


def kept_here(explorer: Explorer, view: View) -> set[str]:
    """Documents of this corpus that the trail keeps."""
    kept = explorer.notebook.kept(view.trail)
    return {one.document.doc_id for one in kept if one.corpus == view.corpus}


def remember(explorer: Explorer, view: View, stored: Sequence[Query], query: Query) -> None:
    """Add the search to the trail, unless it is a former step that somebody went back to.

    Results are not held back by a ledger that is busy.

    Args:
        stored: the searches of the trail.
    """
    step = _step(query)
    if step not in stored:
        attempt(lambda: explorer.notebook.add_step(view.trail, step))


def _step(query: Query) -> Query:
    """A search as the trail has it, however many documents a page of its results shows."""
    return replace(query, k=PAGE_SIZE)


def _seeds_in_order(steps: list[Query], now: Query | None) -> list[Query]:
    """One step of each run of the same seed: settings change often, seeds tell the story.

    It is where somebody is now, if that is in the run, and else its last one.
    """
    runs = [list(run) for _, run in groupby(steps, key=lambda query: (query.seed, query.text))]
    return [now if now is not None and now in run else run[-1] for run in runs]


def _go_back(query: Query) -> None:
    text_id = engine().notebook.put_text(query.text) if query.text else ""
    View.change(
        lambda now: replace(
            now,
            corpus=query.corpus,
            seed=query.seed or "",
            text_id=text_id,
            aspect=query.aspect or "",
            focus=query.focus,
            instruction=query.instruction or "",
            reading=query.reading,
            system=query.system,
            steer=query.steer,
            symmetric=query.symmetric,
            page=query.offset // now.size + 1,
            where="; ".join(map(str, query.filters)),
        )
    )
