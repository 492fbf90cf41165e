"""The Library page under AppTest, where documents are brought in."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.pages import visits
from tests.pages.visits import run


def shown(page: AppTest) -> str:
    """All HTML and plain text of the page."""
    return visits.shown(page, "text")


def give_path(page: AppTest, path: Path | str) -> AppTest:
    """The page after a file or folder was named in place of an upload."""
    page.get_by_key("library_way").set_value("Folder or file")
    run(page)
    page.text_input(key="library_path").set_value(str(path))
    return run(page)
