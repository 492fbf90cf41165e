"""What a free wording asks for: which aspects of the lens it wants, and which it rules out.

A clause of a wording may *name* an aspect ("the same technique"), *state* something that
sentences of an aspect would say ("trained without labels", which methods say), or do neither
("in the same journal"). A conditional logit weighs these options, two for every aspect and
one for neither: names are compared with the words of the aspect (name, phrases, definition,
instruction) by the embedded model and by shared word stems; statements go by what kind of
statement they are (:mod:`engine.lenses.kinds`). Only a negated clause that names an aspect
rules it out; any other belongs to the statement around it. The weights were fitted by
``benchmarks/fit_reader.py`` and are the same for all aspects, so that they serve any lens.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from engine.config import ASSETS
from engine.lenses.clauses import Clause, says_something, split_clauses
from engine.lenses.embedded_texts import Embed
from engine.lenses.glossary import fold, gloss
from engine.lenses.kinds import Kinds
from engine.numeric import FloatArray
from engine.types.lenses import Aspect, Lens

WEIGHTS = ASSETS / "wordings" / "reader.json"
CLEAR = 0.5
"""Probability from which a clause speaks of an aspect beyond doubt."""
NAMED = 1.0
"""Odds, against "neither", from which a clause speaks of its likeliest aspect at all."""
RULED = 0.4
"""Probability from which what "not" or "without" negates is an aspect, and no statement's part."""
SECOND = 0.7
"""Share of the likeliest aspect's probability from which a clause speaks of another one too."""
OTHERS = 0.6
"""Share of the clearest clause's probability from which another clause counts too."""
STEM = 5
"""First letters that make a stem: enough for "technique" and "technical" to meet."""
FEATURES = (
    "best phrase", "best phrases", "sayings", "stems", "phrase found",
    "kind of name", "naming", "unknown words in a name", "name",
    "negated in asking", "negated", "negated and determined", "negated within a sentence",
    "negated verb", "negated unknown words",
    "kind of statement", "words of that kind", "examples", "unknown words in a statement",
    "statement",
    "generic", "outside",
)  # fmt: skip
"""What an option goes by: the first 15 when it names, the next five when it states, else two."""
_COMMON = """
    the a an of and or in on to for with by from at as is are was were be been it its this that
    these those they their them he she his her who which what how why when where same similar
    like alike one other others me my we you do does did does not no find look want give show
    more papers paper documents articles article work works studies study authors author
    sentences say says said people kind such very much please would could should
"""
_STOP = frozenset(_COMMON.split())
"""Words that say nothing about which aspect is meant."""

_DETERMINED = re.compile(
    r"(?:\w+\s+){0,2}(?:same|similar|this|these|such|its|their|his|her|how|what|which|who|why"
    r"|when|where)\b",
    re.IGNORECASE,
)
"""The beginning of something that is known already, as what an aspect is called is."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a wording was understood to ask for.

    Attributes:
        wants: (a,) weights over the lens, sum to 1, or all 0 when no aspect was asked for.
        avoids: (a,) 0 to 1: aspects that were ruled out.
        strength: 0 (asks for no aspect) to 1 (asks for one beyond doubt).
        subject: the clauses that ask for something, the ones that rule out left out.
        stated: whether it names no aspect, and what it wants follows from what it states.
    """

    wants: FloatArray
    avoids: FloatArray
    strength: float
    subject: str
    stated: bool = False


class Options(NamedTuple):
    """How likely texts are to do what: name an aspect (n, a), state (n, a), neither (n,)."""

    names: FloatArray
    states: FloatArray
    neither: FloatArray

    def named(self, clauses: Sequence[Clause]) -> FloatArray:
        """(n,) booleans: which clauses name an aspect, and are no part of a statement."""
        names = self.names.sum(axis=1)
        plain = np.array([c.against and not c.asks for c in clauses])
        asking = np.array([c.asks for c in clauses])
        least = np.where(plain, RULED, np.where(asking, 0.0, self.states.sum(axis=1)))
        return np.asarray((names > least) & (names > NAMED * self.neither))

    def ruled(self) -> FloatArray:
        """(n, a) probability of each name, for a text that states nothing."""
        names = self.names.sum(axis=1)
        return np.asarray(self.names / (names + self.neither)[:, None])


