"""Homes and models that the tests of the command line share."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import run_inside
from tests.fakes.small_corpus import write_collection


@pytest.fixture
def corpus(small_home: Path, home: Path) -> Path:
    """A home with the corpus ``small``, to be written to."""
    shutil.copytree(small_home, home)
    return home


@dataclass(frozen=True)
class Evaluated:
    """A collection of four seeds, a home in which three systems were evaluated on it, what the
    command printed, and the folder of its runs."""

    collection: Path
    home: Path
    report: Any
    runs: Path


@pytest.fixture(scope="session")
def _evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    folder = tmp_path_factory.mktemp("evaluated")
    collection, home = write_collection(folder / "tiny"), folder / "home"
    options = ("--systems", "dense,hybrid,aspect", "--run-out", folder / "runs", "--json")
    run = run_inside(home, "evaluate", collection, *options)
    assert (run.code, run.stderr) == (0, "")
    return Evaluated(collection, home, run.json, folder / "runs")


@pytest.fixture(scope="module")
def evaluated(_evaluated: Evaluated, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    """With a copy of the home for the tests of one file."""
    home = tmp_path_factory.mktemp("evaluated") / "home"
    shutil.copytree(_evaluated.home, home)
    return replace(_evaluated, home=home)


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
