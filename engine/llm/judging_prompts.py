"""The questions by which a model judges documents, and the criterion that it judges by.

Another wording is another version: answers are kept by it. What all questions about a query share
comes first, for prefix caches; fenced candidates follow, and the question comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.llm.messages import (
    Message,
    Prompt,
    Reply,
    read_order,
    read_probability,
)
from engine.llm.texts import (
    CUT,
    PROMPTS,
    choose_sentences,
    cut_text,
    estimate_tokens,
    fenced,
    harmless_line,
)
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
    candidates = [_candidate("A", first, tokens), _candidate("B", second, tokens)]
    question = (
        f"Which candidate is closer to the starting document {_WHAT}, A or B? "
        "Answer with one letter, A or B, and nothing else."
    )
    return Prompt(
        name=PAIRWISE,
        messages=_messages(criterion, candidates, question),
        read=_read_pair,
        nudge="Answer with the letter A or the letter B only.",
        most_tokens=8,
        choices=("A", "B"),
        shorter=halved(tokens, lambda less: pairwise(criterion, first, second, less)),
    )


def pointwise(criterion: Criterion, text: str, tokens: int = CANDIDATE_TOKENS) -> Prompt[float]:
    """Is it similar? Read as the probability of yes."""
    question = (
        f"Is the candidate similar to the starting document {_WHAT}? "
        "Answer with one word, yes or no, and nothing else."
    )
    return Prompt(
        name=POINTWISE,
        messages=_messages(criterion, [_candidate("", text, tokens)], question),
        read=_read_yes,
        nudge="Answer with the word yes or the word no only.",
        most_tokens=8,
        choices=("yes", "no"),
        shorter=halved(tokens, lambda less: pointwise(criterion, text, less)),
    )


def listwise(
    criterion: Criterion, texts: Sequence[str], tokens: int = CANDIDATE_TOKENS
) -> Prompt[list[int]]:
    """Order them all. Read as their positions, best first; an incomplete order only at last."""
    count = len(texts)
    candidates = [_candidate(f"[{n}]", text, tokens) for n, text in enumerate(texts, start=1)]
    question = (
        f"Order the candidates from the closest to the starting document {_WHAT} to the farthest. "
        f"Answer with all {count} labels in this form and nothing else: [2] > [1] > [3]"
    )

    def read(reply: Reply, last: bool) -> list[int] | None:
        return read_order(reply.text, count, incomplete=last)

    return Prompt(
        name=LISTWISE,
        messages=_messages(criterion, candidates, question),
        read=read,
        nudge=f"Answer with the {count} labels only, each once, like [2] > [1] > [3].",
        most_tokens=16 + 6 * count,
        shorter=halved(tokens, lambda less: listwise(criterion, texts, less)),
    )


def is_cut(text: str, tokens: int = CANDIDATE_TOKENS) -> bool:
    """Whether a candidate of this length is cut."""
    return cut_text(text, tokens).cut


def _messages(
    criterion: Criterion, candidates: Sequence[str], question: str
) -> tuple[Message, ...]:
    asked = "\n\n".join([criterion.text, *candidates, question])
    return Message("system", RULES), Message("user", asked)


def _candidate(label: str, text: str, tokens: int) -> str:
    return fenced(f"candidate {label}".strip(), cut_text(text, tokens).text)


def halved(
    tokens: int, ask: Callable[[int], Prompt[Value]], fewest: int = FEWEST_TOKENS
) -> Callable[[], Prompt[Value]] | None:
    """The question with texts of half as many tokens; None where that would be too few."""
    return (lambda: ask(tokens // 2)) if tokens // 2 >= fewest else None


def _read_pair(reply: Reply, _: bool) -> float | None:
    return read_probability(reply, ("A", "B"))


def _read_yes(reply: Reply, _: bool) -> float | None:
    return read_probability(reply, ("yes", "no"))
