"""The test collections that a home knows, and the judgments and runs that people uploaded."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from engine.annotate.projects import read_query_id
from engine.collections.judgment_formats import decoded
from engine.collections.readers import NoCollectionError, cached_collection, held
from engine.collections.trec import read_qrels, read_run
from engine.corpora.library import Library, is_synthetic
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError, SeedLensError, UnknownNameError
from engine.evaluate.human import HUMAN
from engine.evaluate.judged_projects import FORMAT as PROJECT_FORMAT
from engine.evaluate.judged_projects import JudgedProjects, ProjectKey
from engine.evaluate.model_runs import asks_model
from engine.permissions import all_for_leads, operator_only
from engine.search.systems import PREPARED, SYSTEMS
from engine.search.topics import SystemRun, sampled, seed_of
from engine.text import counted
from engine.types.corpora import CorpusInfo
from engine.types.evaluations import (
    Collection,
    CollectionInfo,
    HeldCollection,
    Qrels,
    Topic,
    UploadedRun,
)
from engine.types.people import ForPerson
from engine.types.searches import Query, Ranking
from storage.ledger import Ledger
from storage.records import QrelsRow, RunRow

log = logging.getLogger("seedlens")

UPLOADED = "qrels-"
"""What the key of uploaded judgments begins with; corpora of such a name keep theirs."""
FILES = "@"
"""Between corpus and path in the key of files that no corpus came from."""
LONGEST_NAME = 40
"""Characters of an uploaded run's name."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A collection's key, corpus, and reader."""

    key: str
    corpus: CorpusInfo
    source: str  # of its judgments, in words
    read: Callable[[], HeldCollection]
    source_format: str = ""  # "" for what the files say
    uploaded: bool = False  # the judgments came through the browser


@all_for_leads
class CollectionStore(ForPerson):
    """Collections of one home, cached until their files change; thread-safe."""

    def __init__(self, ledger: Ledger, library: Library) -> None:
        self._ledger, self._library = ledger, library
        self._experiments = ledger.experiments
        self._named: set[str] = set()
        self._projects = JudgedProjects(ledger, library)
        self._parsed = functools.lru_cache(maxsize=8)(self._parse_run)
        self._uploaded = functools.lru_cache(maxsize=16)(self._read_uploaded)

    # -- collections -----------------------------------------------------------------------

    def all(self) -> tuple[CollectionInfo, ...]:
        """Collections by name: those of corpora, judged projects, uploaded judgments, then
        evaluated files.

        One with broken files has a ``problem``; one without its files is left out.
        """
        names = self._library.names()
        infos = [info for info in map(self._of_corpus, names) if info is not None]
        places = list(map(self._of_project, self._projects.keys()))
        places += [self._of_qrels(row) for row in self._experiments.qrels() if row.corpus in names]
        files = filter(None, map(files_of, self._experiments.collections()))
        places += [self._of_files(c, path) for c, path in files if c in names and path.exists()]
        return (*infos, *map(_described, places))

    @operator_only
    def key_of(self, path: Path, corpus: str) -> str:
        """The key of files evaluated on a corpus: the corpus if it came from them."""
        path, source = path.resolve(), Path(self._library.corpus(corpus).source)
        if source.is_absolute() and source.resolve() == path:
            return corpus
        key = f"{corpus}{FILES}{path}"
        self._named.add(key)
        return key

    def info(self, key: str) -> CollectionInfo:
        """One collection, or UnknownNameError."""
        place = self._place(key)
        if place is not None:
            return _described(place)
        if all(corpus.name != key for corpus in self._library.corpora()):
            raise UnknownNameError(
                f"There is no test collection '{key}'.",
                "Choose another one, or import the test collection's folder under this name.",
            )
        info = self._of_corpus(key)
        if info is None:
            raise UnknownNameError(
                f"The corpus '{key}' did not come from a test collection, or that is gone.",
                "Choose another collection, or upload judgments for it.",
            )
        return info

    def read(self, key: str) -> Collection:
        """The topics and judgments of a collection; BadInputError when they cannot be read."""
        return self._held(key).collection

    def digest(self, key: str, sample: int | None) -> str:
        """Tells collections apart by their content, the topics of a sample by which they are."""
        return f"{self._held(key).digest} {sample or 'all'}"

    def topics(self, key: str, sample: int | None) -> tuple[Topic, ...]:
        """The topics of a sample, or all of them."""
        return sampled(self.read(key).topics, sample)

    def queries(self, key: str) -> dict[str, Query]:
        """query_id -> what it asks of the collection's corpus."""
        corpus = self.info(key).corpus
        return {topic.query_id: topic.query(corpus) for topic in self.read(key).topics}

    def query_titles(self, key: str) -> dict[str, str]:
        """query_id -> the seed's title, or the beginning of its text."""
        corpus = self._library.open(self.info(key).corpus)
        titles = {}
        for topic in self.read(key).topics:
            row = corpus.row_of.get(topic.seed or "")
            title = corpus.titles[row] if row is not None else ""
            titles[topic.query_id] = title or topic.seed or (topic.text or "")[:80]
        return titles

    def _held(self, key: str) -> HeldCollection:
        place = self._place(key)
        if place is not None:
            return place.read()
        return cached_collection(Path(self._library.corpus(key).source))

    def _place(self, key: str) -> _Place | None:
        """The place of a key; None for a corpus or an unknown key."""
        row = self._qrels(key)
        if row is not None:
            return self._of_qrels(row)
        files = files_of(key)
        if files is not None:
            # A key may come from a link, and nobody may open whatever path they write there.
            if key not in self._named and key not in self._experiments.collections():
                raise UnknownNameError(
                    f"Nothing was evaluated here by the files at {files[1]}.",
                    "Run seedlens evaluate with this path first.",
                )
            return self._of_files(*files)
        project = ProjectKey.read(key)
        return None if project is None else self._of_project(project)

    def _of_corpus(self, name: str) -> CollectionInfo | None:
        """The collection that a corpus came from, or None."""
        corpus = self._library.corpus(name)
        path = Path(corpus.source)
        if corpus.state != "ready" or not path.is_absolute() or not path.exists():
            return None
        absent = (NoCollectionError, UnknownNameError)
        try:
            place = _Place(name, corpus, str(path), lambda: cached_collection(path))
            return _described(place, absent)
        except absent:
            return None  # documents without judgments: most corpora

    def _of_files(self, corpus: str, path: Path) -> _Place:
        known, key = self._library.corpus(corpus), f"{corpus}{FILES}{path}"
        return _Place(key, known, str(path), lambda: cached_collection(path))

    def _of_qrels(self, row: QrelsRow) -> _Place:
        def read() -> HeldCollection:
            return self._uploaded(row, self._library.open(row.corpus).identity)

        corpus = self._library.corpus(row.corpus)
        return _Place(f"{UPLOADED}{row.id}", corpus, row.name, read, uploaded=True)

    def _of_project(self, key: ProjectKey) -> _Place:
        source, corpus = key.project or "judged while exploring", self._library.corpus(key.corpus)
        place = _Place(str(key), corpus, source, lambda: self._projects.held(key))
        return replace(place, source_format=PROJECT_FORMAT)

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

    # -- judgments that people upload -----------------------------------------------------------

    def add_qrels(self, corpus: str, name: str, content: bytes) -> CollectionInfo:
        """Store uploaded TREC judgments for a corpus; equal contents once. Query ids
        ``<seed>_<aspect>`` are read as such."""
        text = decoded(content, name)
        opened = self._library.open(corpus)
        for known in self._experiments.qrels():
            if (known.corpus, known.qrels) == (corpus, text):
                return _described(self._of_qrels(known))
        _topics_of(read_qrels(text, name).qrels, opened, name)
        row = QrelsRow(0, corpus, name, text, datetime.now(UTC))
        return self.info(f"{UPLOADED}{self._experiments.add_qrels(row)}")

    def remove_qrels(self, key: str) -> None:
        """Take out a collection of uploaded judgments."""
        row = self._qrels(key)
        if row is not None:
            self._experiments.remove_qrels(row.id)

    def _qrels(self, key: str) -> QrelsRow | None:
        rows = self._experiments.qrels() if key.startswith(UPLOADED) else []
        return next((row for row in rows if f"{UPLOADED}{row.id}" == key), None)

    # -- runs that people upload --------------------------------------------------------------

    def runs(self, key: str) -> tuple[UploadedRun, ...]:
        """The runs that were uploaded for a collection, in order of arrival."""
        return tuple(map(_described_run, self._experiments.uploaded_runs(key)))

    def add_run(self, key: str, name: str, content: bytes) -> UploadedRun:
        """Store an uploaded TREC run under the tag in its lines; equal contents once.

        Args:
            name: of the file.
        """
        digest = hashlib.sha256(content).hexdigest()
        for row in self._experiments.uploaded_runs(key):
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
        run_id = self._experiments.add_run(row)
        return next(run for run in self.runs(key) if run.id == run_id)

    def remove_run(self, run_id: int) -> None:
        """Take out an uploaded run."""
        self._experiments.remove_run(run_id)

    def uploaded_runs(self, key: str, sample: int | None) -> list[SystemRun]:
        """The uploaded runs, cut to the topics of a sample; one without any of these is empty, with
        a note."""
        topics = self.topics(key, sample)
        runs = []
        for row in self._experiments.uploaded_runs(key):
            try:
                runs.append(fitted_run(self._parsed(row.id, row.settings), row.system, topics))
            except BadInputError:
                note = "it ranks none of these queries."
                runs.append(SystemRun(row.system, (), kind="run", notes=(note,)))
        return runs

    def _parse_run(self, run_id: int, settings: str) -> dict[str, Ranking]:
        del settings  # only there since another ledger in the place of this one has the same ids
        text = self._experiments.run_text(run_id)
        return {r.query_id: r for r in read_run(text, f"run {run_id}").rankings}

    def _free_name(self, key: str, tag: str) -> str:
        """The tag, made different from names of systems, reranked ones, people and other runs."""
        people = (f"{HUMAN}-{who}" for who in self.read(key).annotators)
        taken = {*SYSTEMS, *PREPARED, HUMAN, *people, *(run.name for run in self.runs(key))}

        def is_taken(name: str) -> bool:
            return name in taken or asks_model(name)

        name = tag[:LONGEST_NAME]
        if is_taken(name):
            name = f"{name} (uploaded)"
        number = 2
        while is_taken(name):
            name, number = f"{tag[:LONGEST_NAME]} (uploaded {number})", number + 1
        return name


