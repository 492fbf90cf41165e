"""The words that a model wants around a document or a query."""

from __future__ import annotations

from dataclasses import dataclass

SLOT = "{instruction}"
"""Where an instruction stands in a query prompt."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a model was trained to read before its texts.

    Attributes:
        document: stands before every document.
        query: stands before a query that comes with an instruction; has the slot
            ``{instruction}``.
        plain_query: stands before a query without one.
        separator: the mark between title and text ("[SEP]"); None writes the title as a
            sentence of its own.
        pooled: False for models that leave prompt and opening marks out of a mean.

    >>> Prompts(query="Instruct: {instruction}\\nQuery: ").for_query("Find bees.")
    'Instruct: Find bees.\\nQuery: '
    """

    document: str = ""
    query: str = SLOT + " "
    plain_query: str = ""
    separator: str | None = None
    pooled: bool = True

    def __post_init__(self) -> None:
        if SLOT not in self.query:
            raise ValueError(f"the query prompt {self.query!r} has no {SLOT}")

    def for_query(self, instruction: str) -> str:
        """What stands before a query under ``instruction`` ("" for none)."""
        instruction = instruction.strip()
        return self.query.replace(SLOT, instruction) if instruction else self.plain_query

    def for_title(self, title: str) -> str:
        """What stands between the prompt and the text; "" without a title.

        >>> Prompts().for_title("Old bees")
        'Old bees. '
        >>> Prompts(separator="[SEP]").for_title("Old bees")
        'Old bees[SEP]'
        """
        title = title.strip()
        if not title:
            return ""
        if self.separator is not None:
            return title + self.separator
        return f"{title} " if title[-1] in ".?!:" else f"{title}. "


NO_PROMPTS = Prompts()
"""For models that read bare texts; an instruction stands before the query."""
