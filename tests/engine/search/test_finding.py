"""A seed is found by its title, by words of its text, and by what it is about."""

import pytest

from engine.errors import BadInputError


@pytest.fixture
def loaded(small):
    """The small corpus, its model loaded."""
    small.library.encoder(small.library.open("small"))
    return small


def by_id(found):
    return {one.document.doc_id: one for one in found}


def test_titles_that_have_all_words_come_first(loaded):
    found = loaded.find_documents("small", "network bees")
    assert found[0].document.doc_id == "bees-network"
    assert found[0].where == "title"
    title = found[0].document.title
    assert [title[a:b] for a, b in found[0].title_marks] == ["Bees", "network"]
    assert len(by_id(found)) == len(found) == 12


def test_what_is_found_by_folded_letters_is_marked_as_it_is_written(small_copy):
    row = {"doc_id": "tram", "title": "Straßenbahnen", "text": "Trams."}
    small_copy.library.add("small", [row])
    (found, *_) = small_copy.find_documents("small", "STRASSEN")
    assert (found.document.doc_id, found.where, found.title_marks) == ("tram", "title", ((0, 7),))
    (found, *_) = small_copy.find_documents("small", "Straßenbahnen unheard")
    assert (found.document.doc_id, found.where, found.title_marks) == ("tram", "title", ((0, 13),))


def test_a_document_is_found_by_its_id(loaded):
    found = loaded.find_documents("small", " bees-network ")[0]
    assert (found.document.doc_id, found.where) == ("bees-network", "title")


def test_words_that_no_title_has_are_found_in_the_texts_with_the_sentence(loaded):
    found = by_id(loaded.find_documents("small", "labelled photograph"))
    networks = [one for doc_id, one in found.items() if doc_id.endswith("-network")]
    assert len(networks) >= 5
    for one in networks:
        assert one.where == "text"
        assert one.snippet in one.document.text
        assert [one.snippet[a:b] for a, b in one.marks] == ["labelled", "photographs"]


def test_what_is_meant_is_found_without_a_word_in_common(loaded):
    found = by_id(loaded.find_documents("small", "beekeeping insects pollination"))
    near = [one for one in found.values() if one.where == "meaning"]
    assert any(one.document.doc_id.startswith("bees-") for one in near[:3])
    assert all(one.snippet in one.document.text for one in near)


def test_nothing_is_loaded_for_the_meaning_of_words(small):
    small.library._loaded.clear()
    found = small.find_documents("small", "beekeeping insects pollination mites")
    assert {one.where for one in found} == {"text"}


@pytest.mark.parametrize(
    "words",
    ["", " \n", '"', "bees AND (", "title:bees", "a*b?", "-bees", "~", "İ bees", "🐝", "x" * 5000],
)
def test_whatever_is_typed_is_taken_as_words(loaded, words):
    found = loaded.find_documents("small", words)
    assert not found or words.strip()
    for one in found:
        for text, spans in ((one.document.title, one.title_marks), (one.snippet, one.marks)):
            assert all(0 <= a < b <= len(text) for a, b in spans)


def test_a_whole_text_is_not_looked_for(small):
    with pytest.raises(BadInputError, match=r"60,000 characters; at most 50,000"):
        small.find_documents("small", "x" * 60_000)
