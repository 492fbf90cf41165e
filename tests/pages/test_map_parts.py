"""Parts of a map as the browser gets them."""

import json
import struct
import zlib

import numpy as np

from engine.types.maps import ClusterLevel, Layout
from pages._map.map_layers import OTHERS, of_categories, of_grades, of_range
from pages._map.map_parts import (
    ABSENT,
    bits_from_rows,
    layout_part,
    rows_from_bits,
    titles_part,
)


def read(part):
    """The head of a part and its arrays, as the component reads them."""
    (length,) = struct.unpack("<I", part[:4])
    head, at, arrays = json.loads(part[4 : 4 + length]), -(-(4 + length) // 4) * 4, {}
    for array in head["arrays"]:
        arrays[array["name"]] = part[at : at + array["bytes"]]
        at += -(-array["bytes"] // 4) * 4
    assert at == len(part)
    return head["about"], arrays


def level(labels, *names):
    return ClusterLevel(np.array(labels, np.int32), names)


def test_places_are_whole_numbers_and_what_has_none_is_told_apart():
    positions = np.array([[0, 1], [np.nan, np.nan], [0.5, 0.25]], np.float32)
    levels = (level([0, -1, 0], "α"), level([1, -1, 0], "b", "c"))
    about, arrays = read(layout_part("k", "demo", Layout("method", positions, levels), "Method"))
    places = np.frombuffer(arrays["positions"], "<u2").reshape(-1, 2)
    assert places.tolist() == [[0, ABSENT - 1], [ABSENT, ABSENT], [32767, 16384]]
    assert np.frombuffer(arrays["coarse"], "<u2").tolist() == [0, ABSENT, 0]
    assert (about["absent"], about["coarse"], about["fine"]) == (1, ["α"], ["b", "c"])


def test_a_title_is_one_line_of_the_compressed_text():
    _, arrays = read(titles_part("k", ["Two\nlines", "", "\ud800 half a character"]))
    assert zlib.decompress(arrays["titles"]).decode().split("\n") == [
        "Two lines",
        "",
        "? half a character",
    ]


def test_a_selection_comes_back_as_it_went():
    rows = [0, 7, 8, 99]
    assert rows_from_bits(bits_from_rows(rows, 100), 100) == rows
    assert rows_from_bits(bits_from_rows(rows, 100), 50) == [0, 7, 8], "of another corpus by now"


def test_values_become_colours_and_a_legend():
    ranged = of_range("k", "year", np.array([1990.0, np.nan, 2020.0]), "{:.0f}".format)
    assert ranged.values is not None
    assert ranged.values.tolist() == [0, 255, 254]
    assert ranged.legend()["none"] == 1
    codes = np.array([*range(20), 0, -1], np.int32)
    named = of_categories("k", "venue", codes, [f"venue {i}" for i in range(20)])
    assert (named.entries[0].label, named.entries[0].count) == ("venue 0", 2)
    assert named.entries[-1].label == OTHERS
    assert sum(e.count for e in named.entries) == 21
    graded = of_grades("k", "grade", np.array([0, 3, np.nan]), {0: "Not alike", 3: "Same"})
    assert graded.values is not None
    assert graded.values.tolist() == [0, 254, 255]
