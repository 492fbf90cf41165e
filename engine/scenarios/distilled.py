"""Scenarios by a small model that was trained for them; see :mod:`.distillation`."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.corpora.scenario_store import Recipe
from engine.errors import BadInputError, ModelMissingError
from engine.scenarios.scenario_prompts import merged
from engine.scenarios.teaching import INSTRUCTION, question, read_answer
from engine.scenarios.writers import Outcome
from engine.types.documents import Document

CARD = "distilled.json"
"""What a folder with a distilled model says of itself."""
ADAPTER = "adapter_model.safetensors"
ANSWER_TOKENS = 1536
BATCH = 4


def distilled_recipe(folder: Path) -> Recipe:
    """How the model in a folder writes: its name, and what exactly was learned."""
    folder = folder.expanduser()
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        weights = hashlib.sha256((folder / ADAPTER).read_bytes()).hexdigest()[:12]
        instruction, base = str(card["instruction"]), Path(str(card["base"])).name
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(
            f"{folder} holds no distilled model ({error}).",
            "Train one with: seedlens distill scenarios NAME --base MODEL --out FOLDER",
        ) from error
    if instruction != INSTRUCTION:
        raise BadInputError(
            f"The model in {folder} was trained for '{instruction}', not for '{INSTRUCTION}'.",
            "Train it again with this version of SeedLens.",
        )
    return Recipe("distilled", f"{base}-{weights}", INSTRUCTION)


def load_writer(folder: Path) -> DistilledWriter:
    """The model in a folder, ready to write."""
    folder = folder.expanduser()
    recipe = distilled_recipe(folder)
    with loading(
        f"model in {folder}", "Put the model that it was trained on back to where it was."
    ):
        from peft import AutoPeftModelForCausalLM

        # What it was trained on says its folder, which may be somebody's.
        model = AutoPeftModelForCausalLM.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
        return DistilledWriter(model.eval(), load_tokenizer(str(folder)), recipe)


@contextmanager
def loading(what: str, remedy: str) -> Iterator[None]:
    """Raise what goes wrong while a model is loaded as ModelMissingError."""
    try:
        yield
    except ImportError as error:
        raise ModelMissingError(
            f"The {what} needs {error.name or error}, which is not installed.",
            "Run: pip install 'seedlens[distill]'",
        ) from error
    except (OSError, ValueError, KeyError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelMissingError(f"The {what} cannot be loaded: {said}", remedy) from error


def load_tokenizer(source: str) -> Any:
    """A tokenizer that pads on the left, as generation needs it."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(
        source, padding_side="left", local_files_only=True, trust_remote_code=False
    )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def chat(prompt: str) -> list[dict[str, str]]:
    """A prompt as a turn, for models that were trained to take turns."""
    return [{"role": "user", "content": prompt}]


class DistilledWriter:
    """Writes with a model on this machine; what is no scenario counts as unanswered."""

    def __init__(self, model: Any, tokenizer: Any, recipe: Recipe) -> None:
        self._model, self._tokenizer = model, tokenizer
        self.recipe = recipe
        self._window = getattr(model.config, "max_position_embeddings", None) or 4096

    async def write(self, documents: Sequence[Document]) -> list[Outcome]:
        return await asyncio.to_thread(self._write, documents)

    def _write(self, documents: Sequence[Document]) -> list[Outcome]:
        results: list[Outcome] = [() if not d.text.strip() else None for d in documents]
        spoken = [i for i, scenarios in enumerate(results) if scenarios is None]
        for start in range(0, len(spoken), BATCH):
            rows = spoken[start : start + BATCH]
            for row, text in zip(rows, self._answers([documents[i] for i in rows]), strict=True):
                written = read_answer(text)
                if written is not None:
                    results[row] = merged([written.records("distilled", self.recipe.model)])
        return results

    def _answers(self, documents: Sequence[Document]) -> list[str]:
        """What the model writes about documents; "" where its window has no room for an answer."""
        import torch

        prompts = [self._prompt(document) for document in documents]
        batch = self._tokenizer(
            prompts, return_tensors="pt", padding=True, add_special_tokens=not self._takes_turns
        ).to(self._model.device)
        shown = batch["input_ids"].shape[1]
        room = min(ANSWER_TOKENS, self._window - shown)
        if room < 1:
            return [""] * len(documents) if len(documents) == 1 else self._one_by_one(documents)
        with torch.inference_mode():
            written = self._model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                max_new_tokens=room,
                do_sample=False,
                pad_token_id=self._tokenizer.pad_token_id,
            )
        decoded = self._tokenizer.batch_decode(written[:, shown:], skip_special_tokens=True)
        return [str(text) for text in decoded]

    def _one_by_one(self, documents: Sequence[Document]) -> list[str]:
        """A long document must not cost its neighbours their answers."""
        return [self._answers([document])[0] for document in documents]

    @property
    def _takes_turns(self) -> bool:
        return self._tokenizer.chat_template is not None

    def _prompt(self, document: Document) -> str:
        prompt = question(document)
        if not self._takes_turns:
            return prompt
        turns = chat(prompt)
        return str(
            self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        )
