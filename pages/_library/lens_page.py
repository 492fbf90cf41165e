"""Editing the lens of a corpus, with ten of its documents under it as it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from pages._annotate.decide import card_html
from pages._common.components import dark
from pages._common.outside_text import escape
from pages._common.shared import ASSETS, error_boundary, escape_label, note
from pages._library.lens_editor import MOST_ASPECTS, LensView, use_lens

PREVIEWED = 10
_EMPTY = Aspect("", "", "", "", "")


@dataclass(slots=True)
class _Row:
    """An aspect of the form: ``number`` names its widgets, wherever it stands."""

    number: int
    before: Aspect


def lens_page(explorer: Explorer) -> bool:
    """The editor, where the address asks for it; False where it does not."""
    corpus = LensView.read().lens
    if not corpus:
        return False
    st.html(ASSETS / "components" / "annotate_page.css")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(f"Lens of {escape_label(corpus)}", anchor=False)
        st.button("Back to the Library", key="lens_back", on_click=LensView().write)
    with error_boundary():
        current = explorer.library.lens(corpus)
        left, right = st.columns([5, 6], gap="large")
        with left, error_boundary():
            lens = _form(explorer, corpus, current)
            _use(explorer, corpus, current, lens)
        with right, error_boundary():
            _preview(explorer, corpus, current if lens is None else lens)
    return True


def _rows(corpus: str, current: Lens) -> list[_Row]:
    """The aspects as they are edited; begun anew where the corpus has got another lens."""
    known = st.session_state.get("lens_rows")
    if known is not None and known[0] == (corpus, current):
        rows: list[_Row] = known[1]
        return rows
    for key in [key for key in st.session_state if str(key).startswith("lens_field_")]:
        del st.session_state[key]
    rows = [_Row(number, aspect) for number, aspect in enumerate(current.aspects)]
    st.session_state["lens_rows"] = ((corpus, current), rows)
    return rows


def _field(name: str, value: Any) -> dict[str, Any]:
    """What a widget of the form is called, and begins with; what was written stays while other
    pages are shown."""
    key = f"lens_field_{name}"
    st.session_state.setdefault(key, value)
    return {"key": key, "persist_state": "session"}


def _form(explorer: Explorer, corpus: str, current: Lens) -> Lens | None:
    """The fields; the lens that they make, None with the reason where they make none."""
    rows = _rows(corpus, current)
    name = st.text_input("Lens name", **_field("name", current.name))
    allows_none = st.toggle(
        "Allow sentences without an aspect", **_field("none", current.allows_none),
        help="Needs two aspects or more. Roles from the source are kept.",
    )  # fmt: skip
    given = [_aspect(rows, at) for at in range(len(rows))]
    st.button(
        "Add aspect", key="lens_add", on_click=_add, args=(rows,),
        disabled=len(rows) >= MOST_ASPECTS,
    )  # fmt: skip
    fields = {
        "key": current.key,
        "name": name,
        "things": current.things,
        "generic": current.generic,
        "allows_none": allows_none,
        "aspects": given,
    }
    try:
        return explorer.library.own_lens(fields)
    except SeedLensError as error:
        note(error.message, error.remedy)
        return None


def _aspect(rows: list[_Row], at: int) -> dict[str, Any]:
    """One aspect's fields, and buttons that move and remove it."""
    row = rows[at]
    before, place = row.before, f"{row.number}_"
    called = st.session_state.get(f"lens_field_{place}name", before.name) or f"aspect {at + 1}"
    # The colour belongs to the place, as in the preview; the widgets belong to the aspect.
    with (
        st.container(key=f"lens_role_{at}"),
        st.expander(
            escape_label(called), expanded=not before.name, key=f"lens_aspect_{row.number}"
        ),
    ):
        name = st.text_input("Name", **_field(f"{place}name", before.name))
        definition = st.text_area(
            "Description",
            height=90,
            **_field(f"{place}definition", before.definition),
        )
        instruction = st.text_input(
            "Instruction", **_field(f"{place}instruction", before.instruction),
            placeholder="From the name if empty",
        )  # fmt: skip
        examples = st.text_area(
            "Examples, one per line", height=120,
            **_field(f"{place}examples", "\n".join(before.examples)),
        )  # fmt: skip
        with st.container(horizontal=True, gap="small"):
            label = escape_label(called)
            for words, step in (("up", -1), ("down", 1)):
                st.button(
                    f"Move {label} {words}", key=f"lens_{words}_{row.number}", on_click=_move,
                    args=(rows, at, step), disabled=not 0 <= at + step < len(rows),
                )  # fmt: skip
            st.button(
                f"Remove {label}", key=f"lens_remove_{row.number}", on_click=rows.remove,
                args=(row,), disabled=len(rows) == 1,
            )  # fmt: skip
    given = {"name": name, "definition": definition, "examples": examples.splitlines()}
    if before.key:  # what refers to it goes on to
        given["key"] = before.key
    if name == before.name and name:
        given |= {name: asdict(before)[name] for name in ("letter", "phrases", "paraphrases")}
    return {**given, "instruction": instruction} if instruction.strip() else given


def _add(rows: list[_Row]) -> None:
    rows.append(_Row(max(row.number for row in rows) + 1, _EMPTY))


def _move(rows: list[_Row], at: int, step: int) -> None:
    rows[at], rows[at + step] = rows[at + step], rows[at]


def _use(explorer: Explorer, corpus: str, current: Lens, lens: Lens | None) -> None:
    """The button that sorts the corpus's sentences by the lens."""
    changed = lens is not None and lens != current
    st.caption(
        "Roles from the source are kept for shared aspects; all others are predicted. Vectors are "
        "kept."
        if changed
        else "No changes yet."
    )
    place = st.empty()
    pressed = st.button(
        "Apply lens", key="lens_use", type="primary", disabled=not changed or lens is None
    )
    if pressed and lens is not None:
        with error_boundary():
            use_lens(explorer, corpus, lens, place)
            st.rerun()


def _preview(explorer: Explorer, corpus: str, lens: Lens) -> None:
    """Ten documents with their sentences' roles; computed for what is written, stored nowhere."""
    with st.spinner("Predicting roles of ten documents"):
        documents = explorer.library.preview_lens(corpus, lens, PREVIEWED)
    st.html(tally(documents, lens))
    with st.container(key="lens_preview", gap="small"):
        for number, document in enumerate(documents, start=1):
            kicker = f"Document {number} of {len(documents)}"
            st.html(card_html(kicker, document, lens, set()))


def tally(documents: Sequence[Document], lens: Lens) -> str:
    """How many sentences each aspect has, beside its letter in its colour, as escaped HTML."""
    roles = Counter(sentence.role for document in documents for sentence in document.sentences)
    each = "".join(
        f'<span class="role-{index}"><span class="letter">{escape(aspect.letter)}</span> '
        f"{escape(aspect.name)} {roles[index]:,}</span>"
        for index, aspect in enumerate(lens.aspects)
    )
    if roles[None]:
        each += f"<span>{roles[None]:,} without aspect</span>"
    total = counted(sum(roles.values()), "sentence")
    theme = " dark" if dark() else ""
    return (
        f'<div class="sl-facts sl-tally{theme}" role="status">'
        f"<span>{counted(len(documents), 'document')}, {total}:</span>{each}</div>"
    )
