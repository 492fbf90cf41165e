"""One question to a corpus: its passages, the prompt, and the answer with citations."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from engine.corpora.opened import OpenCorpus
from engine.corpora.scenario_store import ScenarioStore
from engine.errors import BadInputError, SeedLensError
from engine.llm.client import Client
from engine.llm.endpoints import EndpointError, TooLongError
from engine.llm.messages import QUOTED_RULE, Message, Prompt, answer_so_far
from engine.llm.tasks import Estimator, ModelTask, TaskRun
from engine.llm.texts import PROMPTS, cut_text, estimate_tokens, fenced, harmless_line
from engine.search.model.reranking import usage_report
from engine.sentences import split_sentences
from engine.types.documents import Document, Span
from engine.types.jobs import JobState
from engine.types.models import Estimate, ModelUsage, TaskReport
from engine.types.reading import Answer, AnswerPart, AskRequest, Citation, Exchange, GivenPassage
from engine.types.scenarios import Scenario
from engine.types.searches import Result
from storage.vectors import ScenarioTable

PASSAGE_TOKENS = 400  # An abstract or a short conversation stays whole


def passages_of(
    results: Sequence[Result], scenarios: Mapping[str, Sequence[str]], tokens: int = PASSAGE_TOKENS
) -> tuple[GivenPassage, ...]:
    """Numbered passages in the order of the ranking; documents without text are left out."""
    passages: list[GivenPassage] = []
    for result in results:
        document = result.document
        if not document.text.strip():
            continue
        matched = tuple(dict.fromkeys(pair.doc_span for pair in result.evidence))
        span = window(document, matched[0] if matched else None, tokens)
        inside = tuple(m for m in matched if span[0] <= m[0] and m[1] <= span[1])
        along = tuple(scenarios.get(document.doc_id, ()))
        passages.append(GivenPassage(len(passages) + 1, document, span, inside, along))
    return tuple(passages)


def window(document: Document, around: Span | None, tokens: int) -> Span:
    """Where the sentences stand that fit into ``tokens``, grown to both sides of ``around``, or
    from the beginning; part of a sentence where not even one fits."""
    text = document.text
    if estimate_tokens(text) <= tokens:
        return 0, len(text)
    spans = [s.span for s in document.sentences] or [(0, len(text))]
    first = last = 0
    if around is not None:
        first = last = max(0, sum(start <= around[0] for start, _ in spans) - 1)
    start, end = spans[first]
    if estimate_tokens(text[start:end]) > tokens:
        head = cut_text(text[start:end], tokens).text.removesuffix("[...]").rstrip()
        return start, start + len(head)
    grown = True
    while grown:
        grown = False
        # What follows a sentence explains it more often than what comes before it.
        if last + 1 < len(spans) and _fits(text, start, spans[last + 1][1], tokens):
            last, end, grown = last + 1, spans[last + 1][1], True
        if first > 0 and _fits(text, spans[first - 1][0], end, tokens):
            first, start, grown = first - 1, spans[first - 1][0], True
    return start, end


def _fits(text: str, start: int, end: int, tokens: int) -> bool:
    return estimate_tokens(text[start:end]) <= tokens


# -- scenarios ---------------------------------------------------------------------------

SCENARIO_TOKENS = 240  # Of one document, all its scenarios together


def need_scenarios(corpus: OpenCorpus) -> None:
    """Raise BadInputError for a corpus without scenarios."""
    if not ScenarioTable.is_stored(corpus.table.path):
        raise BadInputError(
            f"The corpus '{corpus.name}' has no scenarios.", "Write them first, or leave them out."
        )


def scenarios_of(corpus: OpenCorpus, doc_ids: Sequence[str]) -> dict[str, list[str]]:
    """The scenarios of those documents that have any, by doc_id, a text each."""
    stored = ScenarioStore(corpus).of(doc_ids)
    return {doc_id: list(map(scenario_text, scenarios)) for doc_id, scenarios in stored.items()}


def scenario_text(scenario: Scenario) -> str:
    """A scenario in words.

    >>> scenario_text(Scenario("Bees", "dances", "Where are flowers?", "The dance tells."))
    'Topic: Bees. Somebody may need: Where are flowers? Why it helps: The dance tells.'
    """
    topic = scenario.topic.rstrip(". ")
    return (
        f"Topic: {topic}. Somebody may need: {scenario.need} Why it helps: {scenario.explanation}"
    )


def fitting(scenarios: Sequence[str], tokens: int = SCENARIO_TOKENS) -> str:
    """Scenarios a line each, as far as they fit."""
    return cut_text("\n".join(" ".join(s.split()) for s in scenarios), tokens).text


_NUMBERS = r"\d{1,4}(?:\s*(?:,|;|&|-|–|and)\s*\d{1,4})*"
_GROUP = re.compile(
    rf"(?<![ \t])[ \t]*[\[【]\s*(?:\^|passages?\s+)?({_NUMBERS})\s*(?:†[^\]】\n]{{0,40}})?[\]】]",
    re.IGNORECASE,
)
"""[1], [1, 3], [2-4], [passage 1]; some models write 【1†source】."""
_BEGUN = re.compile(r"(?<![ \t])[ \t]*(?:[\[【][^\]】\n]{0,24})?$")
"""What may yet become a citation when more of a streamed answer has come."""
_RANGE = re.compile(r"(\d{1,4})\s*[-–]\s*(\d{1,4})")
_WIDEST = 20
_WORD = re.compile(r"\w+")
LEAST_SHARED = 2
"""Words that a claim and a sentence must share for the one to be shown beside the other."""
LEAST_SHARE = 0.2  # What these must be worth of the whole claim; rare words are worth more


class Cited(NamedTuple):
    """An answer with its citations; ``unknown`` of them named no passage that was given."""

    parts: tuple[AnswerPart, ...]
    unknown: int


def read_citations(text: str, passages: Sequence[GivenPassage], *, complete: bool = True) -> Cited:
    """Take the citations out of an answer and look up what they name; what may become a citation is
    held back while the answer is not ``complete``."""
    if not complete:
        text = text[: _BEGUN.search(text).start()]  # type: ignore[union-attr] # it always matches
    given, sentences = {p.number for p in passages}, _Sentences(passages)
    pieces: list[tuple[str, list[int]]] = []  # words, and the numbers behind them
    at = 0
    for group in _GROUP.finditer(text):
        words, at = text[at : group.start()], group.end()
        if words or not pieces:
            pieces.append((words, []))
        pieces[-1][1].extend(_numbers(group[1]))
    parts, unknown = [], 0
    for words, named in (*pieces, (text[at:], [])):
        known = [number for number in dict.fromkeys(named) if number in given]
        missing = sum(number not in given for number in named)
        unknown += missing
        if words or known:
            claim = _claim(words)
            cited = tuple(Citation(number, sentences.likest(claim, number)) for number in known)
            parts.append(AnswerPart(words, cited, claim if missing else ""))
    return Cited(tuple(parts), unknown)


def _numbers(text: str) -> list[int]:
    """
    >>> _numbers("1, 3-5")
    [1, 3, 4, 5]
    """
    numbers: list[int] = []
    for piece in re.split(r",|;|&|and", text):
        spread = _RANGE.fullmatch(piece.strip())
        first, last = (int(spread[1]), int(spread[2])) if spread else (0, -1)
        if spread and first <= last <= first + _WIDEST:
            numbers += range(first, last + 1)
        else:
            numbers += [int(n) for n in re.findall(r"\d+", piece)]
    return numbers


def _claim(text: str) -> str:
    """What a citation stands behind: the last sentence before it."""
    spans = split_sentences(text.lstrip(" .,;:\n"))
    return text.lstrip(" .,;:\n")[slice(*spans[-1])] if spans else ""


class _Sentences:
    """The sentences of all passages, compared by their words; common words count little."""

    def __init__(self, passages: Sequence[GivenPassage]) -> None:
        self._of: dict[int, list[tuple[Span, set[str]]]] = {}
        for passage in passages:
            text = passage.document.text
            spans = _sentences(passage)
            self._of[passage.number] = [(span, _words(text[slice(*span)])) for span in spans]
        self._often = Counter(w for own in self._of.values() for _, words in own for w in words)
        self._count = sum(len(own) for own in self._of.values())

    def likest(self, claim: str, number: int) -> Span | None:
        """The sentence of a passage that shares most with a claim, None where it is too little."""
        wanted = _words(claim)
        least = LEAST_SHARE * self._worth(wanted)
        best, best_worth = None, 0.0
        for span, own in self._of[number]:
            shared = own & wanted
            worth = self._worth(shared)
            if len(shared) >= LEAST_SHARED and worth >= least and worth > best_worth:
                best, best_worth = span, worth
        return best

    def _worth(self, words: set[str]) -> float:
        return sum(math.log((1 + self._count) / (0.5 + self._often[word])) for word in words)


def _sentences(passage: GivenPassage) -> list[Span]:
    start, end = passage.span
    inside = [s.span for s in passage.document.sentences if start <= s.span[0] and s.span[1] <= end]
    return inside or [passage.span]


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) > 2 or word.isdigit()}


ASK = "ask"
ANSWER_TOKENS = 900
FEWEST_TOKENS = 50
"""A passage is never cut below this; a model that cannot take it cannot answer from it."""
TITLE_TOKENS = 60
TELL_SECONDS = 0.2  # Between two looks at what is written: citations are read each time

RULES = PROMPTS["answering"] + QUOTED_RULE
FORMER_TOKENS = 400
"""Of a former answer, as a follow-up shows it; a former question has a quarter of that."""
_FORMER = PROMPTS["former"]
_NOTES = PROMPTS["notes"]


def messages(
    question: str,
    passages: Sequence[GivenPassage],
    tokens: int = PASSAGE_TOKENS,
    former: Sequence[Exchange] = (),
) -> tuple[Message, ...]:
    """The conversation that asks for an answer. What documents and former answers say is data:
    fenced, before the question."""
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
    """Has one question answered, from results and scenarios (by doc_id), after former exchanges.
    ``keep`` is called with the answer, its state, and why it failed if it did."""

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
        self._said = ""  # by the model so far, reasoning included

    def estimate(self, known: Estimator) -> Estimate:
        asked = self._messages(self._passages, PASSAGE_TOKENS)
        prompt = Prompt(ASK, asked, lambda *_: "", nudge="", most_tokens=ANSWER_TOKENS)
        return replace(known.estimate([prompt], 1), items=len(self._results), rounds=1)

    def begun(self, estimate: Estimate, usage: ModelUsage) -> Answer:  # noqa: ARG002
        return self._answer(usage)

    async def run(self, run: TaskRun) -> TaskReport[Answer]:
        """Ask the model; what it writes is reported while it does."""
        error: SeedLensError | None = None
        try:
            await self._work(run)
            if not answer_so_far(self._said, complete=True).strip() and not run.stopped:
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
        said = answer_so_far(self._said, complete=complete)
        cited = read_citations(said, self._passages, complete=complete)
        unanswered = int(failed and not said)
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

        def heard(piece: str) -> None:
            nonlocal told
            self._said += piece
            if time.monotonic() - told >= TELL_SECONDS:
                told = time.monotonic()
                run.on_progress(self._answer(run.usage))

        await cast(Client, run.client).say(asked, heard, ANSWER_TOKENS)

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
