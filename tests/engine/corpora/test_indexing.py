"""What indexing stores of a document."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from engine.corpora.indexing import (
    ChangedLens,
    IndexRun,
    aspect_vectors,
    encode_batch,
    role_probabilities,
    table_schema,
    without_doubtful,
)
from engine.corpora.opened import OpenCorpus
from engine.lenses.definitions import RESEARCH
from engine.sentences import split_sentences
from engine.types.documents import SourceDocument
from engine.types.encoders import Passage
from engine.types.lenses import Aspect, Lens
from storage.vectors import DocumentTable
from tests.fakes.small_corpus import DOCUMENTS

TEXT = "Bees die in winter. We trained a network on photographs. Losses fell by 12%."
DOCUMENT = SourceDocument(
    doc_id="bees",
    title="Bees",
    text=TEXT,
    where="bees.jsonl, row 1",
    year=2011,
    authors=("Ada Quill", "Cy O'Neil"),
    url="https://example.org/bees",
    metadata={"venue": "Acta", "pages": 7, "open": True},
)
POSTS = Lens("posts", "Posts", (Aspect("claim", "Claim", "C", "What is claimed.", "Same claim."),))


@pytest.fixture(scope="module")
def batch(encoder):
    empty = SourceDocument(doc_id="empty", title="", text="", where="row 2")
    return encode_batch([DOCUMENT, empty], encoder, RESEARCH)


def test_a_row_has_the_columns_of_the_schema_and_doc_id_is_its_key(encoder, batch, small):
    schema = table_schema(encoder.spec, RESEARCH)
    assert batch.schema.equals(schema, check_metadata=True)
    key = schema.field("doc_id")
    assert not key.nullable
    assert key.metadata == {b"lance-schema:unenforced-primary-key": b"true"}
    assert small.library.open("small").table.schema.names == schema.names


def test_a_document_without_text_is_stored_with_a_vector_and_without_sentences(batch):
    row = batch.slice(1, 1).to_pylist()[0]
    assert row["sentence_starts"] == row["roles"] == row["sentence_vectors"] == []
    assert np.linalg.norm(row["vector"]) == pytest.approx(1.0, abs=1e-3)
    assert not np.any(row["aspect_method"])


def test_stored_vectors_are_the_encoders_in_half_precision(encoder, batch):
    encoded = encoder.encode([Passage("Bees", TEXT, split_sentences(TEXT)), Passage("", "", ())])[0]
    row = batch.slice(0, 1).to_pylist()[0]
    roles = np.array(row["roles"], dtype=np.float32).reshape(3, 3)
    aspects = aspect_vectors(encoded.sentences, roles)
    for name, expected in {
        "vector": encoded.vector,
        "sentence_vectors": encoded.sentences,
        "aspect_background": aspects[0],
        "aspect_result": aspects[2],
    }.items():
        assert np.array_equal(np.array(row[name], np.float16), expected.astype(np.float16)), name


def test_documents_added_to_a_corpus_of_an_earlier_version_have_tokens_as_it_has(encoder, tmp_path):
    new = table_schema(encoder.spec, RESEARCH)
    at = new.get_field_index("token_vectors")
    half = pa.list_(pa.list_(pa.float16(), encoder.spec.token_dimension))
    table = DocumentTable.open_or_create(tmp_path, new.set(at, new.field(at).with_type(half)))
    IndexRun(table, encoder, RESEARCH, shard_documents=8).run([DOCUMENT], 1, "old")
    assert table.schema.field(at).type == half
    tokens = encoder.encode([Passage("Bees", TEXT, split_sentences(TEXT))])[0].tokens
    opened = OpenCorpus("old", table, RESEARCH, encoder.spec, 0)
    assert np.allclose(opened.seed("bees").tokens, tokens, atol=1e-3)
    copy = ChangedLens(RESEARCH, POSTS, encoder.spec, encoder, 8)
    assert copy.copy(table, tmp_path / "copy", lambda _: None).count() == 1


def test_an_aspect_vector_is_the_weighted_mean_of_the_sentences_that_serve_it():
    sentences = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    roles = np.array([[1, 0, 0], [0, 0.75, 0], [0, 1, 0]], dtype=np.float32)
    vectors = aspect_vectors(sentences, roles)
    # background: the first sentence; method: 0.75 and 1 (a 3-4-5 triangle); result: none.
    assert vectors == pytest.approx(np.array([[1, 0, 0], [0, 0.6, 0.8], [0, 0, 0]]))
    opposite = np.array([[1, 0], [-1, 1e-8]], dtype=np.float32)  # nothing rather than chance
    assert aspect_vectors(opposite, np.ones((2, 1), dtype=np.float32)).tolist() == [[0.0, 0.0]]


def test_labels_of_the_source_win_over_the_classifier():
    spans = split_sentences(TEXT)
    guessed = role_probabilities(DOCUMENT, spans, RESEARCH)
    assert guessed.argmax(axis=1).tolist() == [0, 1, 2]
    labelled = replace(DOCUMENT, sentences=spans, roles=("result", None, "background"))
    assert role_probabilities(labelled, spans, RESEARCH).tolist() == [
        [0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
    ]


def test_a_lens_without_a_classifier_makes_no_guess():
    spans = split_sentences(TEXT)
    two = Lens("two", "Two", (*POSTS.aspects, replace(POSTS.aspects[0], key="reply")))
    assert role_probabilities(DOCUMENT, spans, two).tolist() == [[0.5, 0.5]] * 3


def test_a_stored_document_comes_back_as_it_was_given(small):
    for given in DOCUMENTS:
        found = small.document("small", given["doc_id"])
        text = " ".join(given["sentences"]) if "sentences" in given else given["text"]
        assert (found.title, found.text) == (given["title"], text)
        assert found.year == given.get("year")
        assert list(found.authors) == given.get("authors", [])
        assert found.metadata.get("venue") == given.get("venue")
        assert all(text[slice(*s.span)] == s.text for s in found.sentences)
        if "sentences" in given:
            assert [s.text for s in found.sentences] == given["sentences"]
            keys = [a.key for a in RESEARCH.aspects]
            assert [keys[s.role or 0] for s in found.sentences] == given["roles"]


def test_a_sentence_keeps_an_aspect_that_stands_out_only_where_the_lens_allows_none():
    roles = np.array([[0.9, 0.06, 0.04], [0.4, 0.35, 0.25], [0.5, 0.3, 0.2]], dtype=np.float32)
    kept = without_doubtful(roles)
    assert kept.any(axis=1).tolist() == [True, False, True]
    assert (kept[[0, 2]] == roles[[0, 2]]).all()
    assert without_doubtful(np.ones((2, 1), dtype=np.float32)).all(), "one aspect is kept by all"
    assert without_doubtful(np.zeros((0, 3), dtype=np.float32)).shape == (0, 3)
    spans = split_sentences(DOCUMENT.text)
    strict = replace(RESEARCH, allows_none=True)
    expected = without_doubtful(role_probabilities(DOCUMENT, spans, RESEARCH))
    assert (role_probabilities(DOCUMENT, spans, strict) == expected).all()
