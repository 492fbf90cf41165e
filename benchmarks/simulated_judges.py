"""Judges that err in a known way, in place of a model: every answer follows from a hash.

A judge sees a document's true grade through a persistent misjudgement, a pair through a
persistent noise of its own (so that answers need not be transitive), prefers the document shown
first, and is not certain even then. No figure made with them says how well a model reranks; they
say how algorithms compare under errors of the same kind.

``MIDDLE`` names the first of two documents 61 % of the time and is right on 84 % of the pairs of
different grades; ``STRONG`` on 94 %, ``WEAK`` on 74 % (over the first 100 of CSFCube's pools).
How much noisier lists and single grades are than pairs is assumed, not measured.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

_NORMAL = NormalDist()
_LOGISTIC_SD = math.pi / math.sqrt(3)
POINTWISE_NOISE = 1.6
"""Of a single grade, over a document's share of a pair's noise."""
MOST_GRADE = 3.0


@dataclass(frozen=True)
class Character:
    """How a judge errs, in grades (0 to 3)."""

    name: str
    misjudgement: float  # standard deviation of the error about a document, the same in all answers
    pair_noise: float  # standard deviation of the error about an ordered pair or a list
    doubt: float  # scale of the logistic noise of a single answer
    first: float  # mean advantage of the document shown first
    first_spread: float  # its standard deviation over ordered pairs
    failures: float  # share of questions without an answer, 0 to 1
    probabilities: bool = False  # True answers with probabilities, False with 0 or 1


STRONG = Character("strong", 0.35, 0.2, 0.2, 0.15, 0.2, 0.002)
MIDDLE = Character("middle", 0.6, 0.3, 0.3, 0.4, 0.3, 0.005)
WEAK = Character("weak", 0.9, 0.5, 0.45, 0.9, 0.5, 0.02)
BIASED = Character("biased", 0.6, 0.3, 0.3, 1.5, 0.3, 0.005)
SOFT = Character("middle, probabilities", 0.6, 0.3, 0.3, 0.4, 0.3, 0.005, probabilities=True)
CHARACTERS = (STRONG, MIDDLE, WEAK, BIASED, SOFT)


def uniforms(*what: object) -> tuple[float, float, float, float]:
    """Four independent numbers between 0 and 1, exclusive, that ``what`` alone decides."""
    digest = hashlib.blake2b("\x1f".join(map(str, what)).encode(), digest_size=32).digest()
    a, b, c, d = (int.from_bytes(digest[i : i + 8], "big") for i in range(0, 32, 8))
    most = 2.0**64
    return (a + 0.5) / most, (b + 0.5) / most, (c + 0.5) / most, (d + 0.5) / most


def normal(uniform: float) -> float:
    """The standard normal value that ``uniform`` is the share below of."""
    return _NORMAL.inv_cdf(min(max(uniform, 1e-12), 1 - 1e-12))


def sigmoid(x: float) -> float:
    """Logistic function without overflow."""
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


@dataclass
class SimulatedJudge:
    """Answers about one query's documents."""

    character: Character
    query_id: str
    grades: Mapping[str, float]  # doc_id -> true grade; what is not listed has 0
    repeat: int = 0  # another number draws other answers from the same character
    asked: int = 0  # questions so far
    _utilities: dict[str, float] = field(default_factory=dict)

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        self.asked += len(pairs)
        return [self.pair(first, second) for first, second in pairs]

    async def grade_each(self, doc_ids: Sequence[str]) -> list[float | None]:
        self.asked += len(doc_ids)
        return [self.grade(doc_id) for doc_id in doc_ids]

    async def order(self, lists: Sequence[Sequence[str]]) -> list[list[str] | None]:
        self.asked += len(lists)
        return [self.listing(doc_ids) for doc_ids in lists]

    def pair(self, first: str, second: str) -> float | None:
        """The answer about an ordered pair."""
        c = self.character
        noise, spread, doubt, failure = self._drawn("pair", first, second)
        if failure < c.failures:
            return None
        margin = self.utility(first) - self.utility(second) + c.first
        margin += c.pair_noise * normal(noise) + c.first_spread * normal(spread)
        probability = sigmoid(margin / c.doubt)
        return probability if c.probabilities else float(doubt < probability)

    def grade(self, doc_id: str) -> float | None:
        """A grade in half steps, 0 to 1."""
        c = self.character
        noise, _, _, failure = self._drawn("grade", doc_id)
        if failure < c.failures:
            return None
        seen = self.utility(doc_id) + POINTWISE_NOISE * self._share() * normal(noise)
        return min(max(round(2 * seen) / 2, 0.0), MOST_GRADE) / MOST_GRADE

    def listing(self, doc_ids: Sequence[str]) -> list[str] | None:
        """An order; documents that fail are left out of it."""
        c = self.character
        listed = "\x1e".join(doc_ids)
        seen = []
        for place, doc_id in enumerate(doc_ids):
            noise, _, _, failure = self._drawn("list", listed, doc_id)
            if failure >= c.failures:
                value = self.utility(doc_id) + c.first * (0.5 - place / max(len(doc_ids) - 1, 1))
                value += math.sqrt(1 + len(doc_ids) / 20) * self._share() * normal(noise)
                seen.append((-value, place, doc_id))
        return [doc_id for _, _, doc_id in sorted(seen)] or None

    def utility(self, doc_id: str) -> float:
        """How good the judge takes a document to be, in grades."""
        if doc_id not in self._utilities:
            error = self.character.misjudgement * normal(self._drawn("document", doc_id)[0])
            self._utilities[doc_id] = self.grades.get(doc_id, 0) + error
        return self._utilities[doc_id]

    def _drawn(self, *what: str) -> tuple[float, float, float, float]:
        """Numbers that this judge draws for a question."""
        return uniforms(self.query_id, self.character.name, self.repeat, *what)

    def _share(self) -> float:
        """One document's share of a pair's noise, as a standard deviation."""
        c = self.character
        return math.sqrt((c.pair_noise**2 + (c.doubt * _LOGISTIC_SD) ** 2) / 2)
