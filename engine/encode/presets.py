"""Models of the literature by name: where they are, and how their authors use them.

A key works wherever an encoder's name does: ``--encoder scincl`` loads the published model
from the Hugging Face hub, ``--encoder scincl=/folder`` one that is on disk, both with the
preset's prompts and pooling. A preset's hub name works like its key.

SeedLens scores by cosine, so models that were trained for the dot product or the Euclidean distance
lose the lengths of their vectors. Code of a published model is never run.
``assets/models/presets.toml`` has the presets, each with the source of its prompts and pooling, and
the prompts that several share.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from engine.config import ASSETS
from engine.errors import ModelMissingError

SLOT = "{instruction}"  # In a query prompt


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a model was trained to read before its texts.

    >>> Prompts(query="Instruct: {instruction}\\nQuery: ").for_query("Find bees.")
    'Instruct: Find bees.\\nQuery: '
    """

    document: str = ""
    query: str = SLOT + " "  # before a query with an instruction
    plain_query: str = ""  # before one without
    separator: str | None = None  # "[SEP]"; None: the title is a sentence
    pooled: bool = True  # False: prompt and opening marks are left out of a mean

    def for_query(self, instruction: str) -> str:
        """The text before a query under ``instruction`` ("" for none)."""
        instruction = instruction.strip()
        return self.query.replace(SLOT, instruction) if instruction else self.plain_query

    def for_title(self, title: str) -> str:
        """The text between the prompt and the text; "" without a title.

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


NO_PROMPTS = Prompts()  # For models that read bare texts; an instruction stands before the query

Kind = Literal["encoder", "decoder", "pylate"]
Pooling = Literal["mean", "weightedmean", "cls", "lasttoken"]

OWN_WINDOW = 0  # The window that the model's own configuration names


@dataclass(frozen=True, slots=True)
class Preset:
    """How one published model is used."""

    key: str
    model: str  # its name on the Hugging Face hub
    # what makes a document vector of token states; those of a PyLate model are means before the
    # projection
    pooling: Pooling
    kind: Kind = "encoder"  # reads both ways; a decoder was made to write
    window: int = 512  # tokens read at once, marks included: the authors' length, at most 8192
    prompts: Prompts = NO_PROMPTS
    bidirectional: bool = False  # a decoder whose attention reads both ways
    end_mark: str = ""  # the token that ends every text, whether or not the tokenizer adds it
    query_model: str = ""  # the hub name of a second model for instructed queries


def _presets(tables: dict[str, dict[str, Any]]) -> dict[str, Preset]:
    """The presets of the file, by key; one with ``sizes`` is several."""
    found = []
    prompts = {key: Prompts(**fields) for key, fields in tables.pop("prompts").items()}
    for key, table in tables.items():
        fields = {name: table[name] for name in table if name not in ("sizes", "read")}
        if "prompts" in fields:
            fields["prompts"] = prompts[fields["prompts"]]
        for size in table.get("sizes", [""]):
            model = fields["model"].format(size=size)
            found.append(Preset(**{**fields, "key": key.format(size=size.lower()), "model": model}))
    return {preset.key: preset for preset in found}


PRESETS = _presets(tomllib.loads((ASSETS / "models" / "presets.toml").read_text("utf-8")))
_BY_MODEL = {preset.model.casefold(): preset for preset in PRESETS.values()}


class Resolved(NamedTuple):
    """An encoder's name read: a preset or none, and a folder or a hub name."""

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
    """``source`` with an absolute path of its folder, if it names one."""
    if source in PRESETS:
        return source
    key, equals, folder = source.partition("=")
    if Path(source).expanduser().is_dir():
        return str(Path(source).expanduser().resolve())
    if equals and key in PRESETS and folder:
        return f"{key}={Path(folder).expanduser().resolve()}"
    return source
