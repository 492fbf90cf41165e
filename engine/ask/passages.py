"""What a reader is given: of every document found, the part that has to do with the question, and
the document's scenarios as further context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.corpora.opened import OpenCorpus
from engine.corpora.scenario_store import ScenarioStore, has_scenarios
from engine.errors import BadInputError
from engine.llm.texts import cut_text, estimate_tokens
from engine.types.documents import Document, Span
from engine.types.reading import GivenPassage
from engine.types.scenarios import Scenario
from engine.types.searches import Result

PASSAGE_TOKENS = 400  # An abstract or a short conversation stays whole


def passages_of(
    results: Sequence[Result],
    scenarios: Mapping[str, Sequence[str]],
    tokens: int = PASSAGE_TOKENS,
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
    """Where the sentences stand that fit into ``tokens``, grown to both sides of ``around``.

    The whole text where it fits; from the beginning where ``around`` is None; part of a sentence
    where not even one fits.
    """
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
    if not has_scenarios(corpus.table.path):
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
