"""Values that files and services have alike."""

from __future__ import annotations

import time

import pytest

from engine.bibliographic import doi_in


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("https://doi.org/10.1000/ABC.7", "10.1000/abc.7"),
        ("see doi: 10.1000/abc.7, and others", "10.1000/abc.7"),
        ("10.1016/0167-2789(92)90242-f", "10.1016/0167-2789(92)90242-f"),
        ("(10.1016/s0167(92))", "10.1016/s0167(92)"),
        ("<doi>10.1000/abc</doi>", "10.1000/abc"),
        (
            "10.1175/1520-0469(1963)020<0130:DNF>2.0.CO;2",
            "10.1175/1520-0469(1963)020<0130:dnf>2.0.co;2",
        ),
        (
            "https://doi.org/10.1175/1520-0469(1963)020%3C0130:DNF%3E2.0.CO;2",
            "10.1175/1520-0469(1963)020<0130:dnf>2.0.co;2",
        ),
        ("10.10/x", None),
        (7, None),
    ],
)
def test_a_doi_is_found_whole(text: object, doi: str | None) -> None:
    assert doi_in(text) == doi


@pytest.mark.parametrize("text", ["10.1000/a" + ".)" * 50_000, "10.1000/a" + ")" * 100_000])
def test_the_time_to_find_a_doi_grows_with_the_text_alone(text: str) -> None:
    started = time.process_time()
    assert doi_in(text) == "10.1000/a"
    assert time.process_time() - started < 1
