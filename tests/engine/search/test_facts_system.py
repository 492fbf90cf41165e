"""Documents are found by what they imply, and the page says how that was worked out."""

from dataclasses import replace

import pyarrow as pa
import pytest

from engine.corpora.registry import store_of
from engine.corpora.stored_facts import FACT_COLUMNS, facts_of
from engine.search.systems.facts_system import topic_words
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage.vectors import DocumentTable
from tests.fakes.small_corpus import LETTERS, MESSAGES
from tests.support import make_explorer, write_jsonl

FIRST_OF_MARCH = {"walk", "cake", "choir", "boiler"}


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    explorer = make_explorer(tmp_path_factory.mktemp("messages") / "home")
    explorer.library.add("messages", LETTERS)
    return explorer


def ask(explorer, text, system="facts"):
    return [r.doc_id for r in explorer.search(Query("messages", text=text, system=system)).results]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who walked along the coast on 1 March 2024?", "walk"),
        ("Who baked something on March 1, 2024?", "cake"),
        ("Whose choir sang on 2024-03-01?", "choir"),
        ("Which tent cost 480 euros?", "tent"),
        ("What was bought for €45?", "stove"),
        ("Who swam in France?", "trip"),
        ("Who sat in a park in Japan?", "museum"),
    ],
)
def test_the_document_that_only_implies_the_answer_comes_first(messages, question, answer):
    assert ask(messages, question)[0] == answer


def test_facts_narrow_before_the_topic_decides(messages):
    found = ask(messages, "Who walked along the coast on 1 March 2024?")
    assert set(found[:4]) == FIRST_OF_MARCH
    assert "later" in found[4:6]


@pytest.mark.parametrize("system", ["hybrid+facts", "aspect+facts"])
def test_other_systems_go_by_facts_too(messages, system):
    question = "Who walked along the coast on 1 March 2024?"
    assert set(ask(messages, question, system)[:4]) == FIRST_OF_MARCH
    assert set(ask(messages, question, system.removesuffix("+facts"))[:4]) != FIRST_OF_MARCH


def test_a_result_says_which_fact_answers_and_how_it_was_worked_out(messages):
    query = Query("messages", text="Who walked along the coast on 1 March 2024?", system="facts")
    first = messages.search(query).results[0]
    (match,) = first.facts
    assert match.found.text == "1 March 2024"
    start, end = match.found.span
    assert MESSAGES["walk"][start:end] == "four days ago"
    assert first.explanation.startswith(
        "It says 1 March 2024, from 'four days ago' in a message of 5 March 2024."
    )


def test_a_query_without_facts_is_ranked_by_topic_and_says_so(messages):
    found = messages.search(Query("messages", text="A walk by the sea", system="facts"))
    assert any("topic decides" in note for note in found.notes)
    assert all(not result.facts for result in found.results)
    assert {found.results[0].doc_id, found.results[1].doc_id} <= {"walk", "later", "plain"}


def test_a_stored_seed_asks_for_its_own_facts(messages):
    found = messages.search(Query("messages", seed="walk", system="facts"))
    assert {r.doc_id for r in found.results[:3]} == FIRST_OF_MARCH - {"walk"}


def test_a_wording_can_name_the_fact(messages):
    query = Query("messages", seed="plain", instruction="on 1 March 2024", system="facts")
    assert {r.doc_id for r in messages.search(query).results[:4]} == FIRST_OF_MARCH
    plain = messages.search(replace(query, instruction=None))
    assert plain.results[0].doc_id in {"walk", "later"}


def test_the_facts_of_a_wording_take_no_words_from_the_text(messages):
    text = "My grandmother grows enormous pumpkins on her farm in the hills"
    query = Query("messages", text=text, instruction="from 12 March 2024 please", system="facts")
    searcher = messages.searcher("messages")
    request = searcher.request(query, searcher.seed(query), None)
    assert (bool(request.facts), topic_words(request)) == (True, text.lower())


def test_importing_again_finds_facts_of_an_older_version_anew(fresh, tmp_path):
    source = write_jsonl(tmp_path / "messages.jsonl", LETTERS[:3])
    request = ImportRequest(source, "messages")
    fresh.library.import_documents(request)
    table = DocumentTable.open(store_of(fresh.home, fresh.ledger.corpora()[0]))
    ids = [document["doc_id"] for document in LETTERS[:3]]
    before = table.rows(ids, ["vector", *FACT_COLUMNS]).to_pylist()
    old = pa.table({"doc_id": ids, "facts_version": pa.array([0] * 3, pa.int32())})
    table.update(old)

    assert fresh.library.import_documents(request).unchanged == 3

    table = DocumentTable.open(table.path)
    assert table.rows(ids, ["vector", *FACT_COLUMNS]).to_pylist() == before
    assert fresh.library.open("messages").facts(["walk"])["walk"]


def test_a_table_without_the_columns_gets_them(messages, tmp_path):
    table = DocumentTable.open(store_of(messages.home, messages.ledger.corpora()[0]))
    schema = table.schema
    old = schema
    for name in FACT_COLUMNS:
        old = old.remove(old.get_field_index(name))
    before = DocumentTable.open_or_create(tmp_path, old)
    batch = next(table.columns(old.names))
    before.write(batch.select(old.names), replace=False)
    after = DocumentTable.open_or_create(tmp_path, schema)
    assert after.schema.names == schema.names
    row = after.rows(["walk"], ["text", "metadata", *FACT_COLUMNS]).to_pylist()[0]
    assert row["facts_version"] is None
    assert "1 March 2024" in {fact.text for fact in facts_of(row)}
