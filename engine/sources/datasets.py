"""Data sets of ``ir_datasets`` by their names, as folders that are imported and evaluated like any
other collection."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from engine.errors import BadInputError, UnknownNameError
from engine.sources.client import StoppedError, number
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import DATASET_PREFIX as PREFIX
from engine.types.corpora import DatasetInfo, Progress
from engine.types.limits import LONGEST_INSTRUCTION
from storage.home import Home, suggest_corpus_name
from storage.locks import alone

TEST = "test"  # The part of a data set whose judgments are taken where it has none itself
_TEXTS = ("text", "abstract", "body", "contents", "content", "passage")
_YEAR = re.compile(r"(?<!\d)((?:1[5-9]|20)\d\d)(?!\d)")
_ABOUT = "collection.json"
_REPORT_EVERY = 500  # Documents between two reports of progress
_HOST = re.compile(r"host='([\w.-]+)'")


def folder_of(home: Home, name: str) -> Path:
    """Where a data set is kept: beside what people uploaded, as it is kept and removed like it."""
    digest = hashlib.sha256(f"{PREFIX}{name}".encode()).hexdigest()[:16]
    return home.uploads / digest / suggest_corpus_name(name)


def dataset_names(home: Home) -> tuple[str, ...]:
    """The names of all data sets that have documents; BadInputError without ``ir_datasets``."""
    library = _library(home)
    return tuple(sorted(name for name in library.registry if library.load(name).has_docs()))


def describe_dataset(home: Home, name: str) -> DatasetInfo:
    """What a data set brings, as ``ir_datasets`` knows it; nothing is downloaded."""
    dataset = _named(home, name)
    part, judged = _judged(home, dataset, name)
    queries = judged and _count(judged, "queries")
    judgments = judged and _count(judged, "qrels")
    there = folder_of(home, name).is_dir()
    return DatasetInfo(name, _count(dataset, "docs"), part, queries, judgments, there)


def name_of(folder: Path) -> str:
    """The data set that :func:`fetch_dataset` wrote into a folder; "" where it wrote none."""
    try:
        source = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))["source"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    named = isinstance(source, str) and source.startswith(PREFIX)
    return source.removeprefix(PREFIX) if named else ""


def fetch_dataset(
    home: Home, name: str, on_progress: Tell = tell_nobody, stopped: Ask = never
) -> Path | None:
    """The folder of a data set: ``corpus.jsonl`` and, where there are queries with judgments,
    ``topics.jsonl`` and ``qrels.txt``. What is not there yet is downloaded and written.

    A query's ``instruction``, or TREC's ``narrative``, becomes the wording of its topic. Grades
    below 0 become 0, those above 3 become 3.

    Returns None where it was stopped before all was written.
    """
    folder = folder_of(home, name)
    if folder.is_dir():
        return folder
    dataset = _named(home, name)
    busy = "A data set is being downloaded by another process."
    lock = _downloads(home).with_suffix(".lock")
    with alone(lock, busy, "Wait until it is done, or cancel it."):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as scratch:
            written = Path(scratch) / "written"
            written.mkdir()
            documents = _documents(dataset, on_progress, stopped)
            judged = _judged(home, dataset, name)[1]
            work = partial(_write, documents, judged, written, name)
            if not _finished(work, stopped, name):
                return None
            if not folder.is_dir():  # another process may have been first
                shutil.move(written, folder)
    return folder


def _documents(dataset: Any, on_progress: Tell, stopped: Ask) -> Iterator[Any]:
    """Documents, while their number is reported; ends with StoppedError when it is stopped."""
    expected = _count(dataset, "docs") or 0
    started = time.perf_counter()
    for done, document in enumerate(dataset.docs_iter(), start=1):
        yield document
        if done % _REPORT_EVERY == 0:
            if stopped():
                raise StoppedError
            seconds = time.perf_counter() - started
            rate, total = done / max(seconds, 1e-9), max(expected, done)
            on_progress(Progress("retrieving", done, total, seconds, rate))


def _finished(work: Callable[[], object], stopped: Ask, name: str) -> bool:
    """Do something in a thread; False as soon as it is stopped. A download cannot be interrupted:
    its thread is left behind then, and ends with the process."""
    if stopped():
        return False
    failed: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:  # dozens of kinds: of the network, of archives, of parsers
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True, name="ir_datasets")
    thread.start()
    while thread.is_alive():
        if stopped():
            return False
        thread.join(0.1)
    if failed and not isinstance(failed[0], StoppedError):
        raise _unavailable(name, failed[0]) from failed[0]
    return not failed


def _downloads(home: Home) -> Path:
    """What is downloaded, which is only needed until it is written as a collection."""
    return home.retrieved / "ir_datasets"


def _library(home: Home) -> Any:
    """``ir_datasets``, which makes its folders as it is imported."""
    home.create()
    os.environ.setdefault("IR_DATASETS_HOME", str(_downloads(home)))
    if not sys.stderr.isatty():  # a bar would fill the log of a job
        os.environ.setdefault("IR_DATASETS_DL_DISABLE_PBAR", "true")
    os.environ.setdefault("IR_DATASETS_SKIP_DEPRECATED_WARNING", "true")
    try:
        import ir_datasets
    except ImportError as error:
        raise BadInputError(
            "Data sets by name need ir_datasets, which is not installed.",
            "Install it: pip install 'seedlens[datasets]'.",
        ) from error
    return ir_datasets


def _named(home: Home, name: str) -> Any:
    """The data set of a name; raises as :func:`fetch_dataset`."""
    library = _library(home)
    try:
        dataset = library.load(name)
    except KeyError as error:
        near = difflib.get_close_matches(name, list(library.registry), 3, 0.5)
        names = f"Did you mean {', '.join(near)}? " if near else ""
        raise UnknownNameError(
            f"ir_datasets has no data set {name[:100]!r}.", f"{names}All: ir-datasets.com."
        ) from error
    if not dataset.has_docs():
        raise BadInputError(f"The data set {name} has no documents.", "Choose one that has.")
    return dataset


def _judged(home: Home, dataset: Any, name: str) -> tuple[str, Any | None]:
    """What has queries with judgments, and its name: the data set itself, or the test part."""
    if dataset.has_queries() and dataset.has_qrels():
        return name, dataset
    with suppress(KeyError):
        part = _library(home).load(f"{name}/{TEST}")
        if part.has_queries() and part.has_qrels():
            return f"{name}/{TEST}", part
    return "", None


def _count(dataset: Any, kind: str) -> int | None:
    """How many ``docs``, ``queries`` or ``qrels`` there are; None where ``ir_datasets`` does not
    know it without a download."""
    known = (dataset.metadata() or {}).get(kind) or {}
    return number(known.get("count"))


def _unavailable(name: str, error: Exception) -> BadInputError:
    words = " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
    host = _HOST.search(words)
    reason = f"no answer from {host[1]}" if host else words
    return BadInputError(
        f"The data set {name} cannot be downloaded or read: {reason}.",
        "Check the connection; ir-datasets.com says how to get data sets that are not public.",
    )


def _write(documents: Iterator[Any], judged: Any | None, folder: Path, name: str) -> None:
    _write_lines(folder / "corpus.jsonl", map(_document, documents))
    described = {"name": suggest_corpus_name(name), "source": f"{PREFIX}{name}"}
    (folder / _ABOUT).write_text(json.dumps(described), encoding="utf-8")
    if judged is None:
        return
    qrels: dict[str, dict[str, int]] = {}
    for one in judged.qrels_iter():
        grade = max(0, int(one.relevance))
        of_query, doc_id = qrels.setdefault(_id(one.query_id), {}), _id(one.doc_id)
        of_query[doc_id] = max(grade, of_query.get(doc_id, 0))
    topics = [topic for topic in map(_topic, judged.queries_iter()) if topic["query_id"] in qrels]
    if not topics:
        return
    _write_lines(folder / "topics.jsonl", iter(topics))
    with (folder / "qrels.txt").open("w", encoding="utf-8") as out:
        for query_id, grades in qrels.items():
            out.writelines(f"{query_id} 0 {doc_id} {grade}\n" for doc_id, grade in grades.items())


def _write_lines(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def _id(value: Any) -> str:
    """An id without white space, which TREC's files part ids by."""
    return "_".join(str(value).split())


def _document(doc: Any) -> dict[str, Any]:
    fields = doc._asdict()
    title = str(fields.get("title") or "")
    text = next((str(fields[name]) for name in _TEXTS if fields.get(name)), "")
    if not text and not title:
        text = str(doc.default_text())
    year = _YEAR.search(str(fields.get("year") or fields.get("date") or ""))
    return {
        "doc_id": _id(doc.doc_id),
        "title": title,
        "text": text,
        **({"year": int(year[1])} if year else {}),
        **({"url": str(fields["url"])} if fields.get("url") else {}),
    }


def _topic(query: Any) -> dict[str, Any]:
    fields = query._asdict()
    wording = " ".join(str(fields.get("instruction") or fields.get("narrative") or "").split())
    topic = {"query_id": _id(query.query_id), "text": str(query.default_text())}
    # A longer one could not be asked.
    return topic | ({"instruction": wording} if 0 < len(wording) <= LONGEST_INSTRUCTION else {})
