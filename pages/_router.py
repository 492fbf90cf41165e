"""The gate, page configuration and navigation.

Not beside ``pages/``, so no page can be reached around it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from pages._common import shared, waiting  # noqa: E402 - needs the path above
from pages._login import login_view  # noqa: E402 - needs the path above

st.set_page_config(
    page_title="SeedLens", page_icon=str(ROOT / "assets" / "logo.png"), layout="wide"
)
shared.apply_style()
person = login_view.gate()
waiting.renew_when_connected()
st.logo(shared.ASSETS / "logo.svg", size="large")  # its name beside it is in style.css
closed = person is not None and not person.is_lead


def for_leads(file: str, title: str) -> st.Page:
    """A page that annotators do not see; a link to it is answered by the router."""
    return st.Page(file, title=title, visibility="hidden" if closed else "visible")


leads_only = [
    for_leads("evaluate.py", "Evaluate"),
    for_leads("build.py", "Build"),
    for_leads("library.py", "Library"),
]
evaluate, build, library = leads_only
page = st.navigation(
    [
        st.Page("explore.py", title="Explore", default=True),
        st.Page("map.py", title="Map"),
        st.Page("compare.py", title="Compare"),
        st.Page("reading_list.py", title="Reading list"),
        library,
        st.Page("annotate.py", title="Annotate"),
        evaluate,
        build,
        st.Page("ask.py", title="Ask"),
    ],
    position="top",
)
login_view.corner(person)
st.set_page_config(page_title=f"{page.title} · SeedLens")  # tells tabs apart
if closed and page in leads_only:
    login_view.for_leads(page.title)
else:
    page.run()
