"""The test collections that a home knows, and the judgments and runs that people brought."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from engine.annotate.projects import read_query_id
from engine.collections.judgment_formats import decoded
from engine.collections.readers import NoCollectionError, cached_collection, held
from engine.collections.trec import read_qrels, read_run
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.summary import is_synthetic
from engine.errors import BadInputError, SeedLensError, UnknownNameError
from engine.evaluate.human import HUMAN
from engine.evaluate.judged_projects import FORMAT as PROJECT_FORMAT
from engine.evaluate.judged_projects import JudgedProjects, ProjectKey
from engine.evaluate.system_runs import fitted_run
from engine.search.systems import PREPARED, SYSTEMS
from engine.search.topics import SystemRun, sampled
from engine.types.collections import Collection, HeldCollection, Qrels, Topic
from engine.types.corpora import CorpusInfo
from engine.types.evaluations import CollectionInfo, UploadedRun
from engine.types.searches import Ranking
from storage.ledger import Ledger
from storage.records import QrelsRow, RunRow

log = logging.getLogger("seedlens")

UPLOADED = "qrels-"
"""What the key of uploaded judgments begins with; corpora of such a name keep theirs."""
LONGEST_NAME = 40
"""Characters of an uploaded run's name."""


class Shelf:
    """Collections of one home. What was read is kept until its files change."""

    def __init__(self, ledger: Ledger, library: Library) -> None:
        self._ledger, self._library = ledger, library
        self._projects = JudgedProjects(ledger, library)
        self._parsed = functools.lru_cache(maxsize=8)(self._parse_run)
        self._uploaded = functools.lru_cache(maxsize=16)(self._read_uploaded)

    # -- collections -----------------------------------------------------------------------

    def collections(self) -> tuple[CollectionInfo, ...]:
        """Collections that corpora came from, by name, then what was judged here, then uploaded
        judgments."""
        found = []
        for name in self._library.names():
            info = self._of_corpus(self._library.corpus(name))
            if info is not None:
                found.append(info)
        found += map(self._of_project, self._projects.keys())
        names = set(self._library.names())
        found += [
            self._of_qrels(row) for row in self._ledger.experiments.qrels() if row.corpus in names
        ]
        return tuple(found)

    def info(self, key: str) -> CollectionInfo:
        """One collection, or UnknownNameError."""
        row = self._qrels(key)
        if row is not None:
            return self._of_qrels(row)
        project = ProjectKey.read(key)
        if project is not None:
            return self._of_project(project)
        found = self._of_corpus(self._library.corpus(key))
        if found is None:
            raise UnknownNameError(
                f"The corpus '{key}' did not come from a test collection, or that is gone.",
                "Choose another collection, or upload judgments for it.",
            )
        return found

    def read(self, key: str) -> Collection:
        """The topics and judgments of a collection; BadInputError when they cannot be read."""
        return self._held(key).collection

    def digest(self, key: str, sample: int | None) -> str:
        """Tells collections apart by their content, the topics of a sample by which they are."""
        return f"{self._held(key).digest} {sample or 'all'}"

    def topics(self, key: str, sample: int | None) -> tuple[Topic, ...]:
        """The topics of a sample, or all of them."""
        return sampled(self.read(key).topics, sample)

    def query_titles(self, key: str) -> dict[str, str]:
        """query_id -> the seed's title, or the beginning of its text."""
        corpus = self._library.open(self.info(key).corpus)
        found = {}
        for topic in self.read(key).topics:
            row = corpus.row_of.get(topic.seed or "")
            title = corpus.titles[row] if row is not None else ""
            found[topic.query_id] = title or topic.seed or (topic.text or "")[:80]
        return found

    def _held(self, key: str) -> HeldCollection:
        row = self._qrels(key)
        if row is not None:
            return self._uploaded(row, self._library.open(row.corpus).identity)
        project = ProjectKey.read(key)
        if project is not None:
            return self._projects.held(project)
        path = Path(self._library.corpus(key).source)
        return cached_collection(path)

    def _read_uploaded(self, row: QrelsRow, version: str) -> HeldCollection:
        del version  # only there so that a changed corpus is looked at again
        judgments = read_qrels(row.qrels, row.name)
        topics, warnings = _topics_of(judgments.qrels, self._library.open(row.corpus), row.name)
        asked = {t.query_id for t in topics}
        collection = Collection(
            name=Path(row.name).stem,
            topics=topics,
            qrels={q: grades for q, grades in judgments.qrels.items() if q in asked},
            documents=None,
            source_format="qrels",
            warnings=(*judgments.warnings, *warnings),
        )
        return held(collection)

    def _of_corpus(self, corpus: CorpusInfo) -> CollectionInfo | None:
        path = Path(corpus.source)
        if corpus.state != "ready" or not path.is_absolute() or not path.exists():
            return None
        problem, held = "", None
        try:
            held = cached_collection(path)
        except (NoCollectionError, UnknownNameError):
            return None  # documents without judgments: most corpora
        except SeedLensError as error:
            problem = str(error)
        except (OSError, ValueError) as error:
            log.warning("The collection %s could not be read: %s", path, error)
            problem = f"{path} could not be read: {error}"
        return _described(corpus.name, corpus, str(path), held, problem)

    def _of_qrels(self, row: QrelsRow) -> CollectionInfo:
        corpus = self._library.corpus(row.corpus)
        problem, held = "", None
        try:
            held = self._held(f"{UPLOADED}{row.id}")
        except SeedLensError as error:
            problem = str(error)
        key = f"{UPLOADED}{row.id}"
        return _described(key, corpus, row.name, held, problem, uploaded=True)

    def _of_project(self, key: ProjectKey) -> CollectionInfo:
        corpus = self._library.corpus(key.corpus)
        problem, held = "", None
        try:
            held = self._projects.held(key)
        except SeedLensError as error:
            problem = str(error)
        source = key.project or "judged while exploring"
        return replace(
            _described(str(key), corpus, source, held, problem), source_format=PROJECT_FORMAT
        )

    # -- judgments that people bring -----------------------------------------------------------

    def add_qrels(self, corpus: str, name: str, content: bytes) -> CollectionInfo:
        """Keep uploaded TREC judgments for a corpus.

        Query ids like ``<seed>_<aspect>`` are read as seed and aspect. The same content is
        stored once.

        Raises:
            BadInputError: a line cannot be read, or no query id names a seed of the corpus.
        """
        text = decoded(content, name)
        opened = self._library.open(corpus)
        for known in self._ledger.experiments.qrels():
            if (known.corpus, known.qrels) == (corpus, text):
                return self._of_qrels(known)
        _topics_of(read_qrels(text, name).qrels, opened, name)
        row = QrelsRow(0, corpus, name, text, datetime.now(UTC))
        return self.info(f"{UPLOADED}{self._ledger.experiments.add_qrels(row)}")

    def remove_qrels(self, key: str) -> None:
        """Take out a collection of uploaded judgments."""
        row = self._qrels(key)
        if row is not None:
            self._ledger.experiments.remove_qrels(row.id)

    def _qrels(self, key: str) -> QrelsRow | None:
        rows = self._ledger.experiments.qrels() if key.startswith(UPLOADED) else []
        return next((row for row in rows if f"{UPLOADED}{row.id}" == key), None)

    # -- runs that people bring --------------------------------------------------------------

    def runs(self, key: str) -> tuple[UploadedRun, ...]:
        """The runs that were uploaded for a collection, in order of arrival."""
        return tuple(map(_described_run, self._ledger.experiments.uploaded_runs(key)))

    def add_run(self, key: str, name: str, content: bytes) -> UploadedRun:
        """Keep an uploaded TREC run beside our systems, under the tag that its lines have.

        The same content is stored once.

        Args:
            name: of the file.

        Raises:
            BadInputError: a line cannot be read, or it ranks no query of the collection.
        """
        digest = hashlib.sha256(content).hexdigest()
        for row in self._ledger.experiments.uploaded_runs(key):
            if json.loads(row.settings)["sha256"] == digest:
                return _described_run(row)
        run = read_run(decoded(content, name), name)
        topics = self.read(key).topics
        corpus = self._library.open(self.info(key).corpus)
        fitted = fitted_run({r.query_id: r for r in run.rankings}, name, topics)
        ranked = {doc_id for r in fitted.rankings for doc_id in r.doc_ids}
        strange = sum(doc_id not in corpus.row_of for doc_id in ranked)
        notes = list(fitted.notes)
        if strange:
            notes.append(f"{strange:,} of its documents are not in the corpus.")
        row = RunRow(
            id=0,
            collection=key,
            corpus=corpus.name,
            corpus_version="",
            system=self._free_name(key, run.tag),
            settings=json.dumps(
                {"queries": len(fitted.rankings), "notes": notes, "sha256": digest}
            ),
            uploaded=True,
            seconds=0.0,
            run=content.decode("utf-8-sig"),
            time=datetime.now(UTC),
        )
        run_id = self._ledger.experiments.add_run(row)
        return next(found for found in self.runs(key) if found.id == run_id)

    def brought(self, key: str, sample: int | None) -> list[SystemRun]:
        """The uploaded runs, cut to the topics of a sample.

        One that ranks none of the sample's queries is all empty, and says so.
        """
        topics = self.topics(key, sample)
        found = []
        for row in self._ledger.experiments.uploaded_runs(key):
            try:
                found.append(fitted_run(self._parsed(row.id), row.system, topics))
            except BadInputError:
                note = "it ranks none of these queries."
                found.append(SystemRun(row.system, (), kind="run", notes=(note,)))
        return found

    def _parse_run(self, run_id: int) -> dict[str, Ranking]:
        text = self._ledger.experiments.run_text(run_id)
        return {r.query_id: r for r in read_run(text, f"run {run_id}").rankings}

    def _free_name(self, key: str, tag: str) -> str:
        """The tag, set apart from our systems and from other runs."""
        taken = {*SYSTEMS, *PREPARED, HUMAN, *(run.name for run in self.runs(key))}
        name = tag[:LONGEST_NAME]
        if name in taken:
            name = f"{name} (uploaded)"
        number = 2
        while name in taken:
            name, number = f"{tag[:LONGEST_NAME]} (uploaded {number})", number + 1
        return name


