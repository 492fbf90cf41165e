"""One reranking under way: what was asked, what was answered, and the best order so far."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import expit

from engine.rerank.bradley_terry import Answer, BradleyTerry
from engine.rerank.protocols import Judge, OnRound, Options, Progress, Reranked

Pair = tuple[int, int]
"""Shown first, shown second; documents are known by their first-stage rank from 0."""
TOLD_FROM_POSITION = 5
"""Documents of a list from which an answer in the order shown is no opinion on them: a true order
is the one shown once in 120 lists of 5."""


class Stopped(Exception):  # noqa: N818 - it is no error
    """Unwinds an algorithm that ``on_round`` stopped."""


class Asking:
    """Puts an algorithm's questions to the judge and counts them. Algorithms see documents 0 to
    n - 1 in first-stage order, and report orders; the last one is the result, at any stop."""

    def __init__(
        self, candidates: Sequence[str], judge: Judge, options: Options, on_round: OnRound | None
    ) -> None:
        if len(set(candidates)) < len(candidates):
            twice = next(d for i, d in enumerate(candidates) if d in candidates[:i])
            raise ValueError(f"Document '{twice}' is a candidate twice.")
        self.options = options
        self.rounds = self.calls = self.unanswered = 0
        # comparisons, in the order asked; also those that an answered list implies
        self.answers: list[Answer] = []
        self.pairs: dict[Pair, float | None] = {}  # that were asked, with their answers
        self._judge, self._on_round = judge, on_round
        copies: dict[tuple[bool, str], list[str]] = {}
        for doc_id in candidates[: options.depth]:
            text = options.texts.get(doc_id, "")
            blank = not text.strip()  # nothing to read makes nobody a copy
            copies.setdefault((blank, doc_id if blank else text), []).append(doc_id)
        self._groups = list(copies.values())
        self._rest = tuple(candidates[options.depth :])
        self.doc_ids = [group[0] for group in self._groups]
        self.order = list(range(self.n))
        self._told_rounds = 0
        self._won, self._compared = 0.0, 0

    @property
    def n(self) -> int:
        """Documents that are judged: one of each text."""
        return len(self._groups)

    async def compare(self, pairs: Sequence[Pair]) -> None:
        """Ask what was not asked before, in one round; the answers join ``answers``."""
        fresh = [pair for pair in dict.fromkeys(pairs) if pair not in self.pairs]
        if not fresh:
            return
        named = [(self.doc_ids[first], self.doc_ids[second]) for first, second in fresh]
        replies = await self._judge.compare(named)
        self._count(len(fresh))
        for pair, reply in zip(fresh, replies, strict=True):
            won = _fraction(reply)
            self.pairs[pair] = won
            if won is None:
                self.unanswered += 1
            else:
                self.answers.append(Answer(*pair, won))
                self._won += won
                self._compared += 1

    def preference(self, a: int, b: int) -> float:
        """Probability, 0 to 1, that ``a`` is better than ``b``: the mean of both orders, in which
        position cancels out; for a missing answer the mean of all so far, 0.5 without any."""
        usual = self._won / self._compared if self._compared else 0.5
        forth, back = (
            usual if won is None else won
            for won in (self.pairs.get((a, b)), self.pairs.get((b, a)))
        )
        return round((forth + 1 - back) / 2, 9)

    async def better(self, a: int, b: int) -> bool:
        """Whether ``a`` is better than ``b`` in both orders, asked in one round; ties by the first
        stage."""
        await self.compare([(a, b), (b, a)])
        preference = self.preference(a, b)
        return a < b if preference == 0.5 else preference > 0.5

    async def grade_each(self) -> list[float | None]:
        """A grade, 0 to 1, of every document."""
        replies = await self._judge.grade_each(self.doc_ids)
        self._count(self.n)
        grades = [_fraction(reply) for reply in replies]
        self.unanswered += grades.count(None)
        return grades

    async def sort(self, lists: Sequence[Sequence[int]]) -> list[list[int]]:
        """Each list, best first, as far as the answer goes; empty where there is none. A judge that
        leaves every list as shown, or reverses every one, goes by the position: none has one."""
        replies = await self._judge.order([[self.doc_ids[i] for i in each] for each in lists])
        self._count(len(lists))
        found = []
        for shown, reply in zip(lists, replies, strict=True):
            index = {self.doc_ids[i]: i for i in shown}
            named = dict.fromkeys(doc_id for doc_id in reply or () if doc_id in index)
            found.append([index[doc_id] for doc_id in named])
            self.unanswered += not named
        answered = [(list(shown), own) for shown, own in zip(lists, found, strict=True) if own]
        if max((len(shown) for shown, _ in answered), default=0) < TOLD_FROM_POSITION:
            return found
        as_shown = all(own == shown for shown, own in answered)
        if as_shown or all(own == shown[::-1] for shown, own in answered):
            return [[] for _ in lists]
        return found

    def tell(self, order: Sequence[int]) -> None:
        """Keep the current order. Raises ``Stopped`` when ``on_round`` (called once per round)
        stops."""
        self.order = list(order)
        if self.rounds == self._told_rounds:
            return
        self._told_rounds = self.rounds
        if self._on_round is not None and self._on_round(Progress(*self._now())):
            raise Stopped

    def result(self, stopped: bool) -> Reranked:
        """The last order told, with what the comparisons say about it."""
        confidence: dict[str, float] = {}
        bias = None
        if self.answers:
            strengths = BradleyTerry(self.n).fit(self.answers)
            bias = float(expit(strengths.first))
            sure = strengths.confidence(self.order, self.options.top).tolist()
            confidence = {d: sure[i] for i in self.order for d in self._groups[i]}
        return Reranked(*self._now(), confidence, bias, stopped)

    def _now(self) -> tuple[tuple[str, ...], int, int, int]:
        order = (*(d for i in self.order for d in self._groups[i]), *self._rest)
        return order, self.rounds, self.calls, self.unanswered

    def _count(self, questions: int) -> None:
        self.rounds += 1
        self.calls += questions


def _fraction(value: float | None) -> float | None:
    """A number from 0 to 1 as it is, anything else as no answer."""
    if value is None or not math.isfinite(value) or not 0 <= value <= 1:
        return None
    return float(value)
