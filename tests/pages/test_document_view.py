"""Documents as plain data: passages that are cut say so, and marks stay on their words."""

from __future__ import annotations

import pytest

from engine.lenses.definitions import RESEARCH
from engine.types.documents import Document, Sentence
from pages._common.document_view import LISTED_CHARS, beginning, described, excerpt, marks


@pytest.mark.parametrize(
    ("text", "word"), [("short text", "text"), (f"{'a ' * 400}here{' b' * 400}", "here")]
)
def test_a_long_passage_is_shown_about_its_first_mark(text: str, word: str) -> None:
    at = text.index(word)
    shown, spans = excerpt(text, [(at, at + len(word))])
    assert [shown[a:b] for a, b in spans] == [word]
    assert len(shown) <= 304
    assert shown.startswith("… ") == shown.endswith(" …") == (len(text) > 300)


def test_marks_are_counted_from_the_beginning_of_their_sentence() -> None:
    text = "One fish. Two fish."
    sentences = tuple(Sentence(span, text[slice(*span)], ()) for span in ((0, 9), (10, 19)))
    document = Document("a", "", text, sentences)
    assert marks(document, {(14, 18), (4, 8)}) == [[[4, 8]], [[4, 8]]]


def test_names_and_links_of_megabytes_do_not_go_to_the_browser() -> None:
    long = "x" * 1_000_000
    document = Document(
        "a", "A title", "", (), url=f"https://x.org/{long}", authors=(long, "Ada"),
        metadata={"venue": long},
    )  # fmt: skip
    shown = described(document, RESEARCH)
    assert len(str(shown)) < 1_000
    assert "x…, Ada" in shown["meta"]
    assert shown["link"] is None


@pytest.mark.parametrize(("sentence", "count"), [("We.", 60_000), ("x" * 1_000_000, 1)])
def test_a_list_shows_the_beginning_of_a_very_long_document_and_says_so(
    sentence: str, count: int
) -> None:
    size = len(sentence) + 1
    spans = [(at * size, at * size + size - 1) for at in range(count)]
    sentences = tuple(Sentence(span, sentence, (1.0,)) for span in spans)
    shown = beginning(Document("a", "A title", f"{sentence} " * count, sentences))
    assert sum(len(one.text) for one in shown.sentences) < LISTED_CHARS + 200
    assert "Not shown" in shown.sentences[-1].text
    assert len(str(described(shown, RESEARCH))) < 10 * LISTED_CHARS
    short = Document("a", "A title", "We.", sentences=(Sentence((0, 3), "We.", (1.0,)),))
    assert beginning(short) is short
