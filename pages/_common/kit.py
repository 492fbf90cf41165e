"""What all pages are built of: HTML whose texts are escaped once, tables, buttons and forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from pages._common.shared import attempt_at, escape, table_with_marks, with_marks

Name = TypeVar("Name")


class Html(str):
    """HTML whose texts are escaped."""

    __slots__ = ()


def html(*parts: object) -> Html:
    """Parts one after another: HTML stays, texts are escaped, None and False are left out.

    >>> html("a < b ", [Html("<i>"), 1_000], None)
    'a &lt; b <i>1000'
    """
    made = ""
    for part in parts:
        if isinstance(part, Html):
            made += part
        elif isinstance(part, Iterable) and not isinstance(part, str):
            made += html(*part)
        elif part is not None and part is not False:
            made += escape(str(part))
    return Html(made)


def el(tag: str, *children: object, **attributes: object) -> Html:
    """An element with its classes, children as :func:`html` and attributes, none of them empty.

    >>> el("li.role-1.on", "a < b", el("b", "!"), aria_label="it's", title=None)
    '<li class="role-1 on" aria-label="it&#x27;s">a &lt; b<b>!</b></li>'
    """
    name, *classes = tag.split(".")
    given = {"class": " ".join(classes), **attributes}
    written = "".join(
        f' {key.replace("_", "-")}="{escape(str(value))}"'
        for key, value in given.items()
        if value not in ("", None)
    )
    return Html(f"<{name}{written}>{html(*children)}</{name}>")


def dim(*children: object) -> None:
    """Words that stand back."""
    st.html(el("div.sl-dim", *children))


def facts(*children: object, **attributes: object) -> None:
    """Numbers and other facts in a line."""
    st.html(el("div.sl-facts", *children, **attributes))


def purpose(words: str) -> None:
    """What a page is for: its first sentence."""
    st.html(el("p.sl-purpose", words))


def empty(words: str) -> None:
    """What stands where there is nothing yet: what to do."""
    st.html(el("div.sl-empty", words))


def document(kicker: str, title: object, about: str, *body: object, kind: str = "sl-paper") -> Html:
    """A document as a card: what it is, title, facts in a line, its text; kind: CSS classes."""
    return el(
        f"section.sl-card.{kind}",
        el("div.kicker", kicker),
        el("div.title", title),
        about and el("div.meta", about),
        *body,
        tabindex=0,
        aria_label=kicker,
    )


def table(
    label: str,
    heads: Sequence[object],
    rows: Iterable[Sequence[object]],
    kind: str = "sl-people",
    *above: Html,
) -> Html:
    """A table, with a label for screen readers, that scrolls by itself in a narrow window; the
    first cell of a row is its heading, ``above`` its caption."""
    cells = [one if isinstance(one, Html) else el("th", one, scope="col") for one in heads]
    lines = [
        el(
            "tr",
            el("th", row[0], scope="row"),
            [c if isinstance(c, Html) and c.startswith("<td") else el("td", c) for c in row[1:]],
        )
        for row in rows
    ]
    made = el(f"table.{kind}", *above, cells and el("thead", el("tr", cells)), el("tbody", lines))
    return el("div.sl-wide", made, tabindex=0, role="region", aria_label=label)


def grid(rows: Any, key: str, alt: str, **options: Any) -> Any:
    """Records or a data frame as Streamlit's table, in which texts cannot turn their order."""
    frame = pd.DataFrame(rows)
    return st.dataframe(table_with_marks(frame), key=key, alt=alt, hide_index=True, **options)


def line(key: str | None = None, align: Any = "center", **options: Any) -> Any:
    """A container whose content stands in a line, close together."""
    return st.container(key=key, horizontal=True, vertical_alignment=align, gap="small", **options)


def button(
    label: str, key: str, do: Callable[..., object], *args: object, place: str = "", **look: Any
) -> bool:
    """A button; what goes wrong in its click is shown at a place, see ``show_problem``."""
    return st.button(label, key, on_click=attempt_at, args=(place, do, *args), **look)


def submit(
    label: str, key: str, do: Callable[..., object], *args: object, place: str = "", **look: Any
) -> bool:
    """The button of a form, otherwise as :func:`button`."""
    return st.form_submit_button(
        label, key=key, on_click=attempt_at, args=(place, do, *args), **look
    )


def segments(label: str, names: Mapping[Name, str], key: str, **look: Any) -> Name:
    """One of some names in a row, the first one at first; kept while other pages are shown."""
    first = next(iter(names))
    look = {"default": first, "persist_state": "session", "required": True, **look}
    chosen = st.segmented_control(label, [*names], format_func=_shown(names), key=key, **look)
    return first if chosen is None else chosen


def select(label: str, names: Mapping[Name, str], key: str, place: Any = st, **look: Any) -> Name:
    """One of some names in a box."""
    chosen: Name = place.selectbox(label, [*names], format_func=_shown(names), key=key, **look)
    return chosen


def _shown(names: Mapping[Name, str]) -> Callable[[Name], str]:
    return lambda name: with_marks(names[name])


def fold(label: str, key: str, *, opened: bool) -> Any:
    """An expander that stays as a person left it; before that, once ``opened`` it stays open."""
    left = f"{key}_left"

    def leave() -> None:
        st.session_state[left] = st.session_state[key]

    if opened:
        st.session_state.setdefault(left, True)
    # Streamlit forgets with the label whether it was open.
    st.session_state[key] = st.session_state.get(left, False)
    return st.expander(label, key=key, on_change=leave)


def open_part(label: str, key: str) -> Any:
    """An expander that draws its content only while it is ``open``."""
    return st.expander(label, key=key, type="compact", on_change="rerun")


@dataclass
class Fields:
    """The widgets of a form: ``fields("size")`` is the key of one, ``values`` what they hold."""

    name: str
    place: str
    keys: dict[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        """The key of a field, which is one of the form from now on."""
        return self.keys.setdefault(name, f"{self.name}_{name}_{self.place}")

    @property
    def values(self) -> dict[str, Any]:
        """What was entered, by field."""
        return {name: st.session_state[key] for name, key in self.keys.items()}
