"""What a page begins with: the engine, and a corpus to show."""

from __future__ import annotations

import streamlit as st

from engine.explorer import Explorer
from pages._common import workspace
from pages._common.shared import ASSETS, engine, note
from pages._model.model_form import apply_model_style


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
    workspace.keep_within(names)
    return explorer, names
