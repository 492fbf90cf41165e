"""Documents as plain data: passages that are cut say so, and marks stay on their words."""

import pytest

from engine.types.documents import Document, Sentence
from pages._common.document_view import excerpt, marks


@pytest.mark.parametrize(
    ("text", "word"), [("short text", "text"), (f"{'a ' * 400}here{' b' * 400}", "here")]
)
def test_a_long_passage_is_shown_about_its_first_mark(text, word):
    at = text.index(word)
    shown, spans = excerpt(text, [(at, at + len(word))])
    assert [shown[a:b] for a, b in spans] == [word]
    assert len(shown) <= 304
    assert shown.startswith("… ") == shown.endswith(" …") == (len(text) > 300)


def test_marks_are_counted_from_the_beginning_of_their_sentence():
    text = "One fish. Two fish."
    sentences = tuple(Sentence(span, text[slice(*span)], ()) for span in ((0, 9), (10, 19)))
    document = Document("a", "", text, sentences)
    assert marks(document, {(14, 18), (4, 8)}) == [[[4, 8]], [[4, 8]]]
