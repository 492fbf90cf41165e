"""What a model judges documents of a search by."""

from __future__ import annotations

from engine.corpora.contracts import Seed
from engine.llm.judging_prompts import Criterion, make_criterion
from engine.search.interpretation import find_wish, in_words
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


def criterion_for(searcher: Searcher, query: Query, seed: Seed) -> Criterion:
    """What documents are judged by: the seed, its sentences in focus first, and the wish."""
    wish = find_wish(query, searcher.corpus.lens)
    focus = searcher.interpret(query, seed).focus
    weights = None if focus is None else focus.sentence_weights.tolist()
    aspect = PICKED if query.focus else _joined(wish.wanted)
    by_sentences = query.focus and not (wish.words or query.reading)
    words = "" if by_sentences else in_words(wish, query, searcher.corpus.lens)
    return make_criterion(seed.document, aspect, words, weights)


def _joined(aspects: tuple[Aspect, ...]) -> Aspect | None:
    """Several aspects as one that a model can be told."""
    if len(aspects) < 2:
        return aspects[0] if aspects else None
    return Aspect(
        "+".join(a.key for a in aspects),
        " and ".join(a.name for a in aspects),
        aspects[0].letter,
        " ".join(f"{a.name}: {a.definition}" for a in aspects),
        " ".join(a.instruction for a in aspects),
    )
