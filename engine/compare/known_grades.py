"""The judgments there are for a seed: those of its corpus's test collection, or one's own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from engine.collections.readers import cached_collection, signature_of
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError
from engine.types.collections import Collection
from engine.types.corpora import CorpusInfo
from engine.types.searches import Query

OwnGrades = Callable[[Query, str | None], Mapping[str, int]]
"""The grades, by doc_id, that an annotator gave for a query."""


def collection_of(info: CorpusInfo) -> Collection | None:
    """The test collection that a corpus was imported from, or None.

    It is read where it was imported from, and again when one of its files has changed.
    """
    path = _source(info)
    if path is None:
        return None
    try:
        return cached_collection(path).collection
    except (BadInputError, OSError, ValueError):
        return None  # documents without judgments: most corpora


def signature_of_judgments(info: CorpusInfo) -> str:
    """Changes when :func:`collection_of` may find something else; nothing is read for it."""
    path = _source(info)
    try:
        files = () if path is None else signature_of(path)
    except OSError:  # a file that goes away just now
        files = ()
    return hashlib.sha256(repr(files).encode()).hexdigest()[:16]


def _source(info: CorpusInfo) -> Path | None:
    """Where a corpus was imported from; None for one that was derived from another."""
    path = Path(info.source)
    return path if path.is_absolute() else None


def judgments_of(
    corpus: OpenCorpus,
    info: CorpusInfo,
    own_grades: OwnGrades,
    seed: str,
    annotator: str | None = None,
) -> dict[str, dict[str, int]]:
    """aspect key -> doc_id -> grade, for one seed; aspects without a grade are left out.

    What one's own grades say of a document goes before the collection's.

    Args:
        own_grades: gives an annotator's grades for a query.
        annotator: whose grades are one's own; None: of whoever is the default.
    """
    collection = collection_of(info)
    judgments: dict[str, dict[str, int]] = {}
    if collection is not None:
        listed = {t.aspect: t.query_id for t in collection.topics if t.seed == seed and t.aspect}
        for aspect, query_id in listed.items():
            unlisted = dict.fromkeys(corpus.doc_ids, 0) if collection.complete else {}
            judgments[aspect] = {**unlisted, **collection.qrels.get(query_id, {})}
    for aspect in corpus.aspects:
        own = own_grades(Query(corpus.name, seed=seed, aspect=aspect), annotator)
        if own:
            judgments[aspect] = {**judgments.get(aspect, {}), **own}
    for grades in judgments.values():
        grades.pop(seed, None)
    return {aspect: grades for aspect, grades in judgments.items() if grades}
