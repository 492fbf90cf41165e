"""Judgments that come in where somebody judged: nothing twice, nobody's word changed unasked."""

import json
from dataclasses import replace

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.types.annotating import BINARY, GRADED, Project, Scale
from engine.types.searches import Query
from storage.records import Judgment
from tests.fakes.csfcube_files import GOOD, METHOD, qrels


@pytest.fixture
def project(small_copy):
    """A project ``p`` in which ann said why a document is relevant."""
    annotation = small_copy.annotation
    project = annotation.save(Project("small", "p"), "lead")
    annotation.add_queries(project, [Query("small", seed="bees-network", aspect="method")])
    annotation.judge(
        project,
        Judgment(METHOD, "bread-network", "ann", 3, note="why", marks=((0, 9),), seconds=4.5),
    )
    return project


def written(explorer, project, out, kind="hand-over"):
    """Everything by ann as a file, or as the one that ann's grades are in."""
    annotation = explorer.annotation
    (path, *_) = annotation.exchange.export(project, kind, annotator="ann").write(out)
    return path


def test_importing_qrels_twice_changes_nothing_and_registers_their_queries(small_copy, tmp_path):
    annotation = small_copy.annotation
    file = qrels(tmp_path, GOOD)
    first, second = (annotation.exchange.import_("small", file, annotator="x") for _ in range(2))
    assert (first.added, second.added, second.known) == (2, 0, 2)
    project = annotation.project("small")
    assert list(annotation.queries(project)) == [METHOD]
    assert len(annotation.history(project)) == 2
    assert {j.origin for j in annotation.judgments(project)} == {"import"}


LINE = {"query_id": METHOD, "doc_id": "bread-network", "relevance": 3, "annotator": "ann"}
SAID = "of 'bread-network' for 'bees-network_method' here, and"
DECISION = {"relevance": 0, "annotator": "eve", "note": "no"}


@pytest.mark.parametrize(
    ("line", "undone", "options", "says"),
    [
        ({"relevance": 1}, False, {}, f"ann said 3 {SAID} 1"),
        ({"note": "because"}, False, {}, f"ann said 3 {SAID} the same with another note or other"),
        ({}, True, {}, f"ann took back what was said {SAID} 3"),
        (DECISION, False, {"adjudicated": True}, f"bob said 2 {SAID} 0"),
        (DECISION | {"origin": "adjudication", "event": "e"}, False, {}, f"bob said 2 {SAID} 0"),
    ],
    ids=["grade", "note", "taken back", "decision", "decision with its event"],
)
def test_what_differs_from_the_stored_is_a_conflict_until_the_file_is_to_win(
    small_copy, project, tmp_path, line, undone, options, says
):
    annotation = small_copy.annotation
    annotation.adjudicate(project, METHOD, "bread-network", 2, "as agreed", "bob")
    if undone:
        annotation.undo(project, "ann")
    line = {**LINE, **line}
    file, before = qrels(tmp_path, json.dumps(line), "a.jsonl"), annotation.history(project)

    def imported(*, overwrite):
        return annotation.exchange.import_("small", file, "p", overwrite=overwrite, **options)

    for _ in range(2):
        kept = imported(overwrite=False)
        assert (kept.added, kept.known, len(kept.conflicts)) == (0, 0, 1)
        assert kept.conflicts[0].startswith(f"Line 1: {says}")
        assert kept.conflicts[0].endswith("in the file; what is here stays.")
    assert annotation.history(project) == before
    forced = imported(overwrite=True)
    assert forced.added == 1
    assert forced.conflicts[0].endswith("in the file; the file's counts now.")
    now = annotation.history(project)[-1]
    assert (now.annotator, now.relevance) == (line["annotator"], line["relevance"])
    assert now in annotation.judgments(project)
    again = imported(overwrite=True)
    assert (again.added, again.known, again.conflicts) == (0, 1, ())


