"""The lens of a corpus: one for a new corpus, and a page to change it beside ten documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.corpora import Progress
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from pages._common.components import dark
from pages._common.document_view import by_role
from pages._common.job_card import progress
from pages._common.kit import Html, el, line, select
from pages._common.shared import ASSETS, error_boundary, escape_label, note
from pages._common.state import PageView
from pages._login import login

OWN = "own"
MOST_ASPECTS = 8
PREVIEWED = 10
_EMPTY = Aspect("", "", "", "", "")
_NEW = Lens("", "", (_EMPTY, _EMPTY))


@dataclass(frozen=True)
class LensView(PageView):
    """Which corpus's lens is edited on a page of its own; "" for none."""

    lens: str = ""


def choose_lens(explorer: Explorer, key: str) -> Lens | None:
    """The lens of a new corpus; None while a custom one is not complete."""
    lenses = {lens.key: lens for lens in explorer.library.lenses}
    names = {**{name: lens.name for name, lens in lenses.items()}, OWN: "Custom lens"}
    words = "Aspects that documents can be similar in."
    choice = select("Lens", names, f"{key}_lens", persist_state="session", help=words, width=420)
    if choice == OWN:
        return edit_lens(explorer, key, _NEW, "")
    for aspect in lenses[choice].aspects:
        st.text(f"{aspect.letter} · {aspect.name}: {aspect.definition}")
    return lenses[choice]


# -- the editor ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """An aspect of the form: ``number`` names its widgets, wherever it stands."""

    number: int
    before: Aspect


def edit_lens(explorer: Explorer, key: str, begun: Lens, corpus: str) -> Lens | None:
    """The fields of a lens; the lens that they make, None with the reason where they make none.
    ``begun``: what the fields hold at first. ``corpus``: that has it; the fields are filled again
    for another one."""
    rows = _rows(key, (corpus, begun))
    name = st.text_input("Lens name", **_field(key, "name", begun.name))
    words = "Needs two aspects or more. Roles from the source are kept."
    allows_none = st.toggle(
        "Allow sentences without an aspect", help=words, **_field(key, "none", begun.allows_none)
    )
    aspects = [_aspect(key, rows, at) for at in range(len(rows))]
    added = (*rows, _Row(max(row.number for row in rows) + 1, _EMPTY))
    add: Any = {"on_click": _put, "args": (key, added), "disabled": len(rows) >= MOST_ASPECTS}
    st.button("Add aspect", f"{key}_add", **add)
    if begun is _NEW and not any([name, *(a["name"] or a["definition"] for a in aspects)]):
        st.caption("Name the lens and its aspects, with two example sentences each.")
        return None
    known = {"key": begun.key, "things": begun.things, "generic": begun.generic}
    fields = {"name": name, "allows_none": allows_none, "aspects": aspects}
    try:
        return explorer.library.own_lens(fields if begun is _NEW else fields | known)
    except SeedLensError as error:
        note(error.message, error.remedy)
        return None


def _rows(key: str, basis: tuple[str, Lens]) -> tuple[_Row, ...]:
    """The aspects as they are edited; begun again where the corpus has got another lens."""
    if st.session_state.get(f"{key}_basis") != basis:
        for name in [name for name in st.session_state if str(name).startswith(f"{key}_field_")]:
            del st.session_state[name]
        st.session_state[f"{key}_basis"] = basis
        _put(key, tuple(_Row(number, one) for number, one in enumerate(basis[1].aspects)))
    rows: tuple[_Row, ...] = st.session_state[f"{key}_field_rows"]
    return rows


def _put(key: str, rows: tuple[_Row, ...]) -> None:
    st.session_state[f"{key}_field_rows"] = rows


def _field(key: str, name: str, value: Any) -> dict[str, Any]:
    """What a widget of the form is called, and begins with; what was written stays while other
    pages are shown."""
    st.session_state.setdefault(f"{key}_field_{name}", value)
    return {"key": f"{key}_field_{name}", "persist_state": "session"}


