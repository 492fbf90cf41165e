"""Reading lists on pages: the page of lists, and the list that Keep puts documents into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, Self

import streamlit as st
from pydantic import Field

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.documents import paper_link
from engine.types.searches import (
    CITATION_STYLES,
    EXPORT_FORMATS,
    LIST_ORDERS,
    KeptDocument,
    ReadingListInfo,
)
from pages._common.components import Event, component, inbox
from pages._common.document_view import meta, shortened, title_of
from pages._common.kit import button, dim, el, empty, line, select
from pages._common.shared import attempt, download, error_boundary, show_error, with_marks
from pages._common.state import Pages, PageView, control, leave, one_of, pages
from pages._explore.explore_state import View

UNDO, GO = "reading_list_undo", "reading_list_go"
"""Keys of the session: words that tell what was removed last, and what brings it back; the view of
Explore that a click asked for."""
PREVIEW = 3000  # characters of an export that are shown
ORDERS = dict(zip(LIST_ORDERS, ("By hand", "Year", "Title"), strict=True))
Place = tuple[str, str, str]  # a list's id, corpus and doc_id
Do = Callable[[Place, Mapping[str, Any]], object]
_ITEMS = component("reading_list")


@dataclass(frozen=True)
class ListView(PageView):
    """A reading list as the page shows it; the list that is shown last is the current one."""

    script = "reading_list"
    list_id: Annotated[str, Field(alias="list")] = ""  # "" for the first list
    tag: str = ""  # only documents with this tag are shown and exported
    sort: Annotated[str, one_of(LIST_ORDERS)] = LIST_ORDERS[0]

    @classmethod
    def found_in(cls, left: Pages) -> Self:
        """As it was left, whatever corpus was shown then."""
        return left.last(cls) or cls()


def current_list(lists: Sequence[ReadingListInfo]) -> ReadingListInfo:
    """The one of a visitor's lists that documents are kept in."""
    left = ListView.found_in(pages())
    return next((one for one in lists if one.list_id == left.list_id), lists[0])


def list_choice(explorer: Explorer) -> ReadingListInfo:
    """A box with the current list; another one becomes it, or a new one by its name."""
    lists, key = explorer.reading_lists.lists(), "reading_list_current"
    names = {one.list_id: with_marks(one.name) for one in lists}
    current = current_list(lists)

    def choose() -> None:
        chosen = st.session_state[key]
        list_id = chosen if chosen in names else explorer.reading_lists.new(chosen)
        leave(ListView(list_id))

    st.session_state[key] = current.list_id
    look: Any = {"on_change": attempt, "args": (choose,), "width": 220, "accept_new_options": True}
    look["help"] = "Choose a list, or type a name for a new one."
    look["format_func"] = lambda one: names.get(one, one)
    st.selectbox("Keep in", list(names), key=key, **look)
    return current


@dataclass(frozen=True)
class ListPage:
    """A run of the page."""

    explorer: Explorer
    view: ListView
    lists: Sequence[ReadingListInfo]
    shown: ReadingListInfo

    @property
    def is_own(self) -> bool:
        """Whether the visitor may change it."""
        return self.shown.list_id in [one.list_id for one in self.lists]

    @cached_property
    def documents(self) -> list[KeptDocument]:
        """What is shown of the list."""
        view = self.view
        return self.explorer.reading_lists.documents(self.shown.list_id, view.tag, view.sort)


def open_list(explorer: Explorer) -> ListPage:
    """The list of the address; one that does not exist is named on the page."""
    view, lists = ListView.opened(), explorer.reading_lists.lists()
    try:
        shown = explorer.reading_lists.info(view.list_id)
    except SeedLensError as error:
        show_error(error)
        view, shown = ListView(), lists[0]
    tag = view.tag if view.tag in shown.tags else ""
    view = replace(view, list_id=shown.list_id, tag=tag)
    view.write()
    return ListPage(explorer, view, lists, shown)


