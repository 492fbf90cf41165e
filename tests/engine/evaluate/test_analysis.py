"""Queries in SQL: what the views hold, who sees what of it, and what is refused."""

import pytest

from engine.errors import QueryError
from engine.types.annotating import Judgment, PoolRequest, Project
from engine.types.evaluations import EvaluationRequest
from engine.types.people import Person
from engine.types.searches import Query
from tests.support import make_explorer

SEED = "demo-0001"
QUERY = f"{SEED}_method"
ADA = Person("ada@example.org", "Ada", "annotator")
GRACE = Person("grace@example.org", "Grace", "lead")


@pytest.fixture(scope="module")
def lab(lab_home):
    """The small collection, evaluated, and judged by two annotators; Grace adjudicated one item."""
    lab = make_explorer(lab_home)
    lab.evaluations.run(EvaluationRequest("lab", ("bm25", "dense")))
    project = lab.annotation.save(Project("lab", "pilot", leads=("Grace",), per_item=2), "Grace")
    lab.annotation.add_queries(project, [Query("lab", seed=SEED, aspect="method")])
    lab.annotation.fill_pool(project, PoolRequest(("bm25",), 3))
    for number, item in enumerate(lab.annotation.pool(project)):
        lab.annotation.judge(project, Judgment(*item.item, "Ada", number))
        lab.annotation.judge(project, Judgment(*item.item, "Eve", 0))
    item = lab.annotation.disagreements(project)[0]
    lab.annotation.adjudicate(project, item.query_id, item.doc_id, 1, "both in part", "Grace")
    return lab


def test_sentences_have_aspects_and_are_the_text_at_their_place(lab):
    found = lab.sql("lab", "SELECT aspect, count(*) AS n FROM sentences GROUP BY aspect")
    documents = lab.browse("lab", 0, 60)
    keys = [aspect.key for aspect in lab.library.lens("lab").aspects]
    roles = [keys[s.role] for d in documents for s in d.sentences if s.role is not None]
    assert {row["aspect"]: row["n"] for row in found.to_pylist()} == {
        key: roles.count(key) for key in keys
    }
    found = lab.sql(
        "lab",
        "SELECT s.text = d.text[start_char + 1:end_char] AS same FROM sentences s "
        "JOIN documents d USING (doc_id)",
    )
    assert set(found["same"].to_pylist()) == {True}


def test_measures_of_an_evaluation_are_joined_with_judgments(lab):
    found = lab.sql(
        "lab",
        "SELECT system, value, count(doc_id) AS judged FROM measures JOIN judgments "
        "USING (query_id) WHERE measure = 'nDCG@20' GROUP BY ALL ORDER BY system",
    ).to_pylist()
    evaluation = lab.evaluations.find(EvaluationRequest("lab", ("bm25", "dense")))
    values = {
        name: next(q["nDCG@20"] for q in scores.per_query if q["query_id"] == QUERY)
        for name, scores in evaluation.systems.items()
    }
    assert {row["system"]: row["value"] for row in found} == values
    assert {row["judged"] for row in found} == {7}, "two annotators, three items, one decision"
    text = lab.evaluations.run_file(EvaluationRequest("lab", ("bm25",)), "bm25")
    run = lab.collections.add_run("lab", "a.run", text.replace(" bm25\n", " mine\n").encode())
    lab.evaluations.run(EvaluationRequest("lab", ("bm25",), runs=(run.name,)))
    of_runs = lab.sql("lab", "SELECT DISTINCT of_runs FROM measures WHERE system = 'bm25'")
    assert {row["of_runs"] for row in of_runs.to_pylist()} == {None, "mine"}
    lab.collections.remove_run(run.id)


def test_unjudged_documents_are_found_by_runs_and_judgments(lab):
    found = lab.sql(
        "lab",
        "SELECT count(*) AS n FROM runs ANTI JOIN judgments USING (query_id, doc_id) "
        "WHERE system = 'bm25' AND rank <= 20 AND query_id = 'demo-0001_method'",
    )
    assert found["n"].to_pylist() == [17]


def test_facts_have_days_and_documents_have_their_fields(lab):
    days = lab.sql("lab", "SELECT doc_id, first_day FROM facts WHERE kind = 'date'").to_pylist()
    for row in days:
        facts = lab.facts("lab", row["doc_id"])
        assert row["first_day"].toordinal() in {f.low for f in facts if f.kind == "date"}
    (row,) = lab.sql("lab", "SELECT * FROM documents WHERE doc_id = 'demo-0001'").to_pylist()
    document = lab.document("lab", SEED)
    assert days
    assert (row["title"], row["year"]) == (document.title, document.year)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("select count(*) frm documents", '"documents" LINE 1: select'),
        ("select 1\nfrom documents\nwhere yeer = 1", '"yeer" not found in FROM clause'),
        ("select * from nothing", "Queries read documents, sentences, facts"),
        ("select * from read_csv('/etc/passwd')", 'refused: Cannot access file "/etc/passwd"'),
        ("select * from 'https://example.org/a.csv'", "no files or network"),
        ("attach '/tmp/other.db'", "ATTACH is refused"),
        ("copy documents to '/tmp/documents.csv'", "COPY is refused"),
        ("set enable_external_access = true", "SET is refused"),
        ("select 1; select 2", "There are 2 statements"),
    ],
)
def test_what_reads_no_view_alone_is_refused(lab, query, says):
    with pytest.raises(QueryError) as error:
        lab.sql("lab", query)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("select count(*) from range(9000000) a, range(9000000) b where a != b", "after 1 s"),
        ("select list(a.range) from range(900000000) a", "1,024 MB of memory"),
    ],
)
def test_a_query_without_end_is_stopped(lab, query, says):
    with pytest.raises(QueryError, match=says):
        lab.analysis.run("lab", query, seconds=1 if "1 s" in says else 60)


def test_of_a_result_that_is_too_large_the_first_rows_are_kept(lab):
    found = lab.analysis.run("lab", "select range as n from range(10000000000)", most_rows=10)
    assert (found.truncated, found.table["n"].to_pylist()) == (True, list(range(10)))


def test_names_of_columns_are_unique_and_sums_are_numbers(lab):
    (row,) = lab.sql("lab", "SELECT sum(year) AS a, 1 AS a FROM documents").to_pylist()
    years = [document.year for document in lab.browse("lab", 0, 60)]
    assert row == {"a": sum(year for year in years if year), "a_2": 1}


def test_annotators_see_documents_and_their_own_judgments_alone(lab):
    ada = lab.acting_as(ADA)
    assert set(ada.sql("lab", "SELECT * FROM judgments")["annotator"].to_pylist()) == {"Ada"}
    assert ada.sql("lab", "SELECT * FROM documents").num_rows == 60
    for query in ("FROM pools", "FROM runs", "FROM measures"):
        with pytest.raises(QueryError, match="does not exist"):
            ada.sql("lab", query)
    assert set(ada.analysis.views("lab")) == {"documents", "sentences", "facts", "judgments"}


@pytest.mark.parametrize(("who", "sees"), [("Grace", {"Ada", "Eve", "Grace"}), ("Ada", {"Ada"})])
def test_a_project_with_leads_is_seen_whole_by_these_leads(lab, who, sees):
    for person in (lab, lab.acting_as(Person("x@example.org", who, "lead"))):
        found = person.analysis.run("lab", "SELECT * FROM judgments", who=who)
        assert set(found.table["annotator"].to_pylist()) == sees
        pools = person.analysis.run("lab", "SELECT * FROM pools", who=who)
        assert pools.table.num_rows == (3 if who == "Grace" else 0)
