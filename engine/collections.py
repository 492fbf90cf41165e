"""Test collections: topics with judgments, read from the layouts that people have."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures

from engine.errors import BadInputError
from engine.ingest import detect_format
from engine.metrics import Qrels

CSFCUBE_ASPECTS = ("background", "method", "result")


@dataclass(frozen=True, slots=True)
class Topic:
    """One query of a collection: a stored seed or a text, maybe an aspect, maybe a judged pool."""

    query_id: str
    seed: str | None = None
    text: str | None = None
    aspect: str | None = None
    pool: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """Topics and their judgments.

    Attributes:
        complete: what is not listed in ``qrels`` was judged 0, not left unjudged.
        documents: where its own documents can be imported from, or None.
        source_format: how to import them.
    """

    name: str
    topics: tuple[Topic, ...]
    qrels: Qrels
    documents: Path | None
    source_format: str
    complete: bool = False


def read_collection(path: Path) -> Collection:
    """Read a CSFCube folder, a BEIR folder, an ImpliRet CSV, or a folder with topics and qrels.

    Raises:
        BadInputError: nothing there, or a layout that is none of these.
    """
    if not path.exists():
        raise BadInputError(f"{path} does not exist.", "Give the path of a test collection.")
    if path.is_dir() and (path / "topics.jsonl").exists():
        return _native(path)
    layout = detect_format(path)
    readers: dict[str, Callable[[Path], Collection]] = {
        "csfcube": _csfcube,
        "beir": _beir,
        "impliret": _impliret,
    }
    if layout not in readers:
        raise BadInputError(
            f"{path} is not a test collection (it looks like {layout}).",
            "Give a CSFCube or BEIR folder, an ImpliRet CSV, or a folder of topics and qrels.",
        )
    return readers[layout](path)


def _name(path: Path) -> str:
    stem = path.resolve().name if path.is_dir() else path.stem
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in stem)[:64]


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise BadInputError(
                    f"{path.name}, line {number}: not valid JSON ({error.msg}).", "Mend that line."
                ) from error


def _native(path: Path) -> Collection:
    about = json.loads((path / "collection.json").read_text("utf-8")) if (
        path / "collection.json"
    ).exists() else {}  # fmt: skip
    topics = tuple(
        Topic(t["query_id"], t.get("seed"), t.get("text"), t.get("aspect"))
        for t in _json_lines(path / "topics.jsonl")
    )
    has_documents = (path / "corpus.jsonl").exists()
    return Collection(
        name=about.get("name") or _name(path),
        topics=topics,
        qrels=_trec_qrels(path),
        documents=path if has_documents else None,
        source_format="beir",
        complete=bool(about.get("complete")),
    )


def _trec_qrels(path: Path) -> Qrels:
    for name in ("qrels.txt.gz", "qrels.txt", "qrels.trec", "qrels"):
        file = path / name
        if file.is_file():
            content = file.read_bytes()
            text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
            return _grouped(ir_measures.read_trec_qrels(text), file)
    raise BadInputError(f"{path} has topics but no qrels.", "Add TREC judgments as qrels.txt.")


def _grouped(qrels: Any, file: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    try:
        for row in qrels:
            found.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    except ValueError as error:
        raise BadInputError(
            f"{file.name}: a line is not 'query_id 0 doc_id relevance' ({error}).", "Mend it."
        ) from error
    return found


def _csfcube(path: Path) -> Collection:
    topics: list[Topic] = []
    qrels: dict[str, dict[str, int]] = {}
    for aspect in CSFCUBE_ASPECTS:
        file = path / f"test-pid2anns-csfcube-{aspect}.json"
        if not file.exists():
            continue
        for seed, judged in json.loads(file.read_text("utf-8")).items():
            query_id = f"{seed}_{aspect}"
            pairs = zip(judged["cands"], judged["relevance_adju"], strict=True)
            qrels[query_id] = {doc_id: int(grade) for doc_id, grade in pairs if doc_id != seed}
            topics.append(Topic(query_id, seed=seed, aspect=aspect, pool=tuple(qrels[query_id])))
    return Collection(_name(path), tuple(topics), qrels, path, "csfcube")


def _beir(path: Path) -> Collection:
    qrels: dict[str, dict[str, int]] = {}
    split = next(
        (f for n in ("test", "dev", "train") if (f := path / "qrels" / f"{n}.tsv").exists()), None
    )
    if split is None:
        raise BadInputError(f"{path} has no qrels/test.tsv.", "Add BEIR judgments.")
    with split.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            qrels.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    topics = tuple(
        Topic(str(q["_id"]), text=q["text"])
        for q in _json_lines(path / "queries.jsonl")
        if str(q["_id"]) in qrels
    )
    return Collection(_name(path), topics, qrels, path, "beir")


def _impliret(path: Path) -> Collection:
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    topics = tuple(Topic(row["id"], text=row["question"]) for row in rows)
    qrels = {row["id"]: {row["id"]: 1} for row in rows}
    return Collection(_name(path), topics, qrels, path, "impliret", complete=True)
