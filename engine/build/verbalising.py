"""Step 4: a cluster becomes a query that says what its documents share, not how they say it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.build.build_prompts import Verbalised, verbalising
from engine.build.build_records import QUERIES, queries_from_json, query_basis, to_json
from engine.build.labelling import Work, label_counts, unusable
from engine.build.opened_build import Vocabulary, different
from engine.llm.messages import Prompt
from engine.text import counted
from engine.types.builds import BuildQuery, Cluster, Overlap
from engine.types.models import TaskReport
from storage.builds import StepRow

BATCH = 16
"""Clusters that are worded together; what a kill can cost at most."""
TRIES = 3
MOST_AVOIDED = 40
"""Words that a model is told to avoid: those that most of the documents have."""


@dataclass(slots=True)
class _Draft:
    """A query in the making: the best try so far, and all words to avoid."""

    cluster: Cluster
    avoid: list[str]
    text: str = ""
    overlap: Overlap = field(default_factory=lambda: Overlap(1.0))
    tries: int = 0

    def hear(self, text: str, overlap: Overlap) -> None:
        """Take in a try; the words it gave away are the first to avoid next time."""
        if not self.text or overlap.share < self.overlap.share:
            self.text, self.overlap = text, overlap
        self.avoid = different([*overlap.words, *self.avoid])


async def verbalise(work: Work) -> TaskReport[int]:
    """Word what has no query yet or has changed since; a person's wording is never replaced."""
    build, vocabulary = work.build, work.build.vocabulary
    active, pending, worded = build.active(), build.unworded(), build.wordings()
    by_people = [c for c in pending if c.key in worded and worded[c.key].maker == "person"]
    asked = [c for c in pending if c not in by_people]
    done = len(active) - len(pending)
    work.say(done, len(active))
    if by_people:
        kept = await asyncio.to_thread(_measured_again, work, worded, by_people, vocabulary)
        await _keep(work, kept)
    made = failed = 0
    labels = build.shown_labels()
    for start in range(0, len(asked), BATCH):
        if work.stopped:
            break
        group = asked[start : start + BATCH]
        drafts = await _worded(work, group, labels, vocabulary)
        # What was stopped between two tries is taken up again: its answers are in the ledger.
        ready = [d for d in drafts if d.text and (not work.stopped or _is_good(work, d))]
        await _keep(work, [_query(work, draft) for draft in ready])
        made += len(ready)
        failed += 0 if work.stopped else len(group) - len(ready)
        work.say(done + len(by_people) + made + failed, len(active))
    if not work.stopped:
        await _keep(work, [])  # which says when it ran, even where nothing was left to do
    left = len(asked) - made - failed
    return TaskReport(result=made, failed=failed, left=left, notes=_notes(work, failed))


async def _worded(
    work: Work,
    clusters: Sequence[Cluster],
    labels: Mapping[str, str],
    vocabulary: Vocabulary,
) -> list[_Draft]:
    """The best of up to three tries for each cluster."""

    def begin() -> list[_Draft]:
        return [_Draft(c, vocabulary.telling(c.doc_ids, MOST_AVOIDED)) for c in clusters]

    def question(draft: _Draft) -> Prompt[Verbalised]:
        counts = label_counts(labels, draft.cluster.doc_ids)
        return verbalising(
            work.build.spec, draft.cluster.name, counts, draft.avoid, again=draft.tries > 0
        )

    def hear(draft: _Draft, answer: Verbalised) -> None:
        draft.hear(answer.query, vocabulary.overlap(answer.query, draft.cluster.doc_ids))

    drafts = await asyncio.to_thread(begin)
    for _ in range(TRIES):
        again = [draft for draft in drafts if not _is_good(work, draft)]
        if not again or work.stopped:
            break
        answers = await work.run.ask([question(draft) for draft in again])
        for draft, answer in zip(again, answers, strict=True):
            draft.tries += 1
            if answer is not None:
                await asyncio.to_thread(hear, draft, answer)
    return drafts


def _is_good(work: Work, draft: _Draft) -> bool:
    return bool(draft.text) and draft.overlap.share <= work.build.spec.overlap


def _query(work: Work, draft: _Draft) -> BuildQuery:
    cluster, basis = draft.cluster, query_basis(work.build.spec, draft.cluster)
    return BuildQuery(
        cluster.key, draft.text, cluster.doc_ids, draft.overlap, tries=draft.tries, basis=basis
    )


def _measured_again(
    work: Work,
    worded: Mapping[str, BuildQuery],
    clusters: Sequence[Cluster],
    vocabulary: Vocabulary,
) -> list[BuildQuery]:
    """People's wordings of changed clusters, with the overlap measured again."""
    queries = []
    for cluster in clusters:
        old = worded[cluster.key]
        overlap = vocabulary.overlap(old.text, cluster.doc_ids)
        basis = query_basis(work.build.spec, cluster)
        queries.append(replace(old, doc_ids=cluster.doc_ids, overlap=overlap, basis=basis))
    return queries


async def _keep(work: Work, worded: Sequence[BuildQuery]) -> None:
    """Add queries to the current ones, which people may have edited meanwhile."""

    def added(row: StepRow | None) -> StepRow:
        queries = {} if row is None else queries_from_json(row.content)
        for query in worded:
            there = queries.get(query.key)
            mine = there is not None and there.maker == "person" and there.basis == query.basis
            if not mine:
                was_dropped = there is not None and there.dropped
                queries[query.key] = replace(query, dropped=was_dropped)
        # Each query has a basis of its own.
        return work.row(to_json(QUERIES, [*queries.values()]), "")

    spec = work.build.spec
    await asyncio.to_thread(work.build.rows.change, spec.corpus, spec.name, "verbalise", added)


def _notes(work: Work, failed: int) -> tuple[str, ...]:
    limit = work.build.spec.overlap
    over = sum(query.overlap.share > limit for query in work.build.asked())
    if not over:
        return unusable(failed, "cluster")
    which = counted(over, "query shares", "queries share")
    said = (
        f"{which} more than {limit:.0%} of their words with their documents; the best of the "
        "tries is kept. Word them again, or drop them."
    )
    return (said, *unusable(failed, "cluster"))
