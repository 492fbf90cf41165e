"""The bar above the Explore page: the trail of seeds, links, former trails, saved searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from urllib.parse import parse_qsl

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.searches import PAGE_SIZE, Query
from pages._common.components import component, listeners
from pages._common.kit import button, dim, el, html, line
from pages._common.shared import attempt, attempt_at, engine, escape_label, show_problem
from pages._common.state import pages
from pages._compare.compare_state import CompareView
from pages._explore.explore_state import ExplorePage, View
from pages._login import login
from pages._map.map_state import LIKENESS, WHOLE, MapView
from pages._reading_list import ListView, current_list

_TRAIL = component("trail")


def trail_bar(page: ExplorePage, stored: Sequence[Query], help_button: Callable[[], None]) -> None:
    """The breadcrumb of the stored searches of the trail, links to this search, and the help."""
    left, right = st.columns([5, 6], vertical_alignment="center")
    with left, st.container(key="explore_trail"):
        _breadcrumb(page, stored)
    with right, line("explore_tools", horizontal_alignment="right"):
        CompareView.found_in(pages()).page_link("Compare rankings")
        _on_map(page.view).page_link("Show on the map")
        with st.popover("Share", width="content"):
            st.caption("Link to this search")
            url = (st.context.url or "").partition("?")[0].rstrip("/")
            link = f"{url and url + '/'}{page.view.link()}"
            st.code(link, language=None, wrap_lines=True)
        _history(page)
        kept = current_list(page.explorer.reading_lists.lists())
        ListView.elsewhere().page_link(escape_label(f"{kept.name} ({kept.documents})"))
        help_button()


def _on_map(view: View) -> MapView:
    """The map as it was left; at first, its layout is what is searched for."""
    left, layout = pages().last(MapView), view.aspect or WHOLE
    fresh = {"layout": layout, "colour": f"{LIKENESS}{layout}"}
    return MapView.elsewhere(**{} if left and left.corpus == view.corpus else fresh)


def _breadcrumb(page: ExplorePage, stored: Sequence[Query]) -> None:
    """One step of each run of the same seed, the current one or the last: seeds tell the story."""
    steps, now = list(stored), None
    with suppress(SeedLensError):  # shown where the results would be
        now = _step(page.query)
        steps += [] if now in steps else [now]  # which is stored once its results are shown
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
    """Add the search to the stored ones of the trail; a busy ledger does not hold back results."""
    step = _step(page.query)
    if step not in stored:
        attempt(lambda: page.explorer.notebook.add_step(page.view.trail, step))


def _step(query: Query) -> Query:
    """A search as the trail has it, however many documents a page of its results shows."""
    return replace(query, k=PAGE_SIZE)


def _go_back(query: Query) -> None:
    def change(now: View) -> View:
        return replace(now, **View.fields_of(query, engine()), page=query.offset // now.size + 1)

    View.change(change)


# -- history --------------------------------------------------------------------------------

# Keys of the session: the popover is open; what was removed last, in words, and what restores it.
OPEN, UNDO = "history_open", "history_undo"


def _history(page: ExplorePage) -> None:
    """Saved searches and former trails, in a popover."""
    popover = st.popover("History", key=OPEN, on_change="rerun", width="content")
    if not popover.open:
        st.session_state.pop(UNDO, None)
        return
    with popover, st.container(key="history"):
        show_problem(OPEN, keep=True)
        if UNDO in st.session_state:
            with line():
                st.html(el("div.hi-line", st.session_state[UNDO][0]), width="content")
                _button("Undo", "history_undo_button", lambda: st.session_state.pop(UNDO)[1]())
        _saved(page)
        _former(page)


def _button(label: str, key: str, do: Callable[[], object], title: str = "") -> None:
    """A button whose tooltip tells which line it is about."""
    tip = escape_label(f"{label} “{title}”") if title else None
    button(label, key, do, place=OPEN, help=tip)


def _name(
    label: str, key: str, name: str, rename: Callable[[str], object], *, alone: bool = True
) -> None:
    st.session_state[key] = name
    st.text_input(
        escape_label(label),
        key=key,
        on_change=attempt_at,
        args=(OPEN, lambda: rename(st.session_state[key])),
        placeholder="Name",
        label_visibility="visible" if alone else "collapsed",
        max_chars=200,
    )


def _entry(
    key: str,
    title: str,
    facts: str,
    name: str,
    show: Callable[[], object],
    rename: Callable[[str], object],
    delete: Callable[[], object],
    restore: Callable[[], object],
) -> None:
    """A saved search, or a former trail with facts below its title."""

    def opened() -> None:
        show()
        st.session_state[OPEN] = False

    def remove() -> None:
        delete()
        st.session_state[UNDO] = (f"Removed: {title}", restore)

    with st.container(key=f"history_{key}", gap="xsmall"):
        if facts:
            st.html(html(el("div.hi-line", title), el("div.sl-dim", facts)))
        with line():
            _button("Open", f"history_open_{key}", opened, title)
            _name(f"Name of “{title}”", f"history_name_{key}", name, rename, alone=False)
            _button("Delete", f"history_delete_{key}", remove, title)


def _saved(page: ExplorePage) -> None:
    notebook, key, owner = page.explorer.notebook, "history_save_name", login.owner()
    st.html(el("h3", "Saved searches", style="margin: 0"))
    if key not in st.session_state:
        title = ""
        with suppress(SeedLensError):
            title = notebook.seed_title(page.query)
        parts = (" ".join(title.split())[:80], page.view.aspect, page.view.instruction)
        st.session_state[key] = " · ".join(filter(None, parts)) if title else ""
    with line(align="bottom"):
        st.text_input("Search name", key=key, max_chars=200)
        link = page.view.link()
        save = partial(notebook.save_search, link=link, owner=owner)
        _button("Save search", "history_save", lambda: save(st.session_state[key]))
    for number, search in enumerate(notebook.saved_searches(owner)):
        params = dict(parse_qsl(search.link.removeprefix("?")))
        save = partial(notebook.save_search, link=search.link, owner=owner)
        _entry(
            *(f"search_{number}", search.name, "", search.name),
            *(partial(_open_search, params), save),
            *(partial(save, search.name, saved=False), partial(save, search.name)),
        )


def _open_search(params: Mapping[str, str]) -> None:
    View.change(lambda now: replace(View.from_params(params), trail=now.trail))


def _former(page: ExplorePage) -> None:
    notebook, owner, now = page.explorer.notebook, login.owner(), page.view.trail

    def to(trail: str) -> None:
        View.change(lambda view: replace(view, trail=trail))

    def reopen(trail: str) -> None:
        _go_back(notebook.trail(trail)[-1])
        to(trail)

    delete = partial(notebook.delete_trail, owner=owner)
    st.html(el("h3", "Trails", style="margin: 0"))
    with line(align="bottom"):
        rename = partial(notebook.name_trail, now, owner=owner)
        _name("Trail name", "history_name", notebook.trail_name(now), rename)
        _button("New trail", "history_new", lambda: to(notebook.own_trail("", owner)))
    trails = [one for one in notebook.trails(owner) if one.trail_id != now]
    if not trails:
        dim("Trails with two searches or a kept document appear here.")
    for number, one in enumerate(trails):
        seeds = " › ".join(one.seeds[:3]) + (" › …" if len(one.seeds) > 3 else "")
        facts = (
            f"{one.kept:,} kept · {counted(one.searches, 'search', 'searches')} · "
            f"{one.time.astimezone():%Y-%m-%d %H:%M}"
        )
        _entry(
            *(f"trail_{number}", seeds, facts, one.name),
            partial(reopen, one.trail_id),
            partial(notebook.name_trail, one.trail_id, owner=owner),
            partial(delete, one.trail_id),
            partial(delete, one.trail_id, deleted=False),
        )
