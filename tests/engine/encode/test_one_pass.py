"""One pass gives the vectors that three models would, for any text, and the same ones again."""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

from benchmarks.indexing import late_interaction_model
from engine.encode import loaders
from engine.sentences import split_sentences
from engine.types.encoders import EMBEDDED, Passage
from tests.fakes.small_corpus import DOCUMENTS

CLOSE = {"search": 0.999, "indexing": 0.995}
"""Cosine; bfloat16 stays above the first, 8-bit layers above the second."""
UNBATCHED = 1e-2  # Largest difference of a component that bfloat16 may make between batches


def passage(text, title=""):
    return Passage(title, text, split_sentences(text))


def close(encoder):
    return CLOSE["indexing" if "int8" in encoder.backend else "search"]


def texts():
    return [" ".join(d["sentences"]) if "sentences" in d else d["text"] for d in DOCUMENTS[:16]]


def long_text(ending="Finally the lamp was sold."):
    """A thousand words in sentences that all differ."""
    parts = [f"In year {n} the keeper wrote {n * 7 % 91} lines about the sea." for n in range(90)]
    return " ".join([*parts, ending])


@pytest.fixture(scope="module", params=[False, True], ids=["search", "indexing"])
def encoder(request):
    """The embedded model as searches load it, and as indexing does (OpenVINO, if installed)."""
    loaded = loaders.load_encoder(bulk=request.param)
    assert sys.modules.get("openvino_telemetry") is None, "it would report each use"
    return loaded


@cache
def parts():
    """The embedded model once more, in float32, as its own library loads it."""
    from sentence_transformers import SentenceTransformer

    folder, _ = loaders.locate(EMBEDDED)
    model = SentenceTransformer(folder, device="cpu")
    return model, model[0]


@pytest.fixture(scope="module")
def long_encoding(encoder):
    return encoder.encode([passage(long_text())])[0]


def same(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("vector", "sentences", "tokens", "token_spans")
    )


def test_the_document_vector_is_that_of_sentence_transformers(encoder):
    model, _ = parts()
    theirs = model.encode(texts(), normalize_embeddings=True)
    ours = encoder.encode([passage(t) for t in texts()])
    for mine, reference in zip(ours, theirs, strict=True):
        assert float(mine.vector @ reference) >= close(encoder)


def test_a_title_stands_before_the_text_as_a_sentence(encoder):
    for title, written in [("Old bees", "Old bees. "), ("Old bees?", "Old bees? "), ("  ", "")]:
        titled, plain = encoder.encode(
            [passage("They die.", title=title), passage(f"{written}They die.")]
        )
        assert float(titled.vector @ plain.vector) >= 1 - 1e-6
        text_tokens = titled.token_spans[titled.token_spans[:, 0] >= 0]
        assert text_tokens.tolist() == [[0, 4], [5, 8]]


def test_token_vectors_are_those_of_a_pylate_colbert(encoder):
    _, transformer = parts()
    colbert = late_interaction_model(transformer, 384, embedded=True)
    theirs = colbert.encode(texts(), is_query=False, show_progress_bar=False)
    ours = encoder.encode([passage(t) for t in texts()])
    for mine, reference in zip(ours, theirs, strict=True):
        assert mine.tokens.shape == reference.shape
        cosines = (mine.tokens * reference).sum(axis=1)
        assert float(cosines.mean()) >= close(encoder)
        assert float(cosines.min()) >= 2 * close(encoder) - 1


def test_a_sentence_vector_is_the_mean_of_its_tokens_in_their_context(encoder):
    import torch

    text = texts()[0]
    _, transformer = parts()
    features = transformer.tokenizer(text, return_offsets_mapping=True, return_tensors="pt")
    starts = features.pop("offset_mapping")[0][:, 0].numpy()
    special = features["input_ids"][0].numpy() < 1000  # [CLS] and [SEP]; letters come later
    with torch.inference_mode():
        states = transformer.auto_model(**features).last_hidden_state[0].numpy()
    encoded = encoder.encode([passage(text)])[0]
    spans = split_sentences(text)
    assert len(encoded.sentences) == len(spans) == 3
    for (start, end), vector in zip(spans, encoded.sentences, strict=True):
        inside = (starts >= start) & (starts < end) & ~special
        mean = states[inside].mean(axis=0)
        assert float(vector @ mean) / float(np.linalg.norm(mean)) >= close(encoder)


def test_what_else_is_encoded_does_not_change_a_result(encoder):
    two_windows = " ".join(texts()[:8])
    some = [*texts()[:6], two_windows]
    together = encoder.encode([passage(t) for t in [*some, *texts()[6:]]])
    alone = [encoder.encode([passage(t)])[0] for t in some]
    for a, b in zip(together[: len(some)], alone, strict=True):
        assert np.array_equal(a.token_spans, b.token_spans)
        for name in ("vector", "sentences", "tokens"):
            assert np.abs(getattr(a, name) - getattr(b, name)).max() <= UNBATCHED


def test_threads_may_share_an_encoder(encoder):
    passages = [passage(t) for t in texts()[:8]]
    expected = [encoder.encode([p])[0] for p in passages]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda p: encoder.encode([p])[0], passages * 4))
    assert all(same(a, b) for a, b in zip(found, expected * 4, strict=True))


# Texts longer than the model's window


def _words(text, spans):
    for start, end in spans[spans[:, 0] >= 0]:
        yield text[start:end]


def test_every_token_of_a_long_text_is_covered_exactly_once(long_encoding):
    assert len(long_text().split()) >= 900
    spans = long_encoding.token_spans
    inside = spans[spans[:, 0] >= 0]
    assert (inside[1:, 0] >= inside[:-1, 1]).all()
    # Letters and digits all belong to a token; only full stops (and spaces) belong to none.
    assert "".join(_words(long_text(), spans)) == long_text().replace(" ", "").replace(".", "")
    assert (spans[:, 0] < 0).sum() == 2, "the model's marks stand once, at both ends"


def test_the_last_sentence_of_a_long_text_counts(encoder, long_encoding):
    changed = encoder.encode([passage(long_text("Bees dance in the dark of the hive."))])[0]
    assert np.abs(changed.vector - long_encoding.vector).max() > 1e-4
    assert float(changed.sentences[-1] @ long_encoding.sentences[-1]) < 0.9
    assert float(changed.sentences[0] @ long_encoding.sentences[0]) > close(encoder)


# Texts that are hardly texts


@pytest.mark.parametrize(
    "text", ["", "...", "🐝🍯 👩‍👩‍👧 🌉", "הדבורים מתות בחורף.", "é" * 3000, "\x00"]
)
def test_any_text_has_a_vector_of_unit_length(encoder, text):
    encoded = encoder.encode([passage(text)])[0]
    assert np.linalg.norm(encoded.vector) == pytest.approx(1.0, abs=1e-5)
    assert len(encoded.sentences) == len(split_sentences(text))
    assert len(encoded.tokens) == len(encoded.token_spans) >= 2
    assert np.isfinite(encoded.tokens).all()
    spans = encoded.token_spans[encoded.token_spans[:, 0] >= 0]
    assert ((spans[:, 0] < spans[:, 1]) & (spans[:, 1] <= len(text))).all()


def test_a_sentence_without_tokens_has_a_zero_vector(encoder):
    encoded = encoder.encode([Passage("", "Bees.   ", ((0, 5), (5, 8)))])[0]
    assert np.linalg.norm(encoded.sentences, axis=1).tolist() == pytest.approx([1.0, 0.0], abs=1e-5)
