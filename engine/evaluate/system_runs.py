"""Systems side by side on a test collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.errors import BadInputError
from engine.evaluate.human import HUMAN, annotators_rankings, check_annotators, human_scores
from engine.evaluate.measuring import (
    MAIN_MEASURE,
    reading_notes,
    system_scores,
    unjudged,
    what_is_judged,
)
from engine.measures.metrics import significance
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.topics import Ranker, SystemRun, check_documents, sampled, seed_of, usable_topics
from engine.types.callbacks import tell_nobody
from engine.types.collections import Collection, Topic
from engine.types.evaluations import Evaluation, Sample
from engine.types.searches import Ranking


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
    seeds, every = ({seed_of(t) for t in some} for some in (topics, collection.topics))
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
