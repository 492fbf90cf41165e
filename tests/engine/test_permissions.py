"""What the engine refuses to whoever is logged in, whichever page or program asks."""

from __future__ import annotations

import inspect
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from engine.ask.reader import _Stored
from engine.cli.main import main
from engine.config import ROOT, Settings
from engine.errors import BadInputError, NotAllowedError
from engine.explorer import Explorer
from engine.jobs.runner import JobRunner
from engine.permissions import check_source
from engine.queries import query_id
from engine.types.annotating import Judgment, PoolRequest, Project
from engine.types.comparisons import ComparisonRequest
from engine.types.corpora import ImportRequest
from engine.types.jobs import Job
from engine.types.models import ModelReport
from engine.types.people import OPERATOR, ForPerson, Person, acting_as
from engine.types.reading import Answer, AnswerPart, AskedQuestion, AskRequest
from engine.types.scenarios import ScenarioRequest
from engine.types.searches import Query
from storage.home import Home
from tests.fakes.model_sessions import SEED, entered
from tests.support import make_explorer

ADA = Person("ada@example.org", "Ada", "annotator")
EVE = Person("eve@example.org", "Eve", "annotator")
GRACE = Person("grace@example.org", "Grace", "lead")


# -- roles ---------------------------------------------------------------------------------

JOBS = {"own": "cancel dismiss start", "all": "job latest result running"}
MAY: dict[str, dict[str, str]] = {
    "": {
        "all": "acting_as browse document facets facts find_documents find_facts parse_filters "
        "parse_reading reads_aspect reads_steer reads_wording search searcher select "
        "split_sentences sql starting_point systems_of",
        "leads": "human_rows",
        "operator": "evaluate ledger sensitivity start tidy warm_up",
    },
    "analysis": {"all": "run views"},
    "annotation": {
        "all": "at first_items guideline_template known last_event placed pool pooled project "
        "projects queries query retired",
        "own": "adjudicate judge judgments leave queue share undo",
        "leads": "add_queries agreement agreement_over_time assign checked_queries copy create "
        "delete deleted disagreements fill_pool history progress put recall rename restore retire "
        "save share_out unaskable unjudged",
    },
    "annotation.exchange": {"leads": "export import_ qrels"},
    "annotation.filling": {"leads": "start"},
    "annotation.filling.jobs": JOBS,
    "annotation.grading": {"leads": "check estimate models run sample start within"},
    "annotation.grading.jobs": JOBS,
    "builds": {
        "leads": "estimate files names open provenance run save start", "operator": "export",
    },
    "builds.jobs": JOBS,
    "collections": {
        "leads": "add_qrels add_run all asked digest info queries query_titles read remove_qrels "
        "remember remove_run runs topics uploaded_runs",
        "operator": "key_of",
    },
    "comparing": {
        "all": "collection find_sensitivity presets runs sensitivity_json stamp start_sensitivity",
        "own": "compare evidence frontier",
    },
    "comparing.by_model": {"all": "estimate recall run start"},
    "comparing.by_model.jobs": JOBS,
    "comparing.jobs": JOBS,
    "evaluations": {
        "all": "to_json",
        "leads": "answered_by checked compared estimate find history job measure missing model "
        "ranked rankings remove rename run run_file start stored",
    },
    "evaluations.jobs": JOBS,
    "gaps": {
        "all": "to_json", "leads": "checked estimate find history job remove rename run start",
    },
    "gaps.jobs": JOBS,
    "library": {
        "all": "check_name citation_fields contents corpora corpus embedded encoder is_synthetic "
        "lens loaded_encoder names open sentences_of source_name state stored_name suggest_name "
        "titles",
        "leads": "add_demo can_undo_import datasets delete deleted describe_dataset edit examine "
        "importable look_up own_lens preview preview_lens rename restore save_papers save_upload "
        "service_query set_lens sources_to_update start_import undo_import update",
        "operator": "add empty_trash import_collection import_documents import_here lens_for "
        "note_corpora rebuild",
    },
    "library.jobs": {
        "all": "check_idle job list running", "own": "cancel dismiss resume",
        "checked": "here run start",
    },
    "maps": {
        "all": "overlay values view", "leads": "build estimate_names own_names start word_names",
    },
    "maps.jobs": JOBS,
    "notebook": {
        "all": "export_corpus export_documents export_trail put_text seed_title seed_titles text "
        "trail trail_name",
        "own": "add_step delete_trail grades judge name_trail own_trail save_search "
        "saved_searches trails",
    },
    "pair_grading": {"operator": "estimate run start"},
    "pair_grading.jobs": JOBS,
    "reader": {
        "all": "estimate examples export find has_scenarios passages run start",
        "own": "asked forget",
    },
    "reader.jobs": JOBS,
    "reading_lists": {
        "all": "documents export exported found_from ids info kept_on seed_titles",
        "own": "adopt annotate delete keep lists move named new remove rename send tag "
        "trails_of_items",
    },
    "scenarios": {
        "all": "of_document status",
        "leads": "estimate lessons remove run set_weight start",
    },
    "scenarios.jobs": JOBS,
    "verifier": {
        "all": "check connection endpoint estimate estimate_reading explain_with_model job "
        "offered read_wordings recall rerank result run running start",
        "own": "find_endpoint",
    },
    "verifier.jobs": JOBS,
}  # fmt: skip
"""Who may call each public method: all on the list; all, but for their own (each has a test
below); leads; the operator alone. ``checked``: by what is asked for, see the paths below."""
PLAIN = (str, int, float, tuple, Mapping, Settings, Home)


