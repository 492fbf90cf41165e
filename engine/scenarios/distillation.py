"""Small models that write scenarios: what they learn from, their training, and their writing. Loads
nothing heavy when it is imported."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.corpora.scenario_store import Recipe, ScenarioStore
from engine.errors import BadInputError, ModelMissingError
from engine.llm.texts import cut_text, harmless
from engine.scenarios.writers import Outcome, Written, WrittenScenario, merged
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.documents import Document
from engine.types.scenarios import Distilled, Scenario, Training, Tuned
from storage.files import file_errors

# -- lessons ---------------------------------------------------------------------------------

INSTRUCTION = "distilled/1"
"""Version of the wording below; another one is another model."""
LESSON_TOKENS = 1200  # What of a document's text is shown
HELD_OUT = 20  # One document in so many is kept for the evaluation loss, at least one
FEWEST = 2
READ_ROWS = 256
_TASK = """\
Read the document. Say what it is about, then which needs it meets that it does not name, each \
with the reason why it helps. Answer with one JSON object: main_topic, and scenarios with \
key_aspect, information_need and explanation.

Document:
"""
_ANSWER = "\n\nAnswer:\n"


@dataclass(frozen=True, slots=True)
class Lesson:
    """One example: what the small model is shown, and what it should write."""

    doc_id: str
    prompt: str
    completion: str


def question(document: Document) -> str:
    """What the small model is shown of a document, in training and afterwards."""
    text = harmless(f"{document.title.strip()}\n{document.text.strip()}".strip())
    return f"{_TASK}{cut_text(text, LESSON_TOKENS).text}{_ANSWER}"


def answer(scenarios: Sequence[Scenario]) -> str:
    """Scenarios of one document as the JSON that models write."""
    entries = [
        WrittenScenario(
            key_aspect=s.aspect, information_need=s.need, explanation=s.explanation
        ).model_dump()
        for s in scenarios
    ]
    return json.dumps({"main_topic": scenarios[0].topic, "scenarios": entries}, ensure_ascii=False)


def read_answer(text: str) -> Written | None:
    """What a small model wrote, None when it is not what was asked for.

    What follows the first JSON object is left aside: small models do not always stop.
    """
    try:
        value, _ = json.JSONDecoder().raw_decode(text.lstrip())
        return Written.model_validate(value)
    except (ValueError, RecursionError):  # pydantic's error is a ValueError
        return None


def lessons(store: ScenarioStore, limit: int | None = None) -> list[Lesson]:
    """Examples of the documents that a model wrote scenarios for, in the order of the corpus."""
    fresh = store.fresh()
    taught = [d for d in store.hashes if d in fresh and fresh[d].recipe.source == "generated"]
    taught = taught[:limit]
    if len(taught) < FEWEST:
        raise BadInputError(
            f"A language model has written scenarios for {len(taught)} documents of "
            f"'{store.corpus.name}'; at least {FEWEST} are needed to learn from.",
            f"Let one write more: seedlens scenarios {shlex.quote(store.corpus.name)} --limit 300",
        )
    found = []
    for start in range(0, len(taught), READ_ROWS):
        group = taught[start : start + READ_ROWS]
        scenarios = store.of(group)
        for document in store.corpus.documents(group):
            written = answer(scenarios[document.doc_id])
            found.append(Lesson(document.doc_id, question(document), written))
    return found


def split(examples: Sequence[Lesson]) -> tuple[list[Lesson], list[Lesson]]:
    """Lessons to learn from, and lessons to measure by; the ids decide which.

    >>> train, held_out = split([Lesson(str(n), "", "") for n in range(40)])
    >>> len(train), len(held_out)
    (38, 2)
    """
    order = sorted(examples, key=lambda lesson: hashlib.sha256(lesson.doc_id.encode()).digest())
    count = max(1, len(order) // HELD_OUT)
    return order[count:], order[:count]


# -- training --------------------------------------------------------------------------------

CARD = "distilled.json"
"""What a folder with a distilled model says of itself."""
ADAPTER = "adapter_model.safetensors"
ANSWER_TOKENS = 1536
BATCH = 4  # Documents that are written about at once
NEEDED = ("peft", "trl", "datasets")
CHECKPOINTS = "checkpoints"
WARMUP = 0.03
"""Share of the steps over which the learning rate grows; the paper does not tell its own."""
LONGEST = 4096  # Tokens of an example at most; less where the model sees less
TellLoss = Callable[[int, int, float | None], None]
"""Told (steps done, steps in all, loss) after every few steps."""


def need_extra(*packages: str) -> None:
    """Raise ModelMissingError when packages of the extra are not installed."""
    missing = [name for name in packages or NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelMissingError(
            f"Training needs {', '.join(missing)}, which is not installed.",
            "Run: pip install 'seedlens[distill]'",
        )


def check_folder(out: Path, card: str = CARD, what: str = "distilled model") -> None:
    """Raise BadInputError for a folder that holds something else than what was trained here."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not (out / card).is_file():
        raise BadInputError(f"{out} is there already and holds no {what}.", "Name a new folder.")


