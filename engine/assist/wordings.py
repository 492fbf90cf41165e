"""What a model reads free wordings as, in place of the built-in reader."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from engine.assist.wording_prompts import WordingAnswer, reading_of_wording
from engine.llm.client import Client
from engine.llm.endpoint_errors import EndpointError
from engine.llm.endpoints import Connection
from engine.llm.run import complete
from engine.types.lenses import Lens
from engine.types.models import ModelUsage
from engine.types.reranking import WordingReading, WordingReadings
from engine.types.terms import Term
from storage.answers import Answers


def read_wordings(
    lens: Lens, wordings: Sequence[str], connection: Connection, store: Answers
) -> WordingReadings:
    """Ask for each once; see :meth:`engine.assist.verifier.Verifier.read_wordings`."""
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
    """What documents have to mention and must not be about; nothing that is both."""
    mentioned = {text.casefold(): Term(text) for text in said.mention}
    excluded = {text.casefold(): Term(text, wanted=False) for text in said.exclude}
    both = mentioned.keys() & excluded.keys()
    terms = {**mentioned, **excluded}
    return tuple(str(term) for key, term in terms.items() if key not in both)
