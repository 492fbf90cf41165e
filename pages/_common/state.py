"""The state of a page: read from the URL, written to it, bound to widgets, and remembered.

The URL decides. A page opened without parameters goes on as it was left in the tab, or in the
browser, on the corpus, seed, aspect and trail of the page used last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, get_type_hints
from urllib.parse import urlencode

import streamlit as st
from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError

from engine.errors import BadInputError, SeedLensError, UnknownNameError
from engine.explorer import Explorer
from engine.types.lenses import Lens
from pages._common.shared import (
    ASSETS,
    attempt,
    engine,
    error_boundary,
    note,
    show_error,
    show_problem,
    with_marks,
)
from pages._common.visit_memory import memory

State = TypeVar("State", bound="PageView")
T = TypeVar("T")
MOST_VIEWS = 50
LONGEST_VALUE = 40  # characters of a wrong value that a message repeats
_PAGES = "pages"
_FILES = Path(__file__).resolve().parents[1]
_EVERYWHERE = ("trail",)  # shared from one corpus to another; all else is about documents of one

# -- fields --------------------------------------------------------------------------------


def names(text: object) -> object:
    """Names between commas, each once; what is no text is left as it is."""
    if not isinstance(text, str):
        return text
    return tuple(dict.fromkeys(part for part in text.split(",") if part))


def join(values: Sequence[object]) -> str:
    """Writes what :func:`names` reads."""
    return ",".join(map(str, values))


Shared = Annotated[str, "shared"]
"""A field that pages take over from the page used last."""
Commas = BeforeValidator(names)
"""Reads a tuple from a text with commas."""


def _known(choices: Collection[T]) -> Callable[[T], T]:
    def read(value: T) -> T:
        if value not in choices:
            raise ValueError(f"'{value}' is not one of {', '.join(map(str, choices))}")
        return value

    return read


def one_of(choices: Collection[Any]) -> AfterValidator:
    """One of these values."""
    return AfterValidator(_known(choices))


def some_of(choices: Collection[str]) -> AfterValidator:
    """Some of these values."""
    read = _known(choices)
    return AfterValidator(lambda values: tuple(map(read, values)))


def _text(value: object) -> str:
    """A value as the URL has it; "" for what is left out."""
    if isinstance(value, bool):
        return "1" if value else ""
    if isinstance(value, tuple | list):
        return join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


class BadParamError(BadInputError):
    """A part of a link that cannot be read."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"Invalid link: {problem}.", "Using defaults.")
        self.name, self.problem = name, problem


def _describe(view: Any) -> tuple[TypeAdapter[Any], tuple[str, ...]]:
    hints = get_type_hints(view, include_extras=True)
    shared = (n for n, hint in hints.items() if "shared" in getattr(hint, "__metadata__", ()))
    return TypeAdapter(view), tuple(shared)


_described: Callable[[Any], tuple[TypeAdapter[Any], tuple[str, ...]]] = cache(_describe)
"""What reads and writes a kind of view, and its fields that pages share."""


# -- a view --------------------------------------------------------------------------------


