"""Page configuration and navigation. Not beside ``pages/``, so no page can be reached around it."""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from pages import _shared  # noqa: E402 - needs the path above

st.set_page_config(
    page_title="SeedLens", page_icon=str(ROOT / "assets" / "logo.png"), layout="wide"
)
_shared.apply_style()
page = st.navigation(
    [
        st.Page("explore.py", title="Explore", default=True),
        st.Page("compare.py", title="Compare"),
        st.Page("annotate.py", title="Annotate"),
        st.Page("evaluate.py", title="Evaluate"),
        st.Page("ask.py", title="Ask"),
        st.Page("library.py", title="Library"),
    ],
    position="top",
)
page.run()