def choose_list(page: ListPage) -> None:
    """The lists of the visitor, and a new one."""
    lists, key = page.explorer.reading_lists, "reading_list_list"
    names = {one.list_id: with_marks(f"{one.name} ({one.documents})") for one in page.lists}

    def show(list_id: str) -> None:
        st.session_state.pop(UNDO, None)
        ListView(list_id).write()

    def create() -> None:
        show(lists.new(st.session_state[f"{key}_new"]))
        st.session_state[f"{key}_new"] = ""

    st.session_state[key] = page.shown.list_id if page.is_own else None
    look: Any = {"on_change": attempt, "args": (lambda: show(st.session_state[key]),)}
    st.radio("Lists", list(names), None, names.__getitem__, key, **look)
    with line(align="bottom"):
        st.text_input("New list", key=f"{key}_new", placeholder="Name", max_chars=200)
        button("Create", f"{key}_create", create)


def show_list(page: ListPage) -> None:
    """The list, and what can be done with all of it."""
    shown, view = page.shown, page.view
    st.html(el("h2", shown.name, style="margin: 0"))
    if UNDO in st.session_state:
        words, bring_back = st.session_state[UNDO]
        with line("reading_list_undone"):
            st.html(el("div.sl-dim", words), width="content")
            button("Undo", UNDO + "_button", lambda: (st.session_state.pop(UNDO), bring_back()))
    with line("reading_list_tools", align="bottom"):
        control(view, "sort", st.segmented_control, "Sort", ORDERS, required=True)
        _tools(page)
    if shown.tags:
        tags = {tag: tag for tag in shown.tags}
        how: Any = {"shown": view.tag or None, "read": lambda tag: tag or ""}
        control(view, "tag", st.pills, "Tags", tags, **how)
    if not page.is_own:
        whose = f"Read-only: a list of {shown.owner or 'others'}."
        dim("Deleted list." if shown.deleted else whose)
    if not page.documents:
        empty("No documents. Use “Keep” on a result of Explore, or select documents on the Map.")
        return
    left_out = shown.documents - len(page.documents)
    if left_out and not view.tag:
        dim(f"{counted(left_out, 'document is', 'documents are')} not available now.")
    _items(page)


def _tools(page: ListPage) -> None:
    lists, shown = page.explorer.reading_lists, page.shown
    list_id, key = shown.list_id, f"reading_list_name_{shown.list_id}"

    def delete() -> None:
        lists.delete(list_id)
        st.session_state[UNDO] = (f"Deleted: {shown.name}", bring_back)
        ListView().write()

    def bring_back() -> None:
        lists.delete(list_id, deleted=False)
        ListView(list_id).write()

    def copy() -> None:
        ListView(lists.new(f"{shown.name} (copy)", list_id)).write()

    if page.documents:
        popover = st.popover("Export", key="reading_list_export", on_change="rerun")
        if popover.open:
            with popover, error_boundary():
                _export(page)
    with st.popover("Link"):
        url = (st.context.url or "").partition("?")[0].rstrip("/")
        st.code(f"{url}{page.view.link()}", language=None, wrap_lines=True)
    if not page.is_own:
        button("Copy list", "reading_list_copy", copy)
        return
    with st.popover("Rename"):
        name = st.text_input("Name", shown.name, key=key, max_chars=200)
        button("Rename", "reading_list_rename", lists.rename, list_id, name)
    if list_id != page.lists[0].list_id:
        button("Delete", "reading_list_delete", delete)


def _export(page: ListPage) -> None:
    labels = {n: form.label for n, form in EXPORT_FORMATS.items() if not n.endswith("-html")}
    labels |= {"markdown": "Markdown, with evidence", "jsonl": "JSONL, with evidence"}
    kind = select("Format", labels, "reading_list_format")
    export, view = page.explorer.reading_lists.export, page.view
    names = [kind, *[f"{kind}-html"] * (kind in CITATION_STYLES)]
    texts = {name: export(page.shown.list_id, name, view.tag, view.sort) for name in names}
    tagged = f" tagged “{view.tag}”" if view.tag else ""
    dim(f"{counted(len(page.documents), 'document')}{tagged}")
    for name, text in texts.items():
        form = EXPORT_FORMATS[name]
        label = f"Download {form.label}" if name == kind else "Download with italics (HTML)"
        file, key = f"reading-list.{form.suffix}", f"reading_list_download_{name}"
        download(label, file, partial(str, text), key=key, mime=form.mime)
    text = texts[kind]
    st.code(text[:PREVIEW], language=None, wrap_lines=True, height=240)
    if len(text) > PREVIEW:
        st.caption("Preview. Download for the full text.")