def _topics_of(
    qrels: Qrels, corpus: OpenCorpus, file: str
) -> tuple[tuple[Topic, ...], tuple[str, ...]]:
    """Seed and aspect of every query id ``<seed>_<aspect>``, and what was not understood."""
    topics, strange = [], []
    for query_id in qrels:
        named = read_query_id(query_id, corpus.row_of, corpus.aspects)
        if named is None:
            strange.append(query_id)
        else:
            topics.append(Topic(query_id, seed=named.seed, aspect=named.aspect))
    if not topics:
        raise BadInputError(
            f"{file}: no query id is a seed of corpus '{corpus.name}' and one of its aspects, "
            f"like '<seed>_{corpus.aspects[0]}' (the first is '{strange[0]}').",
            "Queries of other ids need topics: put topics.jsonl and qrels.txt into a folder with "
            "the documents and import that.",
        )
    if not strange:
        return tuple(topics), ()
    which = f"{len(strange):,} queries are" if len(strange) > 1 else "1 query is"
    return tuple(topics), (
        f"{which} left out: no seed and aspect of this corpus (first: '{strange[0]}').",
    )


def _described(
    key: str,
    corpus: CorpusInfo,
    source: str,
    held: HeldCollection | None,
    problem: str,
    *,
    uploaded: bool = False,
) -> CollectionInfo:
    if held is None:
        return CollectionInfo(
            key, key, corpus.name, source, corpus.source_format, problem=problem, uploaded=uploaded
        )
    found = held.collection
    return CollectionInfo(
        key=key,
        name=found.name,
        corpus=corpus.name,
        source=source,
        source_format=found.source_format,
        queries=len(found.topics),
        seeds=len({t.query_id if t.seed is None else t.seed for t in found.topics}),
        aspects=tuple(dict.fromkeys(t.aspect for t in found.topics if t.aspect is not None)),
        judgments=sum(map(len, found.qrels.values())),
        complete=found.complete,
        pooled=all(t.pool is not None for t in found.topics),
        annotators=tuple(found.annotators),
        uploaded=uploaded,
        synthetic=not uploaded and is_synthetic(corpus),
        warnings=found.warnings,
    )


def _described_run(row: RunRow) -> UploadedRun:
    about = json.loads(row.settings)
    return UploadedRun(
        id=row.id,
        name=row.system,
        queries=about["queries"],
        notes=tuple(about["notes"]),
        time=row.time.isoformat(timespec="seconds"),
    )
