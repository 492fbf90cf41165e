"""Texts and signs on a page: texts of others are no more than text, and every sign is seen."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from engine.config import ROOT
from pages._common import kit
from pages._common.shared import ASSETS, escape, escape_label, table_with_marks

HIDDEN = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_characters_that_turn_text_unseen_are_seen_and_nothing_else_is_changed():
    for character in HIDDEN:
        assert escape(f"<b>invoice{character}fdp.exe") == "&lt;b&gt;invoice\u25cafdp.exe"
        assert character not in escape_label(f"a{character}b")
    right_to_left = "\u05e9\u05dc\u05d5\u05dd\u200f!"
    assert escape(right_to_left) == right_to_left


@pytest.mark.parametrize(
    "name", ["https://evil.example", "HTTP://evil.example/x", "www.evil.example", "me@evil.example"]
)
def test_the_name_of_a_model_in_a_label_is_no_link(name):
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
def test_words_in_elements_are_text(made):
    assert "<b" not in made
    assert "&lt;b" in made


COMPONENTS = sorted((ROOT / "assets" / "components").glob("*.js"))
SHOWS = re.compile(
    r"\.(?:title|placeholder|textContent) = (?!\"[^\"]*\"(?: }|$))"
    r"|setAttribute\(\"(?:aria-label|title)\"|\"aria-label\":|createTextNode\(|new Option\((?!\")"
)
OURS = ("`${target.value} %`", "`Export failed. Reload the page")
"""A number, words of ours."""


def test_components_show_no_text_but_with_marks():
    """Words of nodes and attributes go through base.js."""
    for file in COMPONENTS:
        for line in file.read_text("utf-8").splitlines():
            if SHOWS.search(line) and not any(words in line for words in OURS):
                assert "withMarks(" in line, f"{file.name}: {line.strip()}"
            assert not re.search(r"(inner|outer)HTML|insertAdjacentHTML|unsafe", line), file.name
            assert "vendor/" not in line or file.name == "base.js", "templates are those of base.js"


def test_tables_of_pages_show_what_turns_text():
    frame = pd.DataFrame({"Title\u202e": ["paid \u202e001"], "Score": [0.5], "N": [1]})
    shown = table_with_marks(frame)
    assert list(shown.columns) == ["Title\u25ca", "Score", "N"]
    assert list(shown["Title\u25ca"]) == ["paid \u25ca001"]
    assert list(shown.dtypes)[1:] == list(frame.dtypes)[1:]
    assert table_with_marks(pd.DataFrame()).empty


PAGES = Path(__file__).resolve().parents[2] / "pages"


def test_every_sign_of_the_pages_is_in_the_font_that_comes_along():
    """What the bundled font (Source Sans, of which font.json is a part) lacks is drawn as SVG."""
    font = json.loads((ASSETS / "figures" / "font.json").read_text("utf-8"))
    known = set(font["weights"]["400"]["glyphs"]) | {"\n"}
    files = [*(ASSETS / "components").glob("*.*"), *PAGES.rglob("*.py")]
    lacking = {f.name: set(f.read_text("utf-8")) - known for f in files}
    assert {name: signs for name, signs in lacking.items() if signs} == {}
