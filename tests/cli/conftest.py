"""Homes and models that the tests of the command line share."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config import DEMO


@pytest.fixture
def corpus(small_home: Path, home: Path) -> Path:
    """A home with the corpus ``small``, to be written to."""
    shutil.copytree(small_home, home)
    return home


@pytest.fixture(scope="session")
def demo_texts() -> dict[str, str]:
    """doc_id -> text of the demo corpus, as its file says."""
    lines = (DEMO / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return {d["doc_id"]: " ".join(d["sentences"]) for d in map(json.loads, lines)}


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes sentence-transformers models of one layer with random weights, each in a folder."""

    def make(name: str) -> Path:
        import torch
        from sentence_transformers import SentenceTransformer, models
        from tokenizers import Tokenizer, pre_tokenizers, processors
        from tokenizers.models import WordLevel
        from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

        marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        words = [*marks, *"abcdefghijklmnopqrstuvwxyz", "the", "of", "and", "frogs", "sing", "."]
        ids = {word: i for i, word in enumerate(words)}
        tokenizer = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        names = ("pad", "unk", "cls", "sep", "mask")
        specials = {f"{n}_token": mark for n, mark in zip(names, marks, strict=True)}
        torch.manual_seed(len(name))
        bert = BertModel(
            BertConfig(
                vocab_size=len(words), hidden_size=32, num_hidden_layers=1,
                num_attention_heads=2, intermediate_size=32, max_position_embeddings=64,
            )
        )  # fmt: skip
        folder = tmp_path_factory.mktemp("models")
        bert.save_pretrained(folder / "bare")
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **specials)
        fast.save_pretrained(folder / "bare")
        transformer = models.Transformer(str(folder / "bare"), max_seq_length=64)
        pooling = models.Pooling(transformer.get_word_embedding_dimension())
        SentenceTransformer(modules=[transformer, pooling], device="cpu").save(str(folder / name))
        return folder / name

    return make
