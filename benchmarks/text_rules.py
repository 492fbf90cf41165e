"""Rules that read outside text: time per kB, which may not grow with the length of a text.

Texts are made to be hard: one pattern repeated, in which a rule finds much to compare. Of each rule
the pattern is printed whose time per kB grows most.
"""

from __future__ import annotations

import functools
import sys
import time
import timeit
from collections.abc import Callable
from typing import NamedTuple

from benchmarks.figures import Figure
from engine.bibliographic import without_markup
from engine.facts.amounts import find_amounts
from engine.facts.dates import find_dates
from engine.facts.places import find_places
from engine.ingest.documents import authors
from engine.lenses.roles import role_classifier
from engine.llm.texts import Quoted, cut_text, fenced
from engine.measures.metrics import tokenize
from engine.search.evidence import _WORD, root
from engine.sentences import split_sentences
from storage.home import suggest_corpus_name

SIZES = (10, 100, 1000)
"""kB, of 1,000 characters."""
GROWTH = 3.0
"""How much more a kB may take in the longest text than in the shortest."""
ROUNDS = 3
QUICK = 0.05
"""Milliseconds per kB below which growth is noise."""
PATTERNS = (
    "We measured 3 of 12 sites on 4 May 2019, for 20 dollars more than the last survey in Oslo. ",
    *("$1 ", "1 ", "1,", "[1] ", "from ", "( ", "May ", "a.b.", "e\u0301", "\u0301\u0323", "漢字"),
    *("'", "['a',", " ", "&amp;", "two ", "5 km ", "next Monday ", "Paris, "),
    "The desk costs 5 dollars more than the lamp. ",
)
"""Prose first; then signs, words without a sentence, letters with combining marks, and text without
a blank."""


def _roles(text: str) -> object:
    return role_classifier().predict([text[slice(*span)] for span in split_sentences(text)])


def _words(text: str) -> object:
    return [root(match.group()) for match in _WORD.finditer(text)]


def _prompt(text: str) -> object:
    return fenced("document", cut_text(text, 2_000).text), fenced("document", text)


def _quote(text: str) -> object:
    return Quoted(text).find("words that stand nowhere in this text")


RULES: dict[str, Callable[[str], object]] = {
    "sentences": split_sentences,
    "roles of sentences": _roles,
    "amounts": find_amounts,
    "dates": find_dates,
    "places": find_places,
    "words of evidence": _words,
    "texts of prompts": _prompt,
    "quotations": _quote,
    "words of answers": tokenize,
    "names of corpora": suggest_corpus_name,
    "cells of tables": lambda text: (authors(text, set()), without_markup(text, set())),
}


class Rate(NamedTuple):
    """Milliseconds per kB of one pattern, for each of the sizes."""

    pattern: str
    each: tuple[float, ...]

    @property
    def growth(self) -> float:
        return self.each[-1] / max(self.each[0], QUICK)


def rate(rule: Callable[[str], object], pattern: str, sizes: tuple[int, ...] = SIZES) -> Rate:
    """How fast a rule reads a pattern, the quickest of ``ROUNDS`` each."""
    taken = []
    for size in sizes:
        text, number = (pattern * (1000 * size // len(pattern) + 1))[: 1000 * size], 30 // size or 1
        read = functools.partial(rule, text)
        seconds = timeit.repeat(read, timer=time.process_time, repeat=ROUNDS, number=number)
        taken.append(1000 * min(seconds) / number / size)
    return Rate(pattern, tuple(taken))


def measure(sizes: tuple[int, ...] = SIZES) -> list[Figure]:
    """Of each rule the pattern whose time per kB grows most. `sizes`: kB."""
    figures = []
    for name, rule in RULES.items():
        rule(PATTERNS[0])  # what is loaded once
        rates = [rate(rule, pattern, sizes) for pattern in PATTERNS]
        worst = max(rates, key=lambda one: one.growth)
        slowest = max(rates, key=lambda one: one.each[-1])
        each = ", ".join(f"{ms:.2f} at {kb:,} kB" for ms, kb in zip(worst.each, sizes, strict=True))
        note = f"{each}; slowest {slowest.pattern!r}, {slowest.each[-1]:.2f} ms/kB"
        what, growth = f"{name}: {worst.pattern!r} repeated", f"at {sizes[0]} kB"
        figures.append(
            Figure(what, worst.each[-1], "ms/kB", note, None, GROWTH, worst.growth, growth)
        )
        print(f"{name}: {note}", file=sys.stderr, flush=True)
    return figures
