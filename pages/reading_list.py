"""Reading list: kept documents of all corpora in lists, each with its evidence and a note."""

from __future__ import annotations

import streamlit as st

from pages import _reading_list
from pages._common.kit import purpose
from pages._common.shared import error_boundary
from pages._common.state import open_page

with open_page() as (explorer, _):
    if target := st.session_state.pop(_reading_list.GO, None):
        target.go()
    purpose("Documents that you kept: sort, tag, annotate and export them.")
    page = _reading_list.open_list(explorer)
    left, right = st.columns([1, 3], gap="large")
    with left:
        _reading_list.choose_list(page)
    with right, error_boundary():
        _reading_list.show_list(page)
