"""What is selected on the map: its table, and what can be made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import PoolRequest, Project
from engine.types.documents import Document, paper_link
from engine.types.searches import EXPORT_FORMATS, ExportFormat, Ranking
from pages._annotate.annotate_url import NEW, AnnotateView, annotator, is_lead
from pages._common.charts import to_csv
from pages._common.document_view import title_of
from pages._common.kit import button, el, select, table
from pages._common.shared import as_drawn, download, error_boundary, note
from pages._common.state import PageView
from pages._explore.explore_state import View
from pages._map.map_state import WHOLE, MapPage, MapView, query_names
from pages._reading_list import current_list

MOST_ROWS = 50  # of the table; the export has all
MOST_KEPT = 200  # documents that go to a reading list at once: more are no list to read
MOST_POOLED = 1000  # documents that go into a pool at once
READ_AT_ONCE = 1000  # documents in memory while a table of all is made
DONE = "map_done"  # what the last action on a selection came to; shown once
RUN = "map selection"  # names the source of what goes into a pool from here


def selection_panel(page: MapPage, doc_ids: Sequence[str]) -> None:
    """The selection as a table, and below it what can be made of it."""
    done = st.session_state.pop(DONE, "")
    if not doc_ids:
        st.html(
            '<h2>Selection</h2><p class="map-hint">No selection. Click a point or cluster, draw '
            "with Rectangle or Lasso (Shift adds), or find titles.</p>"
        )
        return
    st.html(f"<h2>{counted(len(doc_ids), 'document')} selected</h2>")
    if done:
        note(done)
    with st.container(key="map_table"):
        documents = page.explorer.library.open(page.corpus).documents(doc_ids[:MOST_ROWS])
        st.html(_table(page.view, documents))
    if len(doc_ids) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS} of {len(doc_ids):,}; exports have all.")
    _actions(page, doc_ids)


def _table(view: MapView, documents: Sequence[Document]) -> str:
    """Titles that lead to Explore, with years and links to the papers, in HTML."""
    links = [paper_link(document) for document in documents]
    heads = ["Document (opens as seed on Explore)", "Year", *(["Link"] if any(links) else [])]
    rows = []
    for document, link in zip(documents, links, strict=True):
        title = title_of(document)
        search = f"./{PageView.link(explore_view(view, document.doc_id))}"
        tip = f"Open “{title}”, in a new tab"
        new = {"target": "_blank", "rel": "noopener noreferrer", "aria_label": tip}
        paper = link and el("a", "paper", href=link, **new)
        cells = [el("a", title, href=search, target="_self"), document.year or "", paper]
        rows.append(cells[: len(heads)])
    return table("Selected documents", heads, rows, "map-rows")


def explore_view(view: MapView, doc_id: str) -> View:
    """Explore with a document as its seed, in the aspect that the map shows."""
    aspect = "" if view.layout == WHOLE else view.layout
    return View.elsewhere(corpus=view.corpus, seed=doc_id, text_id="", aspect=aspect)


def _actions(page: MapPage, doc_ids: Sequence[str]) -> None:
    view, explorer, many = page.view, page.explorer, len(doc_ids) > MOST_KEPT

    def seed() -> None:
        MapView.change(lambda now: replace(now, seed=doc_ids[0], text_id=""))

    def keep() -> None:
        kept = current_list(explorer.reading_lists.lists())
        explorer.reading_lists.keep(kept.list_id, view.corpus, *doc_ids, trail=view.trail)
        are = counted(len(doc_ids), "document is", "documents are")
        st.session_state[DONE] = f"{are} in “{kept.name}”."

    with st.container(horizontal=True, gap="small", key="map_actions"):
        if len(doc_ids) == 1:
            if st.button("Use as seed on Explore", "map_explore", type="primary"):
                explore_view(view, doc_ids[0]).go()
            button("Set as map seed", "map_seed", seed)
        words = "Restricts search to the selection. The link works in this installation only."
        if st.button("Filter Explore by these", "map_filter", help=words):
            where = str(explorer.select(view.corpus, doc_ids))
            View.elsewhere(corpus=view.corpus, where=where, page=1).go()
        words = f"Up to {MOST_KEPT} at once." if many else "See Reading list in the menu."
        button("Add to reading list", "map_keep", keep, disabled=many, help=words)
        for label, draw in (("Judge", _pool), ("Export", _export)):
            key = f"map_{label.lower()}"
            popover = st.popover(label, key=key, on_change="rerun", width="content")
            if popover.open:
                with popover:
                    draw(page, doc_ids)


# -- a pool ------------------------------------------------------------------------------


def _pool(page: MapPage, doc_ids: Sequence[str]) -> None:
    """Put the selection into the pool of a project, for one of its queries."""
    explorer, who = page.explorer, annotator(page.explorer)
    known = explorer.annotation.projects(page.corpus)
    projects = {p.name: p for p in known if p.name and is_lead(p, who)}
    if not projects:
        note("No project to judge in.", "Create one on Annotate.")
        if st.button("Open Annotate", "map_annotate"):
            AnnotateView.elsewhere(corpus=page.corpus, part=NEW).go()
        return
    name = st.selectbox("Project", list(projects), key="map_pool_project")
    queries = explorer.annotation.queries(projects[name])
    if not queries:
        note("The project has no query yet.", "Add one on Annotate, under Pool.")
        return
    names = query_names(explorer, queries)
    query = select("Query", names, "map_pool_query")
    add = partial(_fill, explorer, projects[name], query, doc_ids)
    start = as_drawn(("map_pool_project", "map_pool_query"), add)
    label = f"Add {counted(len(doc_ids), 'document')} to the pool"
    button(label, "map_pool_add", start, type="primary")


def _fill(explorer: Explorer, project: Project, query_id: str, doc_ids: Sequence[str]) -> None:
    if len(doc_ids) > MOST_POOLED:
        raise BadInputError(
            f"{len(doc_ids):,} documents are too many for a pool.", f"Select up to {MOST_POOLED:,}."
        )
    seed = explorer.annotation.queries(project)[query_id].seed
    ids = tuple(doc_id for doc_id in doc_ids if doc_id != seed)
    ranking = Ranking(query_id, ids, tuple(1.0 for _ in ids))
    request = PoolRequest((), max(1, len(ids)), runs={RUN: [ranking]})
    explorer.annotation.fill_pool(project, request, [query_id])
    st.session_state[DONE] = (
        f"{counted(len(ids), 'document is', 'documents are')} in the pool of “{project.name}”; "
        "existing items and grades are unchanged."
    )


# -- files -------------------------------------------------------------------------------


def _export(page: MapPage, doc_ids: Sequence[str]) -> None:
    labels = {"csv": "CSV: ids, titles, years, links"}
    labels |= {k: form.label for k, form in EXPORT_FORMATS.items() if not k.endswith("-html")}
    kind = select("Format", labels, "map_format")
    form, make = ExportFormat("CSV", "csv", "text/csv"), partial(_csv, page, doc_ids)
    if kind in EXPORT_FORMATS:
        form = EXPORT_FORMATS[kind]
        make = partial(page.explorer.notebook.export_documents, page.corpus, doc_ids, kind)
    label, file, key = f"Download {form.label}", f"selection.{form.suffix}", f"map_download_{kind}"
    with error_boundary():
        download(label, file, make, key=key, mime=form.mime)


def _csv(page: MapPage, doc_ids: Sequence[str]) -> str:
    opened = page.explorer.library.open(page.corpus)
    starts = range(0, len(doc_ids), READ_AT_ONCE)
    documents = (d for at in starts for d in opened.documents(doc_ids[at : at + READ_AT_ONCE]))
    heads = ("doc_id", "title", "year", "authors", "url")
    rows = ((d.doc_id, title_of(d), d.year, "; ".join(d.authors), d.url) for d in documents)
    return to_csv(heads, ([value or "" for value in row] for row in rows))
