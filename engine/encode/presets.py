"""Models of the literature by name: where they are, and how their authors use them.

A key works wherever an encoder's name does: ``--encoder scincl`` loads the published model
from the Hugging Face hub, ``--encoder scincl=/folder`` one that is on disk, both with the
preset's prompts and pooling. A preset's hub name works like its key.

SeedLens scores by cosine. Models that were trained for the dot product or the Euclidean
distance therefore lose what the lengths of their vectors say. Code that a published model brings
along is never run: its architecture is one of transformers' own, with attention in both
directions where the authors have it so. The comment of each preset says where its prompts and
pooling were read, its licence where the files state one, and what differs from the publication.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from engine.errors import ModelMissingError

SLOT = "{instruction}"
"""Where an instruction stands in a query prompt."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a model was trained to read before its texts.

    Attributes:
        document: stands before every document.
        query: stands before a query that comes with an instruction; has the slot
            ``{instruction}``.
        plain_query: stands before a query without one.
        separator: the mark between title and text ("[SEP]"); None writes the title as a
            sentence of its own.
        pooled: False for models that leave prompt and opening marks out of a mean.

    >>> Prompts(query="Instruct: {instruction}\\nQuery: ").for_query("Find bees.")
    'Instruct: Find bees.\\nQuery: '
    """

    document: str = ""
    query: str = SLOT + " "
    plain_query: str = ""
    separator: str | None = None
    pooled: bool = True

    def __post_init__(self) -> None:
        if SLOT not in self.query:
            raise ValueError(f"the query prompt {self.query!r} has no {SLOT}")

    def for_query(self, instruction: str) -> str:
        """What stands before a query under ``instruction`` ("" for none)."""
        instruction = instruction.strip()
        return self.query.replace(SLOT, instruction) if instruction else self.plain_query

    def for_title(self, title: str) -> str:
        """What stands between the prompt and the text; "" without a title.

        >>> Prompts().for_title("Old bees")
        'Old bees. '
        >>> Prompts(separator="[SEP]").for_title("Old bees")
        'Old bees[SEP]'
        """
        title = title.strip()
        if not title:
            return ""
        if self.separator is not None:
            return title + self.separator
        return f"{title} " if title[-1] in ".?!:" else f"{title}. "


NO_PROMPTS = Prompts()
"""For models that read bare texts; an instruction stands before the query."""

Kind = Literal["encoder", "decoder", "pylate"]
Pooling = Literal["mean", "weightedmean", "cls", "lasttoken"]

INSTRUCT = "Instruct: {instruction}\nQuery: "
BGE_QUERY = "Represent this sentence for searching relevant passages: "
GRIT = Prompts(
    document="<|embed|>\n",
    query="<|user|>\n{instruction}\n<|embed|>\n",
    plain_query="<|embed|>\n",
    pooled=False,
)
PAPER = Prompts(separator="[SEP]")
OWN_WINDOW = 0
"""The window that the model's own configuration names."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How one published model is used.

    Attributes:
        model: its name on the Hugging Face hub.
        kind: a transformer that reads both ways, one made to write (decoder), or a
            late-interaction model of PyLate.
        pooling: what makes a document vector of token states. A PyLate model has none of
            its own: its document and sentence vectors are means of the token states before
            the projection.
        window: tokens read at once, marks included: the authors' length, at most 8192.
        bidirectional: True for a decoder whose attention reads both ways.
        end_mark: the token that ends every text, whether or not the tokenizer adds it.
        query_model: the hub name of a second model for instructed queries, or "".
    """

    key: str
    model: str
    kind: Kind
    pooling: Pooling
    window: int
    prompts: Prompts = NO_PROMPTS
    bidirectional: bool = False
    end_mark: str = ""
    query_model: str = ""


def _qwen3(size: str) -> Preset:
    # https://huggingface.co/Qwen/Qwen3-Embedding-0.6B; apache-2.0.
    return Preset(
        key=f"qwen3-embedding-{size}",
        model=f"Qwen/Qwen3-Embedding-{size.upper()}",
        kind="decoder",
        pooling="lasttoken",
        window=8192,
        # No space after the colon: the authors write none.
        prompts=Prompts(query="Instruct: {instruction}\nQuery:"),
        end_mark="<|endoftext|>",
    )


def _bge(size: str) -> Preset:
    # https://huggingface.co/BAAI/bge-base-en-v1.5; mit.
    return Preset(
        key=f"bge-{size}-en-v1.5",
        model=f"BAAI/bge-{size}-en-v1.5",
        kind="encoder",
        pooling="cls",
        window=512,
        # Its prefix has no slot: an instruction follows it, before the text.
        prompts=Prompts(query=BGE_QUERY + "{instruction} ", plain_query=BGE_QUERY),
    )


_ALL = (
    # key, model, kind, pooling and window of each; before it, where they were read.
    # https://github.com/malteos/scincl (Ostendorff et al., EMNLP 2022); trained for the Euclidean
    # distance.
    Preset("scincl", "malteos/scincl", "encoder", "cls", 512, prompts=PAPER),
    # https://huggingface.co/allenai/specter2_base (Singh et al., EMNLP 2023); apache-2.0, trained
    # for the Euclidean distance. The base model, without the proximity adapter, which needs the
    # adapters library.
    Preset("specter2", "allenai/specter2_base", "encoder", "cls", 512, prompts=PAPER),
    # https://github.com/allenai/aspire (Mysore et al., NAACL 2022); apache-2.0, trained for the
    # Euclidean distance. Meant for the system 'transport', which compares its sentence vectors.
    Preset(
        "otaspire",
        "allenai/aspire-contextualsentence-multim-compsci",
        "encoder",
        "cls",
        512,
        prompts=PAPER,
    ),
    # https://github.com/ContextualAI/gritlm, gritlm/gritlm.py; apache-2.0, comes with code.
    Preset(
        "gritlm-7b", "GritLM/GritLM-7B", "decoder", "mean", 4096, prompts=GRIT, bidirectional=True
    ),
    _qwen3("0.6b"),
    _qwen3("4b"),
    _qwen3("8b"),
    _bge("base"),
    _bge("large"),
    # https://huggingface.co/BAAI/bge-m3; mit. Its dense vectors only.
    Preset("bge-m3", "BAAI/bge-m3", "encoder", "cls", 8192),
    # https://huggingface.co/intfloat/e5-mistral-7b-instruct; mit.
    Preset(
        "e5-mistral-7b-instruct",
        "intfloat/e5-mistral-7b-instruct",
        "decoder",
        "lasttoken",
        4096,
        prompts=Prompts(query=INSTRUCT),
        end_mark="</s>",
    ),
    # https://huggingface.co/Salesforce/SFR-Embedding-Mistral; cc-by-nc-4.0.
    Preset(
        "sfr-embedding-mistral",
        "Salesforce/SFR-Embedding-Mistral",
        "decoder",
        "lasttoken",
        4096,
        prompts=Prompts(query=INSTRUCT),
        end_mark="</s>",
    ),
    # https://github.com/embeddings-benchmark/mteb, mteb/models/gte_models.py; apache-2.0, comes
    # with code.
    Preset(
        "gte-qwen2-7b-instruct",
        "Alibaba-NLP/gte-Qwen2-7B-instruct",
        "decoder",
        "lasttoken",
        8192,
        prompts=Prompts(query=INSTRUCT),
        bidirectional=True,
        end_mark="<|endoftext|>",
    ),
    # https://github.com/facebookresearch/contriever; trained for the dot product.
    Preset("contriever", "facebook/contriever", "encoder", "mean", 512),
    # https://github.com/facebookresearch/dpr-scale, dragon; trained for the dot product.
    # Documents, and seeds without an instruction, go through the context encoder.
    Preset(
        "dragon-plus",
        "facebook/dragon-plus-context-encoder",
        "encoder",
        "cls",
        512,
        query_model="facebook/dragon-plus-query-encoder",
    ),
    # https://huggingface.co/colbert-ir/colbertv2.0; mit.
    Preset("colbertv2", "colbert-ir/colbertv2.0", "pylate", "mean", OWN_WINDOW),
    # https://huggingface.co/lightonai/LateOn; apache-2.0.
    Preset("lateon", "lightonai/LateOn", "pylate", "mean", OWN_WINDOW),
    # https://github.com/facebookresearch/ReasonIR (Shao et al., 2025); cc-by-nc-4.0, comes with
    # code.
    Preset(
        "reasonir-8b",
        "reasonir/ReasonIR-8B",
        "decoder",
        "mean",
        8192,
        prompts=GRIT,
        bidirectional=True,
    ),
)

PRESETS: dict[str, Preset] = {preset.key: preset for preset in _ALL}
_BY_MODEL = {preset.model.casefold(): preset for preset in _ALL}


class Resolved(NamedTuple):
    """What an encoder's name stands for: a preset or none, and a folder or a hub name."""

    preset: Preset | None
    location: str


