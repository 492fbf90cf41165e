"""The test collections of a home, with uploaded judgments and runs."""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import re
import secrets
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, cast

from engine.annotate.adjudication import DecidedQrels, decide, own_grades
from engine.annotate.pool import graded
from engine.annotate.projects import ProjectStore, read_query_id
from engine.collections.judgment_formats import decoded
from engine.collections.readers import NoCollectionError, cached_collection, without_seeds
from engine.collections.trec import read_qrels, read_run
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.recent import Recent
from engine.errors import BadInputError, SeedLensError, UnknownNameError
from engine.evaluate.evaluation_run import HUMAN, among, asks_model, but, from_zero, topic_of
from engine.permissions import all_for_leads, operator_only
from engine.search.systems import PREPARED, SYSTEMS
from engine.search.topics import SystemRun, sampled, seed_of
from engine.text import counted
from engine.types.annotating import Judgment, Project
from engine.types.evaluations import (
    Collection,
    CollectionInfo,
    EvaluationRequest,
    Qrels,
    Topic,
    UploadedRun,
)
from engine.types.people import ForPerson
from engine.types.searches import Query, Ranking
from storage.ledger import Ledger

log = logging.getLogger("seedlens")

UPLOADED, PROJECT, FILES = "qrels-", ":", "@"
"""Keys of collections: uploaded judgments are ``qrels-<number>``, a project ``<corpus>:<name>``,
files that no corpus came from ``<corpus>@<path>``, all others the name of their corpus."""
LONGEST_NAME = 40
"""Characters of an uploaded run's name."""


@dataclass(frozen=True, slots=True)
class UploadedQrels:
    """A file of judgments that somebody uploaded for a corpus."""

    corpus: str
    name: str
    qrels: str


class _Place(NamedTuple):
    """Where a collection is: what is known without reading it, and how to read it."""

    info: CollectionInfo
    read: Callable[[], Collection]