def files_of(key: str) -> tuple[str, Path] | None:
    """The corpus and path in the key of files; None for other keys.

    >>> files_of("demo@/data/mine"), files_of("demo")
    (('demo', PosixPath('/data/mine')), None)
    """
    corpus, sign, path = key.partition(FILES)
    return (corpus, Path(path)) if sign and path.startswith("/") else None


def fitted_run(run: Mapping[str, Ranking], name: str, topics: Sequence[Topic]) -> SystemRun:
    """An uploaded run, cut to the topics and without the seeds, with notes on what it lacks."""
    rankings, seeds_out = [], 0
    for topic in topics:
        ranking = run.get(topic.query_id)
        if ranking is None:
            continue
        pairs = zip(ranking.doc_ids, ranking.scores, strict=True)
        kept = [(doc_id, score) for doc_id, score in pairs if doc_id != topic.seed]
        seeds_out += len(kept) < len(ranking.doc_ids)
        doc_ids, scores = tuple(d for d, _ in kept), tuple(s for _, s in kept)
        rankings.append(Ranking(topic.query_id, doc_ids, scores))
    if not rankings:
        raise BadInputError(
            f"The run '{name}' ranks none of the {len(topics)} queries; its first is "
            f"'{next(iter(run), '')}', the collection's first is '{topics[0].query_id}'.",
            "Check that it was made for this collection.",
        )
    notes = []
    if len(rankings) < len(topics):
        ranked = f"{len(rankings):,} of {counted(len(topics), 'query', 'queries')}"
        notes.append(f"it ranks {ranked}, and is measured on these.")
    if seeds_out:
        notes.append(f"the seed was taken out of {seeds_out:,} of its own rankings.")
    return SystemRun(name, tuple(rankings), kind="run", notes=tuple(notes))


