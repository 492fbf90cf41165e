"""Documents imply what their queries ask for, never say it, and each query has one of them."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

import pytest

from engine.generate.implicit_records import (
    CATEGORIES,
    MOST_SETS,
    STYLES,
    DateTuple,
    Example,
    ImplicitRequest,
    PlaceTuple,
    PriceTuple,
)
from engine.generate.scenes import bind, examples_of, leaked, tuple_set
from engine.generate.wording import COUNTRIES, in_words, long_date

KINDS = [(category, style) for category in CATEGORIES for style in STYLES]
LEAP = DateTuple(date(2024, 3, 2), (date(2024, 2, 29),))
PRICE = PriceTuple(780, Fraction(5, 2), False, 1950)


def country(code):
    found = next(c for c in COUNTRIES if c.code == code)
    return PlaceTuple(found.places[0], found.name, code)


@pytest.fixture(scope="module", params=KINDS, ids="-".join)
def examples(request):
    """Four sets."""
    asked = ImplicitRequest(*request.param, sets=4, seed=11)
    return [example for number in range(4) for example in examples_of(asked, number)]


def test_no_document_says_what_its_query_names(examples):
    for example in examples:
        assert re.findall(r"\w+", example.answer)[-1] in example.document
        assert leaked(example.document, example.scene.implicit) is None
        assert leaked(example.question, example.scene.implicit), example.question


def test_documents_state_what_the_value_follows_from(examples):
    for example in examples:
        scene, text = example.scene, example.document
        t = scene.implicit
        if isinstance(t, PriceTuple):
            forms = (f"{t.base}", f"{t.base:,}", in_words(t.base))
            assert any(form in text for form in forms)
            assert scene.reference in text
            assert scene.bought in text
        elif isinstance(t, PlaceTuple):
            assert t.place in text
        else:
            assert t.base.isoformat() in text
            months = {long_date(day, 1).split()[1] for day in t.targets}
            assert not any(f" {month} " in text for month in months)
        assert scene.speaker in text
        assert scene.topic in text


def test_every_query_has_one_document(examples):
    assert len({e.scene.doc_id for e in examples}) == len(examples)
    assert len({e.question for e in examples}) == len(examples)
    sets: dict[int, list[Example]] = {}
    for example in examples:
        sets.setdefault(example.scene.set_number, []).append(example)
    firsts = [found[0].scene for found in sets.values()]
    assert len({scene.topic or scene.speaker for scene in firsts}) == len(sets)
    for found in sets.values():
        begun = {e.scene.opening for e in found}
        assert len(begun) == len(found), "no two documents of a set begin alike"
        people = {e.scene.other or e.scene.speaker for e in found}
        assert len(people) == len(found)
        assert len({e.opening_post for e in found}) == 1


def test_chats_have_ten_messages_by_two_people():
    for category in CATEGORIES:
        for example in examples_of(ImplicitRequest(category, "uni", 1, 5), 0):
            lines = example.document.split("\n")
            assert len(lines) == 10
            authors = (example.scene.other, example.scene.speaker)
            assert all(authors[n % 2] in line.split(": ")[0] for n, line in enumerate(lines))


@pytest.mark.parametrize(("category", "style"), KINDS)
def test_topics_and_main_conversants_never_come_twice(category, style):
    request = ImplicitRequest(category, style, MOST_SETS, 1, 15)
    shared = set()
    for number in (*range(10), *range(1990, 2000)):
        scene = bind(request, tuple_set(request, number))[0]
        shared.add(scene.speaker if style == "uni" else (scene.topic, scene.item, scene.activity))
    assert len(shared) == 20


@pytest.mark.parametrize(
    ("text", "implicit", "found"),
    [
        ("The bill said $1,950.", PRICE, "1,950"),
        ("for 1.950 euros", PRICE, "1.950"),
        ("nineteen hundred and fifty dollars", PRICE, "nineteen hundred and fifty"),
        ("One thousand, nine hundred fifty.", PRICE, "one thousand nine hundred fifty"),
        ("about 2.0k or 19500 or 11,950", PRICE, None),
        ("the bird was ringed on 29 Feb", LEAP, "29 Feb"),
        ("February the 29th", LEAP, "February the 29th"),
        ("the twenty-ninth of February", LEAP, "twenty-ninth of February"),
        ("02/29/2024, 9 am", LEAP, "02/29/2024"),
        ("written 2024-02-29", LEAP, "2024-02-29"),
        ("29 February? No: 28 February", LEAP, "29 February"),
        ("2024-03-02, and 28 February", LEAP, None),
        ("A German friend.", country("DE"), "German"),
        ("deutsch, but germane to it", country("DE"), None),
        ("polishing the brass", country("PL"), None),
        ("some Polish friends", country("PL"), "Polish"),
        ("deep in South Africa", country("ZA"), "south africa"),
        ("from the south of Africa", country("ZA"), None),
        ("the English countryside", country("GB"), "English"),
    ],
)
def test_values_are_found_however_they_are_written(text, implicit, found):
    assert leaked(text, implicit) == found
