"""The questions that explain a result and search on from it: explanations, wordings, notes.

Another wording is another version: answers are kept by it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from engine.llm.client import Client, complete
from engine.llm.endpoints import Connection, EndpointError
from engine.llm.judges import Criterion, halved
from engine.llm.messages import Prompt, json_prompt
from engine.llm.texts import PROMPTS, Quoted, cut_text, estimate_tokens, fenced, harmless_line
from engine.types.lenses import Lens
from engine.types.models import ModelUsage
from engine.types.reranking import WordingReading, WordingReadings
from engine.types.searches import Term
from storage.answers import Answers

EXPLAINING, REWORDING, NOTING = "explaining/2", "rewording/2", "noting/2"
DOCUMENT_TOKENS, QUESTION_TOKENS = 600, 400
NOTED_TOKENS, NOTE_TOKENS = 300, 100
"""Of a document that notes are taken of, and of what is noted about it."""
MOST_CHARS = 1200
MOST_QUOTES, MOST_NOTES = 24, 2
"""Of an explanation for each text, which is asked for three, and of a document; an answer may have
thousands, and each is looked up in a text that may be long."""
SYSTEM = PROMPTS["explaining"]


def _line(value: Any) -> str:
    return " ".join(value.split())[:MOST_CHARS] if isinstance(value, str) else ""


def _lines(value: Any) -> list[str]:
    return [line for line in map(_line, value) if line] if isinstance(value, list) else []


# One odd entry of an answer does not spoil the others.
Line = Annotated[str, BeforeValidator(_line)]
Lines = Annotated[list[str], BeforeValidator(_lines)]


class Explanation(BaseModel):
    """Why a document is similar, or that it is not."""

    similar: bool
    explanation: Line
    from_start: Lines = Field(description="one to three passages of the starting document")
    from_candidate: Lines = Field(description="one to three passages of the candidate")
    unfounded: SkipJsonSchema[int] = 0  # quotes that occur nowhere, and are left out


class Wordings(BaseModel):
    """Other wordings of a query."""

    wordings: Lines


class Note(BaseModel):
    """What one document contributes to an answer, and the words of it that say so."""

    document: Annotated[int, BeforeValidator(lambda n: n if isinstance(n, int) else 0)] = Field(
        0, description="its number, from 1"
    )
    note: Line = ""
    quote: Line = ""


def _notes(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [item if isinstance(item, dict) else {} for item in value]


class Notes(BaseModel):
    """What the documents contribute to the answer."""

    notes: Annotated[list[Note], BeforeValidator(_notes)]
    missing: Line = Field("", description="empty when nothing is")
    next_query: Line = Field("", description="what to search for next; empty to stop")
    unfounded: SkipJsonSchema[int] = 0  # notes whose quotes do not occur, and are left out


def explaining(
    criterion: Criterion, seed: str, document: str, tokens: int = DOCUMENT_TOKENS
) -> Prompt[Explanation]:
    """Why is this document similar in the aspect, with evidence from both texts?"""
    user = f"""\
{criterion.text}

{fenced("whole starting document", cut_text(seed, tokens).text)}

{fenced("candidate", cut_text(document, tokens).text)}

Say in one or two sentences why the candidate is similar to the starting document in what the \
person asks for, or that it is not. Copy the evidence word for word from the two texts: one to \
three short passages of each."""

    def check(answer: Explanation) -> Explanation | None:
        start, candidate = answer.from_start[:MOST_QUOTES], answer.from_candidate[:MOST_QUOTES]
        answer.from_start, answer.from_candidate = _found(seed, start), _found(document, candidate)
        evident = answer.from_start and answer.from_candidate
        if not answer.explanation or (answer.similar and not evident):
            return None  # likeness without evidence from both sides is only an assertion
        found = len(answer.from_start) + len(answer.from_candidate)
        answer.unfounded = len(start) + len(candidate) - found
        return answer

    return json_prompt(
        EXPLAINING,
        SYSTEM,
        user,
        Explanation,
        most_tokens=500,
        check=check,
        shorter=halved(tokens, lambda less: explaining(criterion, seed, document, less)),
    )


def rewording(question: str, count: int) -> Prompt[Wordings]:
    """Other wordings of a query that may find what it finds not: 1 to ``count`` of them."""
    user = f"""\
{fenced("wording", cut_text(question, QUESTION_TOKENS).text)}

