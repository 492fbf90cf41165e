"""Many hands at once: every acknowledged judgment is there, once."""

import multiprocessing
import shutil
import statistics
import sys

import pytest

from benchmarks.annotators import KEY_EVERY, MOST_CPU, MOST_WAITED, PEOPLE, _at_work, filled
from engine.types.annotating import Judgment
from engine.types.searches import Query
from tests.fakes.small_corpus import METHODS, PROBLEMS
from tests.support import make_explorer, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes and signals")

WRITERS, EACH = 8, 50
SECONDS = 300
"""What each of these tests may take, on a machine that has other things to do."""

QUERIES = [f"{problem}-survey_method" for problem in PROBLEMS]
DOCUMENTS = [f"{problem}-{m}" for problem in PROBLEMS for m in METHODS if m != "survey"]
"""Not the seeds of the queries, which nobody may judge."""


@pytest.fixture
def shared(small_home, home):
    """The app's own explorer over a home that others write to; their queries are there."""
    shutil.copytree(small_home, home)
    explorer = make_explorer(home)
    project = explorer.annotation.project("small")
    seeds = [query_id.removesuffix("_method") for query_id in QUERIES]
    explorer.annotation.add_queries(
        project, [Query("small", seed=seed, aspect="method") for seed in seeds]
    )
    return explorer


def judge_all(home, who):
    """Judge, and write down each judgment that is said to be stored."""
    annotation = make_explorer(home).annotation
    project = annotation.project("small")
    with (home / f"{who}.acknowledged").open("a", buffering=1) as stored:
        for number in range(EACH):
            query = QUERIES[number // len(DOCUMENTS)]
            document, event = DOCUMENTS[number % len(DOCUMENTS)], f"{who}-{number}"
            annotation.judge(project, Judgment(query, document, who, number % 4, event=event))
            stored.write(f"{event}\n")


def acknowledged(home, who):
    file = home / f"{who}.acknowledged"
    return file.read_text().split() if file.exists() else []


@pytest.mark.nightly
@pytest.mark.timeout(2 * SECONDS)
def test_eight_people_judging_at_once_beside_an_open_app_lose_nothing(shared, home):
    annotation = shared.annotation
    project = annotation.project("small")
    people = [f"person{n}" for n in range(WRITERS)]
    starting = multiprocessing.get_context("spawn")
    writers = [starting.Process(target=judge_all, args=(home, who)) for who in people]
    for writer in writers:
        writer.start()
    seen = [0]

    def all_said():
        judgments = annotation.judgments(project)  # as the app does at every click
        assert len(judgments) >= seen[-1]
        seen.append(len(judgments))
        return sum(len(acknowledged(home, who)) for who in people) >= WRITERS * EACH

    wait_until(all_said, what="the last judgment", seconds=SECONDS, pause=0.2)

    for writer in writers:
        writer.join()
    history = annotation.history(project)
    assert len(history) == WRITERS * EACH
    assert len({j.event for j in history}) == WRITERS * EACH
    assert len({(j.annotator, j.query_id, j.doc_id) for j in history}) == WRITERS * EACH
    for who in people:
        mine = [j.event for j in history if j.annotator == who]
        assert mine == acknowledged(home, who) == [f"{who}-{n}" for n in range(EACH)]


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_key_takes_no_more_where_51_000_judgments_are_stored(demo_home, home):
    """How long people wait on a machine that does nothing else, ``--part annotators`` measures."""
    shutil.copytree(demo_home, home)
    explorer = make_explorer(home)
    project = filled(explorer)
    _at_work(explorer, project, PEOPLE, 2 * KEY_EVERY)  # what the first look costs is apart
    done = _at_work(explorer, project, PEOPLE, 20)
    assert len(done.waits) > 200
    assert statistics.median(done.waits) <= MOST_WAITED
    assert done.cpu <= MOST_CPU
    assert done.grown < 30
