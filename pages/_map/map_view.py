"""The map itself: what the component is told, and what it tells back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.types.maps import CorpusMap, Layout
from pages._common.components import component, dark, inbox
from pages._map.map_layers import Colour, Mark
from pages._map.map_parts import (
    bits_from_rows,
    colour_part,
    layout_part,
    rows_from_bits,
    titles_part,
)
from pages._map.map_url import select

PARTS = (
    "map_store", "map_colours", "map_gl", "map_places", "map_labels", "map_camera", "map_panel",
)  # fmt: skip
KEY = "map_points"
MOST_MESSAGES = 24
"""Parts of maps that the server keeps ready: of 100,000 documents, less than a megabyte each."""
_MAP = component("map", *PARTS)
_PART = component("map_part", "map_store")


@dataclass(frozen=True)
class Shown:
    """What is drawn of a map.

    Attributes:
        places, titles: name what goes to the browser once: places and clusters, and titles.
        label: what a document has to have to be on this layout.
        within: the rows that filters let through; None without filters.
    """

    layout: Layout
    places: str
    titles: str
    label: str
    colour: Colour
    marks: Sequence[Mark]
    within: Sequence[int] | None = None


@st.cache_resource(max_entries=MOST_MESSAGES, show_spinner=False)
def _packed_layout(key: str, corpus: str, _layout: Layout, label: str) -> bytes:
    return layout_part(key, corpus, _layout, label)


@st.cache_resource(max_entries=4, show_spinner=False)
def _packed_titles(key: str, _titles: Sequence[str]) -> bytes:
    return titles_part(key, _titles)


def map_view(drawn: CorpusMap, shown: Shown, chosen: Sequence[str]) -> None:
    """The map with its tools, search and legend.

    What is large goes to the browser apart from what changes: it stays there as long as it is
    the same.

    Args:
        chosen: the selection.
    """
    size, colour = len(drawn.doc_ids), shown.colour
    wanted = set(chosen)
    selected = [row for row, one in enumerate(drawn.doc_ids) if one in wanted] if wanted else []
    colour_key = f"{shown.titles} {colour.key}"
    with st.container(key="map_parts"):
        _send("layout", _packed_layout(shown.places, drawn.corpus, shown.layout, shown.label))
        _send("titles", _packed_titles(shown.titles, drawn.titles))
        if colour.values is not None:
            _send("colour", colour_part(colour_key, colour.values))
    received, receives = inbox(KEY, {"select": lambda event: _select(drawn, event)})
    _MAP(
        key=KEY,
        data={
            "layout": shown.places,
            "titles": shown.titles,
            **received,
            "corpus": drawn.corpus,
            "size": size,
            "colour": {**colour.legend(), "key": colour_key},
            "layers": [{"name": m.name, "label": m.label, "rows": m.rows} for m in shown.marks],
            "selected": bits_from_rows(selected, size),
            "within": "" if shown.within is None else bits_from_rows(shown.within, size),
            "dark": dark(),
        },
        **receives,
    )  # fmt: skip


def _send(name: str, part: bytes) -> None:
    _PART(key=f"map_part_{name}", data=part)


def _select(drawn: CorpusMap, event: Mapping[str, Any]) -> None:
    rows = rows_from_bits(str(event["rows"]), len(drawn.doc_ids))
    select([drawn.doc_ids[row] for row in rows])
