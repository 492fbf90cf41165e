"""One question to a corpus: what the model is told, and the answer while it is written."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.ask.citations import read_citations
from engine.ask.context import fitting
from engine.ask.passages import PASSAGE_TOKENS, passages_of
from engine.assist.ranking_jobs import ending
from engine.assist.reranking import usage_report
from engine.llm.budget import Usage
from engine.llm.client import Client
from engine.llm.endpoint_errors import TooLongError
from engine.llm.messages import QUOTED_RULE, Message
from engine.llm.run import Run
from engine.llm.texts import cut_text, estimate_tokens, fenced, harmless
from engine.types.reading import AskJob, AskRequest, GivenPassage
from engine.types.searches import Result

ASK = "ask"
ANSWER_TOKENS = 900
FEWEST_TOKENS = 50
"""A passage is never cut below this; a model that cannot take it cannot answer from it."""
TITLE_TOKENS = 60

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
_NOTES = """\
The notes were written by a model beforehand: they say what a passage may be of use for. They help \
to understand it; they are no evidence."""


def messages(
    question: str, passages: Sequence[GivenPassage], tokens: int = PASSAGE_TOKENS
) -> tuple[Message, ...]:
    """The conversation that asks for an answer.

    What documents say is data: it stands in fences, before the question and apart from it.

    Args:
        tokens: of one passage and of its notes at most.
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
    words = " ".join(harmless(question).split())
    parts.append(f"The person's question: {words}")
    return Message("system", RULES), Message("user", "\n\n".join(parts))


def _shown(passage: GivenPassage, tokens: int) -> str:
    document = passage.document
    before = "[...] " if passage.span[0] > 0 else ""
    after = " [...]" if passage.span[1] < len(document.text) else ""
    title = cut_text(document.title.strip(), TITLE_TOKENS).text
    body = cut_text(passage.text, tokens).text
    return "\n".join(part for part in (title, f"{before}{body}{after}") if part)


@dataclass(slots=True)
class AskWork:
    """An answer under way in a thread.

    Attributes:
        results: what was found for the question, best first.
        scenarios: by doc_id, what goes along.
        usage: of the run; when nothing was asked yet, its endpoint and model alone.
        said: the answer so far, as the model writes it.
    """

    request: AskRequest
    results: Sequence[Result]
    scenarios: Mapping[str, Sequence[str]]
    usage: Usage
    said: str = ""
    passages: tuple[GivenPassage, ...] = ()
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    run: Run[None] = field(init=False)

    def __post_init__(self) -> None:
        self._give(PASSAGE_TOKENS)

    async def work(self, client: Client) -> None:
        """Ask, with shorter passages where the model cannot take them all."""
        try:
            tokens = self._room(await client.context())
            while True:
                if tokens < PASSAGE_TOKENS:
                    self._give(tokens)
                try:
                    await self._listen(client, tokens)
                    return
                except TooLongError:
                    tokens //= 2
                    if self.said or tokens < FEWEST_TOKENS:
                        raise
        finally:
            self.usage = client.usage
            self.ended = time.monotonic()

    async def _listen(self, client: Client, tokens: int) -> None:
        asked = messages(self.request.question, self.passages, tokens)
        async for piece in client.stream(asked, ANSWER_TOKENS):
            self.said += piece
            self.usage = client.usage

    def _give(self, tokens: int) -> None:
        self.passages = passages_of(self.results, self.scenarios, tokens)

    def _room(self, context: int | None) -> int:
        """Tokens that a passage may take in a model's context."""
        if context is None or not self.passages:
            return PASSAGE_TOKENS
        bare = messages(self.request.question, ())
        left = context - ANSWER_TOKENS - sum(estimate_tokens(m.content) for m in bare)
        each = left // len(self.passages) - TITLE_TOKENS
        each = each * 2 // 3 if any(self.scenarios.values()) else each
        return max(FEWEST_TOKENS, min(PASSAGE_TOKENS, each))

    def job(self, job_id: str) -> AskJob:
        """What a page shows of it."""
        end = ending(self.run)
        said, passages = self.said, self.passages
        cited = read_citations(said, passages, complete=end.state != "running")
        unanswered = int(end.state == "failed" and not said)
        return AskJob(
            id=job_id,
            request=self.request,
            state=end.state,
            passages=passages,
            parts=cited.parts,
            unknown=cited.unknown,
            report=usage_report(ASK, self.request.k, 1, unanswered, self.usage),
            error=end.error,
            remedy=end.remedy,
            seconds=(self.ended or time.monotonic()) - self.started,
        )
