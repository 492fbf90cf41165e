"""Test collections: topics with judgments, read from the layouts that people have."""

from __future__ import annotations

import csv
import functools
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.collections.judgment_formats import (
    beir_file,
    content_of,
    decoded,
    judgment_rows,
    numbered_lines,
    parse_json,
)
from engine.collections.trec import check_grade, qrels_in, read_grades
from engine.errors import BadInputError
from engine.ingest.formats import detect_format
from engine.text import counted
from engine.types.evaluations import (
    MOST_GRADE,
    Collection,
    Grades,
    Qrels,
    Topic,
)
from engine.types.limits import COLLECTION_JSON_BYTES, LONGEST_INSTRUCTION

CSFCUBE_ASPECTS = ("background", "method", "result")
ADJUDICATED = "relevance_adju"
Signature = tuple[tuple[str, int, int], ...]
"""(path, time of change in ns, bytes) of every file of a collection."""


class NoCollectionError(BadInputError):
    """The path holds no test collection, whatever else it holds."""


def read_collection(path: Path | str) -> Collection:
    """Read a CSFCube folder, a BEIR folder, an ImpliRet CSV, or a folder with topics and qrels."""
    path = Path(path)
    if not path.exists():
        raise BadInputError(f"{path} does not exist.", "Give the path of a test collection.")
    own = path.is_dir() and (path / "topics.jsonl").exists()
    layout = "native" if own else detect_format(path)
    if layout not in _READERS:
        raise NoCollectionError(
            f"{path} is not a test collection (it looks like {layout}).",
            "Give a CSFCube or BEIR folder, an ImpliRet CSV, or a folder of topics and qrels.",
        )
    return without_seeds(_checked(_READERS[layout](path), path))


def cached_collection(path: Path) -> Collection:
    """:func:`read_collection`, again only after a change of its files; errors are not kept."""
    return _read_once(path, signature_of(path))


def signature_of(path: Path) -> Signature:
    """Changes with the files of a collection.

    >>> signature_of(Path("not there"))
    ()
    """
    files = [path] if path.is_file() else [*path.glob("*"), *path.glob("qrels/*")]
    stats = ((str(f), f.stat()) for f in sorted(files) if f.is_file())
    return tuple((name, s.st_mtime_ns, s.st_size) for name, s in stats)


@functools.lru_cache(maxsize=16)
def _read_once(path: Path, _signature: Signature) -> Collection:
    return read_collection(path)


def _checked(collection: Collection, path: Path) -> Collection:
    """With queries, each once, and without judgments of others."""
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
    if not strange:
        return collection
    which = counted(len(strange), "query has", "queries have")
    warning = f"{which} judgments but is not among those asked (first: '{strange[0]}'); left out."
    kept = {query_id: grades for query_id, grades in collection.qrels.items() if query_id in asked}
    return replace(collection, qrels=kept, warnings=(*collection.warnings, warning))