def _aspect(key: str, rows: tuple[_Row, ...], at: int) -> dict[str, Any]:
    """One aspect's fields, and buttons that move and remove it."""
    number, before = rows[at].number, rows[at].before

    def field(name: str, value: str) -> dict[str, Any]:
        return _field(key, f"{number}_{name}", value)

    called = st.session_state.get(f"{key}_field_{number}_name", before.name) or f"aspect {at + 1}"
    label = escape_label(called)
    # The colour belongs to the place, as in the preview; the widgets belong to the aspect.
    place = st.container(key=f"{key}_role_{at}")
    with place, st.expander(label, expanded=not before.name, key=f"{key}_aspect_{number}"):
        name = st.text_input("Name", **field("name", before.name))
        definition = st.text_area(
            "Description", height=90, **field("definition", before.definition)
        )
        shown = "From the name if empty"
        instruction = st.text_input(
            "Instruction", placeholder=shown, **field("instruction", before.instruction)
        )
        begun = "\n".join(before.examples)
        examples = st.text_area("Examples, one per line", height=120, **field("examples", begun))
        with line():
            for words, step in (("up", -1), ("down", 1)):
                moved, outside = list(rows), not 0 <= at + step < len(rows)
                moved.insert(at + step, moved.pop(at))
                do: Any = {"on_click": _put, "args": (key, tuple(moved)), "disabled": outside}
                st.button(f"Move {label} {words}", f"{key}_{words}_{number}", **do)
            others = rows[:at] + rows[at + 1 :]
            do = {"on_click": _put, "args": (key, others), "disabled": not others}
            st.button(f"Remove {label}", f"{key}_remove_{number}", **do)
    given = {"name": name, "definition": definition, "examples": examples.splitlines()}
    if before.key:  # what refers to it goes on to
        given["key"] = before.key
    if name == before.name and name:
        given |= {name: asdict(before)[name] for name in ("letter", "phrases", "paraphrases")}
    return {**given, "instruction": instruction} if instruction.strip() else given


# -- the page --------------------------------------------------------------------------------


def lens_page(explorer: Explorer) -> bool:
    """The editor beside ten documents, where the address asks for it; False where it does not."""
    corpus = LensView.read().lens
    if not corpus:
        return False
    library = explorer.library
    st.html(ASSETS / "components" / "annotate_page.css")
    with error_boundary():
        info = library.corpus(corpus)
        with line():
            st.header(f"Lens of {escape_label(info.title)}", anchor=False)
            st.button("Back to the Library", key="lens_back", on_click=LensView().write)
        left, right = st.columns([5, 6], gap="large")
        with left, error_boundary():
            shipped = {lens.key: lens for lens in library.lenses if lens != info.lens}
            names = {"": "Current lens", **{key: lens.name for key, lens in shipped.items()}}
            begun = shipped.get(select("Start from", names, "lens_begun", width=420), info.lens)
            lens = edit_lens(explorer, "lens", begun, corpus)
            changed = lens is not None and lens != info.lens
            kept = "Source roles are kept for shared aspects, others predicted; vectors are kept."
            st.caption(kept if changed else "No changes yet.")
            place = st.empty()
            look: Any = {"type": "primary", "disabled": not changed}
            if st.button("Apply lens", "lens_use", **look) and lens is not None:

                def show(now: Progress) -> None:
                    steps = f"{now.done:,} of {now.total:,}"
                    with place:
                        progress(f"Changing the lens: {steps}", now.share, "Changing the lens")

                if library.set_lens(corpus, lens, show) and explorer.settings.maps:
                    explorer.maps.start(corpus, owner=login.owner())
                del st.session_state["lens_begun"]
                st.rerun()
        with right, error_boundary():
            # Computed for what is written, stored nowhere.
            with st.spinner("Predicting roles of ten documents"):
                documents = library.preview_lens(corpus, lens or info.lens, PREVIEWED)
            st.html(tally(documents, lens or info.lens))
            with st.container(key="lens_preview", gap="small"):
                for number, document in enumerate(documents, start=1):
                    kicker = f"Document {number} of {len(documents)}"
                    st.html(by_role(kicker, document, lens or info.lens))
    return True


def tally(documents: Sequence[Document], lens: Lens) -> Html:
    """How many sentences each aspect has, beside its letter in its colour."""
    roles = Counter(sentence.role for document in documents for sentence in document.sentences)
    each = [
        el(f"span.role-{i}", el("span.letter", a.letter), f" {a.name} {roles[i]:,}")
        for i, a in enumerate(lens.aspects)
    ]
    without = roles[None] and el("span", f"{roles[None]:,} without aspect")
    total = counted(sum(roles.values()), "sentence")
    head = el("span", f"{counted(len(documents), 'document')}, {total}:")
    kind = "div.sl-facts.sl-tally" + (".dark" if dark() else "")
    return el(kind, head, each, without or None, role="status")
