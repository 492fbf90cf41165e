"""Names of clusters, worded by a model: one question for all clusters of a layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, Field

from engine.corpora.map_making import cluster_centres
from engine.llm.messages import Prompt, json_prompt
from engine.llm.texts import fenced, harmless_line
from storage.maps import Names, StoredLayout

NAMING = "cluster-names/1"
TITLES_SHOWN = 3
"""Titles of a cluster that a model reads: of the documents nearest to its middle."""
TITLE_CHARS = 120
NAME_CHARS = 48
"""Of a name that is taken: what fits on the map."""
NAME_TOKENS, ANSWER_TOKENS = 24, 60
"""Of an answer: for each name, and beside them."""

SYSTEM = """\
You name groups of documents on a map. Near each other lie documents that are alike in the respect \
that is given. Of each group you are told the words that tell it from the others and the titles of \
some of its documents. Some groups are parts of others. A name has two to four words and says what \
the documents of the group have in common in this respect and others do not have; no two names \
are the same. Use the language of the titles."""


class ClusterName(BaseModel):
    """One name."""

    number: int = Field(description="of the group")
    name: str = Field(description="two to four words")


class ClusterNames(BaseModel):
    """What a model answers."""

    names: list[ClusterName] = Field(description="one for each group, in their order")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as a model reads of it."""

    words: str  # its own
    titles: tuple[str, ...]
    part_of: int = 0  # number of the coarse one that a fine one is part of; 0 for a coarse one


def clusters_of(layout: StoredLayout, titles: Mapping[int, str]) -> list[Cluster]:
    """All clusters, the coarse ones first.

    Args:
        titles: by row of the layout, of those that :func:`central_rows` names.
    """
    coarse_of = np.zeros(len(layout.names[1]), dtype=np.intp)
    there = layout.labels[1] >= 0
    coarse_of[layout.labels[1][there]] = layout.labels[0][there] + 1
    shown = [
        [tuple(titles[row] for row in rows if row in titles) for rows in level]
        for level in central_rows(layout)
    ]
    coarse = [Cluster(*one) for one in zip(layout.names[0], shown[0], strict=True)]
    fine = zip(layout.names[1], shown[1], coarse_of.tolist(), strict=True)
    return [*coarse, *(Cluster(*one) for one in fine)]


def central_rows(layout: StoredLayout) -> list[list[list[int]]]:
    """The rows that are nearest to the middle of each cluster, of both levels."""
    levels = []
    for labels, names in zip(layout.labels, layout.names, strict=True):
        centres, _ = cluster_centres(layout.positions, labels, len(names))
        rows = np.flatnonzero(labels >= 0)
        far = ((layout.positions[rows] - centres[labels[rows]]) ** 2).sum(axis=1)
        ordered = rows[np.lexsort((rows, far))]
        levels.append(
            [
                ordered[labels[ordered] == cluster][:TITLES_SHOWN].tolist()
                for cluster in range(len(names))
            ]
        )
    return levels


def naming(respect: str, clusters: Sequence[Cluster]) -> Prompt[ClusterNames]:
    """The question: a name for each cluster.

    The answer has names of clusters that there are, each cluster once, at least for half of them;
    :func:`worded` leaves their own words to the others.

    Args:
        respect: in which the documents of a cluster are alike.
    """
    lines = "\n".join(_line(number, one) for number, one in enumerate(clusters, start=1))
    user = f"""\
{fenced("respect", respect)}

{fenced("groups", lines)}

What are these {len(clusters)} groups called?"""

    def check(said: ClusterNames) -> ClusterNames | None:
        found: dict[int, ClusterName] = {}
        for one in said.names:
            name = harmless_line(one.name).strip(" .\"'“”")
            if 1 <= one.number <= len(clusters) and 0 < len(name) <= NAME_CHARS:
                found.setdefault(one.number, ClusterName(number=one.number, name=name))
        return ClusterNames(names=[*found.values()]) if 2 * len(found) >= len(clusters) else None

    def shorter() -> Prompt[ClusterNames]:
        return naming(respect, [Cluster(one.words, (), one.part_of) for one in clusters])

    return json_prompt(
        NAMING,
        SYSTEM,
        user,
        ClusterNames,
        check=check,
        most_tokens=ANSWER_TOKENS + NAME_TOKENS * len(clusters),
        shorter=shorter if any(one.titles for one in clusters) else None,
    )


def _line(number: int, cluster: Cluster) -> str:
    part = f" (part of {cluster.part_of})" if cluster.part_of else ""
    titles = "".join(f" | {harmless_line(title)[:TITLE_CHARS]}" for title in cluster.titles)
    return f"{number}{part}: {harmless_line(cluster.words)}{titles}"


def worded(own: Names, said: ClusterNames) -> Names:
    """The names of both levels, no two alike in one: a name that is there already, or is not, is
    the cluster's own words."""
    given = {one.number: one.name for one in said.names}
    levels, before = [], 1
    for level in own:
        taken = {name.casefold() for name in level}
        names = []
        for number, words in enumerate(level, start=before):
            name = given.get(number, "")
            free = name and name.casefold() not in taken
            names.append(name if free else words)
            taken.add(names[-1].casefold())
        levels.append(tuple(names))
        before += len(level)
    return levels[0], levels[1]
