"""A generated collection as files: what ``evaluate`` and ``import`` read, and where it is from.

``corpus.jsonl``, ``topics.jsonl``, ``qrels.txt`` and ``collection.json`` make the folder a test
collection; the CSV has ImpliRet's columns, for its tools and ours; ``about.json`` says how it was
made. Nothing in them depends on when or where.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine import __version__
from engine.errors import BadInputError, StorageError
from engine.generate.constraints import constraints_for
from engine.generate.implicit_records import Example, ImplicitRequest
from engine.generate.verifying import Verification

ABOUT = "about.json"
COLUMNS = (
    "id", "tuple_set_id", "forum_question", "pos_document", "question", "answer", "explicit_hint",
)  # fmt: skip


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise before any work when ``folder`` cannot be written to.

    Raises:
        BadInputError: it is a file, or holds something and ``overwrite`` is False.
    """
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
    """Write them all; those of an earlier generation that are not among them go.

    Raises:
        StorageError: the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in set(_written_before(folder) or ()) - set(files):
            (folder / name).unlink(missing_ok=True)
        for name, content in files.items():
            part = folder / f"{name}.part"
            part.write_bytes(content)
            part.replace(folder / name)
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
            "rejected": {
                "unanswered": counts.unanswered,
                "name_missing": counts.nameless,
                "value_literal": counts.literal,
                "unverified": counts.unverified,
                "not_recovered": counts.not_recovered,
            },
        },
        "constraints": {
            check.name: {"source": check.source, "sets": request.sets}
            for check in constraints_for(request.category, request.style)
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
