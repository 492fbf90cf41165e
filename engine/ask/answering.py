"""One question to a corpus: what the model is told, and the answer while it is written."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from engine.ask.citations import read_citations
from engine.ask.passages import PASSAGE_TOKENS, fitting, passages_of
from engine.assist.reranking import usage_report
from engine.llm.client import Client, ask_model
from engine.llm.endpoint_errors import EndpointError, TooLongError
from engine.llm.endpoints import Connection
from engine.llm.messages import QUOTED_RULE, Message
from engine.llm.texts import cut_text, estimate_tokens, fenced, harmless_line
from engine.types.callbacks import Ask
from engine.types.models import ModelReport, ModelUsage
from engine.types.reading import Answer, AskRequest, Exchange, GivenPassage
from engine.types.searches import Result
from storage.answers import Answers

ASK = "ask"
ANSWER_TOKENS = 900
FEWEST_TOKENS = 50
"""A passage is never cut below this; a model that cannot take it cannot answer from it."""
TITLE_TOKENS = 60
TELL_SECONDS = 0.2
"""Between two looks at what is written: citations are read anew each time."""

RULES = f"""\
You answer a person's question from passages of a collection of documents, and from nothing else.
Behind every statement put the number of the passage that it rests on, in square brackets, each \
number in brackets of its own: [2] or [1][4]. Name only passages that are given, and only where \
they say or clearly imply it.
When the passages do not hold the answer, say so in one sentence, and say what they do hold that \
comes close. Never fill a gap from what you know. When passages contradict each other, say so.
Be brief. Write plain sentences in the language of the question, without headings, lists or \
Markdown.
{QUOTED_RULE}"""
FORMER_TOKENS = 400
"""Of a former answer, as a follow-up shows it; a former question has a quarter of that."""
_FORMER = """\
What was asked and answered before tells what the question is about. It is no evidence: statements \
rest on the passages above alone."""
_NOTES = """\
The notes were written by a model beforehand: they say what a passage may be of use for. They help \
to understand it; they are no evidence."""


def messages(
    question: str,
    passages: Sequence[GivenPassage],
    tokens: int = PASSAGE_TOKENS,
    former: Sequence[Exchange] = (),
) -> tuple[Message, ...]:
    """The conversation that asks for an answer.

    What documents and former answers say is data: it stands in fences, before the question and
    apart from it.

    Args:
        tokens: of one passage and of its notes at most.
        former: what the question follows up, the first exchange first.
    """
    parts = []
    for passage in passages:
        parts.append(fenced(f"passage [{passage.number}]", _shown(passage, tokens)))
        if passage.scenarios:
            notes = fitting(passage.scenarios, min(tokens, PASSAGE_TOKENS // 2))
            parts.append(fenced(f"notes on passage [{passage.number}]", notes))
    if not passages:
        parts.append("No passage was found.")
    if any(passage.scenarios for passage in passages):
        parts.append(_NOTES)
    for exchange in former:
        asked = cut_text(exchange.question, FORMER_TOKENS // 4).text
        parts.append(fenced("former question", asked))
        parts.append(fenced("former answer", cut_text(exchange.answer, FORMER_TOKENS).text))
    if former:
        parts.append(_FORMER)
    words = harmless_line(question)
    parts.append(f"The person's question: {words}")
    return Message("system", RULES), Message("user", "\n\n".join(parts))


def _shown(passage: GivenPassage, tokens: int) -> str:
    document = passage.document
    before = "[...] " if passage.span[0] > 0 else ""
    after = " [...]" if passage.span[1] < len(document.text) else ""
    title = cut_text(document.title.strip(), TITLE_TOKENS).text
    body = cut_text(passage.text, tokens).text
    return "\n".join(part for part in (title, f"{before}{body}{after}") if part)


class AnswerWork:
    """Has one question answered; all in the thread of the job.

    Args:
        results: what was found for the question, best first.
        scenarios: by doc_id, what goes along.
        former: what the question follows up, the first exchange first.
    """

    def __init__(
        self,
        request: AskRequest,
        results: Sequence[Result],
        scenarios: Mapping[str, Sequence[str]],
        connection: Connection,
        store: Answers,
        former: Sequence[Exchange] = (),
    ) -> None:
        self._request, self._results, self._scenarios = request, results, scenarios
        self._former = former
        self._connection, self._store = connection, store
        place = connection.endpoint
        self._usage = ModelUsage(endpoint=place.address, model=place.model)
        self._passages = passages_of(results, scenarios, PASSAGE_TOKENS)
        self._said = ""

    def write(self, tell: Callable[[Answer], None], cancelled: Ask) -> ModelReport:
        """Ask the model; what it writes is told while it does."""
        failed = True
        try:
            ask_model(
                self._connection,
                self._store,
                lambda client: self._work(client, tell),
                cancelled=cancelled,
            )
            if not self._said.strip() and not cancelled():
                raise EndpointError(
                    "The model wrote nothing.", "Ask again, in other words, or another model."
                )
            failed = False
        finally:
            answer = self.answer(complete=True, failed=failed)
            tell(answer)
        return answer.report

    def answer(self, *, complete: bool = False, failed: bool = False) -> Answer:
        """The answer as far as it is written."""
        cited = read_citations(self._said, self._passages, complete=complete)
        unanswered = int(failed and not self._said)
        report = usage_report(ASK, self._request.k, 1, unanswered, self._usage)
        return Answer(self._passages, cited.parts, cited.unknown, report)

    async def _work(self, client: Client, tell: Callable[[Answer], None]) -> None:
        """Ask, with shorter passages where the model cannot take them all."""
        try:
            tokens = self._room(await client.context())
            while True:
                if tokens < PASSAGE_TOKENS:
                    self._passages = passages_of(self._results, self._scenarios, tokens)
                try:
                    await self._listen(client, tokens, tell)
                    return
                except TooLongError:
                    tokens //= 2
                    if self._said or tokens < FEWEST_TOKENS:
                        raise
        finally:
            self._usage = client.usage

    async def _listen(self, client: Client, tokens: int, tell: Callable[[Answer], None]) -> None:
        asked, told = self._messages(self._passages, tokens), 0.0
        async for piece in client.stream(asked, ANSWER_TOKENS):
            self._said += piece
            self._usage = client.usage
            if time.monotonic() - told >= TELL_SECONDS:
                told = time.monotonic()
                tell(self.answer())

    def _messages(self, passages: Sequence[GivenPassage], tokens: int) -> tuple[Message, ...]:
        return messages(self._request.question, passages, tokens, self._former)

    def _room(self, context: int | None) -> int:
        """Tokens that a passage may take in a model's context."""
        if context is None or not self._passages:
            return PASSAGE_TOKENS
        bare = self._messages((), PASSAGE_TOKENS)
        left = context - ANSWER_TOKENS - sum(estimate_tokens(m.content) for m in bare)
        each = left // len(self._passages) - TITLE_TOKENS
        each = each * 2 // 3 if any(self._scenarios.values()) else each
        return max(FEWEST_TOKENS, min(PASSAGE_TOKENS, each))
