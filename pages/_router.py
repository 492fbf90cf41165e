"""The gate, page configuration and navigation.

Not beside ``pages/``, so no page can be reached around it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import streamlit as st

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from pages._common import components, shared  # noqa: E402 - needs the path above
from pages._login import login_view  # noqa: E402 - needs the path above

st.set_page_config(
    page_title="SeedLens", page_icon=str(ROOT / "assets" / "logo.png"), layout="wide"
)
components.apply_style()
person = login_view.gate()
# Where something is drawn by itself, the browser runs the page whenever it is connected again: else
# the first click is lost after a restart of the server.
st.fragment(lambda: None, run_every=24 * 3600.0)()
st.logo(shared.ASSETS / "logo.svg", size="large")  # its name beside it is in style.css
closed = person is not None and not person.is_lead


def part(name: str, *, leads: bool = False, **look: Any) -> st.Page:
    """A page; one for leads is hidden from annotators, and the router answers a link to it."""
    hidden: Any = "hidden" if leads and closed else "visible"
    title = name.replace("_", " ").capitalize()
    return st.Page(f"{name}.py", title=title, visibility=hidden, **look)


leads_only = [library, evaluate, build] = [
    part(name, leads=True) for name in ("library", "evaluate", "build")
]
first = part("explore", default=True)
reading = [first, *map(part, ("map", "compare", "reading_list")), library]
studies = [part("annotate"), evaluate, build, part("ask")]
page = st.navigation(
    [*reading, *studies] if closed else {"": reading, "Studies": studies}, position="top"
)
login_view.corner(person)
st.set_page_config(page_title=f"{page.title} · SeedLens")  # tells tabs apart
if closed and page in leads_only:
    shared.note(f"{page.title} requires the lead role.", "Ask a lead, or open another page.")
else:
    page.run()
