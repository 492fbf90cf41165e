"""A published model is read as its authors read it: prompts, pooling, marks and windows.

The models are of the published architectures, tiny and random, and lie in temporary folders.
"""

import functools
import json
from dataclasses import replace

import numpy as np
import pytest

from engine.encode import loaders
from engine.encode.loaders import load_encoder
from engine.encode.presets import PRESETS, absolute, resolve
from engine.errors import BadInputError, ModelMissingError
from engine.sentences import split_sentences
from engine.types.corpora import ImportRequest
from engine.types.encoders import Passage
from engine.types.searches import Query
from tests.fakes.small_corpus import DOCUMENTS
from tests.fakes.tiny_models import save_bert, save_colbert, save_decoder, states
from tests.support import make_explorer, write_jsonl

CLOSE = 0.999  # Cosine; bfloat16 stays above it
TITLE, TEXT = "Old bees", "Honey bee colonies collapse in winter. Mites are to blame."
ASK = "Find papers with the same method."
DAILY = ("qwen3-embedding-0.6b", "gritlm-7b")
"""One of each family: read from left to right, and both ways."""
DECODERS = (*DAILY, "e5-mistral-7b-instruct", "gte-qwen2-7b-instruct")
EACH = [key if key in DAILY else pytest.param(key, marks=pytest.mark.nightly) for key in DECODERS]


def passage(text=TEXT, title=TITLE):
    return Passage(title, text, split_sentences(text))


@pytest.fixture(autouse=True)
def _loaded_anew(monkeypatch):
    monkeypatch.setattr(loaders, "_load", functools.lru_cache(loaders._load.__wrapped__))


def architecture_of(key):
    return {"qwen3": "Qwen3", "gte-q": "Qwen2"}.get(key[:5], "Mistral")


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


# Names


def test_every_preset_is_known_by_its_names_and_has_a_slot_for_the_instruction():
    named = {"scincl", "specter2", "otaspire", "bge-m3", "bge-base-en-v1.5", "contriever"}
    named |= {"sfr-embedding-mistral", "dragon-plus", "colbertv2", "lateon", "reasonir-8b"}
    assert set(DECODERS) | named <= set(PRESETS)
    for key, preset in PRESETS.items():
        assert key == preset.key == key.lower()
        assert ASK in preset.prompts.for_query(ASK)
        assert resolve(key) == resolve(preset.model) == (preset, preset.model)