@dataclass(frozen=True)
class PageView:
    """What a page shows: a frozen dataclass that pydantic reads from the URL and writes to it.

    A field is called in the URL as in Python, or by its alias, and is left out at its default.
    """

    script: ClassVar[str]  # the page's file, without its ending
    renewed: ClassVar[Mapping[str, Any]] = {}  # what a change of a field by a widget sets along

    def shared(self) -> dict[str, Any]:
        """The fields that other pages share."""
        return {name: getattr(self, name) for name in _described(type(self))[1]}

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out."""
        values = _described(type(self))[0].dump_python(self, by_alias=True, exclude_defaults=True)
        return {name: text for name, value in values.items() if (text := _text(value))}

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> Self:
        """The state of URL parameters, unknown ones left aside; BadParamError for a wrong one."""
        try:
            view: Self = _described(cls)[0].validate_python(dict(params))
        except ValidationError as error:
            first = error.errors()[0]
            name, message = str(first["loc"][0]), first["msg"]
            value = str(params.get(name, ""))[:LONGEST_VALUE]
            own = first["type"] == "value_error"
            problem = f"{name} is {value}, {message[:1].lower()}{message[1:]}"
            raise BadParamError(name, str(first["ctx"]["error"]) if own else problem) from error
        return view

    def on_corpus(self, corpus: str) -> Self:
        """This page on a corpus that it has not been on yet: nothing of another one goes along."""
        known = {one.name for one in fields(self)}
        return type(self)(**{"corpus": corpus} if "corpus" in known else {})

    def sharing(self, shared: Mapping[str, Any]) -> Self:
        """This page with what it shares with others, as the page used last has it."""
        return replace(self, **{n: v for n, v in shared.items() if n in _described(type(self))[1]})

    @classmethod
    def found_in(cls, left: Pages) -> Self:
        """This page when it is opened without parameters."""
        return left.found(cls)

    @classmethod
    def opened_with(cls, params: Mapping[str, str]) -> Self:
        """The state of URL parameters; without any, the page as it was left."""
        left = pages()
        if not params:
            return cls.found_in(left)
        shared = {n: v for n, v in left.everywhere().items() if not params.get(n)}
        return cls.from_params(params).sharing(shared)

    @classmethod
    def read(cls) -> Self:
        """The state of the URL."""
        return cls.opened_with(st.query_params.to_dict())

    @classmethod
    def opened(cls) -> Self:
        """The state of the URL; a part of it that cannot be read is named, and left out."""
        while True:
            try:
                return cls.read()
            except BadParamError as error:
                show_error(error)
                del st.query_params[error.name]

    @classmethod
    def opened_on(cls, explorer: Explorer, known: Sequence[str]) -> Self:
        """:meth:`opened` on one of the known corpora; one that cannot be shown is named."""
        view = cls.opened()
        corpus = explorer.library.stored_name(str(view.shared()["corpus"]))
        first = explorer.demo_corpus if explorer.demo_corpus in known else known[0]
        try:
            if corpus and corpus not in known:
                explorer.library.open(corpus)  # says why not
        except SeedLensError as error:
            show_error(error)
            return view.on_corpus(first)
        on: dict[str, Any] = {"corpus": corpus or first}
        return replace(view, **on)

    @classmethod
    def elsewhere(cls, **fields: Any) -> Self:
        """This page as links from others open it: as it was left, but for ``fields``."""
        return pages().found(cls, **fields)

    def write(self) -> None:
        """Put the state into the URL, and remember it; the browser's back button works."""
        leave(self)
        params = self.to_params()
        if st.query_params.to_dict() != params:
            st.query_params.from_dict(params)

    @classmethod
    def change(cls, change: Callable[[Self], Self]) -> None:
        """Change what the URL says now: a click may come before the page has caught up."""
        change(cls.read()).write()

    def link(self) -> str:
        """The query part of a link."""
        return "?" + urlencode(self.to_params())

    def go(self) -> None:
        """Leave the page that is drawn for this one."""
        st.switch_page(_FILES / f"{self.script}.py", query_params=self.to_params())

    def page_link(self, label: str) -> None:
        """A link to this page."""
        file = _FILES / f"{self.script}.py"
        st.page_link(file, label=label, query_params=self.to_params(), width="content")

    @property
    def widgets(self) -> tuple[str, ...]:
        """The keys that :func:`control` gives to widgets of this page, for ``as_drawn``."""
        return tuple(f"{self.script}_{one.name}" for one in fields(self))

    def bound(
        self,
        name: str,
        key: str,
        shown: object = ...,
        read: Callable[[Any], Any] = lambda value: value,
        **also: Any,
    ) -> dict[str, Any]:
        """Key and callback of a widget that shows the field ``name`` and changes it.

        Args:
            shown: what the widget shows where that is not the field itself.
            read: the field's value from the widget's; ValueError says what is wrong with it.
            also: fields that are set along with it, beside :attr:`renewed`.
        """
        value = getattr(self, name) if shown is ... else shown
        value = list(value) if isinstance(value, tuple) else value
        # What it shows already is not set: that would undo what is being typed.
        if key not in st.session_state or st.session_state[key] != value:
            st.session_state[key] = value
        view = type(self)

        def change() -> None:
            try:
                now = read(st.session_state[key])
            except ValueError as error:
                raise BadInputError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
            changed = {name: tuple(now) if isinstance(now, list) else now}
            view.change(lambda before: replace(before, **{**view.renewed, **also, **changed}))

        return {"key": key, "on_change": attempt, "args": (change,)}


def control(
    view: PageView,
    name: str,
    widget: Callable[..., T],
    label: str,
    *args: Any,
    shown: object = ...,
    read: Callable[[Any], Any] = lambda value: value,
    also: Mapping[str, Any] | None = None,
    **options: Any,
) -> T:
    """A widget that shows a field of a view and changes it, see :meth:`PageView.bound`; its key is
    ``SCRIPT_NAME``. Choices may be a mapping to their names."""
    bound = view.bound(name, f"{view.script}_{name}", shown, read, **(also or {}))
    if args and isinstance(args[0], Mapping):
        labels: Mapping[Any, str] = args[0]
        options.setdefault("format_func", lambda one: with_marks(labels[one]))
        args = (list(labels), *args[1:])
    return widget(label, *args, **bound, **options)


def weight_slider(view: PageView, steer: float, **options: Any) -> None:
    """The aspect weight, the field ``steer``, in percent."""
    control(
        *(view, "steer", st.slider, "Aspect weight", 0, 100),
        shown=round(steer * 100),
        read=lambda percent: percent / 100,
        step=5,
        format="%d %%",
        **options,
    )