@all_for_leads
class CollectionStore(ForPerson):
    """Collections of one home, cached until their files change; thread-safe."""

    def __init__(self, ledger: Ledger, library: Library) -> None:
        self._library = library
        self._files = ledger.documents("collection of files", str)
        self._named: set[str] = set()
        self._uploaded_qrels = ledger.documents("uploaded judgments", UploadedQrels)
        self._uploaded_runs = ledger.documents("uploaded run", UploadedRun)
        self._texts = ledger.documents("text of an uploaded run", str)
        self._projects = ProjectStore(ledger, library)
        self._made = Recent[Hashable, Collection](32)  # of projects, and of uploaded judgments
        self._runs = Recent[Hashable, dict[str, Ranking]](8)

    # -- collections -----------------------------------------------------------------------

    def all(self) -> tuple[CollectionInfo, ...]:
        """Collections by name: those of corpora, judged projects, uploaded judgments, then
        evaluated files. One with broken files has a ``problem``; one without files is left out."""
        infos = (_described(self._place(key)) for key in self._keys())
        return tuple(info for info in infos if info is not None)

    def _keys(self) -> Iterator[str]:
        names = self._library.names()
        yield from (
            name
            for name in names
            if self._library.corpus(name).state == "ready" and self._source_of(name) is not None
        )
        for corpus, project in self._judged():
            yield f"{corpus}{PROJECT}{project}"
        for uploaded in self._uploaded_qrels.all():
            if uploaded.value.corpus in names:
                yield f"{UPLOADED}{uploaded.key}"
        for stored in self._files.all():
            corpus, _, path = _parts(stored.key)
            if corpus in names and Path(path).exists():
                yield stored.key

    @operator_only
    def key_of(self, path: Path, corpus: str) -> str:
        """The key of files evaluated on a corpus: the corpus if it came from them."""
        path = path.resolve()
        source = self._source_of(corpus)
        if source is not None and source.resolve() == path:
            return corpus
        key = f"{corpus}{FILES}{path}"
        self._named.add(key)
        return key

    def remember(self, key: str) -> None:
        """List a collection of files from now on: something of it is stored."""
        if _parts(key)[1] == FILES and self._files.get(key) is None:
            self._files.put(key, "")

    def info(self, key: str) -> CollectionInfo:
        """One collection, or UnknownNameError."""
        info = _described(self._place(key))
        if info is None:
            raise _unknown(key)
        return info

    def read(self, key: str) -> Collection:
        """The topics and judgments of a collection; BadInputError when they cannot be read."""
        return self._place(key).read()

    def asked(self, request: EvaluationRequest) -> Collection:
        """The collection of a request; of one for uploaded runs, with the judged queries that all
        of them rank."""
        key, collection = request.collection, self.read(request.collection)
        if not request.runs:
            return collection
        known = {run.name: run for run in self.runs(key)}
        if strange := [name for name in request.runs if name not in known]:
            raise UnknownNameError(
                f"There is no run '{strange[0]}' for this collection.", "Upload it again."
            )
        runs = tuple(known[name] for name in request.runs)

        def make() -> Collection:
            ranked = set(collection.qrels).intersection(*map(self._parsed, runs))
            topics = tuple(t for t in collection.topics if t.query_id in ranked)
            if not topics:
                raise BadInputError(
                    f"No judged query is in all of the runs {', '.join(request.runs)}.",
                    "Measure them one by one.",
                )
            return replace(collection, topics=topics)

        return self._made.one((key, collection.digest, runs), make)

    def digest(self, request: EvaluationRequest) -> str:
        """Identifies the queries of a request and their judgments."""
        return f"{self.asked(request).digest} {request.sample or 'all'}"

    def topics(self, request: EvaluationRequest) -> tuple[Topic, ...]:
        """The queries of a request."""
        return sampled(self.asked(request).topics, request.sample)

    def queries(self, key: str) -> dict[str, Query]:
        """query_id -> the query on the collection's corpus."""
        corpus = self._place(key).info.corpus
        return {topic.query_id: topic.query(corpus) for topic in self.read(key).topics}

    def query_titles(self, key: str) -> dict[str, str]:
        """query_id -> the seed's title, or the beginning of its text."""
        corpus = self._library.open(self._place(key).info.corpus)
        titles = {}
        for topic in self.read(key).topics:
            row = corpus.row_of.get(topic.seed or "")
            title = corpus.titles[row] if row is not None else ""
            titles[topic.query_id] = title or topic.seed or (topic.text or "")[:80]
        return titles

    def _place(self, key: str) -> _Place:
        row = self._qrels(key)
        name, sign, rest = _parts(key) if row is None else (row.corpus, UPLOADED, row.name)
        path = Path(rest) if sign == FILES else self._source_of(name)
        # A key may come from a link, which must not open any path.
        if sign == FILES and key not in self._named and self._files.get(key) is None:
            raise UnknownNameError(
                f"Nothing was evaluated here by the files at {rest}.",
                "Run seedlens evaluate with this path first.",
            )
        if sign in ("", FILES) and path is None:
            raise _unknown(key)
        corpus = self._library.corpus(name)
        info = CollectionInfo(key, key, name, str(path), corpus.source_format)
        read = functools.partial(cached_collection, cast(Path, path))
        if row is not None:
            info = replace(info, source=rest, uploaded=True)
            read = functools.partial(self._read_uploaded, row)
        elif sign == PROJECT:
            names = {project.key[1]: project.name for project in self._projects.projects(name)}
            source = names.get(rest, rest) or "judged while exploring"
            info = replace(info, source=source, source_format="project")
            read = functools.partial(self._read_project, name, rest)
        synthetic = Library.is_synthetic(corpus) and row is None
        return _Place(replace(info, synthetic=synthetic), read)

    def _source_of(self, corpus: str) -> Path | None:
        """Where a corpus was imported from, if both are there."""
        known = corpus in self._library.names()
        path = Path(self._library.corpus(corpus).source if known else "")
        return path if path.is_absolute() and path.exists() else None

    def _read_uploaded(self, row: UploadedQrels) -> Collection:
        opened = self._library.open(row.corpus)

        def make() -> Collection:
            judgments = read_qrels(row.qrels, row.name)
            topics, warnings = _topics(judgments.qrels, {}, opened)
            qrels = {t.query_id: judgments.qrels[t.query_id] for t in topics}
            of_file = Path(row.name).stem, topics, qrels, None, "qrels"
            warnings = (*judgments.warnings, *warnings)
            return without_seeds(Collection(*of_file, warnings=warnings))

        return self._made.one((row, opened.identity), make)

    def _judged(self) -> list[tuple[str, str]]:
        """Corpus and name of projects with at least one grade that counts; "" is the name of what
        was judged while exploring."""
        named = {(corpus, ""): Project(corpus) for corpus in self._library.names()}
        named |= {p.key: p for p in self._projects.projects() if (p.corpus, "") in named}
        return [key for key, project in sorted(named.items()) if self._is_judged(project)]

    def _is_judged(self, project: Project) -> bool:
        judged = graded(project, self._projects.judgments(project)).keys()
        return not judged <= self._projects.retired(project)

    def _read_project(self, corpus: str, name: str) -> Collection:
        """Its queries and adjudicated grades; BadInputError when no query can be ranked."""
        project, opened = self._projects.at(corpus, name), self._library.open(corpus)
        judgments, queries = self._projects.judgments(project), self._projects.queries(project)
        retired, events = self._projects.retired(project), tuple(j.event for j in judgments)
        settings = project.key, project.scale, project.model_grades
        return self._made.one(
            (*settings, events, tuple(queries), retired, opened.identity),
            lambda: without_seeds(_collection(project, judgments, queries, retired, opened)),
        )

    # -- uploaded judgments ---------------------------------------------------------------------

    def add_qrels(self, corpus: str, name: str, content: bytes) -> CollectionInfo:
        """Store uploaded TREC judgments for a corpus, equal contents once; query ids are
        ``<seed>_<aspect>``."""
        text = decoded(content, name)
        known = (one for one in self._uploaded_qrels.all() if one.value.qrels == text)
        key = next((one.key for one in known if one.value.corpus == corpus), "")
        if not key:
            _topics(read_qrels(text, name).qrels, {}, self._library.open(corpus))
            key = str(_new_id())
            self._uploaded_qrels.put(key, UploadedQrels(corpus, name, text))
        return self.info(f"{UPLOADED}{key}")

    def remove_qrels(self, key: str) -> None:
        """Take out a collection of uploaded judgments."""
        if key.startswith(UPLOADED):
            self._uploaded_qrels.remove(key.removeprefix(UPLOADED))

    def _qrels(self, key: str) -> UploadedQrels | None:
        number = key.removeprefix(UPLOADED)
        return None if number == key else self._uploaded_qrels.value(number)

    # -- uploaded runs ------------------------------------------------------------------------

    def runs(self, key: str) -> tuple[UploadedRun, ...]:
        """The runs that were uploaded for a collection, in order of arrival."""
        runs = (stored.value for stored in self._uploaded_runs.all())
        # Former versions kept commas.
        return tuple(replace(r, name=r.name.replace(",", "_")) for r in runs if r.collection == key)

    def add_run(self, key: str, name: str, content: bytes) -> UploadedRun:
        """Store an uploaded TREC run from a file ``name`` under the tag in its lines; equal
        contents once."""
        digest = hashlib.sha256(content).hexdigest()
        for known in self.runs(key):
            if known.sha256 == digest:
                return known
        text = decoded(content, name)
        run = read_run(text, name)
        fitted = fitted_run({r.query_id: r for r in run.rankings}, name, self.read(key).topics)
        corpus = self._library.open(self._place(key).info.corpus)
        ranked = {doc_id for r in fitted.rankings for doc_id in r.doc_ids}
        strange = sum(doc_id not in corpus.row_of for doc_id in ranked)
        lines = counted(sum(len(r.doc_ids) for r in run.rankings), "line")
        read = f"{lines}, {counted(len(run.rankings), 'query', 'queries')}"
        if unknown := len(run.rankings) - len(fitted.rankings):
            read += f" ({unknown:,} unknown to the collection)"
        notes = [f"{read}.", *fitted.notes]
        if strange:
            notes.append(f"{counted(strange, 'document is', 'documents are')} not in the corpus.")
        uploaded = UploadedRun(
            id=_new_id(),
            name=self._free_name(key, run.tag[:LONGEST_NAME]),
            queries=len(fitted.rankings),
            notes=tuple(notes),
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            collection=key,
            sha256=digest,
        )
        self.remember(key)
        self._texts.put(str(uploaded.id), text)
        self._uploaded_runs.put(str(uploaded.id), uploaded)
        return uploaded

    def remove_run(self, run_id: int) -> None:
        """Take out an uploaded run."""
        self._uploaded_runs.remove(str(run_id))
        self._texts.remove(str(run_id))

    def uploaded_runs(self, request: EvaluationRequest) -> list[SystemRun]:
        """The uploaded runs, cut to the queries of a request; one without any of these is empty,
        with a note."""
        topics, runs = self.topics(request), []
        qrels = self.read(request.collection).qrels
        for run in self.runs(request.collection):
            try:
                fitted = fitted_run(self._parsed(run), run.name, topics)
            except BadInputError:
                note = "it ranks none of these queries."
                fitted = SystemRun(run.name, (), kind="run", notes=(note,))
            if run.name in request.runs:
                own = self._parsed(run)
                judged = sum(bool(qrels.get(query_id)) for query_id in own)
                note = f"{judged:,} of its {counted(len(own), 'query', 'queries')} have judgments."
                fitted = replace(fitted, notes=(note, *fitted.notes))
            runs.append(fitted)
        return runs

    def _parsed(self, run: UploadedRun) -> dict[str, Ranking]:
        def parse() -> dict[str, Ranking]:
            text = self._texts.value(str(run.id)) or ""
            return {r.query_id: r for r in read_run(text, f"run {run.id}").rankings}

        return self._runs.one(run, parse)

    def _free_name(self, key: str, tag: str) -> str:
        """The tag without commas, which separate names in links, and made different from names of
        systems, reranked ones, people and other runs."""
        tag = tag.replace(",", "_")
        people = (f"{HUMAN}-{who}" for who in self.read(key).annotators)
        taken = {*SYSTEMS, *PREPARED, HUMAN, *people, *(run.name for run in self.runs(key))}
        numbered = (f"{tag} (uploaded {number})" for number in itertools.count(2))
        names = itertools.chain([tag, f"{tag} (uploaded)"], numbered)
        return next(name for name in names if name not in taken and not asks_model(name))