def stems(text: str) -> list[str]:
    """Stems of the telling words, accents and case removed."""
    return [w[:STEM] for w in re.findall(r"[a-z]{3,}", fold(text)) if w not in _STOP]


class LensWords:
    """The words of a lens, embedded: what clauses are compared with.

    Wordings are read with the embedded model, whatever model the corpus has. ``read`` says which
    aspects a wording asks for and rules out (one that only rules aspects out asks for all the
    others alike), and remembers it: comparisons ask for the same wordings often.
    """

    def __init__(self, lens: Lens, embed: Embed) -> None:
        self._embed = embed
        self._phrases = [embed([a.name, *a.phrases]) for a in lens.aspects]
        self._sayings = [embed([a.definition, a.instruction]) for a in lens.aspects]
        self._examples = [embed(a.examples or (a.definition,)) for a in lens.aspects]
        things = lens.things
        self._generic = embed(
            [lens.generic, f"similar {things}", f"more {things} like this", f"related {things}"]
        )
        names = [np.concatenate(both) for both in zip(self._phrases, self._sayings, strict=True)]
        self._kinds = Kinds(lens, names, self._examples)
        self._found = [_one_of([a.name, *a.phrases]) for a in lens.aspects]
        self._stems = [Counter(set(stems(_all_words(a)))) for a in lens.aspects]
        self._spread = Counter(stem for of_aspect in self._stems for stem in of_aspect)
        self.read = functools.lru_cache(maxsize=512)(self._read)

    def _read(self, words: str) -> Reading:
        nothing = np.zeros(len(self._phrases), dtype=np.float32)
        if not words.strip():
            return Reading(nothing, nothing, 0.0, "")
        text = gloss(words)
        clauses = split_clauses(text)
        options = probabilities(self.features(clauses), _fitted())
        named = options.named(clauses)
        either = options.names + options.states
        for i, j in itertools.combinations(np.flatnonzero(named), 2):
            if clauses[i].against != clauses[j].against:  # the last mention of an aspect counts
                same = int(options.names[i].argmax()) == int(options.names[j].argmax())
                named[i] = named[i] and not same
        wanted = [either[i] for i in np.flatnonzero(named) if not clauses[i].against]
        ruled = [options.ruled()[i] for i in np.flatnonzero(named) if clauses[i].against]
        stated, subject = statements(text, clauses, named.tolist())
        if stated:
            units = [Clause(said, against=False, start=0, end=len(said)) for said in stated]
            of_stated = probabilities(self.features(units), _fitted())
            wanted += list(of_stated.names + of_stated.states)
        found = combine(np.array([nothing, *wanted]), np.array([nothing, *ruled]), subject)
        return replace(found, stated=not named.any())

    def features(self, clauses: Sequence[Clause]) -> FloatArray:
        """(clauses, 2 aspects + 1, features): naming each aspect, stating, and neither."""
        texts = [clause.text for clause in clauses]
        vectors = self._embed(texts)
        aspects, kinds, folded = len(self._phrases), self._kinds, [fold(text) for text in texts]
        out = np.zeros((len(texts), 2 * aspects + 1, len(FEATURES)), dtype=np.float32)
        for a in range(aspects):
            phrases = np.sort(vectors @ self._phrases[a].T, axis=1)[:, ::-1]
            out[:, a, 0] = phrases[:, 0]
            out[:, a, 1] = phrases[:, :4].mean(axis=1)
            out[:, a, 2] = (vectors @ self._sayings[a].T).mean(axis=1)
            out[:, a, 3] = [self._shared(text, a) for text in texts]
            out[:, a, 4] = [self._found[a].search(text) is not None for text in folded]
            out[:, aspects + a, 17] = (vectors @ self._examples[a].T).max(axis=1)
        unknown = np.array([self._unknown(text) for text in texts])[:, None]
        named, stated = out[:, :aspects], out[:, aspects:-1]
        named[:, :, 5] = kinds.names(vectors)
        named[:, :, 6] = kinds.naming(vectors)[:, None]
        named[:, :, 7], named[:, :, 8] = unknown, 1.0
        named[:, :, 9:14] = np.array([_negation(clause) for clause in clauses])[:, None]
        named[:, :, 14] = unknown * named[:, :, 10]
        stated[:, :, 15], stated[:, :, 16] = kinds.states(vectors), kinds.words(texts)
        stated[:, :, 18], stated[:, :, 19] = unknown, 1.0
        out[:, -1, 20] = (vectors @ self._generic.T).max(axis=1)
        out[:, -1, 21] = kinds.outside(vectors)
        return out

    def _shared(self, text: str, aspect: int) -> float:
        """Stems that a text shares with an aspect, rare ones in the lens counting more."""
        shared = [s for s in set(stems(text)) if s in self._stems[aspect]]
        return float(min(2.0, sum(1.0 / self._spread[s] for s in shared)))

    def _unknown(self, text: str) -> float:
        """Share of the telling words that are none of the lens's."""
        telling = stems(text)
        return sum(s not in self._spread for s in telling) / max(1, len(telling))


