"""Systems side by side on a test collection."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.callbacks import tell_nobody
from engine.collections import Collection, Topic
from engine.errors import BadInputError
from engine.lab.human import HUMAN, annotators_rankings, check_annotators, human_scores
from engine.lab.measuring import (
    MAIN_MEASURE,
    reading_notes,
    system_scores,
    unjudged,
    what_is_judged,
)
from engine.metrics import significance
from engine.retrieve import find_system
from engine.retrieve.base import ScoredDocument, Seed
from engine.searching import Searcher
from engine.types import Evaluation, Query, Ranking, Sample, SystemKind

SEEDS_HELD = 1_000
"""Seeds kept in memory from one system to the next: a seed has some 100 kB of vectors."""


@dataclass(frozen=True, slots=True)
class SystemRun:
    """The rankings of one system, ours or brought by somebody, over the topics of a collection.

    Attributes:
        seconds: that ranking took; 0 where SeedLens did not do it.
        notes: plain sentences about what is odd in it.
    """

    system: str
    rankings: tuple[Ranking, ...]
    seconds: float = 0.0
    kind: SystemKind = "system"
    notes: tuple[str, ...] = ()


def evaluate(
    searcher: Searcher,
    collection: Collection,
    systems: Sequence[str],
    *,
    steer: float | None = None,
    sample: int | None = None,
    human: bool = False,
    on_query: Callable[[], None] = tell_nobody,
) -> Evaluation:
    """Run every topic on every system and measure.

    Topics with a judged pool rank that pool only; the others rank the corpus.

    Args:
        steer: for systems that take it; None for the default of :class:`engine.types.Query`.
        sample: ask only this many seeds; see :func:`sampled`.
        human: also measure the annotators' own grades.
        on_query: told after each query.

    Raises:
        UnknownNameError: no such system.
        BadInputError: a seed or an aspect is not in the corpus, or nobody's own grades are
            there for ``human``.
    """
    ranker = ranker_for(searcher, collection, systems, steer=steer, sample=sample, human=human)
    runs = [ranker.run(name, on_query) for name in systems]
    if human:
        runs += human_runs(collection, ranker.topics, dense_run(ranker, runs))
    return judge_runs(searcher, collection, ranker.topics, runs)


def ranker_for(
    searcher: Searcher,
    collection: Collection,
    systems: Sequence[str],
    *,
    steer: float | None,
    sample: int | None,
    human: bool,
) -> Ranker:
    """What ranks the topics of a collection that can be asked; checked first. As :func:`evaluate`.

    Args:
        systems: those that ask no model.
    """
    for name in systems:
        find_system(name)
    if human:
        check_annotators(collection)
    topics = usable_topics(sampled(collection.topics, sample), searcher)
    check_documents(collection, searcher)
    return Ranker(searcher, topics, steer)


def sampled(topics: Sequence[Topic], seeds: int | None) -> tuple[Topic, ...]:
    """The topics of ``seeds`` seeds; all topics of a seed stay together.

    Which ones is decided by the hash of their ids: the same every time, whatever the order of
    the topics, and a larger sample holds the smaller one.

    Raises:
        BadInputError: ``seeds`` is below 1.
    """
    if seeds is None:
        return tuple(topics)
    if seeds < 1:
        raise BadInputError(f"The sample is {seeds}.", "Ask for at least 1 seed.")
    names = {_group(topic) for topic in topics}
    chosen = set(sorted(names, key=lambda n: hashlib.sha256(n.encode()).digest())[:seeds])
    return tuple(topic for topic in topics if _group(topic) in chosen)


def _group(topic: Topic) -> str:
    return topic.query_id if topic.seed is None else topic.seed


def usable_topics(topics: Iterable[Topic], searcher: Searcher) -> list[Topic]:
    """The topics, once it is sure that the corpus has their seeds and aspects.

    Raises:
        BadInputError: there is no topic, or a seed or an aspect is not in the corpus.
    """
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
    """How many judged documents the corpus lacks.

    Raises:
        BadInputError: it has none of them: this is another corpus.
    """
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
    """Ranks the topics of a collection, system by system.

    A system that does not read the aspect ranks once for all aspects of a seed.
    """

    def __init__(self, searcher: Searcher, topics: Sequence[Topic], steer: float | None) -> None:
        self._searcher, self._steer = searcher, steer
        self.topics = topics
        self._seed = functools.lru_cache(maxsize=SEEDS_HELD)(self._load)

    def _load(self, seed: str | None, text: str | None) -> Seed:
        return self._searcher.seed(Query(self._searcher.corpus.name, seed=seed, text=text))

    def run(self, system: str, on_query: Callable[[], None] = tell_nobody) -> SystemRun:
        """Rank every topic on one system."""
        reads_aspect = find_system(system).reads_aspect
        by_query: dict[str, Ranking] = {}
        seconds = 0.0
        for group in self._same_seed():
            done: dict[tuple[object, ...], Ranking] = {}
            for topic in group:
                wanted = (topic.aspect, topic.instruction) if reads_aspect else None
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

    def _same_seed(self) -> Iterable[Sequence[Topic]]:
        groups: dict[tuple[str | None, str | None], list[Topic]] = {}
        for topic in self.topics:
            groups.setdefault((topic.seed, topic.text), []).append(topic)
        return groups.values()


def topic_query(topic: Topic, searcher: Searcher, system: str, steer: float | None) -> Query:
    """The search that a topic asks for."""
    query = replace(topic.query(searcher.corpus.name), system=system)
    return query if steer is None else replace(query, steer=steer)


def pool_ranking(searcher: Searcher, query: Query, topic: Topic, seed: Seed) -> Ranking:
    """The ranking of a topic's judged pool, or of the corpus where it has none."""
    scored: Sequence[ScoredDocument] = searcher.rank(query, seed, topic.pool)
    found = {s.doc_id for s in scored}
    # bm25 leaves out what shares no word: a judged pool is still ranked whole.
    missing = sorted(d for d in topic.pool or () if d not in found and d in searcher.corpus.row_of)
    floor = min((s.score for s in scored), default=0.0)
    return Ranking(
        query_id=topic.query_id,
        doc_ids=(*(s.doc_id for s in scored), *missing),
        scores=(*(s.score for s in scored), *(floor - 1.0 - i for i in range(len(missing)))),
    )


