"""Test collections: topics with judgments, read from the layouts that people have."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from engine.collections.grade_book import GradeBook, check_grade, read_grades
from engine.collections.judgment_formats import (
    beir_file,
    content_of,
    decoded,
    judgment_rows,
    numbered_lines,
    parse_json,
)
from engine.collections.trec import qrels_in
from engine.errors import BadInputError
from engine.ingest import detect_format
from engine.text import counted
from engine.types.evaluations import MOST_GRADE, Collection, HeldCollection, Qrels, Topic
from engine.types.limits import COLLECTION_JSON_BYTES, LONGEST_INSTRUCTION

CSFCUBE_ASPECTS = ("background", "method", "result")
Signature = tuple[tuple[str, int, int], ...]
"""(path, time of change in ns, bytes) of every file that a collection may be read from."""


class NoCollectionError(BadInputError):
    """The path holds no test collection, whatever else it holds."""


def read_collection(path: Path | str) -> Collection:
    """Read a CSFCube folder, a BEIR folder, an ImpliRet CSV, or a folder with topics and qrels.

    Raises:
        BadInputError: nothing there, or a layout that is none of these.
    """
    path = Path(path)
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
        raise NoCollectionError(
            f"{path} is not a test collection (it looks like {layout}).",
            "Give a CSFCube or BEIR folder, an ImpliRet CSV, or a folder of topics and qrels.",
        )
    return _with_queries(readers[layout](path), path)


def cached_collection(path: Path) -> HeldCollection:
    """:func:`read_collection`, read again only when one of its files has changed.

    Failures are not kept: what could not be read is tried again.
    """
    return _read_once(path, signature_of(path))


def signature_of(path: Path) -> Signature:
    """Changes with the files of a collection; a folder's own time does not when one is edited.

    >>> signature_of(Path("not there"))
    ()
    """
    files = [path] if path.is_file() else [*path.glob("*"), *path.glob("qrels/*")]
    stats = ((str(f), f.stat()) for f in sorted(files) if f.is_file())
    return tuple((name, s.st_mtime_ns, s.st_size) for name, s in stats)


def held(collection: Collection) -> HeldCollection:
    """The collection, without grades of a seed for itself, with its digest."""
    collection = _without_seeds(collection)
    asked = [_asked(topic) for topic in collection.topics]
    what = [asked, collection.qrels, collection.annotators, collection.complete]
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
    return HeldCollection(collection, digest)


def _asked(topic: Topic) -> dict[str, Any]:
    """What is ranked by: without the answer, which leaves evaluations as they are."""
    left_out = ("answer", *(() if topic.instruction else ("instruction",)))
    return {name: value for name, value in asdict(topic).items() if name not in left_out}


@functools.lru_cache(maxsize=16)
def _read_once(path: Path, signature: Signature) -> HeldCollection:
    del signature  # only part of the key; an error leaves nothing behind
    return held(read_collection(path))


def _with_queries(collection: Collection, path: Path) -> Collection:
    if not collection.topics:
        raise BadInputError(f"{path} has no queries.", "Give a collection with at least one.")
    asked = Counter(topic.query_id for topic in collection.topics)
    (often, times), *_ = asked.most_common(1)
    if times > 1:  # it would count as often in every mean
        raise BadInputError(
            f"{path.name} has the query '{often}' {times} times.",
            "Give every query an id of its own.",
        )
    strange = [query_id for query_id in collection.qrels if query_id not in asked]
    warnings = list(collection.warnings)
    if strange:
        which = counted(len(strange), "query has", "queries have")
        warnings.append(
            f"{which} judgments but is not among those asked (first: '{strange[0]}'); left out."
        )
    kept = {query_id: grades for query_id, grades in collection.qrels.items() if query_id in asked}
    return _without_seeds(replace(collection, qrels=kept, warnings=tuple(warnings)))


def _without_seeds(collection: Collection) -> Collection:
    """The same without grades that a query gives its own seed, which no ranking holds."""
    seeds = {topic.query_id: topic.seed for topic in collection.topics}

    def others(qrels: Qrels) -> Qrels:
        return {
            query_id: {d: grade for d, grade in grades.items() if d != seeds.get(query_id)}
            for query_id, grades in qrels.items()
        }

    qrels = others(collection.qrels)
    changed = [query_id for query_id in qrels if qrels[query_id] != collection.qrels[query_id]]
    if not changed:
        return collection
    annotators = {name: others(own) for name, own in collection.annotators.items()}
    which = counted(len(changed), "query grades", "queries grade")
    warning = f"{which} its own seed (first: '{changed[0]}'); left out."
    warnings = (*collection.warnings, warning)
    return replace(collection, qrels=qrels, annotators=annotators, warnings=warnings)


def _name(path: Path) -> str:
    stem = path.resolve().name if path.is_dir() else path.stem
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in stem)[:64]


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    content = decoded(content_of(path), path.name)
    for number, line in numbered_lines(content):
        yield _json_object(line, f"{path.name}, line {number}")


def _json_file(path: Path) -> dict[str, Any]:
    return _json_object(decoded(content_of(path, COLLECTION_JSON_BYTES), path.name), path.name)


def _json_object(text: str, where: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise BadInputError(f"{where}: not valid JSON ({error}).", "Correct it.") from error
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
    about = _json_file(described) if described.exists() else {}
    first: dict[str, int] = {}
    topics = []
    for number, row in enumerate(_json_lines(path / "topics.jsonl"), start=1):
        topic = _native_topic(row)
        if first.setdefault(topic.query_id, number) != number:
            raise BadInputError(
                f"topics.jsonl: rows {first[topic.query_id]} and {number} have the same query_id "
                f"'{topic.query_id}'.",
                "Give every query an id of its own.",
            )
        topics.append(topic)
    judgments = qrels_in(path)
    has_documents = (path / "corpus.jsonl").exists()
    return Collection(
        name=about.get("name") or _name(path),
        topics=tuple(topics),
        qrels=judgments.qrels,
        documents=path if has_documents else None,
        source_format="beir",
        complete=bool(about.get("complete")),
        warnings=judgments.warnings,
    )


def _native_topic(row: dict[str, Any]) -> Topic:
    query_id = _field(row, "query_id", "topics.jsonl")
    seed, text = row.get("seed"), row.get("text")
    if (seed is None) == (text is None):
        raise BadInputError(
            f"topics.jsonl: query '{query_id}' needs either a seed or a text.", "Give it one."
        )
    answer, instruction = (str(row.get(key) or "") or None for key in ("answer", "instruction"))
    aspect = row.get("aspect")
    return Topic(query_id, seed, text, aspect, answer=answer, instruction=instruction)


def _csfcube(path: Path) -> Collection:
    topics: list[Topic] = []
    qrels: dict[str, dict[str, int]] = {}
    annotators: dict[str, dict[str, dict[str, int]]] = {}
    for aspect in CSFCUBE_ASPECTS:
        file = path / f"test-pid2anns-csfcube-{aspect}.json"
        if not file.exists():
            continue
        for seed, judged in _json_file(file).items():
            query_id = f"{seed}_{aspect}"
            pool = _CsfcubePool(judged, seed, f"{file.name}, seed {seed}")
            qrels[query_id] = pool.grades("relevance_adju")
            topics.append(Topic(query_id, seed=seed, aspect=aspect, pool=tuple(qrels[query_id])))
            for annotator in pool.annotators():
                own = pool.grades(f"relevance_{annotator}", ungraded=True)
                annotators.setdefault(annotator, {})[query_id] = own
    by_name = dict(sorted(annotators.items()))
    return Collection(_name(path), tuple(topics), qrels, path, "csfcube", annotators=by_name)


@dataclass(frozen=True, slots=True)
class _CsfcubePool:
    """What a file of CSFCube says of one seed: parallel lists beside ``cands``."""

    judged: Any
    seed: str
    where: str

    def annotators(self) -> list[str]:
        """``ann1`` ...: those who graded by themselves."""
        keys = (k.removeprefix("relevance_") for k in self.judged if k.startswith("relevance_"))
        return [k for k in keys if k.startswith("ann")]

    def grades(self, column: str, *, ungraded: bool = False) -> dict[str, int]:
        """doc_id -> grade, without the seed.

        Args:
            ungraded: -1 is allowed and means that no grade was given.
        """
        candidates = self._list("cands")
        values = self._list(column)
        if len(candidates) != len(values):
            raise BadInputError(
                f"{self.where}: {len(values)} values in '{column}' for {len(candidates)} "
                "candidates.",
                "Give every candidate one value.",
            )
        book = GradeBook(self.where, "candidate")
        for number, (doc_id, value) in enumerate(zip(candidates, values, strict=True), start=1):
            if doc_id == self.seed or (ungraded and str(value) == "-1"):
                continue
            where = f"{self.where}, candidate {number} ('{doc_id}') in '{column}'"
            book.add(column, str(doc_id), check_grade(str(value), where, MOST_GRADE), number)
        return book.qrels.get(column, {})

    def _list(self, column: str) -> list[Any]:
        found = self.judged.get(column) if isinstance(self.judged, dict) else None
        if not isinstance(found, list):
            raise BadInputError(
                f"{self.where}: no list '{column}'.", "Take the file as CSFCube ships it."
            )
        return found


def _beir(path: Path) -> Collection:
    split = beir_file(path)
    if split is None:
        raise NoCollectionError(f"{path} has no qrels/test.tsv.", "Add BEIR judgments.")
    judgments = read_grades(judgment_rows(decoded(content_of(split), split.name)), split.name)
    topics = tuple(
        Topic(query_id, text=_field(q, "text", "queries.jsonl"), instruction=wording_of(q))
        for q in _json_lines(path / "queries.jsonl")
        if (query_id := _field(q, "_id", "queries.jsonl")) in judgments.qrels
        and q.get("text") != ""  # of an export: its seed has left the corpus
    )
    warnings = list(judgments.warnings)
    if longer := sum(len(topic.instruction or "") > LONGEST_INSTRUCTION for topic in topics):
        which = counted(longer, "query has", "queries have")
        most = f"{LONGEST_INSTRUCTION:,}"
        warnings.append(f"{which} an instruction of more than {most} characters; left out.")
        topics = tuple(map(_without_long_wording, topics))
    return Collection(_name(path), topics, judgments.qrels, path, "beir", warnings=tuple(warnings))


def wording_of(query: Mapping[str, Any]) -> str | None:
    """The instruction beside a query, of FollowIR the original one; None where there is none."""
    found = (query.get(name) for name in ("instruction", "instruction_og"))
    words = next((words for words in found if isinstance(words, str)), "")
    return " ".join(words.split()) or None


def _without_long_wording(topic: Topic) -> Topic:
    fits = len(topic.instruction or "") <= LONGEST_INSTRUCTION
    return topic if fits else replace(topic, instruction=None)


def _impliret(path: Path) -> Collection:
    lines = io.StringIO(decoded(content_of(path), path.name), newline="")
    try:
        rows = list(csv.DictReader(lines))
    except csv.Error as error:
        raise BadInputError(f"{path.name} is no CSV ({error}).", "Correct it.") from error
    topics = tuple(
        Topic(
            _field(row, "id", where),
            text=_field(row, "question", where),
            answer=row.get("answer") or None,
        )
        for where, row in ((f"{path.name}, row {n}", r) for n, r in enumerate(rows, start=1))
    )
    qrels = {topic.query_id: {topic.query_id: 1} for topic in topics}
    return Collection(_name(path), topics, qrels, path, "impliret", complete=True)
