"""Texts of others on a page: seen as they are, and no more than text."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from engine.config import ROOT
from pages._common import kit
from pages._common.charts import frame_csv
from pages._common.outside_text import escape, table_with_marks
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


@pytest.mark.parametrize(
    "made",
    [
        kit.el("p", '<b title="x">'),
        kit.el("p.a", "x", title='"><b>'),
        kit.html(["a", ["<b>"]]),
        kit.document("<b>", "<b>", "<b>", kit.el("p", "<b>")),
        kit.table("<b>", ["<b>"], [["<b>", "<b>"]]),
    ],
)
def test_words_in_elements_are_text(made: str) -> None:
    assert "<b" not in made
    assert "&lt;b" in made


COMPONENTS = sorted((ROOT / "assets" / "components").glob("*.js"))
SHOWS = re.compile(
    r"\.(?:title|placeholder|textContent) = (?!\"[^\"]*\"(?: }|$))"
    r"|setAttribute\(\"(?:aria-label|title)\"|\"aria-label\":|createTextNode\(|new Option\((?!\")"
)
OURS = ("`${steer.value} %`", "node.textContent = line", "text.textContent, opacity", "data.status",
        "`Export failed. Reload the page")  # fmt: skip
"""A number, what was marked already, words of ours."""


def test_components_show_no_text_but_with_marks() -> None:
    """Words of nodes and attributes go through common.js."""
    for file in COMPONENTS:
        for line in file.read_text("utf-8").splitlines():
            if SHOWS.search(line) and not any(words in line for words in OURS):
                assert "withMarks(" in line, f"{file.name}: {line.strip()}"
            assert not re.search(r"(inner|outer)HTML|insertAdjacentHTML", line), file.name


def test_components_look_nothing_up_by_a_name_from_outside() -> None:
    """Every object has a "constructor"; a Map has what was put in."""
    own = {"ICONS[name]", "node.style[name]", "before[name]", "scrolled[name]"}  # names of ours
    own |= {"part.arrays[name]"}  # as the server packs them
    own.add("keys[event.key.toLowerCase()]")  # after Object.hasOwn
    lookup = re.compile(
        r"[\w.]+\[[^]]*(?:id|name|key|term|aspect|annotator)\b(?:\.\w+\([^)]*\))?\]"
    )
    for file in COMPONENTS:
        code = re.sub(r"//.*|\"[^\"\n]*\"|`[^`\n]*`", "", file.read_text("utf-8"))
        assert not {*lookup.findall(code)} - own, file.name
        assert code.count("fromEntries") == code.count("scrolled = Object.fromEntries"), file.name


def test_tables_of_pages_show_what_turns_text() -> None:
    frame = pd.DataFrame({"Title\u202e": ["paid \u202e001"], "Score": [0.5], "N": [1]})
    shown = table_with_marks(frame)
    assert list(shown.columns) == ["Title\u25ca", "Score", "N"]
    assert list(shown["Title\u25ca"]) == ["paid \u25ca001"]
    assert list(shown.dtypes)[1:] == list(frame.dtypes)[1:]
    assert table_with_marks(pd.DataFrame()).empty


def test_pages_escape_and_show_texts_in_one_way() -> None:
    """Labels of options are written with names of others; the same functions show them all."""
    for file in (ROOT / "pages").rglob("*.py"):
        source = file.read_text("utf-8")
        if file.name != "outside_text.py":
            assert "html.escape" not in source, f"{file.name}: use escape of outside_text"
        for call in re.findall(r"st\.dataframe\(\s*([^\s(]+)", source):
            assert call == "table_with_marks" or call == "rows", f"{file.name}: {call}"


def test_csv_of_evaluate_has_no_formula_in_its_head_either() -> None:
    assert frame_csv(pd.DataFrame({"=1+1": ["=2", "-0.5"]})) == "'=1+1\n'=2\n-0.5\n"
