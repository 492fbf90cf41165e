"""The trail of the Explore page: the breadcrumb of seeds, and what was kept on the way."""

from __future__ import annotations

from functools import partial
from itertools import groupby

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.searches import PAGE_SIZE, Query
from pages._common.shared import attempt, download, engine, escape_label
from pages._compare.compare_url import params_of_search
from pages._explore.explore_url import DEFAULT, View, filters_of


def trail_bar(explorer: Explorer, view: View) -> None:
    """The breadcrumb of seeds, the link to this search, and the export of the trail."""
    steps, now = explorer.notebook.trail(view.trail), None
    try:
        now = view.to_query(explorer)
    except SeedLensError:
        pass  # shown where the results would be
    else:
        if now not in steps:
            steps = [*steps, now]  # this search is stored once its results are shown
    steps = _seeds_in_order(steps, now)
    kept = explorer.notebook.kept(view.trail)
    left, compare, middle, right = st.columns([6.4, 1.7, 1.2, 1.7], vertical_alignment="center")
    with left, st.container(horizontal=True, gap="small", key="explore_trail"):
        for position, query in list(enumerate(steps))[-6:]:
            st.button(
                escape_label(_step_name(explorer, query)),
                key=f"explore_step_{position}",
                on_click=attempt,
                args=(partial(_go_back, query),),
                type="tertiary",
                disabled=query == now,
            )
    known = explorer.library.corpus(view.corpus).systems
    system = view.system if view.system in known else DEFAULT.system
    compare.page_link(
        "compare.py",
        label="Compare wordings",
        query_params=params_of_search(
            view.corpus, view.seed, view.text_id, view.aspect, view.variant(system)
        ),
    )
    with middle, st.popover("Share", width="stretch"):
        st.caption("This search as a link; add it to the address of your SeedLens.")
        st.code(view.link(), language=None, wrap_lines=True)
    with right, st.popover(f"Trail · {len(kept)} kept", width="stretch"):
        _exports(explorer, view.trail)


def kept_here(explorer: Explorer, view: View) -> set[str]:
    """Documents of this corpus that the trail keeps."""
    kept = explorer.notebook.kept(view.trail)
    return {document.doc_id for corpus, document in kept if corpus == view.corpus}


def remember(explorer: Explorer, view: View, query: Query) -> None:
    """Add the search to the trail, unless it is a former step that somebody went back to.

    Results are not held back by a ledger that is busy.
    """
    if query not in explorer.notebook.trail(view.trail):
        attempt(lambda: explorer.notebook.add_step(view.trail, query))


def _seeds_in_order(steps: list[Query], now: Query | None) -> list[Query]:
    """One step of each run of the same seed: settings change often, seeds tell the story.

    It is where somebody is now, if that is in the run, and else its last one.
    """
    runs = [list(run) for _, run in groupby(steps, key=lambda query: (query.seed, query.text))]
    return [now if now is not None and now in run else run[-1] for run in runs]


def _step_name(explorer: Explorer, query: Query) -> str:
    title = explorer.notebook.seed_title(query)
    return title if len(title) <= 34 else title[:33].rstrip() + "…"


def _go_back(query: Query) -> None:
    text_id = engine().notebook.put_text(query.text) if query.text else ""
    View.change(
        lambda now: View(
            corpus=query.corpus,
            seed=query.seed or "",
            text_id=text_id,
            aspect=query.aspect or "",
            focus=query.focus,
            instruction=query.instruction or "",
            reading=query.reading,
            system=query.system,
            steer=query.steer,
            symmetric=query.symmetric,
            page=query.offset // PAGE_SIZE + 1,
            **filters_of(query.filters),
            rerank=now.rerank,
            depth=now.depth,
            layout=now.layout,
            trail=now.trail,
        )
    )


def _exports(explorer: Explorer, trail: str) -> None:
    st.caption("The searches of this trail and the documents you kept.")
    for name, label, suffix in (
        ("markdown", "Markdown", "md"),
        ("bibtex", "BibTeX (kept documents)", "bib"),
        ("jsonl", "JSONL", "jsonl"),
    ):
        make = partial(explorer.notebook.export_trail, trail, name)
        download(label, f"trail.{suffix}", make, key=f"explore_export_{name}")
