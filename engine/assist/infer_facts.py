"""A model names facts implied by the documents of a corpus; valid ones are stored beside the rules'
facts.

In batches: a stop loses one batch at most, and stored answers are not asked for again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

from pydantic import BaseModel, Field, field_validator

from engine.config import Settings
from engine.corpora.importing import build_indexes
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.registry import READERS_GRACE, writing
from engine.corpora.stored_facts import (
    FACT_SOURCES,
    document_date,
    facts_of,
    in_reading_order,
    store_facts,
)
from engine.errors import check_between
from engine.facts.periods import Period, containing, in_words
from engine.facts.places import gazetteer
from engine.facts.units import find_quantities, format_amount, round_in
from engine.llm.client import ask_groups
from engine.llm.judges import halved
from engine.llm.messages import Prompt, Words, json_prompt, lenient, part_tokens
from engine.llm.tasks import Estimator, ModelTask, TaskRun
from engine.llm.texts import (
    PART_TOKENS,
    PROMPTS,
    Quoted,
    cut_text,
    estimate_tokens,
    fenced,
    parts_of,
)
from engine.types.documents import Document, Fact, FactKind, Span
from engine.types.models import Estimate, TaskReport
from storage.home import Home
from storage.ledger import Ledger
from storage.vectors import DocumentTable

KINDS: tuple[FactKind, ...] = ("place", "date", "amount")
INFERRING = "facts/1"
FEWEST_TOKENS = 80  # A part is never cut below this
MOST_PER_PART = 12
CLAIM_TOKENS = 90  # Of one fact in an answer, on the high side
SYSTEM = PROMPTS["facts"]
ASKED: dict[FactKind, str] = {
    "place": "place: value is the ISO 3166 code of the country (PE) or of a region in it (US-CA)",
    "date": "date: value is a day, month or year in ISO form (2024-02-29, 2024-02, 2024), or the "
    "first and the last of a range with a slash between them (2024-02-01/2024-03-15)",
    "amount": "amount: value is one number in figures with its unit or currency (330 m, 12 percent,"
    " 1950 USD)",
}


class Claim(BaseModel):
    """One fact that the document implies."""

    quote: Words = Field(
        max_length=300,
        description="the few words of the text that imply it, exactly as they stand there",
    )
    why: Words = Field(max_length=600, description="how it follows, in a sentence")
    kind: FactKind
    value: Words = Field(max_length=80, description="in the form that is asked for")


UNREADABLE = Claim.model_construct(quote="", why="", kind="place", value="")
"""Stands for an entry that does not keep to the schema, so that it is counted."""


class Claims(BaseModel):
    """The facts that the document implies."""

    facts: list[Claim] = Field(description="an empty list where the document implies none")

    # One odd entry does not spoil the others.
    @field_validator("facts", mode="before")
    @classmethod
    def _each(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [lenient(Claim, item) or UNREADABLE for item in value[:MOST_PER_PART]]


def inferring(
    title: str,
    text: str,
    written: date | None,
    kinds: Sequence[FactKind],
    tokens: int = PART_TOKENS,
) -> Prompt[Claims]:
    """Which facts does this text imply?"""
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
    return json_prompt(
        INFERRING,
        SYSTEM,
        user,
        Claims,
        most_tokens=most_tokens(shown),
        shorter=halved(
            tokens, lambda less: inferring(title, shown, written, kinds, less), FEWEST_TOKENS
        ),
    )


def most_tokens(text: str) -> int:
    """The length of an answer about a text, on the high side."""
    return 60 + CLAIM_TOKENS * min(MOST_PER_PART, 3 + estimate_tokens(text) // 100)


CONFIDENCE = 0.7  # In whatever a model says, below what the rules read off the words
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
Value = tuple[float, float, str, str]  # low, high, unit and words of a :class:`Fact`


@dataclass(slots=True)
class Counts:
    """Counts of a run so far."""

    documents: int = 0  # read
    facts: int = 0  # stored
    unquoted: int = 0  # claims whose quote is not in the text
    unusable: int = 0  # claims with an invalid value: unknown code or unit, no day of the calendar
    known: int = 0  # claims that equal a fact of the rules or another claim


def facts_in(
    claims: Iterable[Claim],
    text: str,
    rules: Sequence[Fact],
    kinds: Sequence[FactKind],
    model: str,
    counts: Counts,
) -> list[Fact]:
    """The valid claims about a document, as facts."""
    facts: list[Fact] = []
    letters = Quoted(text)
    for claim in claims:
        value = value_of(claim) if claim.kind in kinds else None
        span = quoted(text, claim.quote, letters)
        if value is None:
            counts.unusable += 1
        elif span is None:
            counts.unquoted += 1
        elif any(_says(fact, claim.kind, value) for fact in (*rules, *facts)):
            counts.known += 1
        else:
            low, high, unit, words = value
            how = f"'{' '.join(text[slice(*span)].split())}', as {model} reads it"
            facts.append(
                Fact(
                    *(claim.kind, low, high, unit, words, span, how),
                    implied=True,
                    confidence=CONFIDENCE,
                    generated=True,
                )
            )
    counts.documents += 1
    counts.facts += len(facts)
    return facts


def quoted(text: str, quote: str, letters: Quoted | None = None) -> Span | None:
    """The quote's place in the text; a short one ("Uluru") must match exactly. ``letters`` are of
    the text, where known.

    >>> quoted("A week at Uluru.", "Uluru"), quoted("A week at Uluru.", "the rock")
    ((10, 15), None)
    """
    if span := (letters or Quoted(text)).find(quote):
        return span
    words = quote.strip(" .,;:'\"“”‘’")
    exact = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) if len(words) > 2 else None
    return exact.span() if exact else None


def _says(fact: Fact, kind: FactKind, value: Value) -> bool:
    low, high, unit, _ = value
    if fact.kind != kind:
        return False
    if kind == "place":
        return fact.unit == unit or fact.unit.startswith(f"{unit}-")
    return fact.unit == unit and (fact.low, fact.high) == (low, high)


def value_of(claim: Claim) -> Value | None:
    """The value in normal form; None when it is none."""
    readers = {"place": _place, "amount": _amount, "date": _date}
    return readers[claim.kind](claim.value.strip())


def _place(value: str) -> Value | None:
    book, code = gazetteer(), value.upper()
    country = book.countries.get(code[:2])
    if country is None:
        return None
    if len(code) == 2:
        return 0.0, 0.0, code, country
    region = book.regions.get(code)
    return None if region is None else (0.0, 0.0, code, f"{region}, {country}")


def _amount(value: str) -> Value | None:
    quantities = find_quantities(value)
    if len(quantities) != 1 or quantities[0].span != (0, len(value)):
        return None
    unit = quantities[0].unit
    low, high = round_in(quantities[0].low, unit), round_in(quantities[0].high, unit)
    return low, high, unit, format_amount(low, high, unit)


def _date(value: str) -> Value | None:
    parts = [_period(part.strip()) for part in value.split("/")]
    first, last = parts[0], parts[-1]
    if len(parts) > 2 or first is None or last is None:
        return None
    period = Period(first.low, last.high)
    if not period.plausible:
        return None
    return float(period.low.toordinal()), float(period.high.toordinal()), "day", in_words(period)


def _period(value: str) -> Period | None:
    match = _DATE.fullmatch(value)
    if match is None:
        return None
    try:
        that = date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None
    return containing("day" if match[3] else "month" if match[2] else "year", that)


BATCH = 64  # Documents that are asked about together
SAMPLE = 2000  # A sample of documents, from whose lengths those of all are estimated


@dataclass(frozen=True, slots=True)
class InferRequest:
    """Whose facts a model is to name."""

    corpus: str
    kinds: tuple[FactKind, ...] = KINDS  # of facts; others stay as they are
    limit: int | None = None  # the first documents of the corpus at most; None for all


class InferFacts(ModelTask[Counts]):
    """Asks about documents and stores what holds, batch by batch."""

    def __init__(
        self,
        request: InferRequest,
        home: Home,
        ledger: Ledger,
        settings: Settings,
        library: Library,
    ) -> None:
        check_between("The limit of documents", request.limit, 1)
        self.request, self.key = request, request.corpus
        self._home, self._ledger, self._settings, self._library = home, ledger, settings, library
        self._open()

    def _open(self) -> tuple[OpenCorpus, list[str]]:
        """The corpus, and the documents to ask about."""
        corpus = self._library.open(self.request.corpus)
        return corpus, corpus.doc_ids[: self.request.limit]

    def held(self) -> AbstractContextManager[None]:
        return writing(self._home, self._ledger, self.request.corpus)

    def estimate(self, known: Estimator) -> Estimate:
        corpus, doc_ids = self._open()
        tokens = _part_tokens(known.known.room)

        def ask(sampled: Sequence[str]) -> list[Prompt[Claims]]:
            documents = corpus.documents(sampled)
            return [p for d in documents for p in _prompts(d, self.request.kinds, tokens)]

        return known.of_items(doc_ids, ask, SAMPLE)

    async def run(self, run: TaskRun) -> TaskReport[Counts]:
        corpus, doc_ids = self._open()
        table = DocumentTable.open(corpus.table.path)
        counts, failed = Counts(), 0
        run.progress(0, len(doc_ids))
        try:
            tokens = _part_tokens(await run.context())
            for group in run.groups(doc_ids, BATCH):
                documents = await asyncio.to_thread(corpus.documents, group)
                replies = await ask_groups(
                    partial(run.ask, items=len(group)),
                    [_prompts(d, self.request.kinds, tokens) for d in documents],
                )
                answered = {
                    document.doc_id: [claim for part in parts for claim in part.facts]
                    for document, parts in zip(documents, replies, strict=True)
                    if parts is not None
                }
                if not run.stopped:  # else some were not asked about
                    failed += len(documents) - len(answered)
                await asyncio.to_thread(self._store, table, answered, run.model, counts)
                done = counts.documents + failed
                run.progress(done, len(doc_ids), failed=failed, made=counts.facts)
        finally:
            row = self._ledger.corpus(corpus.name)
            if row is not None and not table.is_finished():  # its indexes lost rows by the writes
                build_indexes(table, row, corpus.lens, self._settings, READERS_GRACE)
        left = len(doc_ids) - counts.documents - failed
        return TaskReport(result=counts, failed=failed, left=left)

    def _store(
        self, table: DocumentTable, answered: dict[str, list[Claim]], model: str, counts: Counts
    ) -> None:
        """Replace the model's earlier facts of these kinds by valid new ones."""
        kinds = self.request.kinds
        changed: dict[str, tuple[Fact, ...]] = {}
        for row in table.rows(list(answered), FACT_SOURCES).to_pylist():
            before = facts_of(row)
            kept = [f for f in before if not (f.generated and f.kind in kinds)]
            claims, text = answered[row["doc_id"]], row["text"]
            after = in_reading_order([*kept, *facts_in(claims, text, kept, kinds, model, counts)])
            if after != before:
                changed[row["doc_id"]] = after
        store_facts(table, changed)


def _prompts(document: Document, kinds: Sequence[FactKind], tokens: int) -> list[Prompt[Claims]]:
    written = document_date(document.metadata)
    return [
        inferring(document.title, part, written, kinds, tokens)
        for part in parts_of(document, tokens)
    ]


def _part_tokens(context: int | None) -> int:
    """Tokens for a part of a document in a model's context; None for unknown."""
    return part_tokens(context, inferring("", "", None, KINDS), most_tokens, FEWEST_TOKENS)
