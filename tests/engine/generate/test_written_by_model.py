"""A model's documents count only when a second pass recovers their tuple."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from engine.collections.readers import read_collection
from engine.config import Settings
from engine.errors import BadInputError
from engine.generate.generator import GenerateCollection, GenerationRequest
from engine.generate.implicit_records import (
    DateTuple,
    Example,
    ImplicitRequest,
    PlaceTuple,
    PriceTuple,
)
from engine.generate.scenes import examples_of, leaked
from engine.generate.wording import long_date, money
from engine.llm.tasks import TaskRunner
from tests.fakes.model_answers import MODEL

DOCUMENTS = 8


class Author:
    """Plays the model: knows the scenes, and writes and reads as well as it is told.

    Attributes:
        writes: what becomes of the lines of a good document, by scene and attempt.
        reads: what becomes of the tuple that a careful reader finds.
    """

    def __init__(self, request):
        self.examples = [e for n in range(request.sets) for e in examples_of(request, n)]
        self.writes: Callable[[Example, list[str], int], Any] = lambda _, lines, __: lines
        self.reads: Callable[[Example, dict[str, Any]], Any] = lambda _, found: found
        self.asked: Counter[str] = Counter()

    def __call__(self, prompt, body):
        if "This is version" in prompt:
            self.asked["write"] += 1
            return self._write(prompt)
        if "=== text " in prompt:
            self.asked["read"] += 1
            return self._read(prompt)
        return None

    def _write(self, prompt):
        example = next(e for e in self.examples if _opening(e) in prompt)
        attempt = int(re.findall(r"This is version (\d+)", prompt)[0])
        fact = re.findall(r"=== what is said \w+ ===\n(.*)\n=== end", prompt)[0]
        count = 5 if example.scene.style == "multi" else 10
        lines = [f"Well, well, said the cat.{'!' * (n + attempt)}" for n in range(1, count)]
        lines.insert(3, fact)
        return {"lines": self.writes(example, lines, attempt)}

    def _read(self, prompt):
        text = re.findall(r"=== text \w+ ===\n(.*)\n=== end", prompt, re.DOTALL)[0]
        example = next(e for e in self.examples if _opening(e) in text)
        t = example.scene.implicit
        if isinstance(t, PriceTuple):
            names = {"bought": f"the {example.scene.bought}", "stated": t.base, "price": t.queried}
            return self.reads(example, names)
        if isinstance(t, PlaceTuple):
            return self.reads(example, {"place": t.place, "country": t.country})
        days = [day.isoformat() for day in t.targets]
        return self.reads(example, {"written": t.base.isoformat(), "days": days})


def _opening(example):
    return " ".join(example.scene.opening)


@pytest.fixture(
    params=[("arithmetic", "multi"), ("world", "uni"), ("temporal", "multi")], ids="-".join
)
def asked(request):
    return ImplicitRequest(*request.param, sets=1, seed=5, documents=DOCUMENTS)


@pytest.fixture
def build(server, store, tmp_path):
    settings = Settings(openai_base_url=server.url, llm_model=MODEL, llm_retries=3)

    def run(author, request, folder="out", most_calls=None, **options):
        server.behaviour.handlers = [author]
        asked = GenerationRequest(request, tmp_path / folder, with_model=True, **options)
        return TaskRunner(settings, store).run(GenerateCollection(asked), most_calls=most_calls)

    yield run
    server.behaviour.handlers = []


def texts(found):
    assert found.folder is not None
    lines = (found.folder / "corpus.jsonl").read_text("utf-8").splitlines()
    return {row["doc_id"]: row["text"] for row in map(json.loads, lines)}


def test_verified_documents_are_taken(build, asked):
    author = Author(asked)
    found = build(author, asked).result
    counts = found.verification
    assert (counts.by_model, counts.by_templates) == (DOCUMENTS, 0)
    assert author.asked == {"write": DOCUMENTS, "read": DOCUMENTS}
    written = texts(found)
    for example in author.examples:
        document = written[example.scene.doc_id]
        assert "said the cat" in document
        assert example.scene.speaker in document
        assert leaked(document, example.scene.implicit) is None
    about = json.loads((found.folder / "about.json").read_text("utf-8"))
    assert about["written_by"] == {"judge": DOCUMENTS}
    assert about["verification"]["verified_by_second_pass"] == DOCUMENTS
    assert len(read_collection(found.folder).topics) == DOCUMENTS


def test_documents_that_give_the_value_away_are_replaced(build, asked):
    def says_it(example, lines, _):
        t = example.scene.implicit
        if isinstance(t, PriceTuple):
            said = money(t.queried, example.scene.currency)
        else:
            said = t.country if isinstance(t, PlaceTuple) else long_date(t.targets[0])
        return [*lines[:-1], f"In other words: {said}."]

    author = Author(asked)
    author.writes = says_it
    found = build(author, asked, tries=2).result
    counts = found.verification
    assert (counts.by_templates, counts.rejected["value_literal"]) == (DOCUMENTS, 2 * DOCUMENTS)
    assert author.asked["read"] == 0, "nothing is verified that cannot be taken"
    assert texts(found) == {e.scene.doc_id: e.document for e in author.examples}


def test_documents_whose_tuple_is_not_recovered_are_written_again(build, asked):
    def misread(example, found):
        t = example.scene.implicit
        if author.asked["read"] > DOCUMENTS:
            return found
        if isinstance(t, PriceTuple):
            return {**found, "price": t.base}
        if isinstance(t, DateTuple):
            return {**found, "days": [t.base.isoformat()]}
        return {**found, "country": "Atlantis"}

    author = Author(asked)
    author.reads = misread
    counts = build(author, asked).result.verification
    assert (counts.by_model, counts.by_templates) == (DOCUMENTS, 0)
    assert counts.rejected["not_recovered"] == DOCUMENTS
    assert author.asked["write"] == 2 * DOCUMENTS


MULTI = ImplicitRequest("arithmetic", "multi", 1, 5, DOCUMENTS)


def test_a_dropped_name_and_an_unreadable_answer_are_counted_apart(build):
    def poorly(example, lines, attempt):
        place = author.examples.index(example)
        if attempt == 1 and place < 3:
            return [line.replace(example.scene.bought, "it") for line in lines]
        return lines[:2] if attempt == 1 and place < 5 else lines

    author = Author(MULTI)
    author.writes = poorly
    counts = build(author, MULTI).result.verification
    expected = {"name_missing": 3, "unanswered": 2, "value_literal": 0, "not_recovered": 0}
    assert counts.rejected == {**expected, "unverified": 0}
    assert counts.by_model == DOCUMENTS


def test_templates_stand_in_when_the_budget_is_reached(build):
    found = build(Author(MULTI), MULTI, most_calls=DOCUMENTS + 6)
    counts = found.result.verification
    assert found.stopped == "budget"
    assert 0 < counts.by_model < DOCUMENTS
    assert counts.by_model + counts.by_templates == DOCUMENTS == len(texts(found.result))


def test_tries_have_limits(build):
    for tries in (0, 11):
        with pytest.raises(BadInputError, match=f"tries is {tries}"):
            build(Author(MULTI), MULTI, tries=tries)
