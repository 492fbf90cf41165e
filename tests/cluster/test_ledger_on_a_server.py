"""The app and the command line with a ledger on PostgreSQL, which several of them share."""

import shutil
from pathlib import Path

import pytest

from benchmarks.servers import measure
from engine.types.annotating import PoolRequest, Project
from engine.types.searches import Query
from pages._annotate.judging import JudgingSession, receive, view_data
from tests.cli.command_line import assert_refused, run_inside
from tests.fakes import postgres_server
from tests.pages.test_annotate_judging import grade, message
from tests.support import make_explorer

WRONG = "a-wrong-one"


@pytest.fixture
def home_there(small_home, tmp_path):
    """The home of another app: the same corpora, and a ledger of its own that is not used."""
    return Path(shutil.copytree(small_home, tmp_path / "there"))


def moved(home, url):
    run = run_inside(home, "ledger", "copy", "server", SEEDLENS_LEDGER_URL=url)
    assert (run.code, run.stderr) == (0, "")


def begun(explorer):
    annotation = explorer.annotation
    project = annotation.save(Project("small", "p"), "lead")
    seed, _ = explorer.starting_point("small")
    annotation.add_queries(project, [Query("small", seed=seed, aspect="method")])
    annotation.fill_pool(project, PoolRequest(("bm25", "dense"), 5))
    return project


def test_a_page_goes_on_after_the_server_was_away_and_every_grade_is_there_once(
    small_copy, own_postgres
):
    url = own_postgres.database()
    moved(small_copy.home.root, url)
    explorer = make_explorer(small_copy.home.root, ledger_url=url, ledger_wait_seconds=0.3)
    project = begun(explorer)
    place = JudgingSession(project, "Ada")
    first, second = view_data(explorer, place)["next"][:2]
    assert receive(explorer, place, message(1, grade("e1", first, 2))).settled == ("e1",)
    own_postgres.stop("immediate")
    events = grade("e1", first, 2), grade("e2", second, 1)
    answer = receive(explorer, place, message(2, *events))
    assert (answer.settled, answer.retry) == (("e1",), True)
    assert "Not saved yet" in answer.message
    assert "staple" not in answer.message, "of the password"
    own_postgres.start()
    assert receive(explorer, place, message(3, *events)).settled == ("e1", "e2")
    assert view_data(explorer, place)["next"]
    history = explorer.annotation.history(project)
    assert [(said.doc_id in first, said.relevance) for said in history] == [(True, 2), (False, 1)]


def test_annotators_go_on_when_the_ledger_is_restarted_or_their_server_is_killed():
    if why := postgres_server.missing():
        pytest.skip(why)
    figures = measure(people=4, seconds=8, stored=2_000)
    wrong = [figure for figure in figures if "lost, doubled" in figure.what]
    assert [figure.value for figure in wrong] == [0, 0, 0]
    killed = next(f for f in figures if "killed" in f.what and f.note)
    assert not killed.note.endswith(", 0 keys sent again"), "somebody's server was killed"


@pytest.mark.smoke
def test_two_apps_see_each_others_judgments_and_share_out_what_is_next(
    small_copy, home_there, postgres
):
    url = postgres.database()
    moved(small_copy.home.root, url)
    one, other = (make_explorer(h, ledger_url=url) for h in (small_copy.home.root, home_there))
    project = begun(one)
    ada = JudgingSession(project, "Ada")
    ben = JudgingSession(project, "Ben")
    hers, his = view_data(one, ada)["next"], view_data(other, ben)["next"]
    assert hers
    assert not {*hers[:1]} & {*his}, "what lies before her is not given to him"
    assert receive(one, ada, message(1, grade("e1", hers[0], 1))).settled == ("e1",)
    assert [said.annotator for said in other.annotation.judgments(project)] == ["Ada"]
    assert [row.state for row in other.library.corpora()] == ["ready"]


@pytest.mark.smoke
def test_a_ledger_is_moved_by_one_command_and_a_home_is_backed_up_as_ever(
    small_home, home, tmp_path, postgres
):
    shutil.copytree(small_home, home)
    url = postgres.database()
    copied = run_inside(home, "ledger", "copy", "server", "--json", SEEDLENS_LEDGER_URL=url)
    assert copied.json["rows"]["corpora"] == 1
    assert url not in copied.stdout
    again = run_inside(home, "ledger", "copy", "server", SEEDLENS_LEDGER_URL=url)
    assert_refused(again, "is not empty", "corpora")
    (home / "ledger.sqlite").unlink()
    there = run_inside(home, "corpora", "--json", SEEDLENS_LEDGER_URL=url)
    assert [corpus["name"] for corpus in there.json] == ["small"]
    file = tmp_path / "home.zip"
    assert run_inside(home, "backup", file, SEEDLENS_LEDGER_URL=url).code == 0
    assert run_inside(tmp_path / "other", "restore", file).code == 0
    assert run_inside(tmp_path / "other", "corpora", "--json").json[0]["name"] == "small"
    back = run_inside(home, "ledger", "copy", "file", SEEDLENS_LEDGER_URL=url)
    assert (back.code, back.stderr) == (0, "")
    assert run_inside(home, "corpora", "--json").json[0]["name"] == "small"
    assert (home / "ledger.sqlite").exists()


def test_what_cannot_be_copied_is_refused_in_one_line_without_the_password(home, postgres):
    assert_refused(run_inside(home, "ledger", "copy", "server"), "SEEDLENS_LEDGER_URL is not set")
    url = postgres.database()
    run = run_inside(home, "ledger", "copy", "server", SEEDLENS_LEDGER_URL=url)
    assert_refused(run, "There is no ledger", "SEEDLENS_HOME")
    wrong = postgres.url("postgres", WRONG)
    for command in (["ledger", "copy", "file"], ["corpora"], ["project", "list", "small"]):
        run = run_inside(home, *command, SEEDLENS_LEDGER_URL=wrong)
        assert_refused(run, "password authentication failed", "SEEDLENS_LEDGER_URL")
        assert WRONG not in run.stderr
