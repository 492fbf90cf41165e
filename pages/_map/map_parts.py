"""The map in the browser: its component, and the parts that it gets as messages of their own.

Places, values and titles of all documents go to the browser once, as long as they stay the same.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from engine.types.maps import CorpusMap, Layout
from pages._common.components import component, inbox

ABSENT = 65535  # the place of a document that a layout lacks, and the label of one in no cluster
LONGEST_TITLE = 160
MOST_COLOURS = 254  # the highest value of a colour; 255 stands for none
MOST_MESSAGES = 24  # parts that are kept ready: of 100,000 documents, under a megabyte each
_MAP = component("map")
_PART = component("map_part")


def draw_map(
    drawn: CorpusMap,
    layout: Layout,
    keys: tuple[str, str, str],
    label: str,
    values: NDArray[np.uint8] | None,
    selected: Sequence[str],
    data: Mapping[str, Any],
    select: Callable[[list[str]], object],
) -> None:
    """The map with its tools, search and legend; ``keys`` of places, titles and colour, ``label``
    of what a document on this layout has, ``values`` of colours, one a document, None: clusters."""
    size, wanted = len(drawn.doc_ids), set(selected)
    rows = [row for row, one in enumerate(drawn.doc_ids) if one in wanted] if wanted else []
    places, titles, colour = keys
    with st.container(key="map_parts"):
        _PART(key="map_part_layout", data=layout_part(places, drawn.corpus, layout, label))
        _PART(key="map_part_titles", data=titles_part(titles, drawn.titles))
        if values is not None:
            _PART(key="map_part_colour", data=packed({"key": colour}, {"values": values}))

    def chosen(event: Mapping[str, Any]) -> None:
        select([drawn.doc_ids[row] for row in rows_from_bits(str(event["rows"]), size)])

    received, receives = inbox("map_points", {"select": chosen})
    known = {"layout": places, "titles": titles, "corpus": drawn.corpus, "size": size}
    selection = {"selected": bits_from_rows(rows, size)}
    _MAP(key="map_points", data={**known, **received, **selection, **data}, **receives)


@st.cache_resource(max_entries=MOST_MESSAGES, show_spinner=False)
def layout_part(key: str, corpus: str, _layout: Layout, label: str) -> bytes:
    """Places and clusters of a layout, 6 to 8 bytes a document, by the name ``key``."""
    placed = ~np.isnan(_layout.positions).any(axis=1)
    places = np.full(_layout.positions.shape, ABSENT, np.uint16)
    places[placed] = np.round(_layout.positions[placed].clip(0, 1) * (ABSENT - 1))
    about: dict[str, Any] = {"key": key, "corpus": corpus, "name": _layout.name, "label": label}
    about["absent"] = int((~placed).sum())
    arrays = {"positions": places}
    for name, level in zip(("coarse", "fine"), _layout.levels, strict=True):
        about[name] = list(level.names)
        arrays[name] = np.where(level.labels < 0, ABSENT, level.labels).astype(np.uint16)
    return packed(about, arrays)


@st.cache_resource(max_entries=4, show_spinner=False)
def titles_part(key: str, _titles: Sequence[str]) -> bytes:
    """Titles, each on a line; compressed, some 30 bytes a document."""
    lines = (" ".join(title.split())[:LONGEST_TITLE] for title in _titles)
    text = zlib.compress("\n".join(lines).encode("utf-8", "replace"), 6)
    return packed({"key": key}, {"titles": text})


def packed(about: Mapping[str, object], arrays: Mapping[str, NDArray[np.generic] | bytes]) -> bytes:
    """A part as ``unpacked`` (assets/components/map_store.js) reads it, little-endian: a head as
    JSON, then arrays of uint8 or uint16, or bytes, which are compressed lines of text."""
    parts = {name: a if isinstance(a, bytes) else a.tobytes() for name, a in arrays.items()}
    kinds = {
        name: "text" if isinstance(a, bytes) else f"u{8 * a.itemsize}" for name, a in arrays.items()
    }
    rows = [{"name": n, "type": kinds[n], "bytes": len(p)} for n, p in parts.items()]
    head = json.dumps({"about": about, "arrays": rows}, ensure_ascii=False).encode()
    start = struct.pack("<I", len(head)) + head
    return b"".join(part + bytes(-len(part) % 4) for part in (start, *parts.values()))


def rows_from_bits(text: str, size: int) -> list[int]:
    """Rows that the browser's ``toBits`` wrote; those beyond ``size`` are left out.

    >>> rows_from_bits("BQ==", 8)
    [0, 2]
    """
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text), np.uint8), bitorder="little")
    return [int(row) for row in np.flatnonzero(bits[:size])]


def bits_from_rows(rows: Sequence[int], size: int) -> str:
    """What :func:`rows_from_bits` reads; a bit a document, so that all of them are short too.

    >>> bits_from_rows([0, 2], 8)
    'BQ=='
    """
    bits = np.zeros(size, np.uint8)
    bits[list(rows)] = 1
    return base64.b64encode(np.packbits(bits, bitorder="little").tobytes()).decode()
