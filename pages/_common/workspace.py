"""The pages of a visit as they were left, and what they share.

A page that is opened without parameters goes on as it was left, on the corpus, seed, aspect and
trail that the page used last was about. Each tab has its own pages; another tab, or
this one after a reload, begins with those that were left last in the browser.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar

import streamlit as st

from pages._common.visit_memory import memory


class PageState(Protocol):
    """What a page shows, as :class:`pages._common.url_state.UrlState` has it: a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def on_corpus(self, corpus: str) -> Self: ...

    def sharing(self, shared: Mapping[str, Any]) -> Self: ...


State = TypeVar("State", bound=PageState)
MOST_VIEWS = 50
_PAGES = "pages"
_EVERYWHERE = ("trail",)
"""What is shared from one corpus to another; all else is about documents of one."""


@dataclass(frozen=True, slots=True)
class Pages:
    """How pages were left.

    Attributes:
        shared: fields of views that all pages share, as the page used last has them.
        views: the last view of each page on each corpus, the latest last.
    """

    shared: Mapping[str, Any] = field(default_factory=dict)
    views: Mapping[tuple[type[PageState], str], PageState] = field(default_factory=dict)

    @property
    def corpus(self) -> str:
        """The corpus of the page used last; "" before there is one."""
        return str(self.shared.get("corpus", ""))

    def leave(self, view: PageState) -> Pages:
        """With a page as it is now."""
        now = shared_fields(view)
        before = self.shared
        if now.get("corpus", self.corpus) != self.corpus:
            before = self.everywhere()
        shared = {**before, **now}
        key = (type(view), str(shared.get("corpus", "")))
        if self.last(type(view)) == view == self.views.get(key):
            return self if shared == self.shared else replace(self, shared=shared)
        views = {k: v for k, v in self.views.items() if k != key}
        return Pages(shared, dict([*views.items(), (key, view)][-MOST_VIEWS:]))

    def last(self, page: type[State]) -> State | None:
        """A page as it was left last, on whichever corpus; None where it was not opened."""
        found = [view for view in self.views.values() if isinstance(view, page)]
        return found[-1] if found else None

    def changed_since(self, page: type[PageState], other: type[PageState]) -> bool:
        """Whether a page was changed on this corpus after another one was, or without it."""
        order = [kind for kind, corpus in self.views if corpus == self.corpus]
        return page in order and (other not in order or order.index(page) > order.index(other))

    def found(self, page: type[State], corpus: str = "", /, **fields: Any) -> State:
        """A page as it is found when it is opened without parameters.

        Args:
            corpus: one that was chosen; "" for that of the page used last.
            fields: of the page, that were chosen as well.
        """
        corpus = corpus or str(fields.get("corpus", self.corpus))
        view = self.views.get((page, corpus))
        if not isinstance(view, page):
            view = (self.last(page) or page()).on_corpus(corpus)
        shared = self.shared if corpus == self.corpus else self.everywhere()
        return replace(view.sharing({**shared, **fields}), **fields)

    def everywhere(self) -> dict[str, Any]:
        """What pages share from one corpus to another."""
        return {name: self.shared[name] for name in _EVERYWHERE if name in self.shared}

    def within(self, corpora: Collection[str]) -> Pages:
        """Without what is about a corpus that is not there any more."""
        gone = {corpus for _, corpus in self.views if corpus and corpus not in corpora}
        if not gone:
            return self
        kept = {key: view for key, view in self.views.items() if key[1] not in gone}
        shared = self.shared
        if self.corpus in gone:
            shared = self.everywhere()
        return replace(self, shared=shared, views=kept)


def shared_fields(view: PageState) -> dict[str, Any]:
    """The fields of a view that other pages share."""
    return {one.name: getattr(view, one.name) for one in fields(view) if one.metadata["shared"]}


def pages() -> Pages:
    """The pages of this tab."""
    known = st.session_state.get(_PAGES)
    if known is None:
        known = st.session_state[_PAGES] = memory().get(_PAGES, Pages())
    return known  # type: ignore[no-any-return]


def leave(view: PageState) -> None:
    """Remember a page as it is now, in this tab and for the next one."""
    _keep(pages().leave(view))


def keep_within(corpora: Collection[str]) -> None:
    """Forget what is about corpora that are not there any more."""
    _keep(pages().within(corpora))


def _keep(now: Pages) -> None:
    if now is not st.session_state.get(_PAGES):
        st.session_state[_PAGES] = memory()[_PAGES] = now
