"""Reading a model from disk or hub: sentence-transformers, PyLate, or as a preset says."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import torch

from engine.encode.one_pass import TextReading
from engine.encode.presets import NO_PROMPTS, OWN_WINDOW, SLOT, Pooling, Preset, Prompts
from engine.numeric import FloatArray

_INSTRUCT = re.compile(r"Instruct: .*?(?=\n)")
"""The fixed instruction in the query prompt of models that take another in its place."""
_MODULE = re.compile(
    r"(sentence_transformers|pylate)\.[\w.]*\b(Transformer|Pooling|Dense|Normalize|LayerNorm|Dropout)"
)
_ACTIVATION = re.compile(r"(torch\.nn\.modules|transformers\.activations)\.(\w+\.)?[A-Z]\w*")
_IDENTITY = "torch.nn.modules.linear.Identity"
DIRECTIONS = "projection.npy"
"""A (width, p) matrix beside a model that was trained from one with fitted directions."""


@dataclass(frozen=True, kw_only=True)
class LoadedModel(TextReading):
    """A model in the parts that the one-pass encoder works with."""

    network: torch.nn.Module  # tokens to hidden states
    window: int
    head: tuple[torch.nn.Module, ...] = ()  # after pooling, on "sentence_embedding"
    projection: tuple[torch.nn.Module, ...] = ()  # of PyLate models, on "token_embeddings"
    query_network: torch.nn.Module | None = None
    bidirectional: bool = False
    decoder: bool = False  # made to write; large, as a rule
    # (width, p): late-interaction vectors of token states; None for those of `loaders.projection`
    directions: FloatArray | None = None


def load_model(location: str, preset: Preset | None) -> LoadedModel:
    """The model in the folder, or of the hub name, ``location``."""
    if preset is not None and preset.kind != "pylate":
        return _preset(location, preset)
    check_modules(location)
    if preset is not None or is_pylate(location):
        return _pylate(location, preset)
    from sentence_transformers import SentenceTransformer

    local = Path(location).is_dir()
    model = SentenceTransformer(location, device="cpu", local_files_only=local)
    return replace(parts_of(model), directions=read_directions(location))


def fingerprint(model: LoadedModel) -> str:
    """SHA-256 over all weights, and over how they are used: pooling, prompts, window, marks."""
    settings = {
        "pooling": model.pooling,
        "prompts": asdict(model.prompts),
        "window": model.window,
        "marks": [model.document_marks, model.query_marks, model.end_mark],
        "skipped": model.skipped,
        "bidirectional": model.bidirectional,
        "modules": [_describe(module) for module in (*model.head, *model.projection)],
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    if model.directions is not None:
        digest.update(np.ascontiguousarray(model.directions).data)
    query = () if model.query_network is None else (model.query_network,)
    for module in (model.network, *query, *model.head, *model.projection):
        for name, tensor in sorted(module.state_dict().items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(tensor.float().numpy()).data)
    return digest.hexdigest()


def apply_modules(modules: tuple[torch.nn.Module, ...], key: str, rows: FloatArray) -> FloatArray:
    """Send ``rows`` (n, width) through ``modules`` under the name ``key``."""
    features: dict[str, torch.Tensor] = {key: torch.from_numpy(rows)}
    with torch.inference_mode():
        for module in modules:
            features = module(features)
    out: FloatArray = features[key].numpy()
    return out


def check_modules(location: str) -> None:
    """Refuse a model that names code of its own, which its libraries would run."""
    for module in _json(location, "modules.json") or []:
        kind = str(module["type"])
        named = [(kind, _MODULE)]
        if kind.endswith("Dense"):
            own = _json(location, str(Path(str(module["path"])) / "config.json"))
            named.append((str(own.get("activation_function") or _IDENTITY), _ACTIVATION))
        for name, known in named:
            if not known.fullmatch(name):
                raise ValueError(f"it names code of its own, '{name}', which is never run")


def is_pylate(location: str) -> bool:
    """True for late-interaction models: saved by PyLate, or Stanford's ColBERT."""
    own = _json(location, "config_sentence_transformers.json")
    if own.get("model_type") == "ColBERT" or "query_prefix" in own:
        return True
    architectures = _json(location, "config.json").get("architectures") or [""]
    return bool(architectures[0] == "HF_ColBERT")


def _json(location: str, name: str) -> Any:
    from sentence_transformers.util import load_file_path

    path = load_file_path(location, name, local_files_only=Path(location).is_dir())
    if path is None:
        return {}
    return json.loads(Path(path).read_text("utf-8"))


def _describe(module: torch.nn.Module) -> list[str]:
    """What a module does beyond its weights: its class, and its activation function."""
    activation = getattr(module, "activation_function", None)
    return [type(module).__name__, type(activation).__name__]


def _limit(network: torch.nn.Module, wanted: int | None) -> int:
    most = getattr(network.config, "max_position_embeddings", 512)
    return int(min(wanted or most, cast(int, most)))