def _items(page: ListPage) -> None:
    lists, list_id, key = page.explorer.reading_lists, page.shown.list_id, "reading_list_items"
    others = [one for one in page.lists if one.list_id != list_id]

    def remove(place: Place, event: Mapping[str, Any]) -> None:
        lists.remove(*place)
        st.session_state[UNDO] = (f"Removed: {event['title']}", lambda: lists.keep(*place))

    def send(place: Place, event: Mapping[str, Any]) -> None:
        target, copy = event["target"], event["copy"]
        undo = lists.send(*place, target, copy=copy)
        words = f"{'Copied' if copy else 'Moved'} to {lists.info(target).name}: {event['title']}"
        st.session_state[UNDO] = (words, undo)

    def seed(place: Place, _: Mapping[str, Any]) -> None:
        about = {"corpus": place[1], "seed": place[2], "text_id": ""}
        st.session_state[GO] = View.elsewhere(**about, focus=(), reading=(), page=1)

    def search(place: Place, _: Mapping[str, Any]) -> None:
        queries = {(one.corpus, one.document.doc_id): one.query for one in page.documents}
        if query := queries.get(place[1:]):
            fields = View.fields_of(query, page.explorer)
            st.session_state[GO] = View.elsewhere(**fields, page=1)

    on: dict[str, Do] = {
        "seed": seed,
        "search": search,
        "remove": remove,
        "send": send,
        "note": lambda place, e: lists.annotate(*place, e["note"], e["before"]),
        "tag": lambda place, e: lists.tag(*place, e["tag"]),
        "untag": lambda place, e: lists.tag(*place, e["tag"], tagged=False),
        "move": lambda place, e: lists.move(*place, tuple(e["before"]) if e["before"] else None),
    }

    def about(do: Do) -> Event:
        return lambda e: do((list_id, e["corpus"], e["doc_id"]), e)

    received, receives = inbox(key, {name: about(do) for name, do in on.items()})
    _ITEMS(
        key=key,
        data={
            "documents": _described(page),
            "own": page.is_own,
            "by_hand": page.view.sort == LIST_ORDERS[0],
            "tags": page.shown.tags,
            "lists": [[one.list_id, one.name] for one in others],
            **received,
        },
        **receives,
    )


def _described(page: ListPage) -> list[dict[str, Any]]:
    """The documents as the component shows them."""
    library = page.explorer.library
    queries = [one.query for one in page.documents if one.query is not None]
    titles = iter(page.explorer.notebook.seed_titles(queries))
    aspects = {
        (corpus, aspect.key): f" in {aspect.name}"
        for corpus in {one.corpus for one in page.documents}
        for aspect in library.lens(corpus).aspects
    }
    described, corpora = [], library.titles()
    for one in page.documents:
        query, why = one.query, ""
        if query is not None:
            aspect = aspects.get((one.corpus, query.aspect or ""), "")
            words = f": {query.instruction}" if query.instruction else ""
            why = f"Similar to “{shortened(next(titles))}”{aspect}{words}"
        corpus = f"corpus {corpora.get(one.corpus, one.corpus)}"
        described.append(
            {
                **{name: getattr(one, name) for name in ("corpus", "evidence", "note", "tags")},
                "doc_id": one.document.doc_id,
                "title": title_of(one.document),
                "meta": " · ".join(filter(None, (meta(one.document), corpus))),
                "link": paper_link(one.document),
                "why": why,
            }
        )
    return described
