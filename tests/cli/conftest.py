"""The command line as a script sees it: arguments and environment in; code and streams out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engine.cli import main
from engine.config import DEMO, ROOT


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def clean_environment(home: Path, **settings: str) -> dict[str, str | None]:
    """Our settings only: what the person running the tests has set does not count."""
    ours = [k for k in os.environ if k.startswith(("SEEDLENS_", "OPENAI_"))]
    return {**dict.fromkeys(ours), "SEEDLENS_HOME": str(home), **settings}


def run_inside(home: Path, *args: object, **settings: str) -> Outcome:
    """The command in this process, where models stay loaded."""
    environment = clean_environment(home, **settings)
    result = CliRunner().invoke(main, [str(a) for a in args], env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception  # a traceback is what no command may end with
    return Outcome(result.exit_code, result.stdout, result.stderr)


def run_process(home: Path, *args: object, **settings: str) -> Outcome:
    """The command as a process of its own."""
    environment = {**os.environ, **clean_environment(home, **settings)}
    result = subprocess.run(
        [sys.executable, "-m", "engine.cli", *map(str, args)],
        env={k: v for k, v in environment.items() if v is not None},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    return Outcome(result.returncode, result.stdout, result.stderr)


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    """One JSON document a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def demo_texts() -> dict[str, str]:
    """doc_id -> text of the demo corpus, as its file says."""
    lines = (DEMO / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return {d["doc_id"]: " ".join(d["sentences"]) for d in map(json.loads, lines)}


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the demo corpus. Tests that use it leave it as it is."""
    home = tmp_path_factory.mktemp("cli") / "home"
    imported = run_inside(home, "import", DEMO, "--name", "demo")
    assert imported.code == 0, imported.stderr
    return home


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