def parts_of(model: Any) -> LoadedModel:
    """The parts of a ``SentenceTransformer``, which go on being its own: its pooling, its layers
    after that, its prompts."""
    from sentence_transformers.models import Normalize, Transformer
    from sentence_transformers.models import Pooling as PoolingModule

    transformer, *rest = model.children()
    if not isinstance(transformer, Transformer):
        raise ValueError(f"it begins with {type(transformer).__name__}, not with a transformer")
    pooling = next((m for m in rest if isinstance(m, PoolingModule)), None)
    mode = pooling.get_pooling_mode_str() if pooling is not None else "mean"
    if mode not in get_args(Pooling):
        raise ValueError(f"its pooling '{mode}' is not one of {', '.join(get_args(Pooling))}")
    return LoadedModel(
        tokenizer=transformer.tokenizer,
        network=transformer.auto_model,
        pooling=cast(Pooling, mode),
        width=int(transformer.get_word_embedding_dimension()),
        window=_limit(transformer.auto_model, transformer.max_seq_length),
        prompts=_own_prompts(model.prompts, pooled=pooling is None or pooling.include_prompt),
        head=tuple(m.float() for m in rest if not isinstance(m, (PoolingModule, Normalize))),
        decoder=_is_causal(transformer.auto_model),
    )


def read_directions(location: str) -> FloatArray | None:
    """The matrix of :data:`DIRECTIONS`, None where there is none; ValueError for another file."""
    file = Path(location) / DIRECTIONS
    if not file.is_file():
        return None
    matrix: FloatArray = np.load(file, allow_pickle=False).astype(np.float32)
    return matrix


def _own_prompts(named: dict[str, str], *, pooled: bool) -> Prompts:
    """The prompts that a sentence-transformers model names for documents and queries.

    >>> _own_prompts({"query": "Instruct: Answer.\\nQuery: "}, pooled=True).for_query("Find bees.")
    'Instruct: Find bees.\\nQuery: '
    """
    document = next((named[k] for k in ("document", "passage", "corpus") if named.get(k)), "")
    query = named.get("query", "")
    slotted = _INSTRUCT.sub(f"Instruct: {SLOT}", query, count=1)
    if SLOT not in slotted:
        slotted = f"{query}{SLOT} "
    return Prompts(document=document, query=slotted, plain_query=query, pooled=pooled)


def _pylate(location: str, preset: Preset | None) -> LoadedModel:
    """A PyLate model: its own projection, prefixes and skipped words."""
    from pylate import models

    if not _json(location, "config.json"):
        raise OSError(f"there is no config.json at '{location}'")
    if not is_pylate(location):
        # PyLate would give it a projection drawn by chance, another one each time.
        raise ValueError("it is not a late-interaction model")
    model = models.ColBERT(location, device="cpu", local_files_only=Path(location).is_dir())
    transformer, *dense = model.children()
    network = transformer.auto_model
    return LoadedModel(
        tokenizer=transformer.tokenizer,
        network=network,
        pooling="mean",
        width=int(transformer.get_word_embedding_dimension()),
        window=_limit(network, (preset.window if preset else OWN_WINDOW) or model.document_length),
        prompts=preset.prompts if preset else NO_PROMPTS,
        projection=tuple(module.float() for module in dense),
        document_marks=tuple(i for i in [model.document_prefix_id] if i is not None),
        query_marks=tuple(i for i in [model.query_prefix_id] if i is not None),
        skipped=tuple(sorted({i for i in model.skiplist if i is not None})),
    )


def _preset(location: str, preset: Preset) -> LoadedModel:
    """A plain transformer, pooled and prompted as the preset says."""
    from transformers import AutoTokenizer

    document, query = _places(location, preset)
    tokenizer = AutoTokenizer.from_pretrained(document, trust_remote_code=False)
    network = _network(document, preset)
    separator = preset.prompts.separator
    if separator is not None and separator not in tokenizer.get_vocab():
        raise ValueError(f"its tokenizer has no '{separator}'")
    return LoadedModel(
        tokenizer=tokenizer,
        network=network,
        pooling=preset.pooling,
        width=int(network.config.hidden_size),
        window=_limit(network, preset.window),
        prompts=preset.prompts,
        end_mark=preset.end_mark,
        query_network=_network(query, preset) if query else None,
        bidirectional=preset.bidirectional,
        decoder=preset.kind == "decoder",
    )


def _places(location: str, preset: Preset) -> tuple[str, str]:
    """The places of the document model and of the query model, "" for none. In a folder, they are
    named by the last part of their hub names."""
    if not preset.query_model:
        return location, ""
    if not Path(location).is_dir():
        return location, preset.query_model
    names = [hub.rpartition("/")[2] for hub in (preset.model, preset.query_model)]
    document, query = (Path(location) / name for name in names)
    for folder in (document, query):
        if not folder.is_dir():
            raise OSError(f"the folder lacks '{folder.name}'; '{preset.key}' is two models")
    return str(document), str(query)


def _network(location: str, preset: Preset) -> Any:
    from transformers import AutoModel

    local = Path(location).is_dir()
    network = AutoModel.from_pretrained(
        location, trust_remote_code=False, local_files_only=local
    ).eval()
    if _is_causal(network) != (preset.kind == "decoder"):
        raise ValueError(f"'{network.config.model_type}' is not its architecture")
    if preset.bidirectional:
        network.config.is_causal = False  # how masks are made
        for module in network.modules():
            if hasattr(module, "is_causal"):
                module.is_causal = False  # what attention does without a mask
    return network


def _is_causal(network: torch.nn.Module) -> bool:
    return any(getattr(module, "is_causal", False) is True for module in network.modules())
