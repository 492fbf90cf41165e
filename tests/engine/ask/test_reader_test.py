"""The reader test: answers from a gold document among hard negatives, and from what is found."""

from __future__ import annotations

import csv
import re

import pytest

from engine.ask.reader_test import GOLD, Condition, ReadingPlan, prepare
from engine.collections.readers import read_collection
from engine.errors import BadInputError
from engine.llm.endpoints import EndpointError
from engine.llm.tasks import TaskRunner
from engine.measures.metrics import rouge_1_recall
from engine.types.scenarios import ScenarioRequest
from tests.fakes.model_answers import MODEL, Knowledge
from tests.fakes.model_server import serving
from tests.support import make_explorer, write_jsonl

PEOPLE = ("Noor", "Ada", "Bo", "Cy", "Dag", "Eva")
TOOLS = ("anvil", "lathe", "plane", "rasp", "vice", "awl")
SETS = ("workshop", "garden")
QUERIES = len(PEOPLE) * len(SETS)


def write_questions(folder):
    """Two pools of six posts; every post answers the question of its row."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "loans.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "tuple_set_id", "pos_document", "question", "answer"])
        for number, place in enumerate(SETS):
            for at, (person, tool) in enumerate(zip(PEOPLE, TOOLS, strict=True)):
                said = f"2024-05-0{at + 1} 09:00, {person}: I took the {tool} from the {place}."
                asked = f"Who took the {tool} from the {place}?"
                rows.writerow([f"{place}-{at}", number, said, asked, f"{person} Smith"])
    return path


def librarian(prompt, _):
    """Reads as it should: the name that stands before the words of the question."""
    asked = re.search(r"^=== question \w+ ===\nWho (.+)\?$", prompt, re.MULTILINE)
    if asked is None or "reference answer" in prompt:
        return None
    found = re.search(rf", (\w+): I {re.escape(asked[1])}\.", prompt)
    return found[1] if found else "Not stated."


def strict_judge(prompt, _):
    """80 points for a name, none for a refusal."""
    if "answer to grade" not in prompt:
        return None
    return {"points": 0 if "Not stated" in prompt else 80}


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    return read_collection(write_questions(tmp_path_factory.mktemp("reading")))


@pytest.fixture(scope="module")
def loans(tmp_path_factory, collection):
    explorer = make_explorer(tmp_path_factory.mktemp("reading-home"))
    explorer.library.import_collection(collection)
    return explorer


@pytest.fixture
def server():
    with serving(Knowledge({}, {}), handlers=[librarian, strict_judge]) as running:
        yield running


@pytest.fixture
def reader_test(loans, server, store):
    settings = loans.settings.model_copy(update={"openai_base_url": server.url, "llm_model": MODEL})
    return TaskRunner(settings, store)


def prepared(loans, collection, **plan):
    return prepare(loans.searcher("loans"), collection, ReadingPlan(**plan))


# -- what is asked ---------------------------------------------------------------------------


def test_hard_negatives_come_from_the_pool_of_the_gold_document(loans, collection):
    test = prepared(loans, collection, sizes=(1, 3, 30))
    for k, given in ((1, 1), (3, 3), (30, len(PEOPLE))):
        for one in test.given[Condition(GOLD, k, False)]:
            place = one.query_id.partition("-")[0]
            assert len(set(one.doc_ids)) == given
            assert {d.partition("-")[0] for d in one.doc_ids} == {place}
            assert one.gold == (one.query_id,)
    assert "tuple_set_id" in test.negatives


def test_the_place_of_the_gold_document_tells_nothing(loans, collection):
    given = prepared(loans, collection, sizes=(3, 6)).given
    again = prepared(loans, collection, sizes=(3, 6)).given
    assert given == again
    places = [one.doc_ids.index(one.gold[0]) for asked in given.values() for one in asked]
    for place in range(3):
        assert places.count(place) >= 2


def answered_by_bees(folder, answer):
    """A collection over the small corpus, without pools."""
    write_jsonl(folder / "topics.jsonl", [{"query_id": "q", "text": "What kills bees?", **answer}])
    (folder / "qrels.txt").write_text("q 0 bees-network 3\nq 0 maps-survey 0\n", "utf-8")
    return read_collection(folder)


def test_without_pools_the_negatives_are_what_retrievers_confuse(small, tmp_path):
    judged = answered_by_bees(tmp_path, {"answer": "mites"})
    test = prepare(small.searcher("small"), judged, ReadingPlan((4,)))
    [asked] = test.given[Condition(GOLD, 4, False)]
    assert (asked.gold, asked.reference, len(asked.doc_ids)) == (("bees-network",), "mites", 4)
    assert "bm25 and dense" in test.negatives


def test_what_cannot_be_read_is_refused(loans, collection, tmp_path):
    with pytest.raises(BadInputError, match="reference answer"):
        prepare(loans.searcher("loans"), answered_by_bees(tmp_path, {}), ReadingPlan())
    with pytest.raises(BadInputError, match="no scenarios"):
        prepare(loans.searcher("loans"), collection, ReadingPlan(scenarios=True))
    for sizes in ((), (0,), (1, 1000)):
        with pytest.raises(BadInputError, match="1 to 200"):
            ReadingPlan(sizes)


# -- what is measured --------------------------------------------------------------------------


def test_rouge_1_recall_is_that_of_hand_worked_cases():
    # 2 of 3 words of the reference; "the" counts as often as it stands in both.
    assert rouge_1_recall("the cat sat", "the cat ran") == pytest.approx(2 / 3)
    assert rouge_1_recall("the the the", "the cat and the dog") == pytest.approx(2 / 5)
    assert rouge_1_recall("Nothing 2019 model!", "nothing, 2019 MODEL") == 1.0
    assert rouge_1_recall("", "cat") == 0.0
    assert rouge_1_recall("in 東京 by Zoë", "東京, Zoë") == 1.0
    assert rouge_1_recall("Zoe", "Zoë") == 0.0


def test_a_model_is_measured_by_what_it_makes_of_the_gold_document(
    loans, collection, reader_test, server
):
    plan = ReadingPlan((1, 3))
    told: list[None] = []
    test = prepare(loans.searcher("loans"), collection, plan, on_query=lambda: told.append(None))
    found = reader_test.run(test).result
    assert [row.name for row in found.rows] == ["gold, k = 1", "gold, k = 3"]
    for row in found.rows:
        assert (row.answered, row.unanswered, row.declined, row.found) == (QUERIES, 0, 0, 1.0)
        assert row.rouge == pytest.approx(0.5)  # "Noor" of "Noor Smith"
        assert row.words == 1.0
    assert found.report.questions == server.seen.questions == 2 * QUERIES
    assert reader_test.run(test).result.rows == found.rows


def test_what_a_system_finds_is_read_with_and_without_scenarios_and_graded(
    loans, collection, reader_test, server
):
    loans.scenarios.run(ScenarioRequest("loans", "extractive"))
    test = prepared(loans, collection, sizes=(2,), systems=("bm25",), scenarios=True, grade=True)
    foreseen = reader_test.estimate(test)
    assert server.seen.requests == 0
    found = reader_test.run(test).result
    loans.scenarios.remove("loans")
    assert found.report.questions <= foreseen.calls
    assert found.report.input_tokens <= (foreseen.input_tokens or 0)
    assert {row.name for row in found.rows} == {
        "gold, k = 2", "gold, k = 2, with scenarios", "bm25, k = 2", "bm25, k = 2, with scenarios",
    }  # fmt: skip
    with_notes = [p for p in server.seen.prompts if "=== notes on document" in p]
    assert with_notes
    assert all("Somebody may need:" in p for p in with_notes)
    for row in found.rows:
        assert row.graded == row.answered == QUERIES
        assert row.grade == pytest.approx(80 * (1 - row.declined / QUERIES))
    assert any("graded" in note for note in found.notes)


def test_a_budget_ends_it_with_a_partial_result_that_can_be_gone_on_with(
    loans, collection, reader_test
):
    test = prepared(loans, collection, sizes=(1, 3))
    found = reader_test.run(test, most_calls=10).result
    assert found.report.stopped == "budget"
    answered = [row.answered for row in found.rows]
    assert 0 < answered[0] < QUERIES
    assert answered[1] == 0
    assert found.rows[0].rouge == pytest.approx(0.5)
    assert found.rows[1].rouge is None
    assert any("ended early" in note for note in found.notes)
    rest = reader_test.run(test).result
    assert rest.report.stopped == ""
    assert rest.report.cached == answered[0]


def test_failures_are_counted_and_not_scored(loans, collection, reader_test, server):
    server.behaviour.faults = {"empty": 0.5}
    found = reader_test.run(prepared(loans, collection, sizes=(1,))).result
    [row] = found.rows
    assert 0 < row.unanswered < QUERIES
    assert row.unanswered == found.report.unanswered
    assert row.rouge == pytest.approx(0.5)
    server.behaviour.faults = {"500": 1.0}
    with pytest.raises(EndpointError):
        reader_test.run(prepared(loans, collection, sizes=(6,)))
