"""What a model is asked for when it names the facts that a document implies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from engine.llm.messages import Prompt, json_prompt
from engine.llm.texts import cut_text, estimate_tokens, fenced
from engine.types.facts import FactKind

INFERRING = "facts/1"
PART_TOKENS = 2400
"""A document is read in parts of at most this length."""
FEWEST_TOKENS = 80
"""A part is never cut below this."""
MOST_PER_PART = 12
CLAIM_TOKENS = 90
"""Of one fact in an answer, on the high side."""
SYSTEM = """\
You prepare a collection of documents for search by date, amount and place. Plain rules have \
found what the documents state. You name what a document does not state but surely implies, by \
what is common knowledge: the country of a landmark, the day of a known event, the height of a \
known tower.
A wrong fact is worse than none: name only what you are sure of."""
ASKED: dict[FactKind, str] = {
    "place": "place: value is the ISO 3166 code of the country (PE) or of a region in it (US-CA)",
    "date": "date: value is a day, month or year in ISO form (2024-02-29, 2024-02, 2024), or the "
    "first and the last of a range with a slash between them (2024-02-01/2024-03-15)",
    "amount": "amount: value is one number in figures with its unit or currency (330 m, 12 percent,"
    " 1950 USD)",
}


def _one_line(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


Words = Annotated[str, BeforeValidator(_one_line), StringConstraints(min_length=1)]


class Claim(BaseModel):
    """One fact that the document implies."""

    quote: Words = Field(
        max_length=300,
        description="the few words of the text that imply it, exactly as they stand there",
    )
    why: Words = Field(max_length=600, description="how it follows, in a sentence")
    kind: Literal["date", "amount", "place"]
    value: Words = Field(max_length=80, description="in the form that is asked for")


UNREADABLE = Claim.model_construct(quote="", why="", kind="place", value="")
"""Stands for an entry that does not keep to the schema, so that it is counted."""
_CLAIM = TypeAdapter(Claim)


class Claims(BaseModel):
    """The facts that the document implies."""

    facts: list[Claim] = Field(description="an empty list where the document implies none")

    # One odd entry does not spoil the others.
    @field_validator("facts", mode="before")
    @classmethod
    def _each(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [_claim(item) for item in value[:MOST_PER_PART]]


def _claim(value: Any) -> Claim:
    try:
        return _CLAIM.validate_python(value)
    except ValidationError:
        return UNREADABLE


def inferring(
    title: str,
    text: str,
    written: date | None,
    kinds: Sequence[FactKind],
    tokens: int = PART_TOKENS,
) -> Prompt[Claims]:
    """Which facts does this text imply?

    Args:
        title, text: of the document, as strangers wrote them.
        written: the day on which it was written, where that is known.
        kinds: what is asked for, at least one.
        tokens: what of the text is shown at most.
    """
    shown = cut_text(text.strip(), tokens).text
    day = f"It was written on {written.isoformat()}.\n" if written is not None else ""
    forms = "\n".join(f"- {ASKED[kind]}" for kind in sorted(kinds))
    document = f"{title.strip()}\n{shown}".strip()
    user = f"""\
{fenced("document", document)}

{day}Name what the text above implies and does not state, of these kinds:
{forms}
Quote for each the words that imply it, from the text below its title, and say how it follows. \
Leave out what the text says itself, and what you are not sure of. Name at most {MOST_PER_PART}; \
most texts imply none or one or two."""
    less = tokens // 2
    shorter = (
        (lambda: inferring(title, shown, written, kinds, less)) if less >= FEWEST_TOKENS else None
    )
    return json_prompt(
        INFERRING, SYSTEM, user, Claims, most_tokens=most_tokens(shown), shorter=shorter
    )


def most_tokens(text: str) -> int:
    """The length of an answer about a text, on the high side."""
    return 60 + CLAIM_TOKENS * min(MOST_PER_PART, 3 + estimate_tokens(text) // 100)