def _parts(key: str) -> tuple[str, str, str]:
    """Corpus, sign, and project or path in the key of a collection.

    >>> _parts("demo@/data/mine"), _parts("demo")
    (('demo', '@', '/data/mine'), ('demo', '', ''))
    """
    parts = re.split(f"([{PROJECT}{FILES}])", key, maxsplit=1)
    corpus, sign, rest = parts if len(parts) == 3 else (key, "", "")
    return corpus, sign, rest


def _new_id() -> int:
    """An id that no upload had before, not even one that was removed: evaluations name runs by
    it."""
    return secrets.randbits(48)


def _unknown(key: str) -> UnknownNameError:
    return UnknownNameError(
        f"There is no test collection '{key}'.",
        "Choose another one, import the test collection's folder under this name, or upload "
        "judgments for it.",
    )


def fitted_run(run: Mapping[str, Ranking], name: str, topics: Sequence[Topic]) -> SystemRun:
    """An uploaded run, cut to the topics and without the seeds, with notes on what it lacks."""
    rankings, seeds_out = [], 0
    for topic in topics:
        if (ranking := run.get(topic.query_id)) is not None:
            kept = but(ranking, topic.seed)
            seeds_out += len(kept.doc_ids) < len(ranking.doc_ids)
            rankings.append(kept)
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


