"""Rankings as TREC run files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from engine.errors import BadInputError
from engine.types import Ranking


def write_run(rankings: Sequence[Ranking], path: Path, system: str) -> None:
    """A TREC run file: query_id Q0 doc_id rank score system, ranks from 1."""
    with path.open("w", encoding="utf-8") as out:
        out.writelines(run_lines(rankings, system))


def run_lines(rankings: Sequence[Ranking], system: str) -> Iterator[str]:
    """The lines of a TREC run.

    Raises:
        BadInputError: an id with white space in it, which the format cannot hold.
    """
    for ranking in rankings:
        spaced = [i for i in (ranking.query_id, *ranking.doc_ids) if len(i.split()) != 1]
        if spaced:
            raise BadInputError(
                f"The id '{spaced[0]}' holds a space, which a TREC run cannot.",
                "Import the documents with other ids, or leave runs away.",
            )
        pairs = zip(ranking.doc_ids, _falling(ranking.scores), strict=True)
        for rank, (doc_id, score) in enumerate(pairs, start=1):
            yield f"{ranking.query_id} Q0 {doc_id} {rank} {score:.9g} {system}\n"


def _falling(scores: Iterable[float]) -> Iterator[float]:
    """The scores, equal ones set apart by the least step that a 32-bit number can take.

    trec_eval goes by the score as such a number, never by the rank, and breaks ties by
    doc_id backwards: without this it would measure another order than ours.
    """
    last = np.float32(np.inf)
    for score in scores:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        yield float(last)
