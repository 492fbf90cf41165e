"""A model as the judge of documents: criterion, questions, and the judge of reranking algorithms.

Another wording is another version: answers are kept by it. What all questions about a query share
comes first, for prefix caches; fenced candidates follow, and the question comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from engine.llm.client import Client
from engine.llm.messages import Message, Prompt, read_order, read_probability
from engine.llm.texts import (
    CUT,
    PROMPTS,
    choose_sentences,
    cut_text,
    estimate_tokens,
    fenced,
    harmless_line,
)
from engine.rerank.protocols import Judge, StopAsking
from engine.types.documents import Document
from engine.types.lenses import Aspect

SEED_TOKENS = 400  # Of a seed, its title included
INSTRUCTION_TOKENS = 200
_ON_THE_ASPECT = 0.5
"""Share of the greatest weight from which a sentence is said to serve the aspect."""
Value = TypeVar("Value")
CANDIDATE_TOKENS = 300
FEWEST_TOKENS = 40
"""A candidate is never cut below this; a model that cannot take it cannot judge it."""
PAIRWISE, POINTWISE, LISTWISE = "pairwise/1", "pointwise/1", "listwise/1"
RULES = PROMPTS["judging"]
_WHAT = "in what the person asks for"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One query, in the words that a model reads."""

    seed: str  # within its budget of tokens
    aspect: str = ""  # its name; "" when the whole seed counts
    definition: str = ""  # which sentences serve the aspect
    instruction: str = ""  # the person's words, or the built-in ones

    @property
    def text(self) -> str:
        """The criterion as it stands in a prompt: always the same words for the same query."""
        parts = [fenced("starting document", self.seed)]
        if self.aspect:
            parts.append(f"Aspect: {harmless_line(self.aspect)}")
        if self.definition:
            parts.append(f"The aspect means: {harmless_line(self.definition)}")
        if self.instruction:
            words = cut_text(self.instruction, INSTRUCTION_TOKENS).text
            parts.append(f"What the person asks for:\n{fenced('wording', words)}")
        elif not self.aspect:
            parts.append("What the person asks for: documents that are like it as a whole.")
        return "\n".join(parts)


def make_criterion(
    seed: Document,
    aspect: Aspect | None = None,
    instruction: str = "",
    weights: Sequence[float] | None = None,
) -> Criterion:
    """The criterion for a seed. A blank instruction is the aspect's own; sentences of least weight
    are cut first."""
    title = cut_text(seed.title.strip(), SEED_TOKENS // 4).text
    sentences = [s.text for s in seed.sentences] or ([seed.text] if seed.text.strip() else [])
    if weights is None or len(weights) != len(sentences) or aspect is None:
        weights = [1.0] * len(sentences)
    body = _seed_text(sentences, weights, SEED_TOKENS - estimate_tokens(title), aspect)
    return Criterion(
        seed="\n".join(part for part in (title, body) if part),
        aspect=aspect.name if aspect else "",
        definition=aspect.definition if aspect else "",
        instruction=instruction.strip() or (aspect.instruction if aspect else ""),
    )


def _seed_text(
    sentences: Sequence[str], weights: Sequence[float], tokens: int, aspect: Aspect | None
) -> str:
    if not sentences:
        return ""
    chosen, cut = choose_sentences(sentences, weights, tokens)
    if not chosen:  # even the most important sentence is too long
        first = max(range(len(sentences)), key=lambda i: (weights[i], -i))
        return cut_text(sentences[first], tokens).text
    heaviest = max(weights)
    on_it = [i for i in chosen if weights[i] >= _ON_THE_ASPECT * heaviest]
    rest = [i for i in chosen if i not in set(on_it)]
    if aspect is None or not rest:
        return " ".join([*(sentences[i] for i in chosen), *([CUT] if cut else [])])
    lines = [
        f"On this aspect ({harmless_line(aspect.name)}): {' '.join(sentences[i] for i in on_it)}",
        f"For context: {' '.join(sentences[i] for i in rest)}",
    ]
    return "\n".join([*lines, *([CUT] if cut else [])])


def pairwise(
    criterion: Criterion, first: str, second: str, tokens: int = CANDIDATE_TOKENS
) -> Prompt[float]:
    """Which of two is closer? Read as the probability that it is the first."""
    question = (
        f"Which candidate is closer to the starting document {_WHAT}, A or B? "
        "Answer with one letter, A or B, and nothing else."
    )
    texts = {"A": first, "B": second}
    return _choosing(PAIRWISE, criterion, texts, question, "letter", ("A", "B"), tokens)


def pointwise(criterion: Criterion, text: str, tokens: int = CANDIDATE_TOKENS) -> Prompt[float]:
    """Is it similar? Read as the probability of yes."""
    question = (
        f"Is the candidate similar to the starting document {_WHAT}? "
        "Answer with one word, yes or no, and nothing else."
    )
    return _choosing(POINTWISE, criterion, {"": text}, question, "word", ("yes", "no"), tokens)


def _choosing(
    name: str,
    criterion: Criterion,
    texts: Mapping[str, str],
    question: str,
    kind: str,
    choices: tuple[str, str],
    tokens: int,
) -> Prompt[float]:
    def shorter(less: int) -> Prompt[float]:
        return _choosing(name, criterion, texts, question, kind, choices, less)

    return Prompt(
        name=name,
        messages=_messages(criterion, texts, question, tokens),
        read=lambda reply, _: read_probability(reply, choices),
        nudge=f"Answer with the {kind} {choices[0]} or the {kind} {choices[1]} only.",
        most_tokens=8,
        choices=choices,
        shorter=halved(tokens, shorter),
    )


def listwise(
    criterion: Criterion, texts: Sequence[str], tokens: int = CANDIDATE_TOKENS
) -> Prompt[list[int]]:
    """Order them all. Read as their positions, best first; an incomplete order only at last."""
    count = len(texts)
    numbered = {f"[{n}]": text for n, text in enumerate(texts, start=1)}
    question = (
        f"Order the candidates from the closest to the starting document {_WHAT} to the farthest. "
        f"Answer with all {count} labels in this form and nothing else: [2] > [1] > [3]"
    )
    return Prompt(
        name=LISTWISE,
        messages=_messages(criterion, numbered, question, tokens),
        read=lambda reply, last: read_order(reply.text, count, incomplete=last),
        nudge=f"Answer with the {count} labels only, each once, like [2] > [1] > [3].",
        most_tokens=16 + 6 * count,
        shorter=halved(tokens, lambda less: listwise(criterion, texts, less)),
    )


def _messages(
    criterion: Criterion, texts: Mapping[str, str], question: str, tokens: int
) -> tuple[Message, ...]:
    candidates = [
        fenced(f"candidate {label}".strip(), cut_text(text, tokens).text)
        for label, text in texts.items()
    ]
    asked = "\n\n".join([criterion.text, *candidates, question])
    return Message("system", RULES), Message("user", asked)


def halved(
    tokens: int, ask: Callable[[int], Prompt[Value]], fewest: int = FEWEST_TOKENS
) -> Callable[[], Prompt[Value]] | None:
    """The question with texts of half as many tokens; None where that would be too few."""
    return (lambda: ask(tokens // 2)) if tokens // 2 >= fewest else None


# -- the judge ------------------------------------------------------------------------------------

Preference: TypeAlias = float | None
"""Probability that the first of two is the better one, None when nobody said."""
Question = Literal["compare", "grade", "order"]
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
        elif cut_text(text, tokens).cut:
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