def _parts(whole, path=""):
    """Every part of the facade that can be reached by public names."""
    yield path, whole
    for name, value in vars(whole).items():
        if isinstance(value, ForPerson) and not name.startswith("_"):
            yield from _parts(value, f"{path}.{name}".lstrip("."))


def _methods(part):
    public = {name for name in dir(type(part)) if not name.startswith("_")}
    static = {name: inspect.getattr_static(type(part), name) for name in public}
    return {
        name for name, value in static.items()
        if isinstance(value, (property, staticmethod)) or inspect.isroutine(value)
    }  # fmt: skip


def test_every_public_method_of_the_engine_is_decided_for(small):
    parts = dict(_parts(small.acting_as(ADA)))
    assert set(parts) == set(MAY)
    for path, part in parts.items():
        decided = [name for names in MAY[path].values() for name in names.split()]
        assert sorted(decided) == sorted(_methods(part)), f"who may call these of '{path}'?"
        others = {n: v for n, v in vars(part).items() if not n.startswith("_") and n != "person"}
        loose = {n for n, v in others.items() if not isinstance(v, (ForPerson, *PLAIN))}
        assert not loose, f"'{path}' hands out what knows nobody"


@pytest.mark.parametrize(
    ("may", "refused", "allowed"), [("leads", ADA, GRACE), ("operator", GRACE, OPERATOR)]
)
def test_what_is_for_leads_or_the_operator_is_refused_to_the_others(small, may, refused, allowed):
    for path, part in _parts(small.acting_as(refused)):
        own = dict(_parts(small.acting_as(allowed)))[path]
        for name in MAY[path].get(may, "").split():
            with pytest.raises(NotAllowedError):
                getattr(part, name)(no_such_argument=True)
            with suppress(TypeError):  # of the argument, after the person
                getattr(own, name)(no_such_argument=True)


def test_only_the_operator_acts_as_somebody(small):
    ada = small.acting_as(ADA)
    assert ada.acting_as(ADA) is ada
    for other in (OPERATOR, GRACE, EVE):
        with pytest.raises(NotAllowedError):
            ada.acting_as(other)


def test_annotators_see_their_own_judgments_alone(small_copy):
    query, doc_id = Query("small", seed=SEED, aspect="method"), _other(small_copy)
    ada, eve, grace = map(small_copy.acting_as, (ADA, EVE, GRACE))
    ada.notebook.judge(query, doc_id, 3)
    project = small_copy.annotation.project("small")
    variants = small_copy.comparing.presets("small", "method")[:2]
    asked = ComparisonRequest("small", SEED, None, "method", variants, annotator="Ada")
    for refused in (
        lambda: eve.annotation.judgments(project),
        lambda: eve.annotation.judgments(project, annotator="Ada"),
        lambda: eve.annotation.queue(project, "Ada"),
        lambda: eve.annotation.share(project, "Ada", "visit"),
        lambda: eve.notebook.grades(query, "Ada"),
        lambda: eve.comparing.compare(asked),
        lambda: eve.comparing.evidence(asked, doc_id),
        lambda: eve.comparing.frontier(asked, variants[0]),
    ):
        with pytest.raises(NotAllowedError, match=r"of others|logged in as Eve"):
            refused()
    assert eve.annotation.judgments(project, annotator="Eve") == []
    assert eve.notebook.grades(query) == {}
    assert ada.notebook.grades(query) == grace.notebook.grades(query, "Ada") == {doc_id: 3}
    assert [j.annotator for j in grace.annotation.judgments(project)] == ["Ada"]


