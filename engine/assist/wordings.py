"""A model's reading of free wordings, in place of the built-in reader.

Another wording of the question is another version.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from engine.llm.client import Client, complete
from engine.llm.endpoint_errors import EndpointError
from engine.llm.endpoints import Connection
from engine.llm.messages import Prompt, json_prompt
from engine.llm.texts import PROMPTS, cut_text, estimate_tokens, fenced, harmless_line
from engine.types.lenses import Lens
from engine.types.models import ModelUsage
from engine.types.reranking import WordingReading, WordingReadings
from engine.types.searches import Term
from storage.answers import Answers

READING = "wording-reading/2"
WORDING_TOKENS = 600
"""The longest wording that a search takes, in Latin script; of other scripts, its beginning."""
ANSWER_TOKENS = 160  # Of an answer besides the words that it copies

SYSTEM = PROMPTS["wording"]


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
    """Which aspects of a lens a free wording asks for and rules out.

    A valid answer has unique known keys in the lens's order, none both wanted and ruled out, and
    content from the wording.
    """
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
    return json_prompt(READING, SYSTEM, user, WordingAnswer, most_tokens=most, check=check)


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
