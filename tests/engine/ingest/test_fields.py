"""What becomes of the columns and of the text of documents that people bring."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import UnknownNameError
from engine.ingest import (
    check,
    content_hash,
    open_source,
)
from engine.lenses.definitions import RESEARCH
from tests.engine.ingest.reading_files import MAX_CHARS, Write, one, passages

# --- fields --------------------------------------------------------------------------------


def test_a_chosen_column_goes_before_the_guess_and_the_guess_becomes_metadata(
    jsonl: Callable[..., Path],
) -> None:
    path = jsonl({"id": "1", "PMID": 99, "text": "short", "Full Text": "long"})
    document = one(path, doc_id="PMID", text="Full Text")
    assert (document.doc_id, document.text) == ("99", "long")
    assert document.metadata == {"id": "1", "text": "short"}
    assert one(path, id="PMID").doc_id == "99", "as people call it"


@pytest.mark.parametrize(
    ("mapping", "known"),
    [({"doc_id": "PMID"}, "id, text"), ({"abstract": "text"}, "doc_id, title, text")],
)
def test_mapping_to_an_unknown_column_or_field_lists_the_known_ones(
    jsonl: Callable[..., Path], mapping: dict[str, str], known: str
) -> None:
    with pytest.raises(UnknownNameError, match=known):
        open_source(jsonl({"id": "1", "text": "t"}), mapping=mapping, lens=RESEARCH)


@pytest.mark.parametrize(
    ("given", "year"),
    [
        (2017, 2017),
        ("2017", 2017),
        (2017.0, 2017),
        ("12 May 1999", 1999),
        ("20210304", 2021),
        ("n.d.", None),
        ("12345", None),
        (True, None),
        ([], None),
    ],
)
def test_a_year_is_four_digits_and_a_bad_one_is_no_error(
    jsonl: Callable[..., Path], given: object, year: int | None
) -> None:
    assert one(jsonl({"id": "1", "text": "t", "year": given})).year == year


@pytest.mark.parametrize(
    "given",
    [
        ["Ada Lovelace", "Alan Turing"],
        [{"name": "Ada Lovelace"}, {"name": "Alan Turing"}],
        "Ada Lovelace and Alan Turing",
        "Lovelace, Ada; Turing, Alan",
        '["Ada Lovelace", "Alan Turing"]',
    ],
)
def test_authors_come_as_a_list_or_as_one_string(jsonl: Callable[..., Path], given: object) -> None:
    document = one(jsonl({"id": "1", "text": "t", "authors": given}))
    assert document.authors == ("Ada Lovelace", "Alan Turing")


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://a.org/b", "https://a.org/b"),
        ("10.1000/182", "https://doi.org/10.1000/182"),
        ("javascript:alert(1)", None),
    ],
)
def test_a_link_is_a_web_address_or_nothing(
    jsonl: Callable[..., Path], given: str, url: str | None
) -> None:
    assert one(jsonl({"id": "1", "text": "t", "url": given})).url == url


def test_a_text_in_another_script_is_said_to_need_another_model(jsonl: Callable[..., Path]) -> None:
    texts = ("梯田葡萄园干燥不均。", "रात की रेलगाड़ियाँ", "A naïve café.")
    path = jsonl(*({"id": str(n), "text": text} for n, text in enumerate(texts)))
    (warning,) = check(open_source(path, lens=RESEARCH), MAX_CHARS).warnings
    assert warning.startswith("2 documents have most of their text in a script")
    assert "--encoder" in warning


def test_roles_are_read_in_every_spelling(jsonl: Callable[..., Path]) -> None:
    labels = ["background_label", "objective_label", "METHOD", "R", "o", "other_label", None]
    document = one(jsonl({"id": "1", "text": [f"S{n}." for n in range(7)], "roles": labels}))
    assert document.roles == (
        *("background", "background", "method", "result", "background"),
        *(None, None),
    )


@pytest.mark.parametrize(
    "sentences", [["One  two.", "Three."], [[0, 9], [10, 16]]], ids=["strings", "offsets"]
)
def test_given_sentences_become_spans_that_index_the_text_exactly(
    jsonl: Callable[..., Path], sentences: list[Any]
) -> None:
    text = "One  two.\nThree."
    path = jsonl({"id": "1", "text": text, "sentences": sentences, "roles": ["B", "M"]})
    document = one(path)
    assert passages(document) == ["One  two.", "Three."]
    assert document.roles == ("background", "method")


def test_sentence_lists_join_with_one_space_and_blank_ones_leave_with_their_role(
    jsonl: Callable[..., Path],
) -> None:
    document = one(jsonl({"id": "1", "abstract": ["", " A\x00b. ", " ", "C."], "roles": [*"BMRO"]}))
    assert document.text == "A b. C."
    assert passages(document) == ["A b.", "C."]
    assert document.roles == ("method", "background")


def test_a_column_without_a_name_serves_no_field(jsonl: Callable[..., Path]) -> None:
    document = one(jsonl({"id": "1", "text": "t", "": "x"}))
    assert (document.title, document.year, document.sentences) == ("", None, None)


def test_labels_and_counts_that_are_no_sentence_fields_stay_metadata(write: Write) -> None:
    document = one(write("a.csv", "id,text,labels,sentences\n1,Some text.,politics,4\n"))
    assert document.metadata == {"labels": "politics", "sentences": "4"}
    assert document.roles is None
    assert document.sentences is None


# --- text ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["مرحبا بالعالم", "שלום", "👩🏽‍🔬 lab 🧪", "tab\tand\nline", "नमस्ते"]
)
def test_right_to_left_text_and_emoji_pass_unchanged(jsonl: Callable[..., Path], text: str) -> None:
    path = jsonl({"id": "1", "text": text})
    assert one(path).text == text
    warnings = check(open_source(path, lens=RESEARCH), MAX_CHARS).warnings
    assert not [one for one in warnings if "script" not in one]


def test_control_characters_become_spaces_and_are_counted(jsonl: Callable[..., Path]) -> None:
    rows = [{"id": n, "text": t} for n, t in enumerate(["a\x00b\x85c", "d\r\ne", "f\x07"])]
    source = open_source(jsonl(*rows), lens=RESEARCH)
    assert [d.text for d in source] == ["a b c", "d \ne", "f "]
    (warning,) = check(source, MAX_CHARS).warnings
    assert warning.startswith("2 documents held control characters")


def test_lone_surrogates_become_replacement_characters(write: Write) -> None:
    source = open_source(
        write("a.jsonl", r'{"id": "1", "text": "a\ud83db \ud83d\ude00"}'), lens=RESEARCH
    )
    (document,) = source
    assert document.text == "a\ufffdb 😀"
    assert "U+FFFD" in check(source, MAX_CHARS).warnings[0]
    assert len(content_hash(document)) == 32