def test_annotators_bring_neither_queries_nor_grades_of_another_kind_into_a_project(small_copy):
    project = Project("small", "p", annotators=("Eve",))
    small_copy.annotation.save(project, "Grace")
    ada, query = small_copy.acting_as(ADA).annotation, Query("small", seed=SEED, aspect="method")
    judgment = Judgment(query_id(query), _other(small_copy), "Ada", 3)
    with pytest.raises(NotAllowedError):
        ada.judge(project, judgment, query)
    assert not small_copy.annotation.queries(project)
    small_copy.annotation.add_queries(project, [query])
    with pytest.raises(NotAllowedError):
        ada.judge(project, replace(judgment, origin="import"))
    with pytest.raises(NotAllowedError):
        ada.adjudicate(project, judgment.query_id, judgment.doc_id, 3, "so", "Ada")
    with pytest.raises(BadInputError, match="not among the annotators"):
        ada.judge(project, judgment)


def test_annotators_judge_what_was_asked_of_them_and_leads_what_they_like(small_copy):
    annotation, project = small_copy.annotation, Project("small", "p")
    annotation.save(project, "Grace")
    [asked] = annotation.add_queries(project, [Query("small", seed=SEED, aspect="method")])
    annotation.fill_pool(project, PoolRequest(("dense",), 3))
    pooled = [item.doc_id for item in annotation.pool(project)]
    beside = next(i for i in small_copy.library.open("small").doc_ids if i not in (*pooled, SEED))
    ada, grace = (small_copy.acting_as(person).annotation for person in (ADA, GRACE))
    ada.judge(project, Judgment(asked, pooled[0], "Ada", 3))
    for relevance, verdict in ((3, "grade"), (None, "skip"), (None, "withdrawn")):
        with pytest.raises(NotAllowedError, match="not in the pool"):
            ada.judge(project, Judgment(asked, beside, "Ada", relevance, verdict))
    grace.judge(project, Judgment(asked, beside, "Grace", 1))
    annotation.retire(project, [asked], "Grace")
    ada.judge(project, Judgment(asked, pooled[1], "Ada", 2))  # it was on her desk until now
    with pytest.raises(NotAllowedError, match="not in the pool"):
        ada.judge(project, Judgment(asked, beside, "Ada", 3))
    assert [j.doc_id for j in annotation.judgments(project)] == [pooled[0], beside, pooled[1]]


def test_lists_of_trails_searches_and_questions_are_ones_own(small_copy):
    ada, eve = small_copy.acting_as(ADA), small_copy.acting_as(EVE)
    trail = ada.notebook.own_trail("", "Ada")
    for seed in (SEED, _other(small_copy)):
        ada.notebook.add_step(trail, Query("small", seed=seed))
    ada.notebook.name_trail(trail, "Ada's")
    ada.notebook.save_search("bees", "?q=bees")
    request = AskRequest("Who?", "small")
    done = Job(
        "0" * 16,
        request,
        "done",
        Answer((), (AnswerPart("So."),), 0, ModelReport(mode="ask", depth=1, endpoint="")),
        owner="Ada",
    )
    stored = _Stored(request, done.progress)
    small_copy.ledger.documents("answer", _Stored).put(done.id, stored, "Ada")
    question = AskedQuestion(done.id, "small", request.question, "done", datetime.now(UTC))
    small_copy.ledger.documents("question", AskedQuestion).put(done.id, question, "Ada")
    assert [one.name for one in ada.notebook.trails("Eve")] == ["Ada's"]
    assert [one.name for one in ada.notebook.saved_searches("Eve")] == ["bees"]
    assert [one.question for one in ada.reader.asked("Eve")] == ["Who?"]
    assert eve.notebook.trails("Ada") == eve.notebook.trails() == []
    assert eve.notebook.saved_searches("Ada") == eve.reader.asked("Ada") == []
    with pytest.raises(NotAllowedError):
        eve.reader.forget(done.id)
    assert eve.reader.find(done.id).request == request, "a link is for reading"


