"""What a free wording asks for: which aspects of the lens it wants, and which it rules out.

A wording is cut into clauses, each for or against something; each clause is compared with
the words of every aspect (its name, phrases, definition, instruction and examples) by the
embedded model and by shared word stems; a conditional logit turns that into probabilities
over the aspects and "none of them". Its six weights were fitted by ``benchmarks/fit_reader.py``
on wordings written for it, and are the same for all aspects, so that they serve any lens.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.config import ASSETS
from engine.lenses.embedded_texts import Embed
from engine.numeric import FloatArray
from engine.types.lenses import Aspect, Lens

WEIGHTS = ASSETS / "wordings" / "reader.json"
CLEAR = 0.5
"""Probability from which a clause speaks of an aspect beyond doubt."""
NAMED = 1.0
"""Odds, against "none", from which a clause speaks of its likeliest aspect at all.

Measured by ``python -m benchmarks.thresholds`` on the wordings that were not fitted to: at 1, 93 %
of 71 that ask for or rule out an aspect are read as doing so, and 85 % of 26 that ask for none are
read as that; all aspects are right for 67 %. At 0.67 it is 93, 81 and 66 %, at 2 it is 83, 88 and
65 %.
"""
SECOND = 0.6
"""Share of the likeliest aspect's probability from which a clause speaks of another one too."""
LISTED = 3
"""Words that a part of a list has at most, when it takes over the direction before it."""
STEM = 5
"""First letters that make a stem: enough for "method", "Methode" and "método" to meet."""

_BREAK = re.compile(
    r"([,;()\n–—]+|[:.!?]+(?=\s|$)|"
    r"\b(?<!not )(?<!nothing )(?<!anything )(?=(?:but|yet|though|although|even if|"
    r"even though|rather than|instead of|regardless of|irrespective of|independent(?:ly)? of|"
    r"no matter|never mind|whatever|whichever|without|except|excluding|ignoring|ignore|"
    r"disregard|leave out|leaving out|leave aside|skip|apart from|other than|as long as|not just|"
    r"not only|while|whereas|aber|sondern|egal|ohne|statt|unabhängig von|mais|sans|peu importe|"
    r"quel que soit|pero|sin|sino)\b)|"
    r"\b(?=(?:(?:for|on|in|from|with|about|to)\s+)?(?:an?\s+|the\s+)?"
    r"(?:different|unrelated|something else)\b))",
    re.IGNORECASE,
)
"""Where a wording may turn; what stands there is kept, every second part."""
_JOINED = re.compile(
    r"\b(?:and|or|nor|plus|together with|as well as|und|oder|et|ou|y|o)\b", re.IGNORECASE
)
"""What joins two things that are both wanted, or both not."""
_ONLY = re.compile(
    r"^\W*(?:and |but )?(?:nothing but|not only|not just|nichts als|nur|only)\b", re.I
)
_FOR = re.compile(
    r"\W*(?:and |but )?(?:the )?(?:same|similar|like|alike|identical|comparable)\b", re.IGNORECASE
)
_AGAINST = re.compile(
    r"\b(?:not|no|never|nothing|neither|don't|doesn't|isn't|aren't|without|ignor\w*|"
    r"disregard\w*|regardless|irrespective|independent(?:ly)? of|no matter|never mind|whatever|"
    r"whichever|except|excluding|exclude|leave out|leaving out|leave aside|set aside|skip|"
    r"rather than|instead of|apart from|other than|anything but|unlike|different|differs?|"
    r"unrelated|something else|anything else|opposite|"
    r"nicht|kein\w*|egal|ohne|statt|unabhängig|außer|anders|"
    r"pas|sans|peu importe|quel que soit|sauf|différent\w*|"
    r"sin|ningun\w*|salvo|excepto|distint\w*|independientemente)\b",
    re.IGNORECASE,
)
_COMMON = """
    the a an of and or in on to for with by from at as is are was were be been it its this that
    these those they their them he she his her who which what how why when where same similar
    like alike one other others me my we you do does did does not no find look want give show
    more papers paper documents articles article work works studies study authors author
    sentences say says said people kind such very much please would could should
"""
_STOP = frozenset(_COMMON.split())
"""Words that say nothing about which aspect is meant."""


