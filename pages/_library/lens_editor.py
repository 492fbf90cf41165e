"""Choosing the lens of a corpus: one that ships with SeedLens, or one of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.corpora import CorpusInfo, Progress
from engine.types.lenses import Lens
from pages._common.job_card import progress
from pages._common.outside_text import with_marks
from pages._common.shared import error_boundary, note
from pages._common.url_state import UrlState, param
from pages._login import login

OWN = "own"
MOST_ASPECTS = 8


@dataclass(frozen=True, slots=True)
class LensView(UrlState):
    """Which corpus's lens is edited on a page of its own; "" for none."""

    lens: str = param("lens", "")


def choose_lens(explorer: Explorer, key: str, current: Lens | None = None) -> Lens | None:
    """A lens as the person chose it; None while their own is not complete.

    Args:
        key: of the widgets.
        current: the lens that the corpus has, which comes first.
    """
    lenses = {lens.key: lens for lens in explorer.library.lenses}
    if current is not None:
        lenses = {current.key: current, **{k: v for k, v in lenses.items() if k != current.key}}
    choice = st.selectbox(
        "Lens",
        [*lenses, OWN],
        format_func=lambda name: with_marks(lenses[name].name) if name in lenses else "Custom lens",
        key=f"{key}_lens",
        persist_state="session",
        help="Aspects that documents can be similar in.",
        width=420,
    )
    if choice == OWN:
        return _editor(explorer, key)
    lens = lenses[choice]
    with st.container(key=f"{key}_aspects"):
        for aspect in lens.aspects:
            st.text(f"{aspect.letter} · {aspect.name}: {aspect.definition}")
    return lens


def _editor(explorer: Explorer, key: str) -> Lens | None:
    """The form for a lens of one's own: a name, and per aspect what tells its sentences."""
    left, right = st.columns([3, 1])
    name = left.text_input(
        "Lens name",
        key=f"{key}_own_name",
        persist_state="session",
        placeholder="Patient letters",
    )
    count = right.number_input(
        "Aspects", 1, MOST_ASPECTS, 2, key=f"{key}_own_count", persist_state="session"
    )
    aspects = [_aspect(f"{key}_own_{n}", n) for n in range(int(count))]
    if not any([name, *(value for aspect in aspects for value in aspect["texts"])]):
        st.caption("Name the lens and its aspects, with two example sentences each.")
        return None
    fields = {
        "name": name,
        "aspects": [
            {"name": a["name"], "definition": a["definition"], "examples": a["examples"]}
            for a in aspects
        ],
    }
    try:
        return explorer.library.own_lens(fields)
    except SeedLensError as error:
        note(error.message, error.remedy)
        return None


def _aspect(key: str, number: int) -> dict[str, Any]:
    def ask(label: str, field: str, placeholder: str, **options: Any) -> str:
        text = options.pop("at", st).text_input(
            label,
            key=f"{key}_{field}",
            persist_state="session",
            placeholder=placeholder if number == 0 else None,
        )
        return str(text or "")

    with st.container(border=True):
        left, right = st.columns([1, 3])
        name = ask(f"Aspect {number + 1}", "name", "Complaint", at=left)
        definition = ask(
            "Description",
            "definition",
            "Sentences that say what hurts, since when, and how much.",
            at=right,
        )
        left, right = st.columns(2)
        first = ask("Example 1", "first", "My knee has been swollen for a week.", at=left)
        second = ask("Example 2", "second", "At night the cough gets worse.", at=right)
    texts = [name, definition, first, second]
    examples = [text for text in (first, second) if text.strip()]
    return {"name": name, "definition": definition, "examples": examples, "texts": texts}


def change_lens(explorer: Explorer, info: CorpusInfo, *, disabled: bool) -> None:
    """Give an indexed corpus another lens, with a bar while it is written anew."""
    key = f"library_change_{info.name}"
    with st.expander("Change lens", key=key, type="compact"):
        lens = choose_lens(explorer, key, info.lens)
        changed = lens is not None and lens != info.lens
        if changed:
            st.caption(
                "Roles from the source are kept for shared aspects; all others are predicted. "
                "Vectors are kept."
            )
        with st.container(horizontal=True, gap="small"):
            wanted = st.button("Change", key=f"{key}_do", disabled=disabled or not changed)
            st.button(
                "Edit with preview", key=f"{key}_edit", disabled=disabled,
                on_click=LensView(info.name).write,
            )  # fmt: skip
        if wanted and lens is not None:
            with error_boundary():
                place = st.empty()
                use_lens(explorer, info.name, lens, place)
                st.rerun()


def use_lens(explorer: Explorer, corpus: str, lens: Lens, place: Any) -> None:
    """Sort a corpus's sentences by a lens, with its progress in a place; its maps by aspect are
    made anew behind the page."""
    changed = explorer.library.set_lens(corpus, lens, lambda now: _show_progress(place, now))
    if changed and explorer.settings.maps:
        explorer.maps.start(corpus, owner=login.owner())


def _show_progress(place: Any, now: Progress) -> None:
    words = "Building the indexes" if now.phase == "finishing" else "Predicting roles"
    with place:
        line = f"{words}: {now.done:,} of {now.total:,}"
        progress(line, now.share, "Changing the lens")
