"""What the judging view sends: stored once and in its order, whatever comes twice."""

from dataclasses import replace

import pytest
from filelock import FileLock

from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from pages._annotate.agreement import kicker_of
from pages._annotate.judging import JudgingSession, from_key, receive, seed_data, to_key, view_data
from tests.engine.annotate.grading_steps import project_with_pool
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl


@pytest.fixture
def project(small_copy):
    return project_with_pool(small_copy)


def message(turn, *events, **more):
    return {"turn": turn, "events": list(events), **more}


def grade(name, key, relevance, **more):
    query_id, doc_id = from_key(key) or ("", "")
    event = {"event": name, "kind": "judge", "key": key, "query_id": query_id, "doc_id": doc_id}
    said = {"verdict": "grade", "relevance": relevance, "note": "", "marks": [], "seconds": 1.5}
    return {**event, **said, **more}


def test_an_event_that_comes_twice_is_stored_once(small_copy, project):
    place = JudgingSession(project, "Ada")
    first, second = view_data(small_copy, place)["next"][:2]
    said = grade("e1", first, 2, note="why", marks=[1, 0])
    assert receive(small_copy, place, message(1, said)).settled == ("e1",)
    again = receive(small_copy, place, message(2, said, grade("e2", second, 0)))
    assert again.settled == ("e1", "e2")
    # Another visit (a reload before the answer came) does not know it, the ledger does.
    assert receive(small_copy, JudgingSession(project, "Ada"), message(3, said)).settled == ("e1",)
    history = small_copy.annotation.history(project)
    assert [(j.relevance, j.note) for j in history] == [(2, "why"), (0, "")]
    document = small_copy.document("small", history[0].doc_id)
    assert history[0].marks == tuple(s.span for s in document.sentences[:2])


def test_an_undo_is_answered_alike_after_the_app_was_started_anew(small_copy, project):
    place = JudgingSession(project, "Ada")
    first, second = view_data(small_copy, place)["next"][:2]
    nothing, undo = {"event": "u0", "kind": "undo"}, {"event": "u1", "kind": "undo"}
    sent = message(1, nothing, grade("e1", first, 2), grade("e2", second, 1), undo)
    for sitting in (place, JudgingSession(project, "Ada"), JudgingSession(project, "Ada")):
        answer = receive(small_copy, sitting, sent)
        assert answer.settled == ("u0", "e1", "e2", "u1")
        assert answer.undone == (("u0", ""), ("u1", second))
        assert [j.event for j in small_copy.annotation.judgments(project)] == ["e1"]
    some = replace(JudgingSession(project, "Ada"), only=frozenset({from_key(first) or ("", "")}))
    for undone in (first, first):
        again = {"event": "u2", "kind": "undo"}
        assert receive(small_copy, some, message(2, again)).undone == (("u2", undone),)
        some.done.clear()


def test_what_cannot_be_stored_is_refused_with_the_reason_and_the_rest_is_stored(
    small_copy, project
):
    place = JudgingSession(project, "Ada")
    first, second = view_data(small_copy, place)["next"][:2]
    gone = to_key((from_key(first)[0], "gone"))  # type: ignore[index]
    answer = receive(
        small_copy,
        place,
        message(
            1,
            grade("e1", first, 7),
            grade("e2", gone, 1),
            grade("e3", second, 1, marks=[99]),
            {"event": "e4"},
            grade("e5", second, 1),
        ),
    )
    assert answer.refused == (first, gone, second, "")
    assert answer.settled == ("e1", "e2", "e3", "e4", "e5")
    assert [j.doc_id for j in small_copy.annotation.judgments(project)] == [from_key(second)[1]]  # type: ignore[index]