def distill(
    lessons: Sequence[Lesson],
    base: str,
    out: Path,
    training: Training | None = None,
    tell: TellLoss = tell_nobody,
    cancelled: Ask = never,
) -> Distilled:
    """Train on the lessons, and keep what was learned in a folder."""
    need_extra()
    check_folder(out)
    training = training or Training()
    started = time.perf_counter()
    train, held_out = split(lessons)
    trainer = _trainer(train, held_out, base, out, training, _watcher(tell, cancelled))
    trainer.train()
    losses = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
    done = Distilled(
        folder=out,
        base=base,
        lessons=len(train),
        held_out=len(held_out),
        epochs=float(trainer.state.epoch or 0),
        loss=float(min(losses, default=float("nan"))),
        seconds=time.perf_counter() - started,
        cancelled=cancelled(),
    )

    def write() -> None:
        trainer.model.save_pretrained(out)
        trainer.processing_class.save_pretrained(out)

    save_trained(done, training, CARD, write, instruction=INSTRUCTION)
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)
    return done


def _trainer(
    train: Sequence[Lesson],
    held_out: Sequence[Lesson],
    base: str,
    out: Path,
    training: Training,
    watcher: Any,
) -> Any:
    import torch
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, EarlyStoppingCallback
    from transformers.trainer_callback import PrinterCallback
    from trl import SFTConfig, SFTTrainer

    remedy = "Name a folder with a causal language model, or one that is on this machine."
    with loading(f"model '{base}'", remedy):
        model = AutoModelForCausalLM.from_pretrained(
            base, local_files_only=True, trust_remote_code=False
        )
        tokenizer = load_tokenizer(base)
    on_gpu = torch.cuda.is_available()
    settings = SFTConfig(
        output_dir=str(out / CHECKPOINTS),
        learning_rate=training.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=WARMUP,
        weight_decay=training.weight_decay,
        optim="adamw_torch",
        per_device_train_batch_size=training.batch,
        per_device_eval_batch_size=training.batch,
        gradient_accumulation_steps=training.accumulation,
        num_train_epochs=training.epochs,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=False,
        completion_only_loss=True,
        max_length=min(LONGEST, _window(model)),
        bf16=on_gpu,
        seed=training.seed,
        report_to="none",
        disable_tqdm=True,
        logging_steps=1,
        gradient_checkpointing=on_gpu,
        dataloader_pin_memory=on_gpu,
    )
    lora = LoraConfig(
        r=training.rank,
        lora_alpha=training.alpha,
        lora_dropout=training.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    trainer = SFTTrainer(
        model=model,
        args=settings,
        processing_class=tokenizer,
        train_dataset=_dataset(train, tokenizer),
        eval_dataset=_dataset(held_out, tokenizer),
        peft_config=lora,
        callbacks=[EarlyStoppingCallback(training.patience), watcher],
    )
    trainer.remove_callback(PrinterCallback)  # standard output is for results
    return trainer


def _window(model: Any) -> int:
    """Tokens that a model sees at once."""
    return getattr(model.config, "max_position_embeddings", None) or LONGEST


def _dataset(lessons: Sequence[Lesson], tokenizer: Any) -> Any:
    from datasets import Dataset

    def turns(lesson: Lesson) -> dict[str, Any]:
        if tokenizer.chat_template is None:
            return {"prompt": lesson.prompt, "completion": lesson.completion}
        return {
            "prompt": chat(lesson.prompt),
            "completion": [{"role": "assistant", "content": lesson.completion}],
        }

    return Dataset.from_list([turns(lesson) for lesson in lessons])


def _watcher(tell: TellLoss, cancelled: Ask) -> Any:
    from transformers import TrainerCallback

    class Watcher(TrainerCallback):  # type: ignore[misc]
        def on_log(self, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> None:
            tell(state.global_step, state.max_steps, (logs or {}).get("loss"))

        def on_step_end(self, _args: Any, _state: Any, control: Any, **_: Any) -> None:
            if cancelled():
                control.should_training_stop = True

    return Watcher()


def save_trained(
    done: Distilled | Tuned, training: Any, card: str, write: Callable[[], None], **more: Any
) -> None:
    """Write a model, then its card: that says that all is there."""
    known = {k: v for k, v in asdict(done).items() if k not in ("folder", "cancelled")}
    text = json.dumps({**known, **more, "training": asdict(training)}, indent=1)
    with file_errors(done.folder, "Name another folder with --out."):
        (done.folder / card).unlink(missing_ok=True)
        write()
        (done.folder / card).write_text(text, encoding="utf-8")


# -- writing ---------------------------------------------------------------------------------


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
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelMissingError(f"The {what} cannot be loaded: {reason}", remedy) from error


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


class DistilledWriter:
    """Writes with a model on this machine; what is no scenario counts as unanswered."""

    def __init__(self, model: Any, tokenizer: Any, recipe: Recipe) -> None:
        self._model, self._tokenizer = model, tokenizer
        self.recipe = recipe
        self._turns = tokenizer.chat_template is not None

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
            prompts, return_tensors="pt", padding=True, add_special_tokens=not self._turns
        ).to(self._model.device)
        shown = batch["input_ids"].shape[1]
        room = min(ANSWER_TOKENS, _window(self._model) - shown)
        if room < 1:
            # A long document must not cost its neighbours their answers.
            alone = len(documents) == 1
            return [""] if alone else [self._answers([document])[0] for document in documents]
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

    def _prompt(self, document: Document) -> str:
        prompt = question(document)
        if not self._turns:
            return prompt
        render = self._tokenizer.apply_chat_template
        return str(render(chat(prompt), tokenize=False, add_generation_prompt=True))
