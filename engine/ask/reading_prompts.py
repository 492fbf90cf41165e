"""What a reader and its judge are asked. Another wording is another version: answers are kept
by it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from engine.ask.passages import SCENARIO_TOKENS, fitting
from engine.llm.judging_prompts import halved
from engine.llm.messages import QUOTED_RULE, Message, Prompt, Reply, json_prompt, without_reasoning
from engine.llm.texts import cut_text, fenced

READING, GRADING = "reading/1", "answer-grading/1"
DOCUMENT_TOKENS = 1200  # Of one document; conversations and abstracts stay whole
ANSWER_TOKENS = 300
REFERENCE_TOKENS = 1000
NOT_STATED = "not stated"

READER = f"""\
You answer a question from documents that somebody chose for it. One of them may hold the answer, \
or none; the others only look like it. What a document implies counts as said in it: work out \
dates, amounts and places. Use nothing but the documents and what everybody knows.
Answer with the answer alone, as short as the question allows, without saying where it stands or \
how you found it. When the documents do not tell, answer: {NOT_STATED}
{QUOTED_RULE}"""

JUDGE = """\
You grade an answer to a question against a reference answer. Give 0 to 100 points for how far the \
answer says what the reference says: 100 for all that matters in it, 0 for nothing or for \
something else, between them for parts. Other words for the same, more detail, order and style \
change nothing; what contradicts the reference costs points."""


class Grade(BaseModel):
    """A judge's opinion of an answer."""

    points: int = Field(ge=0, le=100, description="0 to 100")


def reading(
    question: str,
    documents: Sequence[str],
    scenarios: Sequence[Sequence[str]] = (),
    tokens: int = DOCUMENT_TOKENS,
) -> Prompt[str]:
    """A question with documents; read as the answer's text."""
    parts = []
    for number, text in enumerate(documents, start=1):
        parts.append(fenced(f"document {number}", cut_text(text, tokens).text))
        if scenarios and scenarios[number - 1]:
            notes = fitting(scenarios[number - 1], min(tokens, SCENARIO_TOKENS))
            parts.append(fenced(f"notes on document {number}", notes))
    if scenarios:
        parts.append("The notes say what a document may be of use for; its own words count more.")
    parts.append(f"{fenced('question', question)}\nAnswer this question from the documents.")
    return Prompt(
        name=READING,
        messages=(Message("system", READER), Message("user", "\n\n".join(parts))),
        read=_read_answer,
        nudge=f"Answer the question in a few words, or: {NOT_STATED}",
        most_tokens=ANSWER_TOKENS,
        shorter=halved(tokens, lambda less: reading(question, documents, scenarios, less)),
    )


def grading(question: str, answer: str, reference: str) -> Prompt[Grade]:
    """How good an answer is, by the reference."""
    texts = {"question": question, "reference answer": reference, "answer to grade": answer}
    shown = [fenced(name, cut_text(text, REFERENCE_TOKENS).text) for name, text in texts.items()]
    user = "\n\n".join([*shown, "How many points does the answer deserve?"])
    return json_prompt(GRADING, JUDGE, user, Grade, most_tokens=60)


def is_cut(text: str) -> bool:
    """Whether a reader sees only the beginning of a document."""
    return cut_text(text, DOCUMENT_TOKENS).cut


def declines(answer: str) -> bool:
    """Whether an answer says that the documents do not tell.

    >>> declines("Not stated."), declines("Henry")
    (True, False)
    """
    return answer.casefold().strip(" \n\"'*`.:") == NOT_STATED


def _read_answer(reply: Reply, _: bool) -> str | None:
    return without_reasoning(reply.text) or None
