"""What a person meets the first time: the demo being indexed, and three hints."""

from __future__ import annotations

import html
from functools import partial

import streamlit as st

from engine.explorer import Explorer
from pages._common import workspace
from pages._common.job_card import progress
from pages._common.shared import ASSETS, engine, note
from pages._common.visit_memory import memory
from pages._common.waiting import renew_when
from pages._library.import_jobs import progress_line
from pages._model.model_form import apply_model_style

_READ = "explore_hints_read"


def open_page(style: str = "") -> tuple[Explorer, list[str]]:
    """What a page begins with: its style, the engine, and the names of the corpora.

    The page stops here, with visible progress, until there is a corpus to show.

    Args:
        style: its own style sheet, beside those of the components.
    """
    apply_model_style()
    if style:
        st.html(ASSETS / "components" / style)
    explorer = engine()
    names = explorer.library.names()
    if not names:
        _wait_for_demo(explorer)
    workspace.keep_within(names)
    return explorer, names


def _wait_for_demo(explorer: Explorer) -> None:
    job = explorer.library.demo_job()
    if job is None or job.state == "done":
        note("There is no corpus yet.", "Import one on the Library page.")
        st.page_link("library.py", label="Open the Library")
        st.stop()
    if job.running:
        st.html("<h2>Setting up</h2><p>The demo corpus (480 synthetic abstracts) is being indexed. "
                "This happens once.</p>")  # fmt: skip
        renew_when(lambda: not _demo_runs(explorer), partial(_progress, explorer), every=0.5)
        st.stop()
    note(f"The demo corpus could not be indexed: {job.error}", job.remedy, kind="error")
    st.stop()


def _demo_runs(explorer: Explorer) -> bool:
    job = explorer.library.demo_job()
    return job is not None and job.running and not explorer.library.names()


def _progress(explorer: Explorer) -> None:
    job = explorer.library.demo_job()
    if job is not None and job.running:
        progress(html.escape(progress_line(job.progress)), job.progress.share, "Indexing the demo")


def hints(on_demo: bool) -> None:
    """Three hints, until they are dismissed."""
    if not on_demo or memory().get(_READ):
        return
    text, button = st.columns([9, 1], vertical_alignment="center")
    text.html(
        '<div class="sl-hints"><strong>How to read this page</strong> '
        '<span class="sl-tag">demo corpus: synthetic abstracts</span><ol>'
        "<li>The seed is on the left. Click <b>B</b>, <b>M</b> or <b>R</b> to say in what respect "
        "others should be like it.</li>"
        "<li>Each result shows the seed's sentence beside its own, with the words that matched. "
        "Arrows tell how far the aspect moved it.</li>"
        "<li>Grade with 0 to 3, keep what you like, or use a result as the next seed.</li>"
        "</ol></div>"
    )

    def done() -> None:
        memory()[_READ] = True

    button.button("Got it", key="explore_hints", on_click=done)
