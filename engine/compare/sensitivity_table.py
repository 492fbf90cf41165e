"""How far systems follow the wording, over a whole test collection."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from engine.corpora.contracts import Seed
from engine.errors import BadInputError
from engine.jobs.runner import CancelledWorkError
from engine.lenses.definitions import (
    REVERSE,
    SETS,
    built_in_variants,
    check_sets,
    find_aspect,
)
from engine.measures.metrics import mean, robustness
from engine.measures.p_mrr import P_MRR, SICR, WISE, sicr, wise
from engine.measures.per_query import Row, query_rows
from engine.measures.ranking_change import compare_rankings
from engine.measures.significance import confidence_interval
from engine.search.interpretation import find_wish
from engine.search.searcher import Searcher
from engine.search.systems import find_system, reads_wording
from engine.search.topics import pool_ranking, sampled, usable_topics
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.comparisons import Sensitivity, SensitivityRow, SystemSensitivity, Variant
from engine.types.evaluations import CSFCUBE_NDCG, NDCG, Collection, Topic
from engine.types.models import RunProgress
from engine.types.searches import Query, Ranking

CHANGES = {"rbo": "rbo", "tau": "tau", "overlap@20": "overlap"}
"""Measure -> field of a :class:`RankingChange`."""
SHOWN = (NDCG, CSFCUBE_NDCG, P_MRR, SICR, WISE)
"""Measures with a mean over queries, by aspect too, and an interval."""
NDCG_10, PLAIN = "nDCG@10", "none"
Values = Mapping[str, float | None]


def sensitivity(
    searcher: Searcher,
    collection: Collection,
    systems: Sequence[str],
    sets: Sequence[str] = SETS,
    *,
    steer: float | None = None,
    sample: int | None = None,
    own: Mapping[str, str] | None = None,
    aspect: str = "",
    begun: Begun | None = None,
    tell: Callable[[RunProgress], None] = tell_nobody,
    cancelled: Ask = never,
) -> Sensitivity:
    """Every topic with an aspect, under every variant, on every system.

    The system gets the wording only, not the aspect. Topics with a judged pool rank that pool only.
    A cancelled table is of the topics that every system had ranked by then.

    Args:
        sample: only this many seeds; see :func:`sampled`.
        own: further wordings by name, which ask for ``aspect``: all is measured on its topics.
        begun: what an earlier call with equal settings ranked; this one adds to it.
        tell: gets the rankings made and to be made.
    """
    for name in systems:
        find_system(name)
    check_sets(sets)
    asked = [t for t in collection.topics if t.aspect and t.seed and not t.instruction]
    if not asked:
        raise BadInputError(
            f"No query of {collection.name} has a seed and an aspect, so there is no wording to "
            "vary.",
            "Use a collection whose queries are (seed, aspect) pairs, such as CSFCube's.",
        )
    own = own or {}
    if own:
        find_aspect(searcher.corpus.lens, aspect)
        seeds_asked = {t.seed for t in asked if t.aspect == aspect}
        asked = [t for t in asked if t.seed in seeds_asked]
        if not asked:
            raise BadInputError(f"No query of {collection.name} asks for the aspect '{aspect}'.")
    topics = usable_topics(sampled(asked, sample), searcher)
    seeds = {t.seed: searcher.seed(Query(searcher.corpus.name, seed=t.seed)) for t in topics}
    steer = Query("").steer if steer is None else steer
    begun, of_one = begun or Begun(), aspect if own else ""
    study = _Study(searcher, collection, topics, seeds, sets, steer, own, of_one, begun)
    done = study.rank(systems, tell, cancelled)
    tables = tuple(done.of_system(name) for name in systems)
    undefined = all(r.metrics[P_MRR] is None for s in tables for r in s.rows)
    stopped = "cancelled" if len(done.topics) < len(topics) else ""
    if not stopped:
        begun.ranked.clear()
        begun.seconds.clear()
    counts = len(done.measured), len(study.measured)
    return Sensitivity(
        collection.name, searcher.corpus.name, counts[0], tables, undefined, counts[1], stopped
    )


@dataclass(frozen=True)
class Begun:
    """The rankings of a table, which a later call goes on with, and seconds by system."""

    # system -> variant -> query_id -> its ranking
    ranked: dict[str, dict[str, dict[str, Ranking]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))


@dataclass(frozen=True)
class _Study:
    searcher: Searcher
    collection: Collection
    topics: Sequence[Topic]
    seeds: Mapping[str | None, Seed]
    sets: Sequence[str]
    steer: float
    own: Mapping[str, str]
    aspect: str  # that alone is measured; "" for all
    begun: Begun

    @property
    def measured(self) -> list[Topic]:
        return [t for t in self.topics if self.aspect in ("", t.aspect)]

    def rank(
        self, systems: Sequence[str], tell: Callable[[RunProgress], None], cancelled: Ask
    ) -> _Study:
        """All systems topic by topic, so that an early end leaves them on the same topics."""
        pairs = [(t, name) for t in self.topics for name in systems if not self._has(t, name)]
        total = sum(len(self._to_rank(*pair)) for pair in pairs)
        started, done = time.perf_counter(), 0
        before = started
        for number, topic in enumerate(self.topics):
            for system in systems:
                if self._has(topic, system):
                    continue
                made: dict[Hashable, Ranking] = {}
                for key, variant in self._to_rank(topic, system).items():
                    if cancelled():
                        if not any(t in self.measured for t in self.topics[:number]):
                            raise CancelledWorkError
                        return replace(self, topics=self.topics[:number])
                    made[key] = self._rank(topic, variant)
                    done, seconds = done + 1, time.perf_counter() - started
                    tell(RunProgress(done, total, seconds))
                now = time.perf_counter()
                self.begun.seconds[system] += now - before
                before = now
                by_variant = self.begun.ranked.setdefault(system, {})
                for variant in self._variants(topic, system):
                    by_variant.setdefault(variant.name, {})[topic.query_id] = made[_key(variant)]
        return self

    def _has(self, topic: Topic, system: str) -> bool:
        return topic.query_id in self.begun.ranked.get(system, {}).get(PLAIN, {})

    def of_system(self, system: str) -> SystemSensitivity:
        asked = {t.query_id for t in self.topics}
        every = {
            name: {q: r for q, r in of.items() if q in asked}
            for name, of in self.begun.ranked[system].items()
        }
        rankings = {name: of for name, of in every.items() if len(of) == len(self.topics)}
        plain, reverse = rankings.pop(PLAIN), rankings.pop(REVERSE)
        measured = {n: self._measured(r, plain, reverse) for n, r in rankings.items()}
        if REVERSE in self.sets:
            rankings[REVERSE] = reverse
            measured[REVERSE] = self._measured(reverse, plain, None)
        matrix = self._matrix(rankings)
        rows = tuple(self._row(system, name, of, matrix) for name, of in measured.items())
        wordings = [
            {row["query_id"]: row[NDCG_10] for row in measured[name]}
            for name in measured
            if name in ("base", "definition") or name.startswith("paraphrase-")
        ]
        return SystemSensitivity(
            system, rows, matrix, self.begun.seconds[system], robustness(wordings)
        )

    def _to_rank(self, topic: Topic, system: str) -> dict[Hashable, Variant]:
        """The variants that rank differently."""
        return {_key(variant): variant for variant in self._variants(topic, system)}

    def _variants(self, topic: Topic, system: str) -> tuple[Variant, ...]:
        """The wordings, the reverse, and none."""
        lens, aspect = self.searcher.corpus.lens, topic.aspect or ""
        sets = [*(s for s in self.sets if s != REVERSE), REVERSE]
        *built_in, reverse = built_in_variants(lens, aspect, system, self.steer, sets)
        # Beside an own wording, other aspects are asked for in the usual words.
        base = find_aspect(lens, aspect).instruction
        own = [
            Variant(name, words if aspect == self.aspect else base, system, self.steer)
            for name, words in self.own.items()
        ]
        return (*built_in, *own, reverse, Variant(PLAIN, "", system, self.steer))

    def _rank(self, topic: Topic, variant: Variant) -> Ranking:
        seed = self.seeds[topic.seed]
        if variant.subset:
            seed = self.searcher.subset(seed, topic.aspect or "") or seed
        query = Query(
            self.searcher.corpus.name,
            seed=topic.seed,
            instruction=variant.instruction,
            system=variant.system,
            steer=variant.steer,
        )
        return pool_ranking(self.searcher, query, topic, seed)

    def _row(
        self,
        system: str,
        name: str,
        queries: Sequence[Row],
        matrix: Mapping[str, Mapping[str, Values]],
    ) -> SensitivityRow:
        changes = {change: matrix[change].get("base", {}).get(name) for change in CHANGES}
        aspects = sorted({t.aspect for t in self.measured if t.aspect})
        return SensitivityRow(
            variant=name,
            metrics=_means(queries) | changes,
            by_aspect={a: _means([q for q in queries if q["aspect"] == a]) for a in aspects},
            intervals={m: confidence_interval([q[m] for q in queries]) for m in SHOWN},
            read_as_asked=self._read_as_asked(system, name),
        )

    def _measured(
        self,
        rankings: Mapping[str, Ranking],
        plain: Mapping[str, Ranking],
        reverse: Mapping[str, Ranking] | None,
    ) -> list[Row]:
        """SICR and WISE are against no wording and the reverse, where that is given."""
        every = query_rows(self.collection, self.topics, list(rankings.values()))
        pairs = zip(self.topics, every, strict=True)
        own = [(topic, row) for topic, row in pairs if self.aspect in ("", topic.aspect)]
        for topic, row in own:
            row |= {SICR: None, WISE: None}
            if reverse is not None:
                relevant = self._relevant(topic)
                query_id = topic.query_id
                without, against = plain[query_id].doc_ids, reverse[query_id].doc_ids
                three = without, rankings[query_id].doc_ids, against
                row[SICR] = sicr(relevant, *three)
                row[WISE] = wise(relevant, *three, len(self._relevant_to[topic.seed]))
        return [row for _, row in own]

    def _relevant(self, topic: Topic) -> set[str]:
        grades = self.collection.qrels.get(topic.query_id, {})
        return {doc_id for doc_id, grade in grades.items() if grade >= 1}

    @cached_property
    def _relevant_to(self) -> dict[str | None, set[str]]:
        """seed -> documents relevant to any of its aspects."""
        found: dict[str | None, set[str]] = {}
        for topic in self.topics:
            found.setdefault(topic.seed, set()).update(self._relevant(topic))
        return found

    def _read_as_asked(self, system: str, name: str) -> float | None:
        """Share of topics whose wording alone was read as their aspect."""
        if name in ("generic", *self.own) or not find_system(system).reads_aspect:
            return None
        lens = self.searcher.corpus.lens
        interpreter, corpus = self.searcher.interpreter(), self.searcher.corpus.name
        right = []
        for topic in self.measured:
            words = {v.name: v.instruction for v in self._variants(topic, system)}[name]
            wish = find_wish(Query(corpus, instruction=words), lens)
            understood = interpreter.read(wish.words)
            named = understood.avoids if name == REVERSE else understood.wants
            read = [lens.aspects[named.argmax()]] if named.any() else []
            right.append([a.key for a in wish.wanted or read] == [topic.aspect])
        return sum(right) / len(right)

    def _matrix(
        self, rankings: Mapping[str, Mapping[str, Ranking]]
    ) -> dict[str, dict[str, dict[str, float | None]]]:
        """measure -> first -> second -> mean over topics."""
        means: dict[str, dict[str, dict[str, float | None]]] = {c: {} for c in CHANGES}
        for first, mine in rankings.items():
            for second, theirs in rankings.items():
                changes = [
                    compare_rankings(mine[t.query_id].doc_ids, theirs[t.query_id].doc_ids)
                    for t in self.measured
                ]
                for measure, name in CHANGES.items():
                    values = [getattr(change, name) for change in changes]
                    means[measure].setdefault(first, {})[second] = mean(values)
        return means


def _key(variant: Variant) -> Hashable:
    """Variants of a topic with equal keys rank alike."""
    reads = reads_wording(variant.system)
    return variant.subset, variant.instruction if reads else ""


def _means(queries: Sequence[Row]) -> dict[str, float | None]:
    return {measure: mean([own[measure] for own in queries]) for measure in SHOWN}