@pytest.mark.parametrize("kind", ["trec", "beir"])
def test_one_s_own_grades_come_back_without_a_change_to_notes_and_marks(
    small_copy, project, tmp_path, kind
):
    annotation = small_copy.annotation
    before = annotation.judgments(project)
    (tmp_path / "out").mkdir()
    file = written(small_copy, project, tmp_path / "out", kind)
    found = annotation.exchange.import_("small", file, "p", annotator="ann")
    assert (found.added, found.known, found.conflicts) == (0, 1, ())
    assert annotation.judgments(project) == before


def test_a_seed_that_a_file_grades_for_its_own_query_is_left_out(small_copy, tmp_path):
    annotation = small_copy.annotation
    file = qrels(tmp_path, f"{METHOD} 0 bees-network 3\n{GOOD}")
    found = annotation.exchange.import_("small", file, annotator="x")
    assert found.added == 2
    assert "1 judgment is of the query's own seed" in found.warnings[0]
    assert (
        "bees-network" not in annotation.exchange.qrels(annotation.project("small")).grades[METHOD]
    )


def test_a_trial_refuses_what_an_import_refuses_and_waits_for_nobody(
    small_copy, project, tmp_path, monkeypatch
):
    annotation = small_copy.annotation
    file = written(small_copy, project, tmp_path)
    (head, query, *events) = file.read_text("utf-8").splitlines()
    query = query.replace('"bees-network"', '"nowhere"')
    wrong = qrels(tmp_path, "\n".join([head, query, *events]), "wrong.jsonl")
    for dry_run in (True, False):
        with pytest.raises((BadInputError, UnknownNameError)):
            annotation.exchange.import_("small", wrong, "other", dry_run=dry_run)
    monkeypatch.setattr(small_copy.ledger.judging, "change", None)
    assert annotation.exchange.import_("small", file, "p", dry_run=True).known == 1


def test_a_scale_must_have_the_grades_that_stand(small_copy, project):
    annotation = small_copy.annotation
    annotation.judge(project, Judgment(METHOD, "maps-survey", "ann", 2))
    annotation.judge(project, Judgment(METHOD, "tides-network", "ann", 1))
    lacking = r"2 grades stand that the scale 'binary' does not have: 2 \(1\), 3 \(1\)"
    with pytest.raises(BadInputError, match=lacking):
        annotation.save(replace(project, scale=BINARY), "lead")
    assert annotation.project("small", "p") == project
    for _ in range(3):
        annotation.undo(project, "ann")
    assert annotation.save(replace(project, scale=BINARY), "lead").scale == BINARY
    wider = Scale("wide", GRADED.grades)
    assert annotation.save(replace(project, scale=wider), "lead").scale == wider


def test_of_two_who_change_a_project_the_second_is_told_of_the_first(small_copy, project):
    annotation = small_copy.annotation
    first = annotation.save(replace(project, per_item=2), "lead", project)
    with pytest.raises(BadInputError, match="changed by somebody else"):
        annotation.save(replace(project, order="rank"), "another", project)
    assert annotation.project("small", "p") == first
    assert annotation.save(replace(first, order="rank"), "another", first).per_item == 2


def test_grades_of_other_programs_come_in_and_spam_is_not_relevant(small_copy, tmp_path):
    exchange = small_copy.annotation.exchange
    grades = {"bread-network": ("label", "2.0"), "maps-survey": ("rel", "-1")}
    for doc_id, (name, grade) in grades.items():
        head = f"qid,docid,{name},annotator,annotators,by,basis"
        table = f"{head}\n{METHOD},{doc_id},{grade},r9,3,,vote\n"
        assert exchange.import_("small", qrels(tmp_path, table, "judged.csv")).added == 1
    decided = exchange.qrels(small_copy.annotation.project("small"))
    assert decided.grades == {METHOD: {"bread-network": 2, "maps-survey": 0}}
