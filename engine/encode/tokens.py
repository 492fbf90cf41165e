"""From passages to token ids, and where each token stands in the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.encode.prompts import Prompts
from engine.encode.protocols import Passage


@dataclass(frozen=True, slots=True)
class Tokens:
    """One passage behind a prompt, without the tokenizer's marks.

    Attributes:
        prompt: (p,) int64, the tokens of the prompt.
        ids: (n,) int64, the tokens of title and text.
        spans: (n, 2) int32, where a token stands in the text, white space left out;
            (-1, -1) for the title's.
    """

    prompt: NDArray[np.int64]
    ids: NDArray[np.int64]
    spans: NDArray[np.int32]


def tokenize(
    tokenizer: Any, prompts: Prompts, prompt: str, passages: Sequence[Passage]
) -> list[Tokens]:
    """Tokens of ``prompt + title + text``, cut into prompt and passage.

    The three are tokenized as one string, because tokenizers join across their borders
    ("Query: " and "Bees" share a piece); a token that reaches into the passage is its.
    """
    heads = [prompt + prompts.for_title(p.title) for p in passages]
    encoded = tokenizer(
        [head + p.text for head, p in zip(heads, passages, strict=True)],
        add_special_tokens=False,
        truncation=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
        verbose=False,
    )
    out = []
    for i, passage in enumerate(passages):
        ids = np.asarray(encoded["input_ids"][i], dtype=np.int64)
        offsets = np.asarray(encoded["offset_mapping"][i], dtype=np.int32).reshape(-1, 2)
        beyond = np.flatnonzero(offsets[:, 1] > len(prompt)) if prompt else np.arange(len(ids))
        first = int(beyond[0]) if len(beyond) else len(ids)
        spans = _in_text(offsets[first:] - len(heads[i]), passage.text)
        out.append(Tokens(ids[:first], ids[first:], spans))
    return out


def _in_text(offsets: NDArray[np.int32], text: str) -> NDArray[np.int32]:
    """Spans into ``text``, of offsets that are negative before it begins."""
    spans = offsets.copy()
    spans[(offsets[:, 0] < 0) & (offsets[:, 1] > 0), 0] = 0  # a piece shared with the title
    spans[spans[:, 0] < 0] = -1
    for row in np.flatnonzero(spans[:, 0] >= 0):
        start, end = spans[row]
        while start < end - 1 and text[start].isspace():
            start += 1
        spans[row, 0] = start
    return spans


def opening_and_closing(tokenizer: Any, end_mark: str) -> tuple[list[int], list[int]]:
    """Ids that the tokenizer puts around a text, with ``end_mark`` (if any) as the last.

    Raises:
        ValueError: ``end_mark`` is not a token of this tokenizer.
    """
    marked = tokenizer("a")["input_ids"]
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    at = marked.index(bare[0])
    opening, closing = list(marked[:at]), list(marked[at + len(bare) :])
    if end_mark:
        end = tokenizer.get_vocab().get(end_mark)
        if end is None:
            raise ValueError(f"its tokenizer has no '{end_mark}'")
        if closing[-1:] != [end]:
            closing.append(end)
    return opening, closing