def corpus_box(view: PageView, known: Sequence[str], key: str, **box: Any) -> None:
    """Which corpus a page is about; one that it was about before comes back as it was left."""

    def change() -> None:
        pages().found(type(view), st.session_state[key]).write()

    st.session_state[key] = view.shared()["corpus"]
    titles = {name: with_marks(title) for name, title in engine().library.titles().items()}
    box |= {"format_func": lambda name: titles.get(name, name)}
    st.selectbox("Corpus", known, key=key, on_change=attempt, args=(change,), **box)


def seed_is_there(explorer: Explorer, corpus: str, seed: str, text_id: str) -> bool:
    """Whether a document or a pasted text of a view exists; one that does not is named."""
    try:
        if text_id:
            explorer.notebook.text(text_id)
        elif seed:
            explorer.document(corpus, seed)
    except UnknownNameError as error:
        note(error.message, "Showing another seed.")
        return False
    except SeedLensError:  # shown where the documents of the corpus would be
        return True
    return bool(seed or text_id)


def aspect_that_is_there(lens: Lens, aspect: str) -> str:
    """The aspect of a view, or "" where its lens has none of this name, which is shown."""
    if aspect in ("", *(one.key for one in lens.aspects)):
        return aspect
    note(f"There is no aspect '{aspect}' in the lens '{lens.name}'.", "Choose another one.")
    return ""


# -- how pages were left -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pages:
    """How pages were left."""

    # fields of views that all pages share, as the page used last has them
    shared: Mapping[str, Any] = field(default_factory=dict)
    # the last view of each page on each corpus, the latest last
    views: Mapping[tuple[type[PageView], str], PageView] = field(default_factory=dict)

    @property
    def corpus(self) -> str:
        """The corpus of the page used last; "" before there is one."""
        return str(self.shared.get("corpus", ""))

    def leave(self, view: PageView) -> Pages:
        """With a page as it is now."""
        now = view.shared()
        same = now.get("corpus", self.corpus) == self.corpus
        shared = {**(self.shared if same else self.everywhere()), **now}
        key = (type(view), str(shared.get("corpus", "")))
        if self.last(type(view)) == view == self.views.get(key):
            return self if shared == self.shared else replace(self, shared=shared)
        views = {k: v for k, v in self.views.items() if k != key}
        return Pages(shared, dict([*views.items(), (key, view)][-MOST_VIEWS:]))

    def last(self, page: type[State]) -> State | None:
        """A page as it was left last, on any corpus; None where it was not opened."""
        found = [view for view in self.views.values() if isinstance(view, page)]
        return found[-1] if found else None

    def changed_since(self, page: type[PageView], other: type[PageView]) -> bool:
        """Whether a page was changed on this corpus after another one was, or without it."""
        order = [kind for kind, corpus in self.views if corpus == self.corpus]
        return page in order and (other not in order or order.index(page) > order.index(other))

    def found(self, page: type[State], corpus: str = "", /, **fields: Any) -> State:
        """A page opened without parameters, on a corpus ("" for that of the page used last) and
        with fields that were chosen."""
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
        shared = self.everywhere() if self.corpus in gone else self.shared
        return replace(self, shared=shared, views=kept)


def pages() -> Pages:
    """The pages of this tab."""
    known = st.session_state.get(_PAGES)
    if known is None:
        known = st.session_state[_PAGES] = memory().get(_PAGES, Pages())
    return known  # type: ignore[no-any-return]


def leave(view: PageView) -> None:
    """Remember a page as it is now, in this tab and for the next one."""
    _keep(pages().leave(view))


def _keep(now: Pages) -> None:
    if now is not st.session_state.get(_PAGES):
        st.session_state[_PAGES] = memory()[_PAGES] = now


V = TypeVar("V")


@dataclass(frozen=True)
class Page(Generic[V]):
    """What one run of a page is about."""

    explorer: Explorer
    view: V
    corpora: Sequence[str]  # the names of all

    @property
    def corpus(self) -> str:
        """The corpus of the view, which exists."""
        view: Any = self.view
        return str(view.corpus)

    @cached_property
    def lens(self) -> Lens:
        """The lens of the corpus."""
        return self.explorer.library.lens(self.corpus)


@contextmanager
def open_page(style: str = "") -> Iterator[tuple[Explorer, list[str]]]:
    """The engine and the names of the corpora, in an error boundary and with the page's style.

    The page stops here until there is a corpus to show.
    """
    with error_boundary():
        if style:
            st.html(ASSETS / "components" / style)
        explorer = engine()
        names = explorer.library.names()
        if not names:
            note("No corpus yet.", "Import one on the Library page.")
            st.page_link("library.py", label="Open the Library")
            st.stop()
        _keep(pages().within(names))
        with st.container():  # in any case: what follows keeps its place
            show_problem()
        yield explorer, names
