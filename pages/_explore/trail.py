"""The bar above the Explore page: the trail of seeds, links, and the reading list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    CITATION_STYLES,
    EXPORT_FORMATS,
    PAGE_SIZE,
    KeptDocument,
    Query,
    SavedSearch,
    TrailInfo,
)
from pages._common.components import Event, component, inbox, listeners
from pages._common.document_view import meta, title_of
from pages._common.kit import el, html, line
from pages._common.shared import (
    ASSETS,
    attempt,
    attempt_at,
    download,
    engine,
    escape_label,
    note,
    show_error,
    show_problem,
)
from pages._common.state import pages
from pages._compare.compare_state import CompareView
from pages._explore.explore_state import ExplorePage, View
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
    text_id = engine().notebook.put_text(query.text) if query.text else ""
    same = ("corpus", "focus", "reading", "system", "steer", "symmetric")
    texts = {name: getattr(query, name) or "" for name in ("seed", "aspect", "instruction")}
    values = {name: getattr(query, name) for name in same} | texts | {"text_id": text_id}
    where = "; ".join(map(str, query.filters))
    View.change(lambda now: replace(now, **values, where=where, page=query.offset // now.size + 1))


# -- the reading list -----------------------------------------------------------------------

OPEN, CHANGED, UNDO = "reading_list_open", "reading_list_changed", "reading_list_undo"
"""Keys of the session: the popover is open; the page has to be drawn again; words that say what
was removed last, and what brings it back."""
TABS = ("Reading list", "Export", "Previous trails", "Saved searches")
PREVIEW = 3000
"""Characters of an export that are shown."""
_LIST, _ITEMS = component("reading_list"), "reading_list_items"
_try = partial(attempt_at, "reading_list")


@st.fragment
def reading_list(explorer: Explorer, view: View, open_step: Callable[[Query], None]) -> None:
    """The button that counts what is kept, and what opens under it.

    Args:
        open_step: shows a search of a trail.
    """
    if st.session_state.pop(CHANGED, False):
        st.rerun()
    kept = explorer.notebook.kept(view.trail)
    label = f"Reading list ({len(kept)})"
    popover = st.popover(label, key=OPEN, on_change="rerun", width="content")
    if not popover.open:
        return
    with popover, st.container(key="reading_list"):
        st.html(ASSETS / "components" / "reading_list_page.css")
        show_problem("reading_list", keep=True)
        if UNDO in st.session_state:
            words, bring_back = st.session_state[UNDO]
            with line():
                _line(words)
                st.button("Undo", "reading_list_undo_button", on_click=_do, args=(bring_back,))
        tabs = st.tabs(TABS, key="reading_list_tab", on_change="rerun")
        parts: tuple[Callable[[], None], ...] = (
            lambda: _kept(explorer, view, kept),
            lambda: _export(explorer, view),
            lambda: _former(explorer, view, open_step),
            lambda: _saved(explorer, view),
        )
        for tab, part in zip(tabs, parts, strict=True):
            if tab.open:
                with tab:
                    part()


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
    st.html(html(el("div.rl-line", words), more and el("div.sl-dim", more)))


def _button(label: str, key: str, title: str, do: Callable[..., None], *args: Any) -> None:
    """A button of a line; its tooltip says which line."""
    st.button(label, key, escape_label(f"{label} “{title}”"), on_click=do, args=args)


# -- the list ----------------------------------------------------------------------------


def _kept(explorer: Explorer, view: View, kept: list[KeptDocument]) -> None:
    notebook, key, trail = explorer.notebook, "reading_list_name", view.trail
    st.session_state[key] = notebook.trail_name(trail)
    st.text_input(
        "Trail name",
        key=key,
        on_change=lambda: _try(notebook.name_trail, trail, st.session_state[key], login.owner()),
        placeholder="Unnamed",
        max_chars=200,
    )
    if not kept:
        note("Your reading list is empty.", "Use “Keep” on a result to add it.")
        return
    received, receives = inbox(_ITEMS, _events(explorer, trail))
    documents = [
        {
            "corpus": one.corpus,
            "doc_id": one.document.doc_id,
            "title": title_of(one.document),
            "meta": _about(one, view.corpus),
            "url": one.document.url or "",
            "note": one.note,
        }
        for one in kept
    ]
    _LIST(key=_ITEMS, data={"documents": documents, **received}, **receives)


def _about(one: KeptDocument, corpus: str) -> str:
    elsewhere = "" if one.corpus == corpus else f"corpus {one.corpus}"
    return " · ".join(filter(None, (meta(one.document), elsewhere)))


def _events(explorer: Explorer, trail: str) -> dict[str, Event]:
    notebook = explorer.notebook

    def remove(event: Mapping[str, Any]) -> None:
        corpus, doc_id = event["corpus"], event["doc_id"]
        title = title_of(explorer.library.open(corpus).document(doc_id))
        _remove(title, lambda kept: notebook.keep(trail, corpus, doc_id, kept=kept))

    def start(event: Mapping[str, Any]) -> None:
        corpus, doc_id = event["corpus"], event["doc_id"]

        def started(now: View) -> View:
            if now.corpus != corpus:  # its aspects and fields may be others
                return View(corpus=corpus, seed=doc_id, trail=now.trail)
            return replace(now, seed=doc_id, text_id="", focus=(), page=1)

        View.change(started)

    return {
        "seed": lambda e: _do(lambda: start(e), stays_open=False),
        "move": lambda e: _try(notebook.move, trail, e["corpus"], e["doc_id"], e["by"]),
        "remove": remove,
        "note": lambda e: _try(notebook.annotate, trail, e["corpus"], e["doc_id"], e["note"]),
    }


# -- export ------------------------------------------------------------------------------


def _export(explorer: Explorer, view: View) -> None:
    kind = st.selectbox(
        "Format",
        [kind for kind in EXPORT_FORMATS if not kind.endswith("-html")],
        key="reading_list_format",
        format_func=lambda name: EXPORT_FORMATS[name].label,
    )
    form, export = EXPORT_FORMATS[kind], explorer.notebook.export_trail
    try:
        text = export(view.trail, kind)
        page = export(view.trail, f"{kind}-html") if kind in CITATION_STYLES else ""
    except SeedLensError as error:
        show_error(error)
        return
    if not text.strip("[] \n"):
        note("Nothing to export. Keep a result first.")
        return
    label, file, key = f"Download {form.label}", f"reading-list.{form.suffix}", "explore_export"
    download(label, file, lambda: text, key=f"{key}_{kind}", mime=form.mime)
    if page:
        label, file, html = "Download with italics (HTML)", "reading-list.html", f"{kind}-html"
        mime = EXPORT_FORMATS[html].mime
        download(label, file, lambda: page, key=f"{key}_{html}", mime=mime)
        st.caption("Plain text has no italics; copy from the HTML file to keep them.")
    st.code(text[:PREVIEW], language=None, wrap_lines=True, height=240)
    if len(text) > PREVIEW:
        st.caption("Preview. Download for the full text.")


# -- former trails -----------------------------------------------------------------------


def _former(explorer: Explorer, view: View, open_step: Callable[[Query], None]) -> None:
    notebook, owner = explorer.notebook, login.owner()
    trails = [one for one in notebook.trails(owner) if one.trail_id != view.trail]

    def begin() -> None:
        trail = engine().notebook.own_trail("", owner)
        View.change(lambda now: replace(now, trail=trail))

    new = partial(_do, begin, stays_open=False)
    st.button("New trail", key="reading_list_new", on_click=new)
    if not trails:
        note("No previous trails.", "Trails with two searches or a kept document appear here.")
    for number, one in enumerate(trails):
        with st.container(key=f"reading_list_trail_{number}", gap="xsmall"):
            _former_trail(explorer, one, number, open_step)


def _former_trail(
    explorer: Explorer, trail: TrailInfo, number: int, open_step: Callable[[Query], None]
) -> None:
    notebook, owner, trail_id = explorer.notebook, login.owner(), trail.trail_id
    seeds = " › ".join(trail.seeds[:3]) + (" › …" if len(trail.seeds) > 3 else "")
    title, key = trail.name or seeds, f"reading_list_rename_{trail_id}"

    def reopen() -> None:
        open_step(notebook.trail(trail_id)[-1])
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
        _button("Reopen", f"reading_list_reopen_{number}", title, again)
        st.session_state[key] = trail.name
        st.text_input(
            escape_label(f"Name of “{title}”"),
            key=key,
            on_change=lambda: _try(notebook.name_trail, trail_id, st.session_state[key], owner),
            placeholder="Name",
            label_visibility="collapsed",
            max_chars=200,
        )
        _button("Delete", f"reading_list_delete_{number}", title, _remove, title, keep)


# -- saved searches ----------------------------------------------------------------------


def _saved(explorer: Explorer, view: View) -> None:
    notebook, key, owner = explorer.notebook, "reading_list_save_name", login.owner()

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
        st.button("Save search", key="reading_list_save", on_click=save)
    searches = notebook.saved_searches(owner)
    if not searches:
        note("No saved searches.", "Saving keeps seed, aspect, instruction and filters.")
    for number, search in enumerate(searches):
        with st.container(key=f"reading_list_search_{number}", gap="xsmall"):
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
        _button("Open", f"reading_list_search_open_{number}", name, again)
        _button("Remove", f"reading_list_forget_{number}", name, _remove, name, save)
