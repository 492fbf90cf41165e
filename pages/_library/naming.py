"""What a corpus that is to be made or added to is called, its lens, and the button to start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.lenses import Lens
from pages._common.kit import button
from pages._common.shared import as_drawn, note
from pages._library.lens import choose_lens

_KEYS = ("library_way", "library_name_", "library_new_lens", "library_new_field_")
"""Keys of what each import goes by; see :func:`as_drawn`."""


@dataclass(frozen=True)
class Naming:
    """What the name of a corpus depends on."""

    explorer: Explorer
    documents: Mapping[str, int]  # corpus name -> documents it holds
    running: set[str]  # names of corpora that are being indexed

    def start(
        self,
        suggested: str,
        source: str,
        label: str,
        key: str,
        start: Callable[[str, Lens], object],
        chosen: tuple[str, ...],
        *,
        ready: bool = True,
    ) -> None:
        """The name of a corpus, its lens where it is new, and the button that starts an import.

        Args:
            source: what is typed holds for that.
            start: gets name and lens.
            chosen: keys of the other widgets that it goes by; see :func:`as_drawn`.
            ready: whether there is something to import.
        """
        st.subheader("Corpus", anchor=False)
        name = st.text_input(
            "Corpus name",
            self.explorer.library.suggest_name(suggested),
            key=f"library_name_{source}",
            live="300ms",
            persist_state="session",
            width=420,
        )
        lens = None
        if self._fits(name):
            if name in self.documents:  # it keeps its own
                lens = self.explorer.library.lens(name)
                st.text(f"Lens: {lens.name}.")
            else:
                lens = choose_lens(self.explorer, "library_new")

        def do() -> None:
            if lens is not None:
                start(name, lens)

        drawn = as_drawn((*_KEYS, *chosen), do)
        blocked = lens is None or not ready
        button(label, key, drawn, place="imports", type="primary", disabled=blocked)

    def _fits(self, name: str) -> bool:
        """Whether a corpus can have this name; what becomes of one that has it is said."""
        try:
            self.explorer.library.check_name(name)
        except SeedLensError as error:
            note(error.message, error.remedy, kind="error")
            return False
        if name in self.running:
            note(f"{name} is being indexed.", "Wait or cancel it below.")
            return False
        if name in self.documents:
            there = f"{name} ({counted(self.documents[name], 'document')})"
            note(
                f"Adds to the existing corpus {there}.", "Documents with the same ID are replaced."
            )
        elif name in self.explorer.library.deleted():
            note(f"A corpus {name} was deleted.", "This permanently replaces the deleted corpus.")
        return True
