"""What is selected on the map: its table, and what can be made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from engine.errors import BadInputError, SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import PoolRequest, Project
from engine.types.documents import Document, paper_link
from engine.types.searches import EXPORT_FORMATS, Query, Ranking
from pages._annotate.annotate_url import NEW, AnnotateView, annotator, is_lead
from pages._common.document_view import title_of
from pages._common.figure_file import to_csv
from pages._common.outside_text import escape, with_marks
from pages._common.shared import as_drawn, attempt, download, note, show_error
from pages._common.url_state import UrlState
from pages._explore.explore_url import View
from pages._login import login
from pages._map.map_url import MOST_IN_LINK, WHOLE, MapView

MOST_ROWS = 50
"""Rows of the table; the export has all."""
MOST_KEPT = 200
"""Documents that go to a reading list at once: more are no list to read."""
MOST_POOLED = 1000
"""Documents that go into a pool at once."""
READ_AT_ONCE = 1000
"""Documents that are in memory at once, whole, while a table of all is made."""
SAID = "map_said"
"""What the last action on a selection came to; shown once."""
RUN = "map selection"
"""Names the source of what goes into a pool from here."""


def selection_panel(explorer: Explorer, view: MapView, doc_ids: Sequence[str]) -> None:
    """The selection as a table, and below it what can be made of it."""
    said = st.session_state.pop(SAID, "")
    if not doc_ids:
        st.html(
            '<h2>Selection</h2><p class="map-hint">No selection. Click a point or cluster, draw '
            "with Rectangle or Lasso (Shift adds), or find titles.</p>"
        )
        return
    documents = explorer.library.open(view.corpus).documents(doc_ids[:MOST_ROWS])
    st.html(f"<h2>{counted(len(doc_ids), 'document')} selected</h2>")
    if said:
        st.html(f'<div class="sl-note" role="status">{escape(said)}</div>')
    with st.container(key="map_table"):
        st.html(_table(view, documents))
    if len(doc_ids) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS} of {len(doc_ids):,}; exports have all.")
    _actions(explorer, view, doc_ids)


def _table(view: MapView, documents: Sequence[Document]) -> str:
    """Titles that lead to Explore, with years and links to the papers, in HTML."""
    papers = [paper_link(document) for document in documents]
    rows = []
    for document, link in zip(documents, papers, strict=True):
        title = title_of(document)
        search = UrlState.link(explore_view(view, document.doc_id))
        paper = f"<td>{_paper(title, link) if link else ''}</td>" if any(papers) else ""
        rows.append(
            f'<tr><td><a href="./{escape(search)}" target="_self">{escape(title)}</a></td>'
            f"<td>{document.year or ''}</td>{paper}</tr>"
        )
    last = '<th scope="col">Link</th>' if any(papers) else ""
    return (
        '<table class="map-rows"><thead><tr><th scope="col">Document, as a seed on Explore</th>'
        f'<th scope="col">Year</th>{last}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def _paper(title: str, link: str) -> str:
    label = escape(f"Open “{title}”, in a new tab")
    return (
        f'<a href="{escape(link)}" target="_blank" rel="noopener noreferrer" '
        f'aria-label="{label}">paper</a>'
    )


def explore_view(view: MapView, doc_id: str) -> View:
    """Explore with a document as its seed, in the aspect that the map shows."""
    aspect = "" if view.layout == WHOLE else view.layout
    return View.elsewhere(corpus=view.corpus, seed=doc_id, text_id="", aspect=aspect)


def filtered_view(explorer: Explorer, view: MapView, doc_ids: Sequence[str]) -> View:
    """Explore with the selection as its one filter: what the map's own filters rule out is not
    selected."""
    within = str(explorer.select(view.corpus, doc_ids))
    return View.elsewhere(corpus=view.corpus, where=within, page=1)


def _actions(explorer: Explorer, view: MapView, doc_ids: Sequence[str]) -> None:
    with st.container(horizontal=True, gap="small", key="map_actions"):
        if len(doc_ids) == 1:
            if st.button("Use as seed on Explore", "map_explore", type="primary"):
                explore_view(view, doc_ids[0]).go()
            seed = partial(MapView.change, lambda now: replace(now, seed=doc_ids[0], text_id=""))
            st.button("Set as map seed", "map_seed", on_click=attempt, args=(seed,))
        if st.button(
            "Filter Explore by these", "map_filter", help="Restricts search to the selection. The "
            "link works with this home only.",
        ):  # fmt: skip
            filtered_view(explorer, view, doc_ids).go()
        many = len(doc_ids) > MOST_KEPT
        keep = partial(_keep, explorer, view, tuple(doc_ids))
        st.button(
            "Add to reading list", "map_keep", on_click=attempt, args=(keep,), disabled=many,
            help=f"Up to {MOST_KEPT} at once." if many else "The list is on Explore.",
        )  # fmt: skip
        if len(doc_ids) > MOST_IN_LINK:
            st.button(
                "In URL" if view.kept else "Add selection to URL", "map_link",
                on_click=attempt, args=(partial(_link, explorer, view, tuple(doc_ids)),),
                disabled=bool(view.kept),
            )  # fmt: skip
        _opened("Judge", "map_judge", lambda: _pool(explorer, view, doc_ids))
        _opened("Export", "map_export", lambda: _export(explorer, view, doc_ids))


def _opened(label: str, key: str, draw: Callable[[], None]) -> None:
    popover = st.popover(label, key=key, on_change="rerun", width="content")
    if popover.open:
        with popover:
            draw()


def _link(explorer: Explorer, view: MapView, doc_ids: Sequence[str]) -> None:
    kept = explorer.select(view.corpus, doc_ids).value
    MapView.change(lambda now: replace(now, kept=kept, chosen=()))


def _keep(explorer: Explorer, view: MapView, doc_ids: Sequence[str]) -> None:
    trail = explorer.notebook.own_trail(view.trail, login.owner())
    for doc_id in doc_ids:
        explorer.notebook.keep(trail, view.corpus, doc_id)
    MapView.change(lambda now: replace(now, trail=trail))
    st.session_state[SAID] = (
        f"{counted(len(doc_ids), 'document is', 'documents are')} in the reading list on Explore."
    )


# -- a pool ------------------------------------------------------------------------------


def _pool(explorer: Explorer, view: MapView, doc_ids: Sequence[str]) -> None:
    """Put the selection into the pool of a project, for one of its queries."""
    who = annotator(explorer)
    projects = {p.name: p for p in explorer.annotation.projects(view.corpus)
                if p.name and is_lead(p, who)}  # fmt: skip
    if not projects:
        note("No project to judge in.", "Create one on Annotate.")
        if st.button("Open Annotate", "map_annotate"):
            AnnotateView.elsewhere(corpus=view.corpus, part=NEW).go()
        return
    name = st.selectbox("Project", list(projects), key="map_pool_project")
    queries = explorer.annotation.queries(projects[name])
    if not queries:
        note("The project has no query yet.", "Add one on Annotate, under Pool.")
        return
    titles = dict(zip(queries, explorer.notebook.seed_titles(list(queries.values())), strict=True))
    query = st.selectbox(
        "Query", list(queries), key="map_pool_query",
        format_func=lambda one: with_marks(_query_name(titles[one], queries[one])),
    )  # fmt: skip
    add = partial(_fill, explorer, projects[name], query, doc_ids)
    st.button(
        f"Add {counted(len(doc_ids), 'document')} to the pool", "map_pool_add", type="primary",
        on_click=attempt, args=(as_drawn(("map_pool_project", "map_pool_query"), add),),
    )  # fmt: skip


def _query_name(title: str, query: Query) -> str:
    return " · ".join(filter(None, (" ".join(title.split())[:60], query.aspect)))


def _fill(explorer: Explorer, project: Project, query_id: str, doc_ids: Sequence[str]) -> None:
    if len(doc_ids) > MOST_POOLED:
        raise BadInputError(
            f"{len(doc_ids):,} documents are too many for a pool.",
            f"Select up to {MOST_POOLED:,}.",
        )
    seed = explorer.annotation.queries(project)[query_id].seed
    ids = tuple(doc_id for doc_id in doc_ids if doc_id != seed)
    ranking = Ranking(query_id, ids, tuple(1.0 for _ in ids))
    request = PoolRequest((), max(1, len(ids)), runs={RUN: [ranking]})
    explorer.annotation.fill_pool(project, request, [query_id])
    st.session_state[SAID] = (
        f"{counted(len(ids), 'document is', 'documents are')} in the pool of “{project.name}”; "
        "existing items and grades are unchanged."
    )


# -- files -------------------------------------------------------------------------------


def _export(explorer: Explorer, view: MapView, doc_ids: Sequence[str]) -> None:
    labels = {"csv": "CSV: ids, titles, years, links"}
    labels |= {k: form.label for k, form in EXPORT_FORMATS.items() if not k.endswith("-html")}
    kind = st.selectbox("Format", list(labels), key="map_format", format_func=labels.__getitem__)
    if kind == "csv":
        download("Download CSV", "selection.csv", lambda: _csv(explorer, view, doc_ids),
                 key="map_download_csv", mime="text/csv")  # fmt: skip
        return
    form = EXPORT_FORMATS[kind]
    try:
        text = explorer.notebook.export_documents(view.corpus, doc_ids, kind)
    except SeedLensError as error:
        show_error(error)
        return
    download(
        f"Download {form.label}", f"selection.{form.suffix}", lambda: text,
        key=f"map_download_{kind}", mime=form.mime,
    )  # fmt: skip


def _csv(explorer: Explorer, view: MapView, doc_ids: Sequence[str]) -> str:
    opened = explorer.library.open(view.corpus)
    starts = range(0, len(doc_ids), READ_AT_ONCE)
    documents = (d for at in starts for d in opened.documents(doc_ids[at : at + READ_AT_ONCE]))
    rows = ((d.doc_id, title_of(d), d.year or "", "; ".join(d.authors), d.url or "")
            for d in documents)  # fmt: skip
    return to_csv(("doc_id", "title", "year", "authors", "url"), rows)
