"""The bar above the Explore page: the trail of seeds, links, former trails, saved searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.searches import (
    PAGE_SIZE,
    Query,
    SavedSearch,
    TrailInfo,
)
from pages._common.components import component, listeners
from pages._common.kit import el, html, line
from pages._common.shared import (
    attempt,
    attempt_at,
    engine,
    escape_label,
    note,
    show_problem,
)
from pages._common.state import pages
from pages._compare.compare_state import CompareView
from pages._explore.explore_state import ExplorePage, View
from pages._login import login
from pages._map.map_state import LIKENESS, WHOLE, MapView
from pages._reading_list import ListView, current_list

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
        history(page)
        kept = current_list(page.explorer)
        ListView.elsewhere().page_link(escape_label(f"{kept.name} ({kept.documents})"))
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


def remember(page: ExplorePage, stored: Sequence[Query]) -> None:
    """Add the search to the trail, unless it is a former step.

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
    page = query.offset // query.k + 1
    View.change(lambda now: replace(now, **View.fields_of(query, engine()), page=page))


# -- history --------------------------------------------------------------------------------

OPEN, CHANGED, UNDO = "history_open", "history_changed", "history_undo"
"""Keys of the session: the popover is open; the page has to be drawn again; words that tell what
was removed last, and what brings it back."""
TABS = ("Saved searches", "Previous trails")
_try = partial(attempt_at, "history")


@st.fragment
def history(page: ExplorePage) -> None:
    """Saved searches and former trails, in a popover."""
    if st.session_state.pop(CHANGED, False):
        st.rerun()
    popover = st.popover("History", key=OPEN, on_change="rerun", width="content")
    if not popover.open:
        return
    with popover, st.container(key="history"):
        show_problem("history", keep=True)
        if UNDO in st.session_state:
            words, bring_back = st.session_state[UNDO]
            with line():
                _line(words)
                st.button("Undo", "history_undo_button", on_click=_do, args=(bring_back,))
        tabs = st.tabs(TABS, key="history_tab", on_change="rerun")
        for tab, part in zip(tabs, (_saved, _former), strict=True):
            if tab.open:
                with tab:
                    part(page.explorer, page.view)


def _do(change: Callable[[], object], *, stays_open: bool = True) -> None:
    """Do what a click asked for; the page around the list shows it too."""
    st.session_state.pop(UNDO, None)
    _try(change)
    st.session_state[CHANGED] = True
    st.session_state[OPEN] = stays_open


def _remove(title: str, change: Callable[[bool], object]) -> None:
    """Remove what ``change(False)`` removes and ``change(True)`` brings back."""
    _do(lambda: change(False))
    st.session_state[UNDO] = (f"Removed: {title}", lambda: change(True))


def _line(words: str, more: str = "") -> None:
    st.html(html(el("div.hi-line", words), more and el("div.hi-dim", more)))


def _button(label: str, key: str, title: str, do: Callable[..., None], *args: Any) -> None:
    """A button of a line; its tooltip says which line."""
    st.button(label, key, escape_label(f"{label} “{title}”"), on_click=do, args=args)


# -- former trails -----------------------------------------------------------------------


def _former(explorer: Explorer, view: View) -> None:
    notebook, owner, key = explorer.notebook, login.owner(), "history_name"
    trails = [one for one in notebook.trails(owner) if one.trail_id != view.trail]

    def begin() -> None:
        trail = engine().notebook.own_trail("", owner)
        View.change(lambda now: replace(now, trail=trail))

    new = partial(_do, begin, stays_open=False)
    st.session_state[key] = notebook.trail_name(view.trail)
    with line(align="bottom"):
        st.text_input(
            "Trail name",
            key=key,
            on_change=lambda: _try(notebook.name_trail, view.trail, st.session_state[key], owner),
            placeholder="Unnamed",
            max_chars=200,
        )
        st.button("New trail", key="history_new", on_click=new)
    if not trails:
        note("No previous trails.", "Trails with two searches or a kept document appear here.")
    for number, one in enumerate(trails):
        with st.container(key=f"history_trail_{number}", gap="xsmall"):
            _former_trail(explorer, one, number)


def _former_trail(explorer: Explorer, trail: TrailInfo, number: int) -> None:
    notebook, owner, trail_id = explorer.notebook, login.owner(), trail.trail_id
    seeds = " › ".join(trail.seeds[:3]) + (" › …" if len(trail.seeds) > 3 else "")
    title, key = trail.name or seeds, f"history_rename_{trail_id}"

    def reopen() -> None:
        _go_back(notebook.trail(trail_id)[-1])
        View.change(lambda now: replace(now, trail=trail_id))

    def keep(kept: bool) -> None:
        notebook.delete_trail(trail_id, owner, deleted=not kept)

    facts = (
        f"{trail.kept:,} kept · {counted(trail.searches, 'search', 'searches')} · "
        f"{trail.time.astimezone():%Y-%m-%d %H:%M}"
    )
    _line(title, f"{facts} · {seeds}" if trail.name else facts)
    with line():
        again = partial(_do, reopen, stays_open=False)
        _button("Reopen", f"history_reopen_{number}", title, again)
        st.session_state[key] = trail.name
        st.text_input(
            escape_label(f"Name of “{title}”"),
            key=key,
            on_change=lambda: _try(notebook.name_trail, trail_id, st.session_state[key], owner),
            placeholder="Name",
            label_visibility="collapsed",
            max_chars=200,
        )
        _button("Delete", f"history_delete_{number}", title, _remove, title, keep)


# -- saved searches ----------------------------------------------------------------------


def _saved(explorer: Explorer, view: View) -> None:
    notebook, key, owner = explorer.notebook, "history_save_name", login.owner()

    def save() -> None:
        _try(notebook.save_search, st.session_state[key], View.read().link(), owner)

    if key not in st.session_state:
        try:
            title = notebook.seed_title(view.to_query(explorer))
        except SeedLensError:
            title = ""
        parts = (" ".join(title.split())[:80], view.aspect, view.instruction)
        st.session_state[key] = " · ".join(filter(None, parts)) if title else ""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input("Search name", key=key, max_chars=200)
        st.button("Save search", key="history_save", on_click=save)
    searches = notebook.saved_searches(owner)
    if not searches:
        note("No saved searches.", "Saving keeps seed, aspect, instruction and filters.")
    for number, search in enumerate(searches):
        with st.container(key=f"history_search_{number}", gap="xsmall"):
            _saved_search(explorer, search, number)


def _saved_search(explorer: Explorer, search: SavedSearch, number: int) -> None:
    name, link, owner = search.name, search.link, login.owner()

    def show() -> None:
        params = dict(parse_qsl(link.removeprefix("?")))
        View.change(lambda now: replace(View.from_params(params), trail=now.trail))

    def save(saved: bool) -> None:
        explorer.notebook.save_search(name, link, owner, saved=saved)

    _line(name)
    with st.container(horizontal=True, gap="small"):
        again = partial(_do, show, stays_open=False)
        _button("Open", f"history_search_open_{number}", name, again)
        _button("Remove", f"history_forget_{number}", name, _remove, name, save)