def _negation(clause: Clause) -> tuple[bool, bool, bool, bool, bool]:
    """How a clause is negated; all false for one that is not."""
    plain = clause.against and not clause.asks
    return (
        clause.against and clause.asks,
        plain,
        plain and _DETERMINED.match(clause.text) is not None,
        plain and clause.follows,
        plain and clause.verb,
    )


def _all_words(aspect: Aspect) -> str:
    return " ".join([aspect.name, *aspect.phrases, aspect.definition, aspect.instruction])


def _one_of(phrases: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(re.escape(fold(p)) for p in phrases)})s?\b")


@functools.lru_cache(maxsize=1)
def _fitted() -> FloatArray:
    return np.array(json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"], dtype=np.float32)


def probabilities(features: FloatArray, weights: FloatArray) -> Options:
    """The options by the conditional logit, of :meth:`LensWords.features`."""
    utility = features @ weights
    odds = np.exp(utility - utility.max(axis=-1, keepdims=True))
    chances = np.asarray(odds / odds.sum(axis=-1, keepdims=True), dtype=np.float32)
    names, states = np.split(chances[:, :-1], 2, axis=1)
    return Options(names, states, chances[:, -1])


def statements(
    text: str, clauses: Sequence[Clause], named: Sequence[bool]
) -> tuple[list[str], str]:
    """What is stated between the clauses that name aspects, negations included, and the subject.

    A negation right behind a name belongs to it: "similar results without labelled data".
    """
    stated: list[list[Clause]] = []
    subject: list[list[Clause]] = []
    before: list[Clause] | None = None  # what the next clause goes on from
    for clause, is_name in zip(clauses, named, strict=True):
        if is_name:
            before = None if clause.against else [clause]
            subject += [before] if before else []
        elif before is not None and not clause.apart and (before in stated or clause.follows):
            before.append(clause)
        elif not (clause.against and any(named)):
            before = [clause]
            stated.append(before)
            subject.append(before)
    said = [text[run[0].start : run[-1].end].strip(" ,;.:") for run in stated]
    about = [text[run[0].start : run[-1].end].strip(" ,;.:") for run in subject]
    return [s for s in said if says_something(s)], ". ".join(filter(says_something, about))


def combine(wanted: FloatArray, ruled_out: FloatArray, subject: str) -> Reading:
    """Join what the clauses say.

    Args:
        wanted, ruled_out: (clauses, a) probability of each aspect.
        subject: see :class:`Reading`.
    """
    wants, avoids = _clear(wanted), _clear(ruled_out)
    # What was asked for is not ruled out by a second mention in other words.
    avoids = np.where(avoids > wants, avoids, 0.0)
    wants = np.where(avoids > 0, 0.0, wants)
    if not wants.any() and avoids.any():
        wants = np.where(avoids > 0, 0.0, avoids.max())
    strength = float(min(1.0, wants.max(initial=0.0) / CLEAR))
    total = float(wants.sum())
    return Reading(
        np.asarray(wants / total if total > 0 else wants, dtype=np.float32),
        np.asarray(np.minimum(1.0, avoids / CLEAR), dtype=np.float32),
        strength,
        subject,
    )


def _clear(chances: FloatArray) -> FloatArray:
    """(a,) How clearly some clause speaks of each aspect; what is only faintly meant is 0."""
    best = chances.max(axis=1, keepdims=True)
    neither = 1.0 - chances.sum(axis=1, keepdims=True)
    clear = (best > NAMED * neither) & (best >= OTHERS * best.max())
    return np.asarray(np.where(clear & (chances >= SECOND * best), chances, 0).max(axis=0))
