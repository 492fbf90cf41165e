"""Lenses: those that ship, one's own, their roles, and another one for an indexed corpus."""

import json
import re
import tomllib
from dataclasses import asdict

import pytest

from engine.config import ASSETS, ROOT
from engine.errors import BadInputError, UnknownNameError
from engine.lenses.definitions import (
    MOST_ASPECTS,
    RESEARCH,
    SHIPPED,
    choose_lens,
    lens_from_fields,
    lens_from_json,
    lens_to_json,
    lens_to_toml,
)
from tests.fakes.small_corpus import OWN


def aspect(number, **fields):
    base = {"name": f"Aspect {number}", "definition": "What is said.", "examples": ["A.", "B."]}
    return {**base, **fields}


# What ships


@pytest.mark.parametrize("lens", SHIPPED, ids=lambda lens: lens.key)
def test_a_shipped_lens_says_enough_of_every_aspect(lens):
    assert choose_lens(f" {lens.key.upper()}") is lens
    assert 3 <= len(lens.aspects) <= 4
    assert len({a.letter for a in lens.aspects}) == len({a.key for a in lens.aspects})
    said = [lens.generic]
    for a in lens.aspects:
        assert len(a.examples) >= 2
        assert len(a.phrases) >= 10
        assert len(a.paraphrases) >= 3
        said += [a.definition, a.instruction, *a.examples, *a.paraphrases]
    assert len(set(said)) == len(said)
    phrases = [phrase for a in lens.aspects for phrase in a.phrases]
    assert len(set(phrases)) == len(phrases), "a phrase that two aspects claim tells nothing"


# JSON


def test_a_lens_stored_before_there_were_examples_is_read_and_completed():
    old = {"key": "research", "name": "Research abstracts", "aspects": []}
    names = ("key", "name", "letter", "definition", "instruction")
    old["aspects"] = [{n: getattr(a, n) for n in names} for a in RESEARCH.aspects]
    assert lens_from_json(json.dumps(old)) == RESEARCH
    other = lens_from_json(json.dumps({**old, "key": "mine"}))
    assert (other.aspects[0].phrases, other.things) == ((), "documents")


# Lens files


def test_names_definitions_and_examples_make_a_lens(tmp_path):
    path = tmp_path / "letters.json"
    path.write_text(json.dumps(OWN))
    lens = choose_lens(str(path))
    assert (lens.key, lens.name, lens.things) == ("patient_letters", "Patient letters", "documents")
    assert [(a.key, a.letter) for a in lens.aspects] == [("complaint", "C"), ("care_cure", "A")]
    assert lens.aspects[1].instruction == "Documents that are alike in Care & cure."
    assert lens.aspects[1].phrases == ("care & cure", "care", "cure")


def test_keys_and_letters_are_each_used_once_whatever_the_names():
    names = ["Any", "any!", "剂量", "量", "Größe", "Grosse", "123", "Document"]
    lens = lens_from_fields(
        {"name": "Odd", "aspects": [aspect(0, name=name) for name in names]}, "odd"
    )
    keys = [a.key for a in lens.aspects]
    assert len(set(keys)) == len({a.letter for a in lens.aspects}) == 8
    assert "any" not in keys, "that stands for no aspect in the id of a query"
    assert "document" not in keys, "that stands for whole documents on a map"
    assert all(key.isascii() and key.replace("_", "").isalnum() for key in keys)


@pytest.mark.parametrize("lens", SHIPPED, ids=lambda lens: lens.key)
def test_a_lens_that_was_printed_reads_as_itself_and_edited_as_another(lens, tmp_path):
    assert lens_from_json(lens_to_json(lens)) == lens
    for name, text in (("a.toml", lens_to_toml(lens)), ("a.json", json.dumps(asdict(lens)))):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        assert choose_lens(str(path)) == lens
        path.write_text(text.replace("what", "which"), encoding="utf-8")
        edited = choose_lens(str(path))
        assert edited.key == f"own_{lens.key}"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "x: an object with fields is needed"),
        ({"aspects": [aspect(1)]}, "x: name: it is missing"),
        ({"name": " ", "aspects": [aspect(1)]}, "x: name: it is empty"),
        ({"name": "X"}, "x: aspects: it is missing"),
        ({"name": "X", "aspects": [aspect(i) for i in range(9)]}, "aspects: list should have at"),
        ({"name": "X", "aspects": ["Y"]}, "x, aspect 1: an object with fields is needed"),
        ({"name": "X", "aspects": [aspect(1), aspect(1, name="aspect 1")]}, "(aspect 1): the name"),
        (
            {"name": "X", "aspects": [aspect(1, examples=["One.", " "])]},
            "give at least 2 sentences",
        ),
        ({"name": "X", "aspects": [aspect(1, definition="x" * 601)]}, "at most 600 characters"),
        ({"name": "X", "aspects": [aspect(1, definition="a\x1bb")]}, "characters that cannot be"),
        ({"name": "X", "aspects": [aspect(1), aspect(2, key="aspect")]}, "the key 'aspect'"),
        ({"name": "X", "aspects": [aspect(1, letter="X"), aspect(2, letter="x")]}, "letter 'X'"),
        ({"name": "X", "aspects": [aspect(1)], "colour": "red"}, "x: colour: there is no such"),
        ({"name": "X", "aspects": [aspect(1)], "allows_none": "yes"}, "none: write true or false"),
    ],
)
def test_a_lens_that_cannot_be_used_is_refused_with_what_and_where(fields, message):
    with pytest.raises(BadInputError) as caught:
        lens_from_fields(fields, "x")
    assert message in caught.value.message
    assert caught.value.message.startswith("x")
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "content"), [("a.json", b"{"), ("a.toml", b"name ="), ("a.toml", b"\xff\xfe")]
)
def test_a_file_that_is_no_lens_is_named(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadInputError, match=rf"{name} is not a lens file"):
        choose_lens(str(path))
    with pytest.raises(BadInputError, match=r"gone\.toml cannot be read"):
        choose_lens(str(tmp_path / "gone.toml"))
    with pytest.raises(UnknownNameError, match="no lens 'novels'"):
        choose_lens("novels")


# Colours


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_as_many_aspects_as_a_lens_may_have_can_be_read_in_colour(theme):
    """WCAG 2.2, 1.4.3: text needs a contrast of 4.5:1."""
    style = (ASSETS / "components" / "base.css").read_text("utf-8")
    pairs = re.findall(r"--role-\d: light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", style)
    colours = [pair[theme == "dark"] for pair in pairs]
    assert len(set(colours)) == len(colours) == MOST_ASPECTS
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    for name in ("backgroundColor", "secondaryBackgroundColor"):
        ground = _luminance(settings["theme"][theme][name])
        for colour in colours:
            low, high = sorted((ground, _luminance(colour)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (colour, name)


def test_a_lens_says_whether_a_sentence_may_have_no_aspect_and_old_ones_stay_as_they_were():
    fields = {"name": "Own", "aspects": [aspect(1), aspect(2)]}
    plain = lens_from_fields(fields, "own")
    lens = lens_from_fields({**fields, "allows_none": True}, "own")
    assert (plain.allows_none, lens.allows_none) == (False, True)
    assert lens_from_fields(tomllib.loads(lens_to_toml(lens)), "own") == lens
    assert lens_from_json(lens_to_json(lens)) == lens
    assert "allows_none" not in lens_to_json(plain) + lens_to_toml(plain)
