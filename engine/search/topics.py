"""The topics of a test collection, ranked by systems."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from engine.corpora.contracts import Seed
from engine.errors import BadInputError, check_between
from engine.search.searcher import Searcher
from engine.search.systems import reads_wording
from engine.types.callbacks import tell_nobody
from engine.types.evaluations import Collection, SystemKind, Topic
from engine.types.models import ModelReport
from engine.types.searches import Query, Ranking

SEEDS_HELD = 1_000
"""Seeds kept in memory from one system to the next: a seed has some 100 kB of vectors."""


@dataclass(frozen=True, slots=True)
class SystemRun:
    """The rankings of one system, ours or uploaded, over the topics of a collection."""

    system: str
    rankings: tuple[Ranking, ...]
    seconds: float = 0.0  # of ranking; 0 for uploaded runs
    kind: SystemKind = "system"
    notes: tuple[str, ...] = ()  # plain sentences about oddities
    llm: ModelReport | None = None  # what a language model was asked; None without one


def sampled(topics: Sequence[Topic], seeds: int | None) -> tuple[Topic, ...]:
    """The topics of ``seeds`` seeds, all of each, chosen by hash of the ids: larger samples contain
    smaller ones."""
    if seeds is None:
        return tuple(topics)
    check_between("The sample", seeds, 1)
    names = {seed_of(topic) for topic in topics}
    chosen = set(sorted(names, key=lambda n: hashlib.sha256(n.encode()).digest())[:seeds])
    return tuple(topic for topic in topics if seed_of(topic) in chosen)


def seed_of(topic: Topic) -> str:
    return topic.query_id if topic.seed is None else topic.seed


def usable_topics(topics: Iterable[Topic], searcher: Searcher) -> list[Topic]:
    """The topics, once it is sure that the corpus has their seeds and aspects."""
    topics = list(topics)
    corpus = searcher.corpus
    for topic in topics:
        if topic.seed is not None and topic.seed not in corpus.row_of:
            raise BadInputError(
                f"The seed '{topic.seed}' of query '{topic.query_id}' is not in corpus "
                f"'{corpus.name}'.",
                "Name the corpus that holds the collection's documents with --corpus.",
            )
        if topic.aspect is not None and topic.aspect not in corpus.aspects:
            raise BadInputError(
                f"The aspect '{topic.aspect}' of query '{topic.query_id}' is not in the lens of "
                f"corpus '{corpus.name}' (it has {', '.join(corpus.aspects)}).",
                "Give the corpus a lens that has it (seedlens lens set), or name another corpus.",
            )
    if not topics:
        raise BadInputError("The collection has no queries.")
    return topics


def check_documents(collection: Collection, searcher: Searcher) -> int:
    """How many judged documents the corpus lacks."""
    judged = {doc_id for grades in collection.qrels.values() for doc_id in grades}
    missing = sum(doc_id not in searcher.corpus.row_of for doc_id in judged)
    if judged and missing == len(judged):
        raise BadInputError(
            f"The corpus '{searcher.corpus.name}' holds none of the {len(judged)} documents "
            "that were judged.",
            "Name the corpus that holds the collection's documents with --corpus.",
        )
    return missing


class Ranker:
    """Ranks the topics of a collection, system by system; once per seed for a system that does not
    read wordings."""

    def __init__(self, searcher: Searcher, topics: Sequence[Topic], steer: float | None) -> None:
        self._searcher, self._steer, self.topics = searcher, steer, topics
        self._seed = functools.lru_cache(maxsize=SEEDS_HELD)(self._load)

    def _load(self, seed: str | None, text: str | None) -> Seed:
        return self._searcher.seed(Query(self._searcher.corpus.name, seed=seed, text=text))

    def run(self, system: str, on_query: Callable[[], None] = tell_nobody) -> SystemRun:
        """Rank every topic on one system."""
        reads = reads_wording(system)
        by_query: dict[str, Ranking] = {}
        seconds = 0.0
        groups: dict[tuple[str | None, str | None], list[Topic]] = {}  # by their seeds
        for topic in self.topics:
            groups.setdefault((topic.seed, topic.text), []).append(topic)
        for group in groups.values():
            done: dict[tuple[object, ...], Ranking] = {}
            for topic in group:
                wanted = (topic.aspect, topic.instruction) if reads else None
                key = (wanted, topic.pool)
                if key not in done:
                    seed = self._seed(topic.seed, topic.text)
                    query = topic_query(topic, self._searcher, system, self._steer)
                    started = time.perf_counter()
                    done[key] = pool_ranking(self._searcher, query, topic, seed)
                    seconds += time.perf_counter() - started
                by_query[topic.query_id] = replace(done[key], query_id=topic.query_id)
                on_query()
        return SystemRun(system, tuple(by_query[t.query_id] for t in self.topics), seconds)


def topic_query(topic: Topic, searcher: Searcher, system: str, steer: float | None) -> Query:
    """The search that a topic asks for."""
    query = replace(topic.query(searcher.corpus.name), system=system)
    return query if steer is None else replace(query, steer=steer)


def pool_ranking(searcher: Searcher, query: Query, topic: Topic, seed: Seed) -> Ranking:
    """The ranking of a topic's judged pool, or of the corpus where it has none."""
    ranking = searcher.rank(query, seed, topic.pool)
    doc_ids, scores = ranking.doc_ids, ranking.scores.tolist()
    # bm25 leaves out what shares no word: a judged pool is still ranked whole.
    known = searcher.corpus.row_of
    missing = sorted({d for d in topic.pool or () if d in known}.difference(doc_ids))
    floor = min(scores, default=0.0)
    return Ranking(
        query_id=topic.query_id,
        doc_ids=(*doc_ids, *missing),
        scores=(*scores, *(floor - 1.0 - i for i in range(len(missing)))),
    )