def test_what_others_judged_on_explore_is_not_listed_to_annotators(small_copy):
    project = small_copy.annotation.project("small")
    asked = [Query("small", seed=SEED, aspect=aspect) for aspect in ("method", "result")]
    pooled = Query("small", seed=SEED, aspect="background")
    for person, query in zip((ADA, EVE), asked, strict=True):
        judgment = Judgment(query_id(query), _other(small_copy), person.name, 2)
        small_copy.acting_as(person).annotation.judge(project, judgment, query)
    small_copy.annotation.add_queries(project, [pooled])
    small_copy.annotation.fill_pool(project, PoolRequest(("dense",), 1), [query_id(pooled)])

    def listed(person):
        return {*small_copy.acting_as(person).annotation.queries(project)}

    ids = [query_id(query) for query in (*asked, pooled)]
    assert listed(ADA) == {ids[0], ids[2]}
    assert listed(EVE) == {ids[1], ids[2]}
    assert listed(GRACE) == {*ids}


def test_only_the_operator_has_a_model_loaded_from_a_folder(small, tmp_path):
    grace, request = (
        small.acting_as(GRACE),
        ScenarioRequest("small", "distilled", folder=str(tmp_path)),
    )
    for refused in (grace.scenarios.estimate, grace.scenarios.start, grace.scenarios.run):
        with pytest.raises(NotAllowedError, match="operator of SeedLens"):
            refused(request)


def test_nobody_judges_or_undoes_under_the_name_of_another(small_copy):
    ada = small_copy.acting_as(ADA)
    query, doc_id = Query("small", seed=SEED, aspect="method"), _other(small_copy)
    with pytest.raises(NotAllowedError, match="logged in as Ada"):
        ada.notebook.judge(query, doc_id, 3, annotator="Eve")
    stored = ada.notebook.judge(query, doc_id, 3, annotator="Ada")
    assert small_copy.notebook.grades(query, "Ada") == {doc_id: 3}
    project = small_copy.annotation.project("small")
    eve = small_copy.acting_as(EVE).annotation
    for refused in (
        lambda: eve.undo(project, "Ada"),
        lambda: eve.share(project, "Ada", "a tab"),
        lambda: eve.leave(project, "Ada", "a tab"),
    ):
        with pytest.raises(NotAllowedError, match="logged in as Eve"):
            refused()
    decision = replace(stored, origin="adjudication", event="")
    with pytest.raises(NotAllowedError, match="for leads"):
        ada.annotation.judge(project, Judgment(**_plain(decision)))


def _other(explorer):
    return next(i for i in explorer.library.open("small").doc_ids if i != SEED)


def _plain(judgment):
    return {name: getattr(judgment, name) for name in Judgment.__dataclass_fields__}


# -- paths ---------------------------------------------------------------------------------


def test_with_login_documents_come_from_uploads_and_import_roots_alone(home, tmp_path, monkeypatch):
    roots, secret = tmp_path / "papers", tmp_path / "secrets.toml"
    roots.mkdir()
    secret.write_text("cookie_secret\tforge\na\tb\n")
    (roots / "good.tsv").write_text("doc_id\ttext\na\tSome text.\n")
    (roots / "link.tsv").symlink_to(secret)
    monkeypatch.setenv("SEEDLENS_IMPORT_ROOTS", f"{roots}{os.pathsep}{tmp_path / 'more'}")
    operator = Explorer(Settings(home=home))
    library = operator.acting_as(GRACE).library
    for path in (secret, roots / "link.tsv", roots / ".." / "secrets.toml", Path("/proc/self")):
        for refused in (library.preview, library.examine):
            with pytest.raises(NotAllowedError, match="SEEDLENS_IMPORT_ROOTS"):
                refused(ImportRequest(path, "taken"))
        with pytest.raises(NotAllowedError):
            library.start_import(ImportRequest(path, "taken"))
    assert not operator.library.jobs.list()
    own = library.save_upload("own.tsv", b"doc_id\ttext\na\tMine.\n")
    for path in (roots / "good.tsv", own):
        assert library.preview(ImportRequest(path, "taken")).documents
    request = ImportRequest(secret, "taken", "tsv")
    assert operator.library.preview(request).columns, "the operator reads what they can read"


