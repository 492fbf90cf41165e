"""What the Map page shows around the map: its state, its controls, and the job that computes it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Container, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.maps import CorpusMap
from engine.types.searches import SELECTION
from pages._common.components import component, inbox
from pages._common.kit import button, el
from pages._common.shared import as_ours, escape, escape_label, note, show_error, system_label
from pages._common.state import control, corpus_box, seed_is_there
from pages._common.tasks import JobCard, at_most
from pages._common.waiting import answers, once, renew_when
from pages._library.corpus_list import progress_line
from pages._login import login
from pages._map import map_layers
from pages._map.map_parts import (
    bits_from_rows,
    layout_part,
    packed,
    rows_from_bits,
    titles_part,
)
from pages._map.map_state import MARKS, WHOLE, MapPage, MapView, query_names, select
from pages._model.model_settings import chosen, endpoint

FIRST_SECONDS, SECONDS_EACH = 6, 0.0022  # of computing a map on two cores; for each document
_NAMING = "map_names_asked"
_MAP, _PART = component("map"), component("map_part")
_POLL_SECONDS = 0.4


def open_view(explorer: Explorer, names: list[str]) -> MapView:
    """The view of the address, with a seed that is there."""
    view = MapView.opened_on(explorer, names)
    if not seed_is_there(explorer, view.corpus, view.seed, view.text_id):
        view = replace(view, seed=explorer.starting_point(view.corpus)[0], text_id="")
    view.write()
    return view


def open_map(explorer: Explorer, view: MapView, names: list[str], drawn: CorpusMap) -> MapPage:
    """The page with a layout, colour, project, query and system that exist; others are named."""
    annotation, usual = explorer.annotation, MapView()

    def known(name: str, there: Container[str], problem: str, instead: str, **also: str) -> None:
        nonlocal view
        if (value := getattr(view, name)) not in there:
            note(f"{problem} '{value}'.", instead)
            view = replace(view, **{name: getattr(usual, name), **also})

    known("layout", drawn.layouts, "This map has no layout", "Showing whole documents.")
    colours = map_layers.choices(MapPage(explorer, view, names, drawn))
    known("colour", colours, "Cannot colour by", "Showing clusters.")
    projects = ["", *(p.name for p in annotation.projects(view.corpus))]
    known("project", projects, "Unknown project", "Showing judgments from Explore.", query="")
    queries = ["", *annotation.queries(annotation.project(view.corpus, view.project))]
    known("query", queries, "The project has no query", "Showing the seed's results.")
    systems = explorer.systems_of(view.corpus)
    known("system", systems, "Unknown system", f"Using '{usual.system}'.")
    return MapPage(explorer, view, names, drawn)


def selection(page: MapPage) -> tuple[str, ...]:
    """What is selected, in the order of the corpus; what filters rule out is left out."""
    view, doc_ids, rows = page.view, page.drawn.doc_ids, None
    if not (view.kept or view.chosen):
        return ()
    kept = f"{SELECTION}={view.kept}" if view.kept else ""
    try:
        rows = page.within("; ".join(filter(None, (view.where, kept))))
    except SeedLensError as error:
        if kept:  # else shown in the place of the map
            show_error(error)
            replace(view, kept="").write()
    if kept:
        return tuple(doc_ids[row] for row in rows or ())
    wanted = set(view.chosen)
    found = doc_ids if rows is None else (doc_ids[row] for row in rows)
    return tuple(doc_id for doc_id in found if doc_id in wanted)


def controls(page: MapPage) -> None:
    """Corpus, layout, colour and marks, in a row."""
    view = page.view
    labels = {WHOLE: "Whole text"} | {a.key: a.name for a in page.lens.aspects}
    colours = map_layers.choices(page)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="map_head"):
        corpus_box(view, page.corpora, "map_corpus", width=160)
        control(
            *(view, "layout", st.segmented_control, "Layout", list(page.drawn.layouts)),
            required=True,
            width="content",
            format_func=lambda name: escape_label(labels.get(name or WHOLE, name or "")),
            help="Whole document or one aspect.",
        )
        control(view, "colour", st.selectbox, "Colour", colours, width=255)
        only = "Seed only"
        control(view, "marks", st.multiselect, "Mark", MARKS, placeholder=only, width=300)
        if view.marks:
            with st.popover("Pool and system", width="content"):
                _pool_and_system(page)


def _pool_and_system(page: MapPage) -> None:
    """Whose pool, judgments and top 20 are marked."""
    view, explorer = page.view, page.explorer
    known = explorer.annotation.projects(page.corpus)
    projects = {"": "Judged on Explore"} | {p.name: p.name for p in known if p.name}
    control(view, "project", st.selectbox, "Project", projects, also={"query": ""})
    if queries := explorer.annotation.queries(page.project):
        names = {"": "Seed and layout of the map"} | query_names(explorer, queries)
        control(view, "query", st.selectbox, "Results of", names)
    systems = list(explorer.systems_of(page.corpus))
    control(view, "system", st.selectbox, "System", systems, format_func=system_label)


def show_map(page: MapPage, doc_ids: tuple[str, ...]) -> None:
    """The map with its tools, legend and a selection, and below it how to read it and what it
    lacks; parts that the browser has are sent by their keys."""
    view, drawn = page.view, page.drawn
    layout, rows = drawn.layouts[view.layout], page.within(view.where)
    label = next((a.name for a in page.lens.aspects if a.key == view.layout), "a place")
    identity = page.explorer.library.open(view.corpus).identity
    names = repr([level.names for level in layout.levels]).encode()
    stamp = zlib.crc32(layout.positions.tobytes(), zlib.crc32(names))
    colour = map_layers.colour(page, map_layers.choices(page)[view.colour])
    places, titles = f"{identity} {layout.name} {stamp:x}", f"{identity} titles"
    colours, size, wanted = f"{titles} {colour.key}", len(drawn.doc_ids), set(doc_ids)
    with st.container(key="map_parts"):
        _PART(key="map_part_layout", data=layout_part(places, drawn.corpus, layout, label))
        _PART(key="map_part_titles", data=titles_part(titles, drawn.titles))
        if colour.values is not None:
            packed_colours = packed({"key": colours}, {"values": colour.values})
            _PART(key="map_part_colour", data=packed_colours)

    def pick(event: Mapping[str, Any]) -> None:
        picked = rows_from_bits(str(event["rows"]), size)
        select(page.explorer, [drawn.doc_ids[row] for row in picked])

    def unfilter(_: Mapping[str, Any]) -> None:
        MapView.change(lambda now: replace(now, where=""))

    received, receives = inbox("map_points", {"select": pick, "unfilter": unfilter})
    selected = [row for row, one in enumerate(drawn.doc_ids) if one in wanted]
    data = {
        **{"layout": places, "titles": titles, "corpus": drawn.corpus, "size": size},
        "selected": bits_from_rows(selected, size),
        "colour": {**colour.legend(), "key": colours},
        "layers": map_layers.marks(page),
        "within": "" if rows is None else bits_from_rows(rows, size),
    }
    _MAP(key="map_points", data={**data, **received}, **receives)
    if rows is not None:
        passing = f"{len(rows):,} of {counted(size, 'document')} match the filters"
        st.caption(
            f"{passing}; the others are faint." if rows else "No documents match the filters."
        )
    _about(page)


def _about(page: MapPage) -> None:
    drawn, count = page.drawn, len(page.drawn.doc_ids)
    words = f"{counted(count, 'document')}. Axes and distances between clusters are not meaningful."
    if drawn.sampled is not None:
        words += f" Computed for {drawn.sampled:,} of them; the others are placed near neighbours."
    st.caption(words)
    lacking = [a.name for a in page.lens.aspects if a.key not in drawn.layouts]
    job = page.explorer.maps.jobs.latest(page.corpus)
    if lacking and not (job and job.running):
        note(
            f"No map by {', '.join(lacking)} yet: the lens changed.",
            f"Computing it takes about {_minutes(count)}.",
        )
        _start_button(page.explorer, page.corpus, "Update map")
    elif drawn.missing and not lacking:
        came = counted(drawn.missing, "document is", "documents are")
        note(f"{came} newer than the map.", "Add them without changing the layout.")
        _start_button(page.explorer, page.corpus, "Add to map")


# -- computing it --------------------------------------------------------------------------


def job_card(explorer: Explorer, corpus: str) -> None:
    """The map that is being computed, or how that ended."""
    jobs = explorer.maps.jobs
    JobCard(
        lambda: jobs.latest(corpus),
        key="map",
        label="Computing the map",
        line=lambda job: escape(progress_line(job.progress)),
        cancel=jobs.cancel,
        dismiss=jobs.dismiss,
        ended=lambda job: f"Map computed in {job.report.seconds:.0f} s." if job.report else "",
        what_stays="The previous map is kept.",
    ).show(jobs.latest(corpus))


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
    button(label, "map_compute", start, type="primary")


# -- names of clusters ---------------------------------------------------------------------


def cluster_names(page: MapPage) -> None:
    """Which model named the clusters; for leads, a connected model's offer to do it."""
    explorer, place = page.explorer, (page.corpus, page.view.layout)
    named_by = page.drawn.layouts[page.view.layout].worded_by
    if named_by:
        st.caption(escape_label(f"Names generated by {named_by}."))
    if not login.acting().is_lead:
        return
    if named_by:
        back = partial(explorer.maps.own_names, *place)
        button("Restore automatic names", "map_names_back", back)
        return
    info, naming = endpoint(explorer), answers(_NAMING).get(place)
    if naming is not None and not naming.done():
        st.caption(f"Asking {escape_label(info.model)}…")
        renew_when(naming.done, every=_POLL_SECONDS)
        return
    if naming is not None and (error := naming.exception()):
        show_error(as_ours(error, "Clusters could not be named."))
    if info.set_up:
        popover = st.popover("Name clusters with the model", key="map_names", on_change="rerun")
        if popover.open:
            with popover:
                _offer_names(explorer, place, info.model)


def _offer_names(explorer: Explorer, place: tuple[str, str], model: str) -> None:
    estimate = at_most(explorer.maps.estimate_names(*place, chosen(explorer)))
    how = "names all clusters from their words and three titles each"
    until = "Visible to everyone until restored or the map is recomputed."
    st.html(el("p", f"{model} {how}: {estimate}. {until}"))

    def ask() -> None:
        given = chosen(explorer)
        answers(_NAMING).pop(place, None)
        once(_NAMING, [place], lambda _: explorer.maps.word_names(*place, given))

    button(f"Ask {escape_label(model)}", "map_names_ask", ask, type="primary")