class Clause(NamedTuple):
    """A part of a wording, and whether it rules out what it speaks of."""

    text: str
    against: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a wording was understood to ask for.

    Attributes:
        wants: (a,) weights over the lens, sum to 1, or all 0 when no aspect was asked for.
        avoids: (a,) 0 to 1: aspects that were ruled out.
        strength: 0 (asks for no aspect) to 1 (asks for one beyond doubt).
        subject: the clauses that ask for something, the ones against left out.
    """

    wants: FloatArray
    avoids: FloatArray
    strength: float
    subject: str


def split_clauses(words: str) -> list[Clause]:
    """Cut a wording where its direction may change.

    >>> [(c.text, c.against) for c in split_clauses("same design, ignore the topic")]
    [('same design', False), ('ignore the topic', True)]
    """
    clauses: list[Clause] = []
    against, after = False, ""
    for position, part in enumerate(map(str.strip, _BREAK.split(words))):
        if position % 2:  # what stood between two parts
            after = part
            continue
        against = _rules_out(part) or (against and after == "," and _goes_on(part))
        halves = [half.strip() for half in _JOINED.split(part)]
        clauses += [Clause(half, against) for half in halves if _says_something(half)]
    return clauses or [Clause(words.strip(), _rules_out(words))]


def _rules_out(part: str) -> bool:
    """Two negations make an affirmation: "do not ignore the method"."""
    return len(_AGAINST.findall(part)) % 2 == 1 and not _ONLY.match(part)


def _goes_on(part: str) -> bool:
    """True for what merely continues a list: "not the topic, the field or the task"."""
    return not _FOR.match(part) and all(len(half.split()) <= LISTED for half in _JOINED.split(part))


def _says_something(text: str) -> bool:
    return bool(stems(text)) or len(re.findall(r"\w+", text)) > 2


def stems(text: str) -> list[str]:
    """Stems of the telling words, accents and case removed."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return [w[:STEM] for w in re.findall(r"[a-z]{3,}", plain) if w not in _STOP]


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
        self._stems = [Counter(set(stems(_all_words(a)))) for a in lens.aspects]
        self._spread = Counter(stem for of_aspect in self._stems for stem in of_aspect)
        self.read = functools.lru_cache(maxsize=512)(self._read)

    def _read(self, words: str) -> Reading:
        if not words.strip():
            nothing = np.zeros(len(self._phrases), dtype=np.float32)
            return Reading(nothing, nothing, 0.0, "")
        clauses = split_clauses(words)
        chances = probabilities(self.features([c.text for c in clauses]), _fitted())
        return combine_clauses(clauses, chances[:, :-1])

    def features(self, clauses: Sequence[str]) -> FloatArray:
        """(clauses, aspects + 1, features); the last option is "none of the aspects"."""
        vectors = self._embed(clauses)
        aspects = len(self._phrases)
        out = np.zeros((len(clauses), aspects + 1, 6), dtype=np.float32)
        for a in range(aspects):
            phrases = np.sort(vectors @ self._phrases[a].T, axis=1)[:, ::-1]
            out[:, a, 0] = phrases[:, 0]
            out[:, a, 1] = phrases[:, :4].mean(axis=1)
            out[:, a, 2] = (vectors @ self._sayings[a].T).mean(axis=1)
            out[:, a, 3] = (vectors @ self._examples[a].T).max(axis=1)
            out[:, a, 4] = [self._shared(clause, a) for clause in clauses]
        out[:, aspects, 0] = (vectors @ self._generic.T).max(axis=1)
        out[:, aspects, 5] = 1.0
        return out

    def _shared(self, clause: str, aspect: int) -> float:
        """Stems that a clause shares with an aspect, rare ones in the lens counting more."""
        shared = [s for s in set(stems(clause)) if s in self._stems[aspect]]
        return float(min(2.0, sum(1.0 / self._spread[s] for s in shared)))


def _all_words(aspect: Aspect) -> str:
    return " ".join([aspect.name, *aspect.phrases, aspect.definition, aspect.instruction])


@functools.lru_cache(maxsize=1)
def _fitted() -> FloatArray:
    return np.array(json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"], dtype=np.float32)


def probabilities(features: FloatArray, weights: FloatArray) -> FloatArray:
    """(clauses, aspects + 1) by the conditional logit."""
    utility = features @ weights
    odds = np.exp(utility - utility.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True), dtype=np.float32)


def combine_clauses(clauses: Sequence[Clause], chances: FloatArray) -> Reading:
    """Join what the clauses say.

    Args:
        chances: (clauses, a) probability of each aspect, "none" left out.
    """
    against = np.array([c.against for c in clauses])
    wants, avoids = _named(chances[~against]), _named(chances[against])
    # What was asked for is not ruled out by a second mention in other words.
    avoids = np.where(avoids > wants, avoids, 0.0)
    wants = np.where(avoids > 0, 0.0, wants)
    if not wants.any() and avoids.any():
        wants = np.where(avoids > 0, 0.0, avoids.max())
    strength = float(min(1.0, wants.max(initial=0.0) / CLEAR))
    total = float(wants.sum())
    subject = ". ".join(c.text for c in clauses if not c.against)
    return Reading(
        np.asarray(wants / total if total > 0 else wants, dtype=np.float32),
        np.asarray(np.minimum(1.0, avoids / CLEAR), dtype=np.float32),
        strength,
        subject,
    )


def _named(chances: FloatArray) -> FloatArray:
    """(a,) How clearly some clause speaks of each aspect; what is only faintly meant is 0."""
    if not len(chances):
        return np.zeros(chances.shape[1], dtype=np.float32)
    best = chances.max(axis=1, keepdims=True)
    none = 1.0 - chances.sum(axis=1, keepdims=True)
    clear = (best > NAMED * none) & (best >= SECOND * best.max())
    return np.asarray(np.where(clear & (chances >= SECOND * best), chances, 0).max(axis=0))