def _described(place: _Place) -> CollectionInfo | None:
    """A collection with its problem, if any; None for documents without judgments."""
    info = place.info
    try:
        collection = place.read()
    except (NoCollectionError, UnknownNameError):
        return None
    except SeedLensError as error:
        return replace(info, problem=str(error))
    except (OSError, ValueError) as error:
        log.warning("The collection %s could not be read: %s", info.source, error)
        return replace(info, problem=f"{info.source} could not be read: {error}")
    topics = collection.topics
    return replace(
        info,
        name=collection.name,
        source_format=collection.source_format,
        queries=len(topics),
        seeds=len({*map(seed_of, topics)}),
        aspects=tuple(dict.fromkeys(t.aspect for t in topics if t.aspect is not None)),
        judgments=sum(map(len, collection.qrels.values())),
        complete=collection.complete,
        pooled=all(topic.pool is not None for topic in topics),
        annotators=tuple(collection.annotators),
        warnings=collection.warnings,
    )


# -- annotation projects ----------------------------------------------------------------------


def _collection(
    project: Project,
    judgments: Sequence[Judgment],
    queries: Mapping[str, Query],
    retired: frozenset[str],
    corpus: OpenCorpus,
) -> Collection:
    scale = project.scale
    decided = decide(judgments, model_grades=project.model_grades, retired=retired, scale=scale)
    topics, warnings = _topics(decided.grades, queries, corpus)
    asked = {topic.query_id for topic in topics}
    lowest = min(scale.values)
    if lowest:
        warnings += (f"The lowest grade of the scale, {lowest}, counts as 0: not relevant.",)
    known = (None, *scale.values)
    own = [j for j in judgments if j.query_id not in retired and j.relevance in known]
    annotators, notes = _annotators(decided, own)
    return Collection(
        name=project.name or project.corpus,
        topics=topics,
        qrels=from_zero({q: g for q, g in decided.grades.items() if q in asked}, scale),
        documents=None,
        source_format="project",
        relevant_from=scale.relevant - lowest,
        annotators={who: from_zero(grades, scale) for who, grades in annotators.items()},
        warnings=(*decided.notes, *warnings, *notes),
    )


