"""Generating a collection of the ImpliRet kind and writing its files."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.config import __version__
from engine.errors import BadInputError, StorageError
from engine.generate.implicit_records import Example, ImplicitRequest
from engine.generate.rewriting import TRIES, Verification, rewrite
from engine.generate.scenes import examples_of
from engine.generate.tuple_sets import constraints_for
from engine.llm.budget import RoundProgress, Usage
from engine.llm.client import Client, complete
from engine.llm.endpoints import Connection
from engine.types.callbacks import Ask, never, tell_nobody
from storage.answers import Answers
from storage.files import write_whole

ABOUT = "about.json"
COLUMNS = (
    "id", "tuple_set_id", "forum_question", "pos_document", "question", "answer", "explicit_hint",
)  # fmt: skip


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise before any work when ``folder`` cannot be written to."""
    try:
        if folder.exists() and not folder.is_dir():
            raise BadInputError(f"{folder} is a file.", "Name a folder.")
        filled = folder.is_dir() and any(folder.iterdir())
    except OSError as error:
        raise _unwritable(folder, error) from error
    if filled and not overwrite:
        raise BadInputError(
            f"{folder} is not empty.", "Name a new folder, or add --overwrite to replace it."
        )
    if filled and _written_before(folder) is None:
        raise BadInputError(
            f"{folder} holds files that were not generated here (no {ABOUT} says so).",
            "Name another folder.",
        )


def collection_files(
    request: ImplicitRequest, examples: Sequence[Example], verification: Verification
) -> dict[str, bytes]:
    """File name -> content. The collection's name carries a digest of its rows, so that a corpus
    that was indexed under it is never taken for another one."""
    table = _table(examples)
    digest = hashlib.sha256(table).hexdigest()[:8]
    name = f"implicit-{request.category}-{request.style}-{digest}"
    files = {
        f"{name}.csv": table,
        "corpus.jsonl": _lines(map(_document, examples)),
        "topics.jsonl": _lines(map(_topic, examples)),
        "qrels.txt": "".join(f"{e.scene.doc_id} 0 {e.scene.doc_id} 1\n" for e in examples).encode(),
        "collection.json": _json({"name": name, "synthetic": True, "complete": True}),
    }
    about = _about(request, examples, verification, name)
    about["files"] = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    # First of all: what was stopped halfway can be told from a person's own files.
    return {ABOUT: _json(about), **files}


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write them all; those of an earlier generation that are not among them go."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in set(_written_before(folder) or ()) - set(files):
            (folder / name).unlink(missing_ok=True)
        for name, content in files.items():
            write_whole(folder / name, content)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _about(
    request: ImplicitRequest, examples: Sequence[Example], counts: Verification, name: str
) -> dict[str, Any]:
    writers = sorted({example.realised_by for example in examples})
    return {
        "name": name,
        "synthetic": True,
        "description": "Documents that imply what their queries ask for, by the construction of "
        "ImpliRet (Taghavi et al. 2025, section 2 and appendix A). People, makes, groups and "
        "events are invented; places are real (GeoNames, CC BY 4.0).",
        "generator": "seedlens generate implicit",
        "version": __version__,
        "category": request.category,
        "style": request.style,
        "sets": request.sets,
        "documents_per_set": request.documents,
        "documents": len(examples),
        "queries": len(examples),
        "seed": request.seed,
        "written_by": {w: sum(e.realised_by == w for e in examples) for w in writers},
        "verification": {
            "verified_by_second_pass": counts.by_model,
            "rejected": counts.rejected,
        },
        "constraints": {
            name: {"source": source, "sets": request.sets}
            for name, source in constraints_for(request.category, request.style).items()
        },
    }


def _table(examples: Sequence[Example]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for e in examples:
        ids = (e.scene.doc_id, e.scene.set_number)
        writer.writerow((*ids, e.opening_post, e.document, e.question, e.answer, e.hint))
    return text.getvalue().encode()


def _document(example: Example) -> dict[str, Any]:
    scene = example.scene
    return {"doc_id": scene.doc_id, "text": example.document, "tuple_set_id": scene.set_number}


def _topic(example: Example) -> dict[str, Any]:
    return {
        "query_id": example.scene.doc_id,
        "text": example.question,
        "answer": example.answer,
        "hint": example.hint,
    }


def _lines(rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def _written_before(folder: Path) -> list[str] | None:
    """Files of an earlier generation, None when the folder holds none."""
    try:
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        names = [str(name) for name in about["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return [name for name in names if Path(name).name == name != ".."]


def _unwritable(folder: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{folder} cannot be written to ({error.strerror or error}).", "Name another folder."
    )


MOST_TRIES = 10


@dataclass(frozen=True, slots=True)
class BuiltCollection:
    """A collection that was generated, or what there was of it when it was cancelled.

    Attributes:
        usage: of the model; None without one.
        folder: what ``evaluate`` and ``import`` read; None when it was cancelled: then nothing
            was written.
        table: the same as a CSV with ImpliRet's columns.
    """

    request: ImplicitRequest
    verification: Verification
    usage: Usage | None
    seconds: float
    folder: Path | None = None
    table: Path | None = None
    documents: int = 0

    @property
    def name(self) -> str:
        """Of the collection, and of the corpus that ``evaluate`` indexes it under."""
        return self.table.stem if self.table else ""

    @property
    def constraints(self) -> tuple[str, ...]:
        """Those that every set meets by construction."""
        return tuple(constraints_for(self.request.category, self.request.style))


def generate_implicit(
    answers: Answers,
    request: ImplicitRequest,
    folder: Path,
    *,
    overwrite: bool = False,
    connection: Connection | None = None,
    tries: int = TRIES,
    on_set: Callable[[int], None] = tell_nobody,
    on_round: Callable[[RoundProgress], None] = tell_nobody,
    cancelled: Ask = never,
) -> BuiltCollection:
    """Generate a collection of documents that imply what their queries ask for.

    Args:
        folder: made when it is not there.
        overwrite: replace a collection that was generated there before.
        connection: of the model that writes and verifies; None for templates alone.
        tries: documents asked for per tuple, until a template stands in.
        on_set, on_round: told how many sets are done, and how far the model is.
    """
    started = time.perf_counter()
    if not 1 <= tries <= MOST_TRIES:
        raise BadInputError(f"tries is {tries}.", f"Give a whole number up to {MOST_TRIES}.")
    check_folder(folder, overwrite=overwrite)
    examples = _templates(request, on_set, cancelled)
    counts, usage = Verification(by_templates=len(examples)), None
    if connection is not None and not cancelled():
        model = connection.endpoint.model

        async def work(client: Client) -> tuple[list[Example], Verification]:
            return await rewrite(client, examples, request.seed, tries, model)

        done = complete(connection, answers, work, on_round, cancelled)
        (examples, counts), usage = done.value, done.usage
    if cancelled() or (usage is not None and usage.stopped == "cancelled"):
        return BuiltCollection(request, counts, usage, time.perf_counter() - started)
    files = collection_files(request, examples, counts)
    write_files(folder, files)
    table = next(folder / name for name in files if name.endswith(".csv"))
    return BuiltCollection(
        request, counts, usage, time.perf_counter() - started, folder, table, len(examples)
    )


def _templates(
    request: ImplicitRequest, on_set: Callable[[int], None], cancelled: Ask
) -> list[Example]:
    examples: list[Example] = []
    for number in range(request.sets):
        if cancelled():
            break
        examples += examples_of(request, number)
        on_set(number + 1)
    return examples
