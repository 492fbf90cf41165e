"""What a model judges documents of a search by."""

from __future__ import annotations

from engine.corpora.contracts import Focus, Seed
from engine.lenses.definitions import find_aspect
from engine.llm.prompts import Criterion, make_criterion
from engine.search.searcher import Searcher
from engine.types.lenses import Aspect
from engine.types.searches import Query

PICKED = Aspect(
    "picked",
    "Picked sentences",
    "P",
    "the sentences of the starting document that the person picked",
    "documents that say something close to the picked sentences",
)
"""Stands for the aspect where a person picked sentences instead."""


def criterion_for(searcher: Searcher, query: Query, seed: Seed, focus: Focus | None) -> Criterion:
    """What documents are judged by: the seed, its sentences in focus first, and the wish."""
    aspect = find_aspect(searcher.corpus.lens, query.aspect) if query.aspect else None
    weights = None if focus is None else focus.sentence_weights.tolist()
    if query.focus:
        aspect = PICKED
    return make_criterion(seed.document, aspect, query.instruction or "", weights)
