"""What a page begins with: the engine, and a corpus to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import streamlit as st

from engine.explorer import Explorer
from engine.types.lenses import Lens
from pages._common.shared import ASSETS, engine, note
from pages._common.state import keep_within
from pages._model.model_form import apply_model_style

V = TypeVar("V")


@dataclass(frozen=True)
class Page(Generic[V]):
    """What one run of a page is about.

    Attributes:
        view: the state of the page; its ``corpus`` exists.
        corpora: the names of all.
    """

    explorer: Explorer
    view: V
    corpora: Sequence[str]

    @property
    def corpus(self) -> str:
        """The corpus of the view."""
        view: Any = self.view
        return str(view.corpus)

    @cached_property
    def lens(self) -> Lens:
        """The lens of the corpus."""
        return self.explorer.library.lens(self.corpus)


def open_page(style: str = "") -> tuple[Explorer, list[str]]:
    """What a page begins with: its style, the engine, and the names of the corpora.

    The page stops here until there is a corpus to show.

    Args:
        style: its own style sheet, beside those of the components.
    """
    apply_model_style()
    if style:
        st.html(ASSETS / "components" / style)
    explorer = engine()
    names = explorer.library.names()
    if not names:
        note("No corpus yet.", "Import one on the Library page.")
        st.page_link("library.py", label="Open the Library")
        st.stop()
    keep_within(names)
    return explorer, names
