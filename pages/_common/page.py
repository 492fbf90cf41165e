"""What a page begins with: the engine, and a corpus to show, which the first time is indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import streamlit as st

from engine.explorer import Explorer
from engine.types.lenses import Lens
from pages._common.job_card import progress
from pages._common.outside_text import escape
from pages._common.shared import ASSETS, engine, note
from pages._common.state import keep_within
from pages._common.waiting import renew_when
from pages._library.import_jobs import progress_line
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
    keep_within(names)
    return explorer, names


def _wait_for_demo(explorer: Explorer) -> None:
    job = explorer.library.demo_job()
    if job is None or job.state == "done":
        note("No corpus yet.", "Import one on the Library page.")
        st.page_link("library.py", label="Open the Library")
    elif job.running:
        st.html(
            "<h2>Setting up</h2><p>The demo corpus (480 synthetic abstracts) is being indexed. "
            "This happens once.</p>"
        )
        renew_when(lambda: not _demo_runs(explorer), partial(_progress, explorer), every=0.5)
    else:
        note(f"The demo corpus could not be indexed: {job.error}", job.remedy, kind="error")
    st.stop()


def _demo_runs(explorer: Explorer) -> bool:
    job = explorer.library.demo_job()
    return job is not None and job.running and not explorer.library.names()


def _progress(explorer: Explorer) -> None:
    job = explorer.library.demo_job()
    if job is not None and job.running:
        progress(escape(progress_line(job.progress)), job.progress.share, "Indexing the demo")
