"""Test collections: topics with judgments, read from the layouts that people have."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures

from engine.errors import BadInputError
from engine.ingest import detect_format
from engine.ingest.rows import text_lines
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
        return _with_queries(_native(path), path)
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
    return _with_queries(readers[layout](path), path)


def _with_queries(collection: Collection, path: Path) -> Collection:
    if not collection.topics:
        raise BadInputError(f"{path} has no queries.", "Give a collection with at least one.")
    return collection


def _name(path: Path) -> str:
    stem = path.resolve().name if path.is_dir() else path.stem
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in stem)[:64]


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in text_lines(path):
        if line.strip():
            yield _json_object(line, f"{path.name}, line {number}")


def _json_object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadInputError(f"{where}: not valid JSON ({error}).", "Mend it.") from error
    if not isinstance(value, dict):
        raise BadInputError(f"{where}: not a JSON object.", "Write {...}.")
    return value


def _field(row: Mapping[str, Any], name: str, where: str) -> str:
    """A value that a query or judgment cannot do without."""
    if row.get(name) in (None, ""):
        raise BadInputError(f"{where}: no '{name}'.", f"Give every row a '{name}'.")
    return str(row[name])


def _native(path: Path) -> Collection:
    described = path / "collection.json"
    about = _json_object(described.read_text("utf-8"), described.name) if described.exists() else {}
    topics = tuple(map(_native_topic, _json_lines(path / "topics.jsonl")))
    has_documents = (path / "corpus.jsonl").exists()
    return Collection(
        name=about.get("name") or _name(path),
        topics=topics,
        qrels=_trec_qrels(path),
        documents=path if has_documents else None,
        source_format="beir",
        complete=bool(about.get("complete")),
    )


def _native_topic(row: dict[str, Any]) -> Topic:
    query_id = _field(row, "query_id", "topics.jsonl")
    seed, text = row.get("seed"), row.get("text")
    if (seed is None) == (text is None):
        raise BadInputError(
            f"topics.jsonl: query '{query_id}' needs either a seed or a text.", "Give it one."
        )
    return Topic(query_id, seed, text, row.get("aspect"))


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
        for number, row in enumerate(csv.DictReader(lines, delimiter="\t"), start=1):
            where = f"{split.name}, row {number}"
            query_id, doc_id, grade = (
                _field(row, name, where) for name in ("query-id", "corpus-id", "score")
            )
            try:
                qrels.setdefault(query_id, {})[doc_id] = int(grade)
            except ValueError as error:
                raise BadInputError(
                    f"{where}: the score '{grade}' is not a whole number.", "Mend that row."
                ) from error
    topics = tuple(
        Topic(query_id, text=_field(q, "text", "queries.jsonl"))
        for q in _json_lines(path / "queries.jsonl")
        if (query_id := _field(q, "_id", "queries.jsonl")) in qrels
    )
    return Collection(_name(path), topics, qrels, path, "beir")


def _impliret(path: Path) -> Collection:
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    topics = tuple(
        Topic(_field(row, "id", where), text=_field(row, "question", where))
        for where, row in ((f"{path.name}, row {n}", r) for n, r in enumerate(rows, start=1))
    )
    qrels = {topic.query_id: {topic.query_id: 1} for topic in topics}
    return Collection(_name(path), topics, qrels, path, "impliret", complete=True)