def _topics_of(
    qrels: Qrels, corpus: OpenCorpus, file: str
) -> tuple[tuple[Topic, ...], tuple[str, ...]]:
    """Seed and aspect of every query id ``<seed>_<aspect>``, and notes on unread ids."""
    topics, strange = [], []
    for query_id in qrels:
        named = read_query_id(query_id, corpus)
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
    which = counted(len(strange), "query is", "queries are")
    warning = f"{which} left out: no seed and aspect of this corpus (first: '{strange[0]}')."
    return tuple(topics), (warning,)


def _described(place: _Place, absent: tuple[type[SeedLensError], ...] = ()) -> CollectionInfo:
    """A collection's description, or its problem; errors in ``absent`` are raised."""
    key, corpus, source = place.key, place.corpus, place.source
    kind = place.source_format or corpus.source_format
    known = CollectionInfo(key, key, corpus.name, source, kind, uploaded=place.uploaded)
    try:
        collection = place.read().collection
    except absent:
        raise
    except SeedLensError as error:
        return replace(known, problem=str(error))
    except (OSError, ValueError) as error:
        log.warning("The collection %s could not be read: %s", source, error)
        return replace(known, problem=f"{source} could not be read: {error}")
    return replace(
        known,
        name=collection.name,
        source_format=place.source_format or collection.source_format,
        queries=len(collection.topics),
        seeds=len({seed_of(topic) for topic in collection.topics}),
        aspects=tuple(dict.fromkeys(t.aspect for t in collection.topics if t.aspect is not None)),
        judgments=sum(map(len, collection.qrels.values())),
        complete=collection.complete,
        pooled=all(t.pool is not None for t in collection.topics),
        annotators=tuple(collection.annotators),
        synthetic=is_synthetic(corpus) and not place.uploaded,
        warnings=collection.warnings,
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