def _topics(
    grades: Qrels, queries: Mapping[str, Query], corpus: OpenCorpus
) -> tuple[tuple[Topic, ...], tuple[str, ...]]:
    """Judged queries as topics, and a note on those that cannot be ranked.

    Args:
        queries: by id; other ids are read as ``<seed>_<aspect>``.
    """
    found = {query_id: _topic(query_id, queries, corpus) for query_id in grades}
    topics = tuple(one for one in found.values() if isinstance(one, Topic))
    left = {query_id: why for query_id, why in found.items() if isinstance(why, str)}
    reasons, first = Counter(left.values()), next(iter(left), "")
    if not topics:
        why = "; ".join(reasons) or "no grade in it is decided"
        example = f"; ids are like '<seed>_{corpus.aspects[0]}' (the first is '{first}')"
        raise BadInputError(
            f"None of its queries can be ranked: {why}{example if left else ''}.",
            "Judge for a seed and an aspect that the corpus has. Queries of other ids need topics: "
            "import a folder with topics.jsonl, qrels.txt and the documents.",
        )
    if not left:
        return topics, ()
    which = counted(len(left), "query is", "queries are")
    several = "; ".join(f"{why} ({number:,})" for why, number in reasons.items())
    why = several if len(reasons) > 1 else f"{left[first]} (first: '{first}')"
    return topics, (f"{which} left out: {why}.",)


def _topic(query_id: str, queries: Mapping[str, Query], corpus: OpenCorpus) -> Topic | str:
    """A query as a topic, or why it cannot be one."""
    query = queries.get(query_id)
    if query is None:
        named = read_query_id(query_id, corpus)
        if named is None:
            return "no seed and aspect of this corpus"
        return Topic(query_id, seed=named.seed, aspect=named.aspect)
    if query.seed is not None and query.seed not in corpus.row_of:
        return "the seed is not in the corpus any more"
    if query.aspect is not None and query.aspect not in corpus.aspects:
        return "the aspect is not in the lens of the corpus"
    if query.focus:
        return "asked by single sentences of the seed"
    if query.reading:
        return "asked by a corrected reading"
    return topic_of(query_id, query)


def _annotators(
    decided: DecidedQrels, judgments: Sequence[Judgment]
) -> tuple[dict[str, Qrels], tuple[str, ...]]:
    """Own grades that can be compared with adjudicated ones, where several people graded."""
    own = own_grades(judgments)
    if len(own) < 2:
        return {}, ()
    if decided.undecided:
        return {}, ("The human row is there once all disagreements are adjudicated.",)
    shared = {d.item for d in decided.decisions if d.decided is not None or len(d.annotators) > 1}
    by_annotator = {annotator: among(qrels, shared) for annotator, qrels in own.items()}
    return {annotator: qrels for annotator, qrels in by_annotator.items() if qrels}, ()
