"""What becomes of the columns and of the text of documents that people bring."""

import pytest

from engine.errors import UnknownNameError
from engine.ingest.source import check, content_hash, open_source
from engine.lenses.definitions import RESEARCH
from tests.engine.ingest.reading_files import MAX_CHARS, one, passages

# --- fields --------------------------------------------------------------------------------


def test_a_chosen_column_goes_before_the_guess_and_the_guess_becomes_metadata(jsonl):
    path = jsonl({"id": "1", "PMID": 99, "text": "short", "Full Text": "long"})
    document = one(path, doc_id="PMID", text="Full Text")
    assert (document.doc_id, document.text) == ("99", "long")
    assert document.metadata == {"id": "1", "text": "short"}
    assert one(path, id="PMID").doc_id == "99", "as people call it"


@pytest.mark.parametrize(
    ("mapping", "known"),
    [({"doc_id": "PMID"}, "id, text"), ({"abstract": "text"}, "doc_id, title, text")],
)
def test_mapping_to_an_unknown_column_or_field_lists_the_known_ones(jsonl, mapping, known):
    with pytest.raises(UnknownNameError, match=known):
        open_source(jsonl({"id": "1", "text": "t"}), mapping=mapping, lens=RESEARCH)


def test_a_column_chosen_for_a_citation_has_the_name_of_its_field(jsonl):
    path = jsonl({"id": "1", "text": "t", "where": "Nature", "link2": "10.1000/x"})
    document = one(path, venue="where", doi="link2")
    assert document.metadata == {"venue": "Nature", "doi": "10.1000/x"}
    assert document.url == "https://doi.org/10.1000/x"


TWO = ("Ada Lovelace", "Alan Turing")


@pytest.mark.parametrize(
    ("field", "given", "expected"),
    [
        *(("year", given, 2017) for given in (2017, "2017", 2017.0, "12 May 2017", "20170304")),
        *(("year", given, None) for given in ("n.d.", "12345", True, [])),
        ("authors", ["Ada Lovelace", "Alan Turing"], TWO),
        ("authors", [{"name": "Ada Lovelace"}, {"name": "Alan Turing"}], TWO),
        ("authors", "Ada Lovelace and Alan Turing", TWO),
        ("authors", "Lovelace, Ada; Turing, Alan", TWO),
        ("authors", "Lovelace, Ada and Turing, Alan", TWO),
        ("authors", '["Ada Lovelace", "Alan Turing"]', TWO),
        ("authors", "A. Lee, B. Okafor", ("A. Lee", "B. Okafor")),
        ("authors", "Lee, A., Okafor, B.", ("A. Lee", "B. Okafor")),
        ("authors", "Ada Lovelace, Alan Turing and A. Lee", (*TWO, "A. Lee")),
        ("authors", "van der Berg, Jan Willem", ("Jan Willem van der Berg",)),
        ("authors", "['A. Lee', 'B. O\\'Hara']", ("A. Lee", "B. O'Hara")),
        ("authors", "Lovelace, Ada", ("Ada Lovelace",)),
        ("authors", "Lee, A., Okafor, B., et al.", ("A. Lee", "B. Okafor")),
        ("authors", "Ada Lovelace et al", ("Ada Lovelace",)),
        ("url", "https://a.org/b", "https://a.org/b"),
        ("url", "10.1000/182", "https://doi.org/10.1000/182"),
        ("url", "javascript:alert(1)", None),
    ],
)
def test_years_names_and_links_are_read_as_people_write_them(jsonl, field, given, expected):
    assert getattr(one(jsonl({"id": "1", "text": "t", field: given})), field) == expected


def test_a_row_without_a_title_is_noted(jsonl):
    path = jsonl({"id": "1", "title": "A", "text": "t"}, {"id": "2", "title": "", "text": "t"})
    (warning,) = check(open_source(path, lens=RESEARCH), MAX_CHARS).warnings
    assert warning.startswith("1 document has no title")


def test_a_text_in_another_script_is_said_to_need_another_model(jsonl):
    texts = ("梯田葡萄园干燥不均。", "रात की रेलगाड़ियाँ", "A naïve café.")
    path = jsonl(*({"id": str(n), "text": text} for n, text in enumerate(texts)))
    (warning,) = check(open_source(path, lens=RESEARCH), MAX_CHARS).warnings
    assert warning.startswith("2 documents have most of their text in a script")
    assert "--encoder" in warning


def test_roles_are_read_in_every_spelling(jsonl):
    labels = ["background_label", "objective_label", "METHOD", "R", "o", "other_label", None]
    document = one(jsonl({"id": "1", "text": [f"S{n}." for n in range(7)], "roles": labels}))
    assert document.roles == (
        *("background", "background", "method", "result", "background"),
        *(None, None),
    )


@pytest.mark.parametrize(
    "sentences", [["One  two.", "Three."], [[0, 9], [10, 16]]], ids=["strings", "offsets"]
)
def test_given_sentences_become_spans_that_index_the_text_exactly(jsonl, sentences):
    text = "One  two.\nThree."
    path = jsonl({"id": "1", "text": text, "sentences": sentences, "roles": ["B", "M"]})
    document = one(path)
    assert passages(document) == ["One  two.", "Three."]
    assert document.roles == ("background", "method")


def test_sentence_lists_join_with_one_space_and_blank_ones_leave_with_their_role(jsonl):
    document = one(jsonl({"id": "1", "abstract": ["", " A\x00b. ", " ", "C."], "roles": [*"BMRO"]}))
    assert document.text == "A b. C."
    assert passages(document) == ["A b.", "C."]
    assert document.roles == ("method", "background")


def test_labels_and_counts_that_are_no_sentence_fields_stay_metadata(write):
    document = one(write("a.csv", "id,text,labels,sentences\n1,Some text.,politics,4\n"))
    assert document.metadata == {"labels": "politics", "sentences": "4"}
    assert document.roles is None
    assert document.sentences is None


# --- text ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["مرحبا بالعالم", "שלום", "👩🏽‍🔬 lab 🧪", "tab\tand\nline", "नमस्ते"]
)
def test_right_to_left_text_and_emoji_pass_unchanged(jsonl, text):
    path = jsonl({"id": "1", "text": text})
    assert one(path).text == text
    warnings = check(open_source(path, lens=RESEARCH), MAX_CHARS).warnings
    assert not [one for one in warnings if "script" not in one]


def test_control_characters_become_spaces_and_are_counted(jsonl):
    rows = [{"id": n, "text": t} for n, t in enumerate(["a\x00b\x85c", "d\r\ne", "f\x07"])]
    source = open_source(jsonl(*rows), lens=RESEARCH)
    assert [d.text for d in source] == ["a b c", "d \ne", "f "]
    (warning,) = check(source, MAX_CHARS).warnings
    assert warning.startswith("2 documents held control characters")


def test_lone_surrogates_become_replacement_characters(write):
    source = open_source(
        write("a.jsonl", r'{"id": "1", "text": "a\ud83db \ud83d\ude00"}'), lens=RESEARCH
    )
    (document,) = source
    assert document.text == "a\ufffdb 😀"
    assert "U+FFFD" in check(source, MAX_CHARS).warnings[0]
    assert len(content_hash(document)) == 32
