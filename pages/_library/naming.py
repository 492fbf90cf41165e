"""What a corpus that is to be made or added to is called, and its lens."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.lenses import Lens
from pages._common.shared import as_drawn, attempt_at, note
from pages._library.lens_editor import choose_lens

_NAMED = ("library_name_", "library_new_")
"""Keys of the widgets below; see :func:`as_drawn`."""


def ask_name(
    explorer: Explorer,
    suggested: str,
    key: str,
    documents: Mapping[str, int],
    running: set[str],
) -> tuple[str, Lens | None]:
    """Ask for the name of a corpus and, where it is new, for its lens.

    Args:
        key: of the source: what is typed holds for that.
        documents: corpus name -> documents it holds.
        running: names of corpora that are being indexed.

    Returns:
        the name, and the lens to import with; None where nothing can be imported under the name.
    """
    st.subheader("Corpus", anchor=False)
    name = st.text_input(
        "Corpus name",
        value=explorer.library.suggest_name(suggested),
        key=f"library_name_{key}",
        live="300ms",
        persist_state="session",
        width=420,
    )
    if not _fits(explorer, name, documents, running):
        return name, None
    return name, _lens(explorer, name, is_there=name in documents)


def start_button(
    label: str,
    key: str,
    start: Callable[[], object],
    chosen: tuple[str, ...],
    *,
    disabled: bool,
) -> None:
    """The button that starts an import as it is shown.

    Args:
        chosen: keys of the other widgets that it goes by; see :func:`as_drawn`.
    """
    st.button(
        label, key=key, type="primary", disabled=disabled, on_click=attempt_at,
        args=("imports", as_drawn(("library_way", *_NAMED, *chosen), start)),
    )  # fmt: skip


def _lens(explorer: Explorer, name: str, *, is_there: bool) -> Lens | None:
    """The lens to import with; a corpus that is there keeps its own."""
    if is_there:
        own = explorer.library.lens(name)
        st.text(f"Lens: {own.name}.")
        return own
    return choose_lens(explorer, "library_new")


def _fits(explorer: Explorer, name: str, documents: Mapping[str, int], running: set[str]) -> bool:
    try:
        explorer.library.check_name(name)
    except SeedLensError as error:
        note(error.message, error.remedy, kind="error")
        return False
    if name in running:
        note(f"{name} is being indexed.", "Wait or cancel it below.")
        return False
    if name in documents:
        note(
            f"Adds to the existing corpus {name} ({counted(documents[name], 'document')}).",
            "Documents with the same ID are replaced.",
        )
    elif name in explorer.library.deleted():
        note(f"A corpus {name} was deleted.", "This permanently replaces the deleted corpus.")
    return True