def test_a_preset_may_lie_in_a_folder(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert absolute("scincl=mine") == f"scincl={tmp_path / 'mine'}"
    assert absolute("mine") == str(tmp_path / "mine")
    assert absolute("scincl") == "scincl"
    assert resolve("scincl=mine") == (PRESETS["scincl"], "mine")
    with pytest.raises(ModelMissingError, match=r"no preset 'sincl'.*scincl"):
        resolve("sincl=mine")
    with pytest.raises(ModelMissingError, match=r"'gone'.*does not exist.*malteos/scincl"):
        resolve("scincl=gone")


def test_a_preset_that_is_not_on_this_machine_says_how_to_get_it():
    remedy = r"download malteos/scincl.*--encoder scincl=FOLDER"
    with pytest.raises(ModelMissingError, match=remedy):
        load_encoder("scincl")
    with pytest.raises(ModelMissingError, match=r"download colbert-ir/colbertv2\.0"):
        load_encoder("colbertv2")


def test_a_folder_with_another_kind_of_model_is_refused(tmp_path):
    with pytest.raises(ModelMissingError, match=r"'bert' is not its.*files of GritLM/GritLM-7B"):
        load_encoder(f"gritlm-7b={save_bert(tmp_path)}")
    with pytest.raises(ModelMissingError, match=r"tokenizer has no '</s>'"):
        load_encoder(f"e5-mistral-7b-instruct={save_decoder(tmp_path / 'qwen', 'Qwen3')}")


# Encoders


@pytest.mark.parametrize(
    ("key", "document", "query"),
    [
        ("scincl", f"{TITLE}[SEP]{TEXT}", f"{ASK} {TITLE}[SEP]{TEXT}"),
        ("otaspire", f"{TITLE}[SEP]{TEXT}", f"{ASK} {TITLE}[SEP]{TEXT}"),
        (
            "bge-base-en-v1.5",
            f"{TITLE}. {TEXT}",
            f"Represent this sentence for searching relevant passages: {ASK} {TITLE}. {TEXT}",
        ),
    ],
)
def test_an_encoder_reads_title_and_text_and_takes_the_first_token(tmp_path, key, document, query):
    encoder = load_encoder(f"{key}={save_bert(tmp_path)}")
    hidden, mask, _ = states(tmp_path, [document])
    encoded = encoder.encode([passage()])[0]
    assert cosine(encoded.vector, hidden[0, mask[0]][0]) >= CLOSE
    hidden, mask, _ = states(tmp_path, [query])
    assert cosine(encoder.encode_query(passage(), ASK), hidden[0, mask[0]][0]) >= CLOSE
    in_text = encoded.token_spans[encoded.token_spans[:, 0] >= 0]
    assert [TEXT[a:b] for a, b in in_text[:3]] == ["Honey", "bee", "colonies"]


def test_dragon_reads_queries_with_its_other_model(tmp_path):
    save_bert(tmp_path / "dragon-plus-context-encoder")
    other = save_bert(tmp_path / "dragon-plus-query-encoder", seed=8)
    encoder = load_encoder(f"dragon-plus={tmp_path}")
    hidden, mask, _ = states(other, [f"{ASK} {TITLE}. {TEXT}"])
    assert cosine(encoder.encode_query(passage(), ASK), hidden[0, mask[0]][0]) >= CLOSE
    other.rename(tmp_path / "elsewhere")
    loaders._load.cache_clear()
    with pytest.raises(ModelMissingError, match="lacks 'dragon-plus-query-encoder'"):
        load_encoder(f"dragon-plus={tmp_path}")


def test_what_does_not_fit_is_cut_from_the_seed_never_from_the_instruction(tmp_path):
    encoder = load_encoder(f"contriever={save_bert(tmp_path)}")
    text = "bees " * 200
    fits = 128 - 2 - 7  # [CLS] and [SEP]; six words and a full stop
    hidden, mask, _ = states(tmp_path, [f"{ASK} {'bees ' * fits}"])
    vector = encoder.encode_query(passage(text, title=""), ASK)
    assert mask.sum() == 128
    assert cosine(vector, hidden[0, mask[0]].mean(axis=0)) >= CLOSE
    with pytest.raises(BadInputError, match=r"no room for the seed.*reads 128 tokens"):
        encoder.encode_query(passage(text), "bees " * 126)


# Decoders


@pytest.mark.parametrize("key", EACH)
def test_a_decoder_is_prompted_and_pooled_as_published(tmp_path, key):
    folder = save_decoder(tmp_path, architecture_of(key))
    preset, encoder = PRESETS[key], load_encoder(f"{key}={folder}")
    end = "</s>" if key.startswith("e5") else ""  # Qwen's tokenizer adds its own
    before = {
        "qwen3-embedding-0.6b": ("", f"Instruct: {ASK}\nQuery:"),
        "gritlm-7b": ("<|embed|>\n", f"<|user|>\n{ASK}\n<|embed|>\n"),
    }.get(key, ("", f"Instruct: {ASK}\nQuery: "))
    found = [encoder.encode([passage()])[0].vector, encoder.encode_query(passage(), ASK)]
    strings = [f"{prompt}{TITLE}. {TEXT}{end}" for prompt in before]
    hidden, mask, tokenizer = states(folder, strings, both_ways=preset.bidirectional)
    for row in range(2):
        own = hidden[row, mask[row]]
        expected = own[-1]
        if preset.pooling == "mean":
            expected = own[len(tokenizer(before[row])["input_ids"]) :].mean(axis=0)
        assert cosine(found[row], expected) >= CLOSE


@pytest.mark.parametrize("key", ["qwen3-embedding-0.6b", "e5-mistral-7b-instruct"])
def test_a_decoders_tokens_and_sentences_stand_where_they_are_in_the_text(tmp_path, key):
    folder = save_decoder(tmp_path, architecture_of(key))
    encoder = load_encoder(f"{key}={folder}")
    encoded = encoder.encode([passage()])[0]
    spans = encoded.token_spans[encoded.token_spans[:, 0] >= 0]
    pieces = [TEXT[a:b] for a, b in spans if TEXT[a:b] != " "]
    assert "".join(pieces) == TEXT.replace(" ", "").replace(".", "")
    hidden, mask, tokenizer = states(folder, [f"{TITLE}. {TEXT}"])
    offsets = tokenizer(f"{TITLE}. {TEXT}", return_offsets_mapping=True)["offset_mapping"]
    second = len(TITLE) + 2 + TEXT.index("Mites")
    inside = [i for i, (a, b) in enumerate(offsets) if b > second and b > a]
    assert cosine(encoded.sentences[1], hidden[0, mask[0]][inside].mean(axis=0)) >= CLOSE


# Late interaction


@pytest.mark.parametrize("source", ["{}", "lateon={}"])
def test_a_pylate_model_projects_tokens_with_its_own_layer_and_prefix(tmp_path, source):
    from pylate import models

    folder = save_colbert(tmp_path)
    theirs = models.ColBERT(str(folder), device="cpu").encode([TEXT], is_query=False)[0]
    encoder = load_encoder(source.format(folder))
    assert (encoder.spec.token_dimension, encoder.spec.window) == (16, 48)
    encoded = encoder.encode([passage(title="")])[0]
    assert encoded.tokens.shape == theirs.shape
    assert float((encoded.tokens * theirs).sum(axis=1).min()) >= CLOSE
    assert encoded.vector.shape == (32,)
    marks = [*encoder.parts.document_marks, *encoder.parts.query_marks]
    assert encoder.parts.tokenizer.convert_ids_to_tokens(marks) == ["[D] ", "[Q] "]
    ids = encoder.parts.tokenizer(f"{ASK} {TEXT}")["input_ids"]
    row = np.array([[ids[0], marks[1], *ids[1:]]])
    hidden = encoder.parts.backend.forward(row, np.ones_like(row))[0]
    assert cosine(encoder.encode_query(passage(title=""), ASK), hidden.mean(axis=0)) >= CLOSE


def test_stanfords_colbert_brings_its_projection(tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = save_bert(tmp_path)
    weights = {f"bert.{k}": v for k, v in load_file(folder / "model.safetensors").items()}
    linear = np.random.default_rng(1).standard_normal((16, 32)).astype(np.float32)
    save_file({**weights, "linear.weight": linear}, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["HF_ColBERT"]
    (folder / "config.json").write_text(json.dumps(config))
    encoder = load_encoder(f"colbertv2={folder}")
    states_of_one = np.eye(32, dtype=np.float32)[:1]
    expected = linear[:, 0] / np.linalg.norm(linear[:, 0])
    assert encoder.parts.project(states_of_one)[0] == pytest.approx(expected, abs=1e-5)


def test_a_model_without_a_projection_is_no_late_interaction_model(tmp_path):
    with pytest.raises(ModelMissingError, match="not a late-interaction model"):
        load_encoder(f"lateon={save_bert(tmp_path)}")


# Searching with them


def test_the_instructed_system_ranks_by_the_seed_read_under_the_instruction(home, tmp_path):
    name = f"qwen3-embedding-0.6b={save_decoder(tmp_path / 'model', 'Qwen3')}"
    explorer = make_explorer(home)
    source = write_jsonl(tmp_path / "small.jsonl", DOCUMENTS)
    explorer.library.import_documents(ImportRequest(source, "c", encoder=name))
    assert explorer.library.corpus("c").encoder == name
    plain = Query("c", seed="bees-network", system="dense", k=39)
    dense = explorer.search(plain).results
    instructed = replace(plain, system="instructed")
    assert explorer.search(instructed).results == dense, "without an instruction"
    asked = explorer.search(replace(instructed, instruction=ASK)).results
    corpus = explorer.library.open("c")
    document = corpus.document("bees-network")
    query = load_encoder(name).encode_query(Passage(document.title, document.text, ()), ASK)
    vectors = {s.document.doc_id: s.vector for s in corpus.seeds([r.doc_id for r in asked])}
    assert [r.doc_id for r in asked] != [r.doc_id for r in dense]
    for result in asked:
        assert result.score == pytest.approx(float(query @ vectors[result.doc_id]), abs=1e-5)