def without_seeds(collection: Collection) -> Collection:
    """The same without grades that a query gives its own seed, which no ranking holds."""
    seeds = {topic.query_id: topic.seed for topic in collection.topics}
    changed = [q for q, grades in collection.qrels.items() if seeds.get(q) in grades]
    if not changed:
        return collection

    def others(qrels: Qrels) -> Qrels:
        return {
            query_id: {d: grade for d, grade in grades.items() if d != seeds.get(query_id)}
            for query_id, grades in qrels.items()
        }

    which = counted(len(changed), "query grades", "queries grade")
    warning = f"{which} its own seed (first: '{changed[0]}'); left out."
    return replace(
        collection,
        qrels=others(collection.qrels),
        annotators={name: others(own) for name, own in collection.annotators.items()},
        warnings=(*collection.warnings, warning),
    )


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
    topics = tuple(map(_native_topic, _json_lines(path / "topics.jsonl")))
    judgments = qrels_in(path)
    return Collection(
        name=about.get("name") or _name(path),
        topics=topics,
        qrels=judgments.qrels,
        documents=path if (path / "corpus.jsonl").exists() else None,
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
    qrels: dict[str, Grades] = {}
    annotators: dict[str, dict[str, Grades]] = {}
    for aspect in CSFCUBE_ASPECTS:
        file = path / f"test-pid2anns-csfcube-{aspect}.json"
        for seed, judged in (_json_file(file) if file.exists() else {}).items():
            query_id, place = f"{seed}_{aspect}", (seed, f"{file.name}, seed {seed}")
            qrels[query_id] = _csfcube_grades(judged, ADJUDICATED, *place)
            topics.append(Topic(query_id, seed=seed, aspect=aspect, pool=tuple(qrels[query_id])))
            for column in judged:
                if column.startswith("relevance_ann"):
                    own = annotators.setdefault(column.removeprefix("relevance_"), {})
                    own[query_id] = _csfcube_grades(judged, column, *place)
    by_name = dict(sorted(annotators.items()))
    # Its evaluation script has threshold_grade = 2.
    return Collection(
        *(_name(path), tuple(topics), qrels, path, "csfcube"), relevant_from=2, annotators=by_name
    )


def _csfcube_grades(judged: Any, column: str, seed: str, where: str) -> dict[str, int]:
    """doc_id -> grade, without the seed and what an annotator did not grade (-1)."""
    try:
        pairs = list(zip(judged["cands"], judged[column], strict=True))
    except (KeyError, TypeError, ValueError) as error:
        raise BadInputError(
            f"{where}: 'cands' and '{column}' are not two lists of the same length.",
            "Take the file as CSFCube has it.",
        ) from error
    grades: dict[str, int] = {}
    for number, (doc_id, value) in enumerate(pairs, start=1):
        if doc_id == seed or (column != ADJUDICATED and str(value) == "-1"):
            continue
        place = f"{where}, candidate {number} ('{doc_id}') in '{column}'"
        grade = check_grade(str(value), place, MOST_GRADE)
        if grades.setdefault(str(doc_id), grade) != grade:
            raise BadInputError(f"{place}: it has another grade above.", "Keep one of the two.")
    return grades


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
    warnings = judgments.warnings
    if longer := sum(len(topic.instruction or "") > LONGEST_INSTRUCTION for topic in topics):
        which = counted(longer, "query has", "queries have")
        most = f"{LONGEST_INSTRUCTION:,}"
        warnings += (f"{which} an instruction of more than {most} characters; left out.",)
        topics = tuple(
            replace(t, instruction=None) if len(t.instruction or "") > LONGEST_INSTRUCTION else t
            for t in topics
        )
    return Collection(_name(path), topics, judgments.qrels, path, "beir", warnings=warnings)


def wording_of(query: Mapping[str, Any]) -> str | None:
    """The instruction beside a query, of FollowIR the original one; None where there is none."""
    found = (query.get(name) for name in ("instruction", "instruction_og"))
    words = next((words for words in found if isinstance(words, str)), "")
    return " ".join(words.split()) or None


def _impliret(path: Path) -> Collection:
    lines = io.StringIO(decoded(content_of(path), path.name), newline="")
    try:
        rows = list(csv.DictReader(lines))
    except csv.Error as error:
        raise BadInputError(f"{path.name} is no CSV ({error}).", "Correct it.") from error
    topics = []
    for number, row in enumerate(rows, start=1):
        where = f"{path.name}, row {number}"
        text, answer = _field(row, "question", where), row.get("answer") or None
        topics.append(Topic(_field(row, "id", where), text=text, answer=answer))
    qrels = {topic.query_id: {topic.query_id: 1} for topic in topics}
    return Collection(_name(path), tuple(topics), qrels, path, "impliret", complete=True)


_READERS: Mapping[str, Callable[[Path], Collection]] = {
    "native": _native,
    "csfcube": _csfcube,
    "beir": _beir,
    "impliret": _impliret,
}
