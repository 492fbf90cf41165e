"""Texts of others on a page: seen as they are, and no more than text."""

from __future__ import annotations

import re

import pytest

from pages._common.outside_text import escape
from pages._common.shared import escape_label

HIDDEN = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_characters_that_turn_text_unseen_are_seen_and_nothing_else_is_changed() -> None:
    for character in HIDDEN:
        assert escape(f"<b>invoice{character}fdp.exe") == "&lt;b&gt;invoice\u25cafdp.exe"
        assert character not in escape_label(f"a{character}b")
    right_to_left = "\u05e9\u05dc\u05d5\u05dd\u200f!"
    assert escape(right_to_left) == right_to_left


@pytest.mark.parametrize(
    "name", ["https://evil.example", "HTTP://evil.example/x", "www.evil.example", "me@evil.example"]
)
def test_the_name_of_a_model_in_a_label_is_no_link(name: str) -> None:
    """Streamlit's Markdown makes links of texts after their escapes are read."""
    read = re.sub(r"\\(.)", r"\1", escape_label(f"Language model: {name}"))
    assert not re.search(r"https?://|www\.|[-.\w+]@[-\w]+\.", read, re.IGNORECASE)
    assert read.replace("\u2060", "") == f"Language model: {name}"
