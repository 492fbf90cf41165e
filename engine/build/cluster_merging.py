"""Step 3, second half: a model names the clusters and puts near-synonymous ones together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.build.build_prompts import merging, naming
from engine.build.build_records import Clustering, clustering_basis
from engine.build.collapsing import Draft, Embed, drafts, finished, kept_by_people, parted
from engine.build.step_work import Made, Work, counted
from engine.errors import BadInputError
from engine.llm.client import Client
from engine.numeric import FloatArray
from engine.types.builds import BuildLens
from storage.builds import StepRow

WINDOW = 24
"""Names that a model compares at once: neighbours by their vectors."""
ROUNDS = 3
"""Rounds of merging at most; every other one looks at windows half a window further on."""


async def collapse(work: Work, embed: Embed) -> Made:
    """Cluster the labels anew around what people left; what is stopped early leaves all as it
    was, unless there was nothing yet.

    Raises:
        BadInputError: somebody edited the clusters meanwhile.
    """
    shelf, lens = work.shelf, work.lens
    labels = shelf.shown_labels(lens)
    # Read once: an edit that comes in from here on is seen when the clusters are kept.
    started = shelf.rows.last(lens.corpus, lens.name, "collapse")
    before = Clustering() if started is None else shelf.read_clustering(lens, started)
    work.say(0, len(labels))
    people = kept_by_people(before, labels)
    taken = {doc_id for cluster in people for doc_id in cluster.doc_ids}
    free = {doc_id: label for doc_id, label in labels.items() if doc_id not in taken}
    found = await asyncio.to_thread(drafts, free, lens.distance, embed)
    found = [
        *(Draft(c.name, c.doc_ids, counted(labels, c.doc_ids), c) for c in people),
        *found,
    ]
    failed = 0
    if work.client is not None and not work.stopped:
        found, failed = await _with_model(work, work.client, found, embed, len(labels))
    if work.stopped and (work.stopped == "cancelled" or started is not None):
        return Made(0, failed, len(labels))
    clustering = finished(before, _in_order(found, labels), labels)
    basis = "" if work.stopped else clustering_basis(lens, labels)

    def keep(row: StepRow | None) -> StepRow:
        if row != started:
            raise BadInputError(
                f"The clusters of '{lens.name}' were edited while they were being made.",
                "Run the step again: answers are kept.",
            )
        return work.row(clustering.to_json(), basis)

    await asyncio.to_thread(shelf.rows.change, lens.corpus, lens.name, "collapse", keep)
    work.say(len(labels), len(labels))
    return Made(len(clustering.clusters), failed, 0, _notes(clustering, lens, work, failed))


async def _with_model(
    work: Work, client: Client, found: list[Draft], embed: Embed, total: int
) -> tuple[list[Draft], int]:
    """The drafts named and merged, and how many questions had no usable answer."""
    found, failed = await _named(client, work.lens, found)
    work.say(total // 2, total)
    quiet = 0
    for number in range(ROUNDS):
        if work.stopped or len(found) < 2:
            break
        vectors = await asyncio.to_thread(embed, [draft.name for draft in found])
        offset = WINDOW // 2 * (number % 2)
        count = len(found)
        found, unread = await _merged(client, work.lens, found, _windows(vectors, offset))
        failed += unread
        quiet = quiet + 1 if len(found) == count else 0
        if quiet == 2 or (quiet and len(found) <= WINDOW):
            break
        work.say(total // 2 + total * (number + 1) // (2 * ROUNDS + 2), total)
    return found, failed


async def _named(
    client: Client, lens: BuildLens, found: Sequence[Draft]
) -> tuple[list[Draft], int]:
    """Clusters of several labels, named by what these share; people's names stay."""
    several = [n for n, d in enumerate(found) if d.fixed is None and len(d.labels) > 1]
    answers = await client.ask([naming(lens, found[n].labels) for n in several])
    named = list(found)
    for n, answer in zip(several, answers, strict=True):
        if answer is not None:
            named[n] = replace(named[n], name=answer.name)
    return named, 0 if client.stopped else sum(answer is None for answer in answers)


async def _merged(
    client: Client, lens: BuildLens, found: Sequence[Draft], windows: Sequence[Sequence[int]]
) -> tuple[list[Draft], int]:
    """One round over windows of neighbouring drafts."""
    asked = [window for window in windows if len(window) > 1]
    answers = await client.ask([merging(lens, [found[n].name for n in w]) for w in asked])
    left: dict[int, Draft] = dict(enumerate(found))
    for window, answer in zip(asked, answers, strict=True):
        for group in () if answer is None else answer.groups:
            members = _but_for_people([window[m - 1] for m in group.members], found)
            if len(members) > 1:
                left[members[0]] = _joined([found[n] for n in members], group.name)
                for n in members[1:]:
                    del left[n]
    return list(left.values()), 0 if client.stopped else sum(a is None for a in answers)


def _but_for_people(members: Sequence[int], found: Sequence[Draft]) -> list[int]:
    """Only people put two of their own clusters together: the first stands for them, and leads."""
    fixed = [n for n in members if found[n].fixed is not None]
    return [*fixed[:1], *(n for n in members if found[n].fixed is None)]


def _joined(parts: Sequence[Draft], name: str) -> Draft:
    labels: dict[str, int] = {}
    for part in parts:
        for label, count in part.labels.items():
            labels[label] = labels.get(label, 0) + count
    whole = parts[0]
    return Draft(
        name=name if whole.fixed is None else whole.name,
        doc_ids=tuple(doc_id for part in parts for doc_id in part.doc_ids),
        labels=dict(sorted(labels.items(), key=lambda item: -item[1])),
        fixed=whole.fixed,
    )


def _windows(vectors: FloatArray, offset: int) -> list[list[int]]:
    """Rows in windows of neighbours: the order of the leaves of their tree, cut every so often."""
    order = [part[i] for part in parted(vectors) for i in _leaves(vectors[part])]
    if len(order) <= WINDOW:
        return [order]
    starts = range(offset - WINDOW if offset else 0, len(order), WINDOW)
    return [order[max(0, start) : start + WINDOW] for start in starts]


def _leaves(vectors: FloatArray) -> list[int]:
    if len(vectors) < 3:
        return list(range(len(vectors)))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import pdist

    distances = pdist(vectors + 1e-9, metric="cosine").clip(0.0)
    return [int(row) for row in leaves_list(linkage(distances, method="average"))]


def _in_order(found: Iterable[Draft], labels: Iterable[str]) -> list[Draft]:
    """Documents of every draft in the order of the corpus."""
    place = {doc_id: n for n, doc_id in enumerate(labels)}
    return [replace(d, doc_ids=tuple(sorted(d.doc_ids, key=lambda i: place[i]))) for d in found]


def _notes(clustering: Clustering, lens: BuildLens, work: Work, failed: int) -> tuple[str, ...]:
    notes = []
    if work.client is None:
        notes.append(
            "Without a model, clusters are named by their most central label, and near-synonyms "
            "are not put together."
        )
    if failed:
        which = f"{failed:,} questions have" if failed > 1 else "1 question has"
        notes.append(f"{which} no usable answer; there, names are labels and nothing is merged.")
    out = sum(cluster.shown(lens).dropped for cluster in clustering.clusters)
    if out:
        which = f"{out:,} clusters become" if out > 1 else "1 cluster becomes"
        notes.append(f"{which} no query: too small, too large, or taken out by a person.")
    return tuple(notes)
