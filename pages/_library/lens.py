"""The lens of a corpus, changed beside ten of its documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.corpora import Progress
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from pages._common.document_view import by_role
from pages._common.kit import Html, el, line, select
from pages._common.shared import ASSETS, error_boundary, escape_label, note
from pages._common.state import PageView
from pages._common.tasks import progress
from pages._login import login

MOST_ASPECTS = 8
PREVIEWED = 10
_EMPTY = Aspect("", "", "", "", "")


@dataclass(frozen=True)
class LensView(PageView):
    """Which corpus's lens is edited on a page of its own; "" for none."""

    lens: str = ""


_Rows = tuple[tuple[int, Aspect], ...]
"""The aspects of the form, each with the number of its widgets, wherever it stands."""
_ROWS = "lens_field_rows"


def edit_lens(explorer: Explorer, begun: Lens, corpus: str) -> Lens | None:
    """The fields of a lens, at first those of ``begun``, and the lens that they make; None with the
    reason where they make none."""
    basis = (corpus, begun)
    if st.session_state.get("lens_basis") != basis:  # another corpus, or another lens
        for name in [name for name in st.session_state if str(name).startswith("lens_field_")]:
            del st.session_state[name]
        rows: _Rows = tuple(enumerate(begun.aspects))
        st.session_state.update({"lens_basis": basis, _ROWS: rows})
    rows = st.session_state[_ROWS]
    name = st.text_input("Lens name", **_field("name", begun.name))
    words = "Needs two aspects or more. Roles from the source are kept."
    none = _field("none", begun.allows_none)
    allows_none = st.toggle("Allow sentences without an aspect", help=words, **none)
    aspects = [_aspect(rows, at) for at in range(len(rows))]
    added = (*rows, (max(number for number, _ in rows) + 1, _EMPTY))
    _changes("Add aspect", "lens_add", added, disabled=len(rows) >= MOST_ASPECTS)
    known = {"key": begun.key, "things": begun.things, "generic": begun.generic}
    fields = {"name": name, "allows_none": allows_none, "aspects": aspects}
    try:
        return explorer.library.own_lens(fields | known)
    except SeedLensError as error:
        note(error.message, error.remedy)
        return None


def _changes(label: str, key: str, rows: _Rows, *, disabled: bool) -> None:
    """A button that puts other aspects into the form."""
    put = partial(st.session_state.update, {_ROWS: rows})
    st.button(label, key, on_click=put, disabled=disabled)


def _field(name: str, value: Any) -> dict[str, Any]:
    """What a widget of the form is called, and begins with; what was written stays while other
    pages are shown."""
    st.session_state.setdefault(f"lens_field_{name}", value)
    return {"key": f"lens_field_{name}", "persist_state": "session"}


def _aspect(rows: _Rows, at: int) -> dict[str, Any]:
    """One aspect's fields, and buttons that move and remove it."""
    number, before = rows[at]
    called = st.session_state.get(f"lens_field_{number}_name", before.name) or f"aspect {at + 1}"
    label = escape_label(called)
    # The colour belongs to the place, as in the preview; the widgets belong to the aspect.
    place = st.container(key=f"lens_role_{at}")
    with place, st.expander(label, expanded=not before.name, key=f"lens_aspect_{number}"):
        name = st.text_input("Name", **_field(f"{number}_name", before.name))
        described = _field(f"{number}_definition", before.definition)
        definition = st.text_area("Description", height=90, **described)
        instructed = _field(f"{number}_instruction", before.instruction)
        instructed["placeholder"] = "From the name if empty"
        instruction = st.text_input("Instruction", **instructed)
        begun = _field(f"{number}_examples", "\n".join(before.examples))
        examples = st.text_area("Examples, one per line", height=120, **begun)
        with line():
            for words, step in (("up", -1), ("down", 1)):
                moved, outside = list(rows), not 0 <= at + step < len(rows)
                moved.insert(at + step, moved.pop(at))
                key = f"lens_{words}_{number}"
                _changes(f"Move {label} {words}", key, tuple(moved), disabled=outside)
            others = rows[:at] + rows[at + 1 :]
            _changes(f"Remove {label}", f"lens_remove_{number}", others, disabled=not others)
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
            lens = edit_lens(explorer, begun, corpus)
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
    colour = "--role: var(--role-{})"
    each = [
        el("span", el("span.letter", a.letter), f" {a.name} {roles[i]:,}", style=colour.format(i))
        for i, a in enumerate(lens.aspects)
    ]
    without = roles[None] and el("span", f"{roles[None]:,} without aspect")
    total = counted(sum(roles.values()), "sentence")
    head = el("span", f"{counted(len(documents), 'document')}, {total}:")
    return el("div.sl-facts.sl-tally", head, each, without or None, role="status")
