"""The state of a page as its URL has it: declared once, read, checked and written from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import urlencode

import streamlit as st

from engine.errors import BadInputError, SeedLensError, UnknownNameError
from engine.explorer import Explorer
from engine.types.lenses import Lens
from pages._common import workspace
from pages._common.shared import attempt, note, show_error
from pages._common.workspace import shared_fields

T = TypeVar("T")
_PAGES = Path(__file__).resolve().parents[1]
Read = Callable[[str], T]
"""Reads a parameter; ValueError says what is wrong with it."""


def param(
    name: str,
    default: object,
    read: Read[Any] = str,
    write: Callable[[Any], str] = str,
    *,
    shared: bool = False,
) -> Any:
    """A field of a :class:`UrlState`, called ``name`` in the URL; left out there at its default.

    Args:
        shared: pages that have a field of this name take it over from the page used last.
    """
    about = {"name": name, "read": read, "write": write, "shared": shared}
    return field(default=default, metadata=about)


def number(name: str, low: float, high: float) -> Read[float]:
    """Reads a number from ``low`` to ``high``."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"{name} is '{text}', not a number") from None
        if not low <= value <= high:
            raise ValueError(f"{name} is {value:g}, not a number from {low:g} to {high:g}")
        return value

    return read


def whole(name: str) -> Read[int]:
    """Reads a whole number."""

    def read(text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise ValueError(f"{name} is '{text}', not a whole number") from None

    return read


def integer(name: str, low: int, high: int) -> Read[int]:
    """Reads a whole number from ``low`` to ``high``."""
    within, read = number(name, low, high), whole(name)
    return lambda text: int(within(str(read(text))))


def one_of(choices: Sequence[str]) -> Read[str]:
    """Reads one of ``choices``."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"'{text}' is not one of {', '.join(choices)}")
        return text

    return read


def names(text: str) -> tuple[str, ...]:
    """Reads names between commas, each once."""
    return tuple(dict.fromkeys(part for part in text.split(",") if part))


def join(values: Sequence[object]) -> str:
    """Writes what :func:`names` reads."""
    return ",".join(map(str, values))


def some_of(choices: Sequence[str]) -> Read[tuple[str, ...]]:
    """Reads some of ``choices`` between commas; :func:`join` writes them."""
    one = one_of(choices)
    return lambda text: tuple(map(one, names(text)))


def flag(text: str) -> bool:
    """Reads ``1`` as true, everything else as false."""
    return text == "1"


def write_flag(value: bool) -> str:
    """Writes what :func:`flag` reads."""
    return "1" if value else ""


class BadParamError(BadInputError):
    """A part of a link that cannot be read."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"Invalid link: {problem}.", "Using defaults.")
        self.name = name


@dataclass(frozen=True, slots=True)
class UrlState:
    """Base of the pages' states: frozen dataclasses whose fields are made by :func:`param`.

    Attributes:
        script: the page's file, without its ending.
    """

    script: ClassVar[str]

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out."""
        params = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value != one.default:
                params[one.metadata["name"]] = one.metadata["write"](value)
        return {name: text for name, text in params.items() if text}

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> Self:
        """The state of URL parameters; those that are not declared are left aside.

        Raises:
            BadParamError: a parameter that cannot be read.
        """
        values = {}
        for one in fields(cls):
            name = one.metadata["name"]
            if name in params:
                try:
                    values[one.name] = one.metadata["read"](params[name])
                except ValueError as error:
                    raise BadParamError(name, str(error)) from error
        return cls(**values)

    def on_corpus(self, corpus: str) -> Self:
        """This page on a corpus that it has not been on yet: nothing of another one goes along."""
        names = {one.name for one in fields(self)}
        return type(self)(**{"corpus": corpus} if "corpus" in names else {})

    def sharing(self, shared: Mapping[str, Any]) -> Self:
        """This page with what it shares with others, as the page used last has it.

        Args:
            shared: values by the names of fields; those that are not shared here are left aside.
        """
        return replace(self, **{n: v for n, v in shared.items() if n in shared_fields(self)})

    @classmethod
    def opened_with(cls, params: Mapping[str, str]) -> Self:
        """The state of URL parameters; without any, the page as it was left.

        What pages share on all corpora is taken over where a link does not name it.
        Raises as :meth:`from_params`.
        """
        pages = workspace.pages()
        if not params:
            return pages.found(cls)
        shared = {n: v for n, v in pages.everywhere().items() if not params.get(n)}
        return cls.from_params(params).sharing(shared)

    @classmethod
    def read(cls) -> Self:
        """The state of the URL; raises as :meth:`from_params`."""
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
    def opened_on(cls, explorer: Explorer, names: Sequence[str]) -> Self:
        """:meth:`opened` on a corpus that can be shown; another one is named.

        Args:
            names: of all corpora.
        """
        view = cls.opened()
        try:
            corpus = corpus_to_open(explorer, str(shared_fields(view)["corpus"]), names)
        except SeedLensError as error:
            show_error(error)
            return view.on_corpus(corpus_to_open(explorer, "", names))
        on: dict[str, Any] = {"corpus": corpus}
        return replace(view, **on)

    @classmethod
    def elsewhere(cls, **fields: Any) -> Self:
        """This page as links from other pages open it: as it was left, with what pages share.

        Args:
            fields: what the link is about.
        """
        return workspace.pages().found(cls, **fields)

    def write(self) -> None:
        """Put the state into the URL; the browser's back button brings the former one back.

        It is remembered, too: the page is found like this when it is opened again.
        """
        workspace.leave(self)
        params = self.to_params()
        if st.query_params.to_dict() != params:
            st.query_params.from_dict(params)

    def link(self) -> str:
        """The query part of a link."""
        return "?" + urlencode(self.to_params())

    def go(self) -> None:
        """Leave the page that is drawn for this one."""
        st.switch_page(self._file, query_params=self.to_params())

    def page_link(self, label: str) -> None:
        """A link to this page."""
        st.page_link(self._file, label=label, query_params=self.to_params(), width="content")

    @property
    def _file(self) -> str:
        return str(_PAGES / f"{self.script}.py")

    @classmethod
    def change(cls, change: Callable[[Self], Self]) -> None:
        """Change what the URL says now.

        A click may come before the page has caught up with the last one: what the page showed
        then is older than the URL.
        """
        change(cls.read()).write()

    @classmethod
    def sets(
        cls, name: str, key: str, read: Callable[[Any], Any] = lambda value: value, **also: Any
    ) -> dict[str, Any]:
        """Key and callback of a widget that changes the field ``name``, and nothing else.

        Args:
            read: the field's value from the widget's.
            also: fields that are set along with it.
        """

        def change() -> None:
            try:
                value = read(st.session_state[key])
            except ValueError as error:
                raise BadInputError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
            cls.change(lambda now: replace(now, **{name: value}, **also))

        return {"key": key, "on_change": attempt, "args": (change,)}

    def bound(
        self, name: str, key: str, shown: object = None,
        read: Callable[[Any], Any] = lambda value: value, **also: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """:meth:`sets`, of a widget that shows the field.

        Args:
            shown: what the widget shows where that is not the field itself.
        """
        value = getattr(self, name) if shown is None else shown
        value = list(value) if isinstance(value, tuple) else value
        # What it shows already is not set: that would undo what is being typed.
        if st.session_state.get(key) != value:
            st.session_state[key] = value
        return self.sets(name, key, read, **also)


def corpus_to_open(explorer: Explorer, corpus: str, known: Sequence[str]) -> str:
    """The corpus that a link names, or the first to show where it names none.

    Raises:
        SeedLensError: it cannot be opened; says why.
    """
    if corpus and corpus not in known:
        explorer.library.open(corpus)
    first = explorer.demo_corpus if explorer.demo_corpus in known else known[0]
    return corpus or first


def corpus_box(view: UrlState, names: Sequence[str], key: str, **box: Any) -> None:
    """Which corpus a page is about; one that it was about before comes back as it was left."""

    def change() -> None:
        workspace.pages().found(type(view), st.session_state[key]).write()

    st.session_state[key] = shared_fields(view)["corpus"]
    st.selectbox("Corpus", names, key=key, on_change=attempt, args=(change,), **box)


def seed_is_there(explorer: Explorer, corpus: str, seed: str, text_id: str) -> bool:
    """Whether a view has a seed, and it is there; one that is not is named on the page.

    Args:
        corpus: one that is there. Where it cannot be opened, that is said where its documents
            would be, and its seed stands.
        text_id: a pasted seed, which takes the place of ``seed``.
    """
    if not seed and not text_id:
        return False
    try:
        if text_id:
            explorer.notebook.text(text_id)
        else:
            explorer.document(corpus, seed)
    except UnknownNameError as error:
        note(error.message, "Showing another seed.")
        return False
    except SeedLensError:
        return True
    return True


def aspect_that_is_there(lens: Lens, aspect: str) -> str:
    """The aspect of a view, or "" where its lens has none of this name, which is said."""
    if aspect in ("", *(one.key for one in lens.aspects)):
        return aspect
    note(f"There is no aspect '{aspect}' in the lens '{lens.name}'.", "Choose another one.")
    return ""
