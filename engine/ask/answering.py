"""One question to a corpus: what the model is told, and the answer while it is written."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from engine.ask.citations import read_citations
from engine.ask.passages import PASSAGE_TOKENS, fitting, passages_of
from engine.assist.reranking import usage_report
from engine.errors import SeedLensError
from engine.llm.client import Client
from engine.llm.connecting import Estimator
from engine.llm.endpoint_errors import EndpointError, TooLongError
from engine.llm.messages import QUOTED_RULE, Message, Prompt
from engine.llm.tasks import ModelTask, TaskRun
from engine.llm.texts import cut_text, estimate_tokens, fenced, harmless_line
from engine.types.jobs import JobState
from engine.types.models import Estimate, ModelUsage, TaskReport
from engine.types.reading import Answer, AskRequest, Exchange, GivenPassage
from engine.types.searches import Result

ASK = "ask"
ANSWER_TOKENS = 900
FEWEST_TOKENS = 50
"""A passage is never cut below this; a model that cannot take it cannot answer from it."""
TITLE_TOKENS = 60
TELL_SECONDS = 0.2  # Between two looks at what is written: citations are read anew each time

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


class AnswerQuestion(ModelTask[Answer]):
    """Has one question answered.

    Args:
        results: what was found for the question, best first.
        scenarios: by doc_id, what goes along.
        former: what the question follows up, the first exchange first.

    Attributes:
        keep: called with the answer, its state, and why it failed if it did.
    """

    keep: Callable[[Answer, JobState, SeedLensError | None], None] | None = None

    def __init__(
        self,
        request: AskRequest,
        results: Sequence[Result],
        scenarios: Mapping[str, Sequence[str]],
        former: Sequence[Exchange] = (),
    ) -> None:
        self.request: AskRequest = request
        self._results, self._scenarios, self._former = results, scenarios, former
        self._passages = passages_of(results, scenarios, PASSAGE_TOKENS)
        self._said = ""

    def estimate(self, known: Estimator) -> Estimate:
        asked = self._messages(self._passages, PASSAGE_TOKENS)
        prompt = Prompt(ASK, asked, lambda *_: "", nudge="", most_tokens=ANSWER_TOKENS)
        return replace(known.estimate([prompt], 1), items=len(self._results), rounds=1)

    def begun(self, estimate: Estimate, usage: ModelUsage) -> Answer:  # noqa: ARG002
        return self._answer(usage)

    async def run(self, run: TaskRun) -> TaskReport[Answer]:
        """Ask the model; what it writes is told while it does."""
        error: SeedLensError | None = None
        try:
            await self._work(run)
            if not self._said.strip() and not run.stopped:
                error = EndpointError(
                    "The model wrote nothing.", "Ask again, in other words, or another model."
                )
        except SeedLensError as problem:
            error = problem
        answer = self._answer(run.usage, complete=True, failed=error is not None)
        run.on_progress(answer)
        if self.keep is not None and answer.parts:
            stopped = answer.report.stopped == "cancelled"
            self.keep(answer, "failed" if error else "cancelled" if stopped else "done", error)
        if error is not None:
            raise error
        return TaskReport(result=answer, failed=run.usage.failed)

    def _answer(self, usage: ModelUsage, *, complete: bool = False, failed: bool = False) -> Answer:
        """The answer as far as it is written."""
        cited = read_citations(self._said, self._passages, complete=complete)
        unanswered = int(failed and not self._said)
        report = usage_report(ASK, self.request.k, 1, unanswered, usage)
        return Answer(self._passages, cited.parts, cited.unknown, report)

    async def _work(self, run: TaskRun) -> None:
        """Ask, with shorter passages where the model cannot take them all."""
        tokens = self._room(await run.context())
        while True:
            if tokens < PASSAGE_TOKENS:
                self._passages = passages_of(self._results, self._scenarios, tokens)
            try:
                await self._listen(run, tokens)
                return
            except TooLongError:
                tokens //= 2
                if self._said or tokens < FEWEST_TOKENS:
                    raise

    async def _listen(self, run: TaskRun, tokens: int) -> None:
        asked, told = self._messages(self._passages, tokens), 0.0
        async for piece in cast(Client, run.client).stream(asked, ANSWER_TOKENS):
            self._said += piece
            if time.monotonic() - told >= TELL_SECONDS:
                told = time.monotonic()
                run.on_progress(self._answer(run.usage))

    def _messages(self, passages: Sequence[GivenPassage], tokens: int) -> tuple[Message, ...]:
        return messages(self.request.question, passages, tokens, self._former)

    def _room(self, context: int | None) -> int:
        """Tokens that a passage may take in a model's context."""
        if context is None or not self._passages:
            return PASSAGE_TOKENS
        bare = self._messages((), PASSAGE_TOKENS)
        left = context - ANSWER_TOKENS - sum(estimate_tokens(m.content) for m in bare)
        each = left // len(self._passages) - TITLE_TOKENS
        each = each * 2 // 3 if any(self._scenarios.values()) else each
        return max(FEWEST_TOKENS, min(PASSAGE_TOKENS, each))