def dense_run(ranker: Ranker, runs: Sequence[SystemRun]) -> SystemRun:
    """The run of ``dense``, which breaks people's ties; made now when it is not among ``runs``."""
    return next((r for r in runs if r.system == "dense"), None) or ranker.run("dense")


def human_runs(
    collection: Collection, topics: Sequence[Topic], tie_break: SystemRun
) -> list[SystemRun]:
    """One run per annotator, called ``human-<annotator>``."""
    rankings = annotators_rankings(collection, topics, tie_break.rankings)
    return [SystemRun(f"{HUMAN}-{a}", own, kind="human") for a, own in rankings.items()]


def judge_runs(
    searcher: Searcher, collection: Collection, topics: Sequence[Topic], runs: Sequence[SystemRun]
) -> Evaluation:
    """Measure runs against the judgments; those of annotators become one row, ``human``."""
    scores = {
        r.system: system_scores(collection, topics, r.rankings, r.seconds, r.kind)
        for r in runs
        if r.kind != "human"
    }
    people = {r.system.removeprefix(f"{HUMAN}-"): r.rankings for r in runs if r.kind == "human"}
    values = {n: [float(q[MAIN_MEASURE]) for q in s.per_query] for n, s in scores.items()}
    if people:
        scores[HUMAN] = human_scores(collection, topics, people)
    missing = check_documents(collection, searcher)
    judged = what_is_judged(collection, topics, missing)
    seeds, every = ({_group(t) for t in some} for some in (topics, collection.topics))
    return Evaluation(
        collection=collection.name,
        corpus=searcher.corpus.name,
        queries=len(topics),
        systems=scores,
        rankings={r.system: r.rankings for r in runs},
        unjudged_in_top_k={n: unjudged(collection, s) for n, s in scores.items()},
        missing_documents=missing,
        significance=tuple(significance(values, MAIN_MEASURE)),
        judged=judged,
        sample=None if len(seeds) == len(every) else Sample(len(seeds), len(every)),
        notes=(*reading_notes(topics, judged, scores), *_run_notes(runs)),
    )


def _run_notes(runs: Sequence[SystemRun]) -> list[str]:
    return [f"Run '{run.system}': {note}" for run in runs for note in run.notes]


def fitted_run(run: Mapping[str, Ranking], name: str, topics: Sequence[Topic]) -> SystemRun:
    """A run that somebody brought, cut to the topics, with what it lacks said in its notes.

    The seed is taken out of its own rankings, as it is out of ours.

    Raises:
        BadInputError: it ranks none of the topics.
    """
    found, seeds_out = [], 0
    for topic in topics:
        ranking = run.get(topic.query_id)
        if ranking is None:
            continue
        pairs = zip(ranking.doc_ids, ranking.scores, strict=True)
        kept = [(doc_id, score) for doc_id, score in pairs if doc_id != topic.seed]
        seeds_out += len(kept) < len(ranking.doc_ids)
        found.append(Ranking(topic.query_id, tuple(d for d, _ in kept), tuple(s for _, s in kept)))
    if not found:
        raise BadInputError(
            f"The run '{name}' ranks none of the {len(topics)} queries; its first is "
            f"'{next(iter(run), '')}', the collection's first is '{topics[0].query_id}'.",
            "Check that it was made for this collection.",
        )
    notes = []
    missing = len(topics) - len(found)
    if missing:
        notes.append(f"{missing:,} of {len(topics):,} queries are missing and count as 0.")
    if seeds_out:
        notes.append(f"the seed was taken out of {seeds_out:,} of its own rankings.")
    return SystemRun(name, tuple(found), kind="run", notes=tuple(notes))