The person searches a collection with the wording above. Documents may say the same in quite \
other words, or only imply it. Write {count} other wordings that such documents would match, each \
different from the others, none adding a condition."""

    def check(answer: Wordings) -> Wordings | None:
        answer.wordings = list(dict.fromkeys(answer.wordings))[:count]
        return answer if answer.wordings else None

    most = 60 * count + 40
    return json_prompt(REWORDING, SYSTEM, user, Wordings, most_tokens=most, check=check)


def noting(
    question: str, known: Sequence[str], documents: Mapping[str, str], tokens: int = NOTED_TOKENS
) -> Prompt[Notes]:
    """What do documents contribute to a question that none answers alone, and what to ask next?"""
    texts = list(documents.values())
    words = min(QUESTION_TOKENS, 2 * tokens)
    known_text = "\n".join(f"- {note}" for note in known) or "(nothing yet)"
    parts = [
        fenced("question", cut_text(question, words).text),
        fenced("known so far", cut_text(known_text, words).text),
        *(fenced(f"document {n}", cut_text(t, tokens).text) for n, t in enumerate(texts, start=1)),
        "Which of these documents help with the question, and how? Copy from each that does the "
        "words that say so, exactly as they stand there. Then say what is still missing, and what "
        "to search for next.",
    ]

    def check(answer: Notes) -> Notes | None:
        claimed = answer.notes[: MOST_NOTES * len(texts)]
        answer.notes = [
            note
            for note in claimed
            if 1 <= note.document <= len(texts)
            and note.note
            and _found(texts[note.document - 1], [note.quote])
        ]
        answer.unfounded = len(claimed) - len(answer.notes)
        return None if answer.unfounded and not answer.notes else answer

    return json_prompt(
        NOTING,
        SYSTEM,
        "\n\n".join(parts),
        Notes,
        most_tokens=200 + len(texts) * NOTE_TOKENS * min(tokens, NOTED_TOKENS) // NOTED_TOKENS,
        check=check,
        shorter=halved(tokens, lambda less: noting(question, known, documents, less)),
    )


def _found(text: str, claimed: Sequence[str]) -> list[str]:
    """The claimed quotes that occur, as spelled in the text."""
    spans = map(Quoted(text).find, claimed)
    return [text[slice(*span)] for span in spans if span is not None]


READING = "wording-reading/2"
WORDING_TOKENS = 600
"""The longest wording that a search takes, in Latin script; of other scripts, its beginning."""
ANSWER_TOKENS = 160  # Of an answer besides the words that it copies

READER = PROMPTS["wording"]


class WordingAnswer(BaseModel):
    """What a model understood."""

    content: str = Field(
        description="the words that say what documents should be about or state, rather than name "
        "an aspect, copied from the wording; empty if there are none"
    )
    wanted: list[str] = Field(description="keys of the aspects in which likeness is asked for")
    ruled_out: list[str] = Field(description="keys of the aspects in which likeness does not count")
    mention: list[str] = Field([], description="content words to be mentioned, copied")
    exclude: list[str] = Field([], description="content words that documents must not be about")


def reading_of_wording(lens: Lens, wording: str) -> Prompt[WordingAnswer]:
    """Which aspects of a lens a free wording asks for and rules out; a valid answer has known keys,
    none both wanted and ruled out, and content from the wording."""
    wording = cut_text(wording.strip(), WORDING_TOKENS).text
    aspects = "\n".join(
        harmless_line(f"{aspect.key}: {aspect.name}. {aspect.definition}")
        for aspect in lens.aspects
    )
    user = f"""\
The aspects, each after its key:
{fenced("aspects", aspects)}

{fenced("wording", wording)}

What does this wording ask for?"""
    keys = {name.casefold(): a.key for a in lens.aspects for name in (a.name, a.key)}

    def check(said: WordingAnswer) -> WordingAnswer | None:
        wanted, ruled_out = _known(said.wanted, keys), _known(said.ruled_out, keys)
        if wanted is None or ruled_out is None or {*wanted} & {*ruled_out}:
            return None
        own = harmless_line(wording).casefold()

        def copied(texts: Sequence[str]) -> list[str]:
            lines = dict.fromkeys(map(harmless_line, texts))
            return [line for line in lines if line and line.casefold() in own]

        return WordingAnswer(
            content="".join(copied([said.content])),
            wanted=wanted,
            ruled_out=ruled_out,
            mention=copied(said.mention),
            exclude=copied(said.exclude),
        )

    most = ANSWER_TOKENS + estimate_tokens(wording)
    return json_prompt(READING, READER, user, WordingAnswer, most_tokens=most, check=check)


def _known(names: Sequence[str], keys: Mapping[str, str]) -> list[str] | None:
    """Keys of the named aspects, in the lens's order; None where one is unknown."""
    found = {keys.get(name.strip().casefold()) for name in names}
    return None if None in found else [key for key in dict.fromkeys(keys.values()) if key in found]


def read_wordings(
    lens: Lens, wordings: Sequence[str], connection: Connection, store: Answers
) -> WordingReadings:
    """Ask for each once; see :meth:`engine.assist.assistant.Assistant.read_wordings`."""
    model = connection.endpoint.model
    prompts = [reading_of_wording(lens, wording) for wording in wordings]
    # The longest silence that was set is the longest that somebody waits here for a whole answer.
    patience = connection.timeout * math.ceil(len(prompts) / connection.concurrency)
    until = time.monotonic() + patience

    async def work(client: Client) -> list[WordingAnswer | None]:
        return await client.ask(prompts)

    try:
        done = complete(connection, store, work, cancelled=lambda: time.monotonic() > until)
    except EndpointError as error:
        return WordingReadings({}, str(error), ModelUsage(model=model))
    readings = {
        wording: WordingReading(
            tuple(said.wanted), tuple(said.ruled_out), said.content, model, _terms(said)
        )
        for wording, said in zip(wordings, done.value, strict=True)
        if said is not None
    }
    problem = ""
    if None in done.value:
        problem = done.usage.problem or "Its answer is not of the form that was asked for."
        if done.usage.stopped == "cancelled":
            problem = f"It has not answered within {patience:.0f} s."
    return WordingReadings(readings, problem, done.usage)


def _terms(said: WordingAnswer) -> tuple[str, ...]:
    """Terms that documents must mention or avoid; none that are both."""
    mentioned = {text.casefold(): Term(text) for text in said.mention}
    excluded = {text.casefold(): Term(text, wanted=False) for text in said.exclude}
    both = mentioned.keys() & excluded.keys()
    terms = {**mentioned, **excluded}
    return tuple(str(term) for key, term in terms.items() if key not in both)
