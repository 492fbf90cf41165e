"""What documents are judged by: the seed, the aspect and the person's instruction, as sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.llm.texts import CUT, choose_sentences, cut_text, estimate_tokens, fenced, harmless
from engine.types import Aspect, Document

SEED_TOKENS = 400
INSTRUCTION_TOKENS = 200
_ON_THE_ASPECT = 0.5
"""Share of the greatest weight from which a sentence is said to serve the aspect."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One query, in the words that a model gets to read.

    Attributes:
        seed: the seed within its budget of tokens.
        aspect: the aspect's name, "" when the whole seed counts.
        definition: which sentences serve the aspect.
        instruction: the person's words, or the built-in ones.
    """

    seed: str
    aspect: str = ""
    definition: str = ""
    instruction: str = ""

    @property
    def text(self) -> str:
        """The criterion as it stands in a prompt: always the same words for the same query."""
        parts = [fenced("starting document", self.seed)]
        if self.aspect:
            parts.append(f"Aspect: {_line(self.aspect)}")
        if self.definition:
            parts.append(f"The aspect means: {_line(self.definition)}")
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
    tokens: int = SEED_TOKENS,
) -> Criterion:
    """The criterion for a seed.

    Args:
        instruction: the person's words; blank stands for the aspect's own.
        weights: how much each sentence of the seed serves the aspect; sentences of greatest
            weight come first and are the last to be cut. None: all alike.
        tokens: room for the seed, title included.
    """
    title = cut_text(seed.title.strip(), tokens // 4).text
    sentences = [s.text for s in seed.sentences] or ([seed.text] if seed.text.strip() else [])
    if weights is None or len(weights) != len(sentences) or aspect is None:
        weights = [1.0] * len(sentences)
    body = _seed_text(sentences, weights, tokens - estimate_tokens(title), aspect)
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
        f"On this aspect ({_line(aspect.name)}): {' '.join(sentences[i] for i in on_it)}",
        f"For context: {' '.join(sentences[i] for i in rest)}",
    ]
    return "\n".join([*lines, *([CUT] if cut else [])])


def _line(text: str) -> str:
    return " ".join(harmless(text).split())
