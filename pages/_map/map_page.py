"""What the Map page shows around the map: its state, its controls, and the job that computes it."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from functools import partial

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.maps import CorpusMap, MapJob
from engine.types.searches import SELECTION
from pages._common.job_card import JobCard
from pages._common.outside_text import escape, with_marks
from pages._common.shared import attempt, escape_label, note, show_error, system_label
from pages._common.url_state import corpus_box, seed_is_there
from pages._library.import_jobs import progress_line
from pages._login import login
from pages._map import map_layers
from pages._map.map_url import CLUSTER, MARKS, WHOLE, MapView, selected
from pages._map.map_view import Shown

WHOLE_LABEL = "Whole text"
FIRST_SECONDS, SECONDS_EACH = 6, 0.0022
"""What computing a map takes on two cores: so long, and so long for each document."""


def open_view(explorer: Explorer, names: list[str]) -> MapView:
    """The view of the address, with a seed that is there."""
    view = MapView.opened_on(explorer, names)
    if not seed_is_there(explorer, view.corpus, view.seed, view.text_id):
        view = replace(view, seed=explorer.starting_point(view.corpus)[0], text_id="")
    view.write()
    return view


def within(explorer: Explorer, view: MapView, drawn: CorpusMap) -> MapView:
    """The view with a layout and a colour that there are; says what is not there."""
    if view.layout not in drawn.layouts:
        note(f"This map has no layout '{view.layout}'.", "Showing whole documents.")
        view = replace(view, layout=WHOLE)
    if view.colour not in _colours(explorer, view, drawn):
        note(f"Cannot colour by '{view.colour}'.", "Showing clusters.")
        view = replace(view, colour=CLUSTER)
    return _marked_by(explorer, view)


def _marked_by(explorer: Explorer, view: MapView) -> MapView:
    """The view with a project, query and system that there are; says what is not there."""
    annotation = explorer.annotation
    if view.project not in ("", *(p.name for p in annotation.projects(view.corpus))):
        note(f"Unknown project '{view.project}'.", "Showing judgments from Explore.")
        view = replace(view, project="", query="")
    if view.query not in ("", *annotation.queries(annotation.project(view.corpus, view.project))):
        note(f"The project has no query '{view.query}'.", "Showing the seed's results.")
        view = replace(view, query="")
    if view.system not in explorer.systems_of(view.corpus):
        note(f"Unknown system '{view.system}'.", f"Using '{MapView().system}'.")
        view = replace(view, system=MapView().system)
    return view


def _colours(explorer: Explorer, view: MapView, drawn: CorpusMap) -> dict[str, str]:
    return map_layers.choices(explorer, view, explorer.library.lens(view.corpus), drawn)


def selection(explorer: Explorer, view: MapView, drawn: CorpusMap) -> tuple[str, ...]:
    """What is selected, in the order of the corpus; what the map lacks or filters rule out is left
    out."""
    if view.kept:
        return _kept(explorer, view, drawn)
    wanted = set(selected(view))
    if not wanted:
        return ()
    try:
        within = map_layers.within(explorer, view)
    except SeedLensError:  # it is said in the place of the map
        within = None
    rows = range(len(drawn.doc_ids)) if within is None else within
    return tuple(drawn.doc_ids[row] for row in rows if drawn.doc_ids[row] in wanted)


def _kept(explorer: Explorer, view: MapView, drawn: CorpusMap) -> tuple[str, ...]:
    """The selection that is kept under the name in the link; () where it is not there."""
    both = "; ".join(filter(None, (view.where, f"{SELECTION}={view.kept}")))
    try:
        rows = map_layers.within(explorer, replace(view, where=both))
    except SeedLensError as error:
        show_error(error)
        rows = None
    return tuple(drawn.doc_ids[row] for row in rows or ())


def controls(explorer: Explorer, view: MapView, names: list[str], drawn: CorpusMap) -> None:
    """Corpus, layout, colour and marks, in a row."""
    lens = explorer.library.lens(view.corpus)
    labels = {WHOLE: WHOLE_LABEL} | {a.key: a.name for a in lens.aspects}
    layouts = list(drawn.layouts)
    colours = _colours(explorer, view, drawn)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="map_head"):
        corpus_box(view, names, "map_corpus", width=160)
        st.segmented_control(
            "Layout", layouts, required=True, width="content",
            format_func=lambda name: escape_label(labels.get(name or WHOLE, name or "")),
            help="Whole document or one aspect.",
            **view.bound("layout", "map_layout"),
        )  # fmt: skip
        st.selectbox(
            "Colour", list(colours), format_func=lambda key: with_marks(colours[key]),
            width=255, **view.bound("colour", "map_colour"),
        )  # fmt: skip
        st.multiselect(
            "Mark", list(MARKS), format_func=MARKS.__getitem__, placeholder="Seed only",
            width=300, **view.bound("marks", "map_marks", read=tuple),
        )  # fmt: skip
        if view.marks:
            with st.popover("Pool and system", width="content"):
                _whose(explorer, view)


def _whose(explorer: Explorer, view: MapView) -> None:
    """Whose pool, judgments and top 20 are marked."""
    projects = ["", *(p.name for p in explorer.annotation.projects(view.corpus) if p.name)]
    st.selectbox(
        "Project", projects, format_func=lambda name: with_marks(name) or "Judged on Explore",
        **view.bound("project", "map_project", query=""),
    )  # fmt: skip
    queries = explorer.annotation.queries(explorer.annotation.project(view.corpus, view.project))
    if queries:
        titles = dict(zip(queries, explorer.notebook.seed_titles([*queries.values()]), strict=True))
        names = {"": "Seed and layout of the map"} | {
            one: " · ".join(filter(None, (" ".join(titles[one].split())[:60], query.aspect)))
            for one, query in queries.items()
        }
        st.selectbox(
            "Results of", list(names), format_func=lambda one: with_marks(names[one]),
            **view.bound("query", "map_query"),
        )  # fmt: skip
    st.selectbox(
        "System", list(explorer.systems_of(view.corpus)), format_func=system_label,
        **view.bound("system", "map_system"),
    )  # fmt: skip


def shown(explorer: Explorer, view: MapView, drawn: CorpusMap) -> Shown:
    """What the map shows of a view: its layout, colours and marks."""
    lens = explorer.library.lens(view.corpus)
    layout = drawn.layouts[view.layout]
    label = next((a.name for a in lens.aspects if a.key == view.layout), "a place")
    identity = explorer.library.open(view.corpus).identity
    names = repr([level.names for level in layout.levels]).encode()
    stamp = f"{layout.name} {zlib.crc32(layout.positions.tobytes(), zlib.crc32(names)):x}"
    words = _colours(explorer, view, drawn)[view.colour]
    return Shown(
        layout, f"{identity} {stamp}", f"{identity} titles", label,
        map_layers.colour(explorer, view, words), map_layers.marks(explorer, view),
        map_layers.within(explorer, view),
    )  # fmt: skip


def about(explorer: Explorer, view: MapView, drawn: CorpusMap) -> None:
    """How to read the map, and what it does not show yet."""
    within = map_layers.within(explorer, view)
    if within is not None:
        passing = f"{len(within):,} of {counted(len(drawn.doc_ids), 'document')} match the filters"
        st.caption(
            f"{passing}; the others are faint." if within else "No documents match the filters."
        )
    sampled = "" if drawn.sampled is None else (
        f" Computed for {drawn.sampled:,} of them; the others are placed near their neighbours."
    )  # fmt: skip
    st.caption(
        f"{counted(len(drawn.doc_ids), 'document')}; similar ones are close. Axes and distances "
        f"between clusters are not meaningful.{sampled}"
    )
    lens = explorer.library.lens(drawn.corpus)
    lacking = [a.name for a in lens.aspects if a.key not in drawn.layouts]
    if lacking:
        job = explorer.maps.jobs.latest(drawn.corpus)
        if job is None or not job.running:
            note(
                f"No map by {', '.join(lacking)} yet: the lens changed.",
                f"Computing it takes about {_minutes(len(drawn.doc_ids))}.",
            )  # fmt: skip
            _start_button(explorer, drawn.corpus, "Update map")
    elif drawn.missing:
        came = counted(drawn.missing, "document is", "documents are")
        note(f"{came} newer than the map.", "Add them without changing the layout.")
        _start_button(explorer, drawn.corpus, "Add to map")


def job_card(explorer: Explorer, corpus: str) -> None:
    """The map that is being computed, or how that ended."""
    jobs = explorer.maps.jobs
    JobCard(
        lambda: jobs.latest(corpus), key="map", label="Computing the map",
        line=lambda job: escape(progress_line(job.progress)), cancel=jobs.cancel,
        dismiss=jobs.dismiss, ended=_ended, what_stays="The previous map is kept.",
    ).show(jobs.latest(corpus))  # fmt: skip


def _ended(job: MapJob) -> str:
    return "" if job.report is None else f"Map computed in {job.report.seconds:.0f} s."


def nothing_drawn(explorer: Explorer, corpus: str) -> None:
    """The offer to compute the map of a corpus, with what it takes."""
    job = explorer.maps.jobs.latest(corpus)
    if job is not None and job.running:
        return
    documents = explorer.library.corpus(corpus).documents
    note(
        f"{corpus} has no map yet.",
        f"Computing it for {counted(documents, 'document')} takes about {_minutes(documents)}; you "
        "can search meanwhile.",
    )
    _start_button(explorer, corpus, "Compute the map")


def _minutes(documents: int) -> str:
    seconds = FIRST_SECONDS + documents * SECONDS_EACH
    return "half a minute" if seconds < 45 else counted(math.ceil(seconds / 60), "minute")


def _start_button(explorer: Explorer, corpus: str, label: str) -> None:
    if not login.acting().is_lead:
        st.caption("Only leads can compute a map.")
        return
    start = partial(explorer.maps.start, corpus, owner=login.owner())
    st.button(label, "map_compute", type="primary", on_click=attempt, args=(start,))
