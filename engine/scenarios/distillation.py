"""What a small model is trained with, and what comes of it; loads nothing heavy."""

from __future__ import annotations

import importlib.util
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.errors import BadInputError, ModelMissingError, StorageError
from engine.scenarios.distilled import ADAPTER, CARD, chat, load_tokenizer, loading
from engine.scenarios.teaching import INSTRUCTION, Lesson, split
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.scenarios import Distilled, Training, Tuned
from storage.files import file_errors

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
    if len(lessons) < 2:
        raise BadInputError("Nothing can be learned from fewer than two documents.")
    training = training or Training()
    started = time.perf_counter()
    train, held_out = split(lessons)
    trainer = _trainer(train, held_out, base, out, training, tell, cancelled)
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
    _save(trainer, done, training)
    return done


def _trainer(
    train: Sequence[Lesson],
    held_out: Sequence[Lesson],
    base: str,
    out: Path,
    training: Training,
    tell: TellLoss,
    cancelled: Ask,
) -> Any:
    from peft import LoraConfig
    from transformers import EarlyStoppingCallback
    from transformers.trainer_callback import PrinterCallback
    from trl import SFTTrainer

    model, tokenizer = load_base(base)
    window = getattr(model.config, "max_position_embeddings", None) or LONGEST
    lora = LoraConfig(
        r=training.rank,
        lora_alpha=training.alpha,
        lora_dropout=training.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    trainer = SFTTrainer(
        model=model,
        args=_settings(training, out, min(LONGEST, window)),
        processing_class=tokenizer,
        train_dataset=_dataset(train, tokenizer),
        eval_dataset=_dataset(held_out, tokenizer),
        peft_config=lora,
        callbacks=[EarlyStoppingCallback(training.patience), _watcher(tell, cancelled)],
    )
    trainer.remove_callback(PrinterCallback)  # standard output is for results
    return trainer


def _settings(training: Training, out: Path, longest: int) -> Any:
    import torch
    from trl import SFTConfig

    on_gpu = torch.cuda.is_available()
    return SFTConfig(
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
        max_length=longest,
        completion_only_loss=True,
        bf16=on_gpu,
        seed=training.seed,
        report_to="none",
        disable_tqdm=True,
        logging_steps=1,
        gradient_checkpointing=on_gpu,
        dataloader_pin_memory=on_gpu,
    )


def load_base(base: str) -> tuple[Any, Any]:
    """A causal language model and its tokenizer; ModelMissingError when it cannot be loaded."""
    from transformers import AutoModelForCausalLM

    remedy = "Name a folder with a causal language model, or one that is on this machine."
    with loading(f"model '{base}'", remedy):
        model = AutoModelForCausalLM.from_pretrained(
            base, local_files_only=True, trust_remote_code=False
        )
        return model, load_tokenizer(base)


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


def _save(trainer: Any, done: Distilled, training: Training) -> None:
    out = done.folder

    def write() -> None:
        trainer.model.save_pretrained(out)
        trainer.processing_class.save_pretrained(out)

    save_trained(done, training, CARD, write, instruction=INSTRUCTION)
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)
    if not (out / ADAPTER).is_file():
        raise StorageError(f"The adapter is missing from {out} after training.")


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