def test_a_folder_with_a_link_that_leads_out_is_refused(tmp_path):
    folder = tmp_path / "papers" / "beir"
    folder.mkdir(parents=True)
    (folder / "own.jsonl").symlink_to(folder / "corpus.jsonl")
    assert check_source(GRACE, folder, (tmp_path / "papers",)) == folder
    (folder / "queries.jsonl").symlink_to(tmp_path / "secrets.toml")
    with pytest.raises(NotAllowedError, match=r"link.*queries\.jsonl"):
        check_source(GRACE, folder, (tmp_path / "papers",))


def test_the_queries_of_a_file_of_judgments_come_from_nowhere_else(small_copy, tmp_path):
    qrels = tmp_path / "papers" / "test.tsv"
    qrels.parent.mkdir()
    qrels.write_text("query-id\tcorpus-id\tscore\nq1\tplain\t1\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Words of another folder."}\n')
    operator = make_explorer(small_copy.home.root, import_roots=(qrels.parent,))
    exchange = operator.acting_as(GRACE).annotation.exchange
    with pytest.raises(BadInputError, match="'q1'"):
        exchange.import_("small", qrels, annotator="Ann")
    assert operator.annotation.exchange.import_("small", qrels, annotator="Ann").added == 1


# -- jobs ----------------------------------------------------------------------------------


def test_only_who_started_a_job_and_leads_end_it():
    runner = JobRunner()
    ada, eve, grace = (acting_as(runner, person) for person in (ADA, EVE, GRACE))

    def work(_, cancelled):
        while not cancelled():
            pass
        return SimpleNamespace(stopped="cancelled")

    for ends in (ada, grace):
        job_id = ada.start("key", work, None, owner="Eve")
        assert runner.job(job_id).owner == "Ada", "the login says who it was"
        with pytest.raises(NotAllowedError, match="Ada started it"):
            eve.cancel(job_id)
        assert not runner.job(job_id).stopping
        ends.cancel(job_id)
        runner.result(job_id)
        with pytest.raises(NotAllowedError):
            eve.dismiss(job_id)
        ends.dismiss(job_id)


# -- trails --------------------------------------------------------------------------------


def test_reading_a_trail_by_its_link_does_not_let_one_write_it(small_copy):
    query = Query("small", seed=SEED)
    adas, eves = small_copy.acting_as(ADA).notebook, small_copy.acting_as(EVE).notebook
    trail = adas.own_trail("", "Ada")
    adas.add_step(trail, query)
    small_copy.notebook.add_step("before-login", query)
    writes: tuple[Callable[[str], object], ...] = (
        lambda one: eves.add_step(one, query),
        lambda one: eves.name_trail(one, "Eve's", "Eve"),
        lambda one: eves.delete_trail(one, "Eve"),
    )
    for one in (trail, "before-login"):
        for write in writes:
            with pytest.raises(NotAllowedError, match="another person's, or was made without"):
                write(one)
        assert eves.trail(one) == [query]
    assert eves.own_trail(trail, "Eve") != trail
    assert eves.own_trail("before-login", "Eve") != "before-login", "nobody's is not taken over"


def test_a_reading_list_of_another_person_can_be_read_by_its_link_and_copied(small_copy):
    doc_id = _other(small_copy)
    ada, eve = (small_copy.acting_as(one).reading_lists for one in (ADA, EVE))
    ada.keep("", "small", doc_id)
    adas = ada.info().list_id
    assert (len(eve.documents(adas)), eve.documents(), len(eve.lists("Ada"))) == (1, [], 1)
    writes: tuple[Callable[[], object], ...] = (
        lambda: eve.keep(adas, "small", SEED),
        lambda: eve.remove(adas, "small", doc_id),
        lambda: eve.annotate(adas, "small", doc_id, "mine"),
        lambda: eve.tag(adas, "small", doc_id, "mine"),
        lambda: eve.move(adas, "small", doc_id),
        lambda: eve.rename(adas, "mine"),
        lambda: eve.delete(adas),
        lambda: eve.send(adas, "small", doc_id, ""),
    )
    for write in writes:
        with pytest.raises(NotAllowedError, match="another person's, or was made without"):
            write()
    eve.send(adas, "small", doc_id, "", copy=True)
    copied = eve.new("From Ada", adas)
    assert [one.document.doc_id for one in eve.documents(copied)] == [doc_id]
    assert [one.documents for one in eve.lists()] == [1, 1]
    assert [one.documents for one in ada.lists()] == [1]


