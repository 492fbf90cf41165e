"""The reading list of the Explore page: what the trail keeps, its exports, former trails, and
saved searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.searches import (
    CITATION_STYLES,
    EXPORT_FORMATS,
    KeptDocument,
    Query,
    SavedSearch,
    TrailInfo,
)
from pages._common.components import component, inbox
from pages._common.document_view import meta, title_of
from pages._common.outside_text import escape
from pages._common.shared import (
    ASSETS,
    attempt_at,
    download,
    engine,
    escape_label,
    note,
    show_error,
    show_problem,
)
from pages._explore.explore_url import View
from pages._login import login

OPEN, CHANGED, UNDO = "reading_list_open", "reading_list_changed", "reading_list_undo"
"""Keys of the session: the popover is open; the page has to be drawn again; words that say what
was removed last, and what brings it back."""
TABS = ("Reading list", "Export", "Previous trails", "Saved searches")
PREVIEW = 3000
"""Characters of an export that are shown."""
_LIST, _ITEMS = component("reading_list"), "reading_list_items"


@st.fragment
def reading_list(explorer: Explorer, view: View, open_step: Callable[[Query], None]) -> None:
    """The button that counts what is kept, and what opens under it.

    Args:
        open_step: shows a search of a trail.
    """
    if st.session_state.pop(CHANGED, False):
        st.rerun()
    kept = explorer.notebook.kept(view.trail)
    popover = st.popover(
        f"Reading list ({len(kept)})", key=OPEN, on_change="rerun", width="content"
    )
    if not popover.open:
        return
    with popover, st.container(key="reading_list"):
        st.html(ASSETS / "components" / "reading_list_page.css")
        show_problem("reading_list", keep=True)
        _undo()
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
    attempt_at("reading_list", change)
    st.session_state[CHANGED] = True
    st.session_state[OPEN] = stays_open


def _remove(title: str, change: Callable[..., object]) -> None:
    """Remove what ``change(False)`` removes and ``change(True)`` brings back."""
    _do(lambda: change(False))
    st.session_state[UNDO] = (f"Removed: {title}", lambda: change(True))


def _undo() -> None:
    if UNDO in st.session_state:
        words, bring_back = st.session_state[UNDO]
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _line(words)
            st.button("Undo", key="reading_list_undo_button", on_click=_do, args=(bring_back,))


def _line(words: str, more: str = "") -> None:
    st.html(
        f'<div class="rl-line">{escape(words)}</div>'
        + (f'<div class="rl-dim">{escape(more)}</div>' if more else "")
    )


# -- the list ----------------------------------------------------------------------------


def _kept(explorer: Explorer, view: View, kept: list[KeptDocument]) -> None:
    notebook, key = explorer.notebook, "reading_list_name"

    def rename() -> None:
        name = st.session_state[key]
        attempt_at("reading_list", notebook.name_trail, view.trail, name, login.owner())

    st.session_state[key] = notebook.trail_name(view.trail)
    st.text_input("Trail name", key=key, on_change=rename, placeholder="Unnamed", max_chars=200)
    if not kept:
        note("Your reading list is empty.", "Use “Keep” on a result to add it.")
        return
    received, receives = inbox(_ITEMS, _events(explorer, view))
    _LIST(
        key=_ITEMS,
        data={"documents": [_entry(one, view.corpus) for one in kept], **received},
        **receives,
    )


def _entry(one: KeptDocument, corpus: str) -> dict[str, Any]:
    about = [meta(one.document), "" if one.corpus == corpus else f"corpus {one.corpus}"]
    return {
        "corpus": one.corpus,
        "doc_id": one.document.doc_id,
        "title": title_of(one.document),
        "meta": " · ".join(filter(None, about)),
        "url": one.document.url or "",
        "note": one.note,
    }


def _events(explorer: Explorer, view: View) -> dict[str, Callable[[Mapping[str, Any]], object]]:
    notebook, trail = explorer.notebook, view.trail

    def remove(event: Mapping[str, Any]) -> None:
        corpus, doc_id = event["corpus"], event["doc_id"]
        document = explorer.library.open(corpus).document(doc_id)
        _remove(title_of(document), lambda kept: notebook.keep(trail, corpus, doc_id, kept=kept))

    return {
        "seed": lambda e: _do(lambda: _start_from(e["corpus"], e["doc_id"]), stays_open=False),
        "move": lambda e: attempt_at(
            "reading_list", notebook.move, trail, e["corpus"], e["doc_id"], e["by"]
        ),
        "remove": remove,
        "note": lambda e: attempt_at(
            "reading_list", notebook.annotate, trail, e["corpus"], e["doc_id"], e["note"]
        ),
    }


def _start_from(corpus: str, doc_id: str) -> None:
    def start(now: View) -> View:
        if now.corpus != corpus:  # its aspects and fields may be others
            return View(corpus=corpus, seed=doc_id, trail=now.trail)
        return replace(now, seed=doc_id, text_id="", focus=(), page=1)

    View.change(start)


# -- export ------------------------------------------------------------------------------


def _export(explorer: Explorer, view: View) -> None:
    kinds = [kind for kind in EXPORT_FORMATS if not kind.endswith("-html")]
    kind = st.selectbox(
        "Format", kinds, key="reading_list_format",
        format_func=lambda name: EXPORT_FORMATS[name].label,
    )  # fmt: skip
    form, in_italics = EXPORT_FORMATS[kind], f"{kind}-html"
    try:
        text = explorer.notebook.export_trail(view.trail, kind)
        cited = kind in CITATION_STYLES
        page = explorer.notebook.export_trail(view.trail, in_italics) if cited else ""
    except SeedLensError as error:
        show_error(error)
        return
    if not text.strip("[] \n"):
        note("Nothing to export. Keep a result first.")
        return
    download(
        f"Download {form.label}", f"reading-list.{form.suffix}", lambda: text,
        key=f"explore_export_{kind}", mime=form.mime,
    )  # fmt: skip
    if page:
        download(
            "Download with italics (HTML)", "reading-list.html", lambda: page,
            key=f"explore_export_{in_italics}", mime=EXPORT_FORMATS[in_italics].mime,
        )  # fmt: skip
        st.caption("Plain text has no italics; copy from the HTML file to keep them.")
    st.code(text[:PREVIEW], language=None, wrap_lines=True, height=240)
    if len(text) > PREVIEW:
        st.caption("Preview. Download for the full text.")


# -- former trails -----------------------------------------------------------------------


def _former(explorer: Explorer, view: View, open_step: Callable[[Query], None]) -> None:
    trails = [one for one in explorer.notebook.trails(login.owner()) if one.trail_id != view.trail]
    st.button(
        "New trail", key="reading_list_new",
        on_click=lambda: _do(lambda: View.change(_without_trail), stays_open=False),
    )  # fmt: skip
    if not trails:
        note("No previous trails.", "Trails with two searches or a kept document appear here.")
    for number, one in enumerate(trails):
        with st.container(key=f"reading_list_trail_{number}", gap="xsmall"):
            _former_trail(explorer, one, number, open_step)


def _without_trail(now: View) -> View:
    return replace(now, trail=engine().notebook.own_trail("", login.owner()))


def _former_trail(
    explorer: Explorer, trail: TrailInfo, number: int, open_step: Callable[[Query], None]
) -> None:
    notebook, owner = explorer.notebook, login.owner()
    seeds = " › ".join(trail.seeds[:3]) + (" › …" if len(trail.seeds) > 3 else "")
    title, key = trail.name or seeds, f"reading_list_rename_{trail.trail_id}"

    def reopen() -> None:
        open_step(notebook.trail(trail.trail_id)[-1])
        View.change(lambda now: replace(now, trail=trail.trail_id))

    def rename() -> None:
        attempt_at(
            "reading_list", notebook.name_trail, trail.trail_id, st.session_state[key], owner
        )

    facts = f"{trail.kept:,} kept · {counted(trail.searches, 'search', 'searches')} · "
    facts += f"{trail.time.astimezone():%Y-%m-%d %H:%M}"
    _line(title, f"{facts} · {seeds}" if trail.name else facts)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            "Reopen", key=f"reading_list_reopen_{number}", on_click=_do, args=(reopen,),
            kwargs={"stays_open": False}, help=escape_label(f"Reopen “{title}”"),
        )  # fmt: skip
        st.session_state[key] = trail.name
        st.text_input(
            escape_label(f"Name of “{title}”"), key=key, on_change=rename, placeholder="Name",
            label_visibility="collapsed", max_chars=200,
        )  # fmt: skip
        st.button(
            "Delete", key=f"reading_list_delete_{number}", help=escape_label(f"Delete “{title}”"),
            on_click=_remove,
            args=(
                title,
                lambda kept: notebook.delete_trail(trail.trail_id, owner, deleted=not kept),
            ),
        )  # fmt: skip


# -- saved searches ----------------------------------------------------------------------


def _saved(explorer: Explorer, view: View) -> None:
    notebook, key = explorer.notebook, "reading_list_save_name"

    def save() -> None:
        name, link = st.session_state[key], View.read().link()
        attempt_at("reading_list", notebook.save_search, name, link, login.owner())

    if key not in st.session_state:
        st.session_state[key] = _proposed_name(explorer, view)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input("Search name", key=key, max_chars=200)
        st.button("Save search", key="reading_list_save", on_click=save)
    searches = notebook.saved_searches(login.owner())
    if not searches:
        note("No saved searches.", "Saving keeps seed, aspect, instruction and filters.")
    for number, search in enumerate(searches):
        with st.container(key=f"reading_list_search_{number}", gap="xsmall"):
            _saved_search(explorer, search, number)


def _proposed_name(explorer: Explorer, view: View) -> str:
    try:
        title = explorer.notebook.seed_title(view.to_query(explorer))
    except SeedLensError:
        return ""
    return " · ".join(filter(None, (" ".join(title.split())[:80], view.aspect, view.instruction)))


def _saved_search(explorer: Explorer, search: SavedSearch, number: int) -> None:
    def show() -> None:
        params = dict(parse_qsl(search.link.removeprefix("?")))
        View.change(lambda now: replace(View.from_params(params), trail=now.trail))

    _line(search.name)
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Open", key=f"reading_list_search_open_{number}", on_click=_do, args=(show,),
            kwargs={"stays_open": False}, help=escape_label(f"Open “{search.name}”"),
        )  # fmt: skip
        st.button(
            "Remove", key=f"reading_list_forget_{number}", on_click=_remove,
            help=escape_label(f"Remove “{search.name}”"),
            args=(
                search.name,
                lambda saved: explorer.notebook.save_search(
                    search.name, search.link, login.owner(), saved=saved
                ),
            ),
        )  # fmt: skip
