"""Annotate: judgments, one key each, and what comes of them."""

from __future__ import annotations

from pages._annotate import annotate_page
from pages._common.shared import error_boundary
from pages._common.state import open_page

with open_page("annotate_page.css") as (explorer, names):
    view = annotate_page.open_view(explorer, names)
    view, project = annotate_page.controls(explorer, view, names)
    with error_boundary():
        annotate_page.show_part(explorer, view, project)