# -- models --------------------------------------------------------------------------------


def test_with_login_only_leads_enter_the_address_of_a_model(small, server):
    with pytest.raises(NotAllowedError):
        small.acting_as(ADA).verifier.find_endpoint(entered(server), {})
    operators = small.acting_as(ADA).verifier.find_endpoint({}, entered(server))
    assert operators is not None, "what the operator set up is for everybody"


def test_with_login_nobody_has_another_model_asked_with_the_operators_key(home, server):
    """One that costs a hundred times as much would count for the day as the operator's does."""
    dear, own = {"SEEDLENS_LLM_MODEL": "dear"}, {"OPENAI_API_KEY": "their-own"}
    without_address = {k: v for k, v in entered(server).items() if k != "OPENAI_BASE_URL"}
    operator = Explorer(Settings(home=home))
    for person in (ADA, GRACE):
        verifier = operator.acting_as(person).verifier
        for secrets in (entered(server), without_address):
            with pytest.raises(NotAllowedError, match="operator chose the model"):
                verifier.find_endpoint(dear, secrets)
        with pytest.raises(NotAllowedError):
            verifier.find_endpoint({**dear, **own}, entered(server))
    found = operator.acting_as(GRACE).verifier.find_endpoint({**dear, **own}, without_address)
    assert found is not None
    assert (found.model, found.key.get_secret_value()) == ("dear", "their-own")
    chosen = operator.verifier.find_endpoint(dear, entered(server))
    assert chosen is not None
    assert chosen.model == "dear", "the operator asks whichever they like"


def test_a_person_has_a_budget_for_the_day_that_holds_for_all_their_runs(home, server):
    def ask(person, **settings):
        explorer = Explorer(Settings(home=home, **settings)).acting_as(person)
        return explorer.verifier.check(explorer.verifier.find_endpoint({}, entered(server))).problem

    assert ask(ADA, llm_daily_calls=200) == ""
    spent = server.seen.requests
    assert spent
    assert f"budget of {spent:,} calls a day" in ask(ADA, llm_daily_calls=spent)
    assert "tokens a day" in ask(ADA, llm_daily_tokens=1)
    assert "cost of 1e-09 a day" in ask(ADA, llm_daily_cost=1e-9, llm_input_price=1.0)
    assert server.seen.requests == spent, "nothing more was sent"
    assert ask(EVE, llm_daily_calls=200) == "", "others have their own"
    assert ask(OPERATOR, llm_daily_calls=0) == "", "without login there is none"


# -- files ---------------------------------------------------------------------------------


PROGRAMS = (
    "import app",
    "from engine import job_process; job_process.main('none')",
    "from engine.jobs.cluster import _work; _work(print, '')",
)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_what_any_process_writes_is_for_its_user_alone(home):
    code = f"""
import contextlib, os
for program in {PROGRAMS!r}:
    os.umask(0o022)
    with contextlib.suppress(Exception):
        exec(program)
    print(oct(os.umask(0)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "SEEDLENS_HOME": str(home)},
    )  # fmt: skip
    assert [line for line in done.stdout.split() if line.startswith("0o")] == ["0o77"] * 3


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_what_commands_write_is_for_their_user_alone(tmp_path, monkeypatch):
    before = os.umask(0o022)
    try:
        home = tmp_path / "home"
        monkeypatch.setenv("SEEDLENS_HOME", str(home))
        CliRunner().invoke(main, ["project", "list", "none"])
        Explorer(Settings()).notebook.put_text("a text")
        modes = {stat.S_IMODE(path.stat().st_mode) for path in (home, *home.rglob("*"))}
    finally:
        os.umask(before)
    assert modes <= {0o700, 0o600}
