"""A model as the judge of reranking algorithms (``engine.rerank.protocols.Judge``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from engine.llm.client import Client
from engine.llm.judging_prompts import (
    CANDIDATE_TOKENS,
    FEWEST_TOKENS,
    RULES,
    Criterion,
    is_cut,
    listwise,
    pairwise,
    pointwise,
)
from engine.llm.messages import Prompt
from engine.llm.texts import estimate_tokens
from engine.rerank.protocols import Judge, StopAsking
from engine.types.documents import Document

Preference: TypeAlias = float | None
"""Probability that the first of two is the better one, None when nobody said."""
Question = Literal["compare", "grade", "order"]
Value = TypeVar("Value")
Item = TypeVar("Item")

OVERHEAD_TOKENS = 200  # Of the question, the fences and the answer


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """Statistics of one judging run."""

    comparisons: int
    # mean probability given to the place shown first, over ``comparisons`` answers; 0.5 is
    # even-handed when every document stood first as often as second
    first_share: float | None
    cut: tuple[str, ...] = ()  # documents of which the model saw the beginning only
    empty: tuple[str, ...] = ()  # documents without text, not asked about


class ModelJudge(Judge):
    """Asks a model about the documents of one query, by their ``texts``; every method is one round.
    None is no answer, for whatever reason. After a stop, answers in the ledger still come; a round
    without any raises :class:`engine.rerank.protocols.StopAsking`."""

    def __init__(self, client: Client, criterion: Criterion, texts: Mapping[str, str]) -> None:
        self._client = client
        self._criterion = criterion
        self._texts = {doc_id: text.strip() for doc_id, text in texts.items()}
        self._cut: set[str] = set()
        self._empty: set[str] = set()
        self._comparisons = 0
        self._first = 0.0
        self._told = False  # whether a round has already ended with the run stopped

    @property
    def stopped(self) -> str:
        """Why no more questions go out ("cancelled", "budget", "endpoint"); "" while they do."""
        return self._client.stopped

    @property
    def report(self) -> JudgeReport:
        """The figures until now."""
        share = self._first / self._comparisons if self._comparisons else None
        cut, empty = tuple(sorted(self._cut)), tuple(sorted(self._empty))
        return JudgeReport(self._comparisons, share, cut, empty)

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[Preference]:
        """Probability that the first of each pair, shown first as A, is closer; 0.5 for equal
        texts, not asked. KeyError for an unknown document."""
        tokens = await self._room(2)

        def ask(pair: tuple[str, str]) -> Prompt[float] | None:
            first, second = (self._seen(doc_id, tokens) for doc_id in pair)
            if not first or not second or first == second:
                return None
            return pairwise(self._criterion, first, second, tokens)

        preferences = await self._round(pairs, ask)
        for preference in preferences:
            if preference is not None:
                self._comparisons += 1
                self._first += preference
        return [
            0.5 if self._texts[a] and self._texts[a] == self._texts[b] else preference
            for (a, b), preference in zip(pairs, preferences, strict=True)
        ]

    async def grade_each(self, doc_ids: Sequence[str]) -> list[float | None]:
        """Probability that each document is similar, judged by itself."""
        tokens = await self._room(1)

        def ask(doc_id: str) -> Prompt[float] | None:
            text = self._seen(doc_id, tokens)
            return pointwise(self._criterion, text, tokens) if text else None

        return await self._round(doc_ids, ask)

    async def order(self, lists: Sequence[Sequence[str]]) -> list[list[str] | None]:
        """Each list best first; documents that the model left out or that have no text lack."""
        tokens = await self._room(max(map(len, lists), default=1))
        shown = [[d for d in dict.fromkeys(ids) if self._seen(d, tokens)] for ids in lists]

        def ask(doc_ids: list[str]) -> Prompt[list[int]] | None:
            if len(doc_ids) < 2:
                return None
            return listwise(self._criterion, [self._texts[d] for d in doc_ids], tokens)

        orders = await self._round(shown, ask)
        return [
            None if order is None else [doc_ids[place] for place in order]
            for doc_ids, order in zip(shown, orders, strict=True)
        ]

    async def _round(
        self, items: Sequence[Item], ask: Callable[[Item], Prompt[Value] | None]
    ) -> list[Value | None]:
        """One round: a question per item, None for items that need or allow none."""
        prompts = [ask(item) for item in items]
        asked = [(i, prompt) for i, prompt in enumerate(prompts) if prompt is not None]
        values: list[Value | None] = [None] * len(items)
        answers = await self._client.ask([prompt for _, prompt in asked])
        for (i, _), answer in zip(asked, answers, strict=True):
            values[i] = answer
        if self._told and asked and all(answer is None for answer in answers):
            raise StopAsking(self.stopped)
        self._told = bool(self.stopped)
        return values

    async def _room(self, documents: int) -> int:
        context = await self._client.context()
        return _room(context, self._criterion, documents)

    def _seen(self, doc_id: str, tokens: int) -> str:
        text = self._texts[doc_id]
        if not text:
            self._empty.add(doc_id)
        elif is_cut(text, tokens):
            self._cut.add(doc_id)
        return text


def document_text(document: Document) -> str:
    """What a judge reads of a document: title, then text."""
    return f"{document.title.strip()}\n{document.text.strip()}".strip()


def _room(context: int | None, criterion: Criterion, documents: int) -> int:
    """Tokens per document in a context of that size; None for unknown."""
    if context is None:
        return CANDIDATE_TOKENS
    fixed = estimate_tokens(criterion.text) + estimate_tokens(RULES) + OVERHEAD_TOKENS
    return max(FEWEST_TOKENS, min(CANDIDATE_TOKENS, (context - fixed) // max(1, documents)))


def typical_question(
    criterion: Criterion,
    texts: Mapping[str, str],
    question: Question,
    context: int | None,
    size: int = 2,
) -> Prompt[Any]:
    """A question of mean length about these documents, for estimates."""
    count = {"compare": 2, "grade": 1, "order": size}[question]
    tokens = _room(context, criterion, count)
    sizes = [min(estimate_tokens(text.strip()), tokens) for text in texts.values() if text.strip()]
    mean = round(sum(sizes) / len(sizes)) if sizes else 0
    blank = "x " * round(mean * 1.8)  # of that many tokens, by our own count
    if question == "compare":
        return pairwise(criterion, blank, blank, tokens)
    if question == "grade":
        return pointwise(criterion, blank, tokens)
    return listwise(criterion, [blank] * count, tokens)