def resolve(source: str) -> Resolved:
    """Read an encoder's name: a preset's key, ``key=folder``, a folder, or a hub name.

    >>> resolve("scincl").location
    'malteos/scincl'
    >>> resolve("all-MiniLM-L6-v2").preset is None
    True
    """
    if source in PRESETS:
        return Resolved(PRESETS[source], PRESETS[source].model)
    key, equals, folder = source.partition("=")
    if not equals or os.sep in key or Path(source).is_dir():
        return Resolved(_BY_MODEL.get(source.casefold()), source)
    if key not in PRESETS:
        raise ModelMissingError(
            f"There is no preset '{key}' for '{source}'.", f"Use one of {', '.join(PRESETS)}."
        )
    if not folder or not Path(folder).expanduser().is_dir():
        raise ModelMissingError(
            f"The model folder '{folder}' of '{source}' does not exist.",
            f"Put it back, or use --encoder {key} to load {PRESETS[key].model}.",
        )
    return Resolved(PRESETS[key], str(Path(folder).expanduser()))


def absolute(source: str) -> str:
    """``source`` with its folder, if it names one, made independent of where one stands."""
    if source in PRESETS:
        return source
    key, equals, folder = source.partition("=")
    if Path(source).expanduser().is_dir():
        return str(Path(source).expanduser().resolve())
    if equals and key in PRESETS and folder:
        return f"{key}={Path(folder).expanduser().resolve()}"
    return source