def test_after_an_import_documents_are_judged_as_they_are_now(small_copy, project, tmp_path):
    place = JudgingSession(project, "Ada")
    before = view_data(small_copy, place)
    first, second = before["next"][:2]
    doc_id = (from_key(first) or ("", ""))[1]
    seed, _ = small_copy.starting_point("small")
    changed = [
        {**d, "sentences": ["It says something else now.", *d["sentences"][1:]]}
        for d in DOCUMENTS
        if d["doc_id"] in (doc_id, seed)
    ]
    source = write_jsonl(tmp_path / "again.jsonl", changed)
    small_copy.library.import_documents(ImportRequest(source, "small"))
    marked = message(1, grade("e1", first, 2, marks=[1]), grade("e2", second, 1), held=[first])
    answer = receive(small_copy, place, marked)
    assert (answer.settled, answer.refused) == (("e1", "e2"), (first,))
    assert "before its corpus was imported again" in answer.message
    after = view_data(small_copy, place)
    assert after["version"] != before["version"]
    items = {item["key"]: item["sentences"][0]["text"] for item in after["items"]}
    assert items[first] == "It says something else now."
    assert after["seeds"][0]["sentences"][0]["text"] == "It says something else now."
    receive(small_copy, place, message(2, grade("e3", first, 2, marks=[0])))
    (*_, last) = small_copy.annotation.judgments(project)
    assert last.marks == (small_copy.document("small", doc_id).sentences[0].span,)


def test_annotators_are_told_what_a_corrected_reading_asks_for(small):
    lens, seed = small.library.lens("small"), small.document("small", "bees-network")
    words = {aspect.key: aspect.instruction for aspect in lens.aspects}
    names = {aspect.key: aspect.name for aspect in lens.aspects}
    query = Query("small", "bees-network", aspect="method", reading=("+result", "-background"))
    shown = seed_data("q", query, seed, lens)
    without = f"Similarity in {names['background']} does not count."
    assert shown["asked"] == f"{words['result']} {without}"
    assert [row["on"] for row in shown["sentences"]] == [False, False, True]
    assert (shown["aspect"], shown["aspect_key"]) == ("", "")
    assert kicker_of(query, shown) == f"Seed · {shown['asked']}", "for whoever decides, too"
    plain = seed_data("q", replace(query, reading=()), seed, lens)
    assert (plain["asked"], plain["aspect"]) == (words["method"], names["method"])


def test_while_the_ledger_is_busy_what_was_said_waits_in_its_order(small_copy, project):
    place = JudgingSession(project, "Ada")
    first, second = view_data(small_copy, place)["next"][:2]
    events = grade("e1", first, 2), grade("e2", second, 1)
    ledger = small_copy.home.ledger
    quick = make_explorer(ledger.parent, ledger_wait_seconds=0.1)
    with FileLock(f"{ledger}.lock"):
        answer = receive(quick, place, message(1, *events))
    assert answer.retry
    assert answer.settled == ()
    assert "Not saved yet" in answer.message
    assert receive(small_copy, place, message(2, *events)).settled == ("e1", "e2")
    assert len(small_copy.annotation.history(project)) == 2


def test_the_judging_view_sees_no_sources_unless_the_project_says_so(small_copy, project):
    for blind in (True, False):
        project = small_copy.annotation.save(replace(project, blind=blind), "lead")
        items = view_data(small_copy, JudgingSession(project, "Ada"))["items"]
        assert any(item["sources"] for item in items) != blind


def test_who_has_to_wait_for_others_is_told_so_and_goes_on_when_they_judge(small_copy, project):
    ada, ben = JudgingSession(project, "Ada"), JudgingSession(project, "Ben")
    first, *rest = view_data(small_copy, ada)["next"]
    waits = view_data(small_copy, ben)
    assert waits["next"] == []
    assert waits["waiting"]["title"] == f"The last {1 + len(rest)} items are with other annotators"
    assert "5 minutes" in waits["waiting"]["words"]
    assert "Ada" not in str(waits)

    receive(small_copy, ada, message(1, grade("e1", first, 2), held=rest, at=rest[0]))
    data = view_data(small_copy, ada)
    receive(small_copy, ada, message(2, held=data["next"], at=rest[0]))
    data, given = view_data(small_copy, ada), view_data(small_copy, ben)
    assert (given["waiting"], data["people"]) == (None, 2)
    assert not set(given["next"]).intersection(data["next"])
    receive(small_copy, ben, message(1, held=given["next"], at=data["next"][0]))
    assert view_data(small_copy, ben)["beyond"] == data["next"][0]
