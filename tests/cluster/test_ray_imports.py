"""Imports on Ray: the same corpus as without, each document once, whatever is killed."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import psutil
import pyarrow as pa
import pytest

from engine.config import ROOT
from engine.errors import CorpusMissingError
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage.vectors import DocumentTable
from tests.cli.command_line import assert_refused, run_process
from tests.fakes import ray_cluster
from tests.fakes.ray_cluster import kill_worker
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import ended, make_explorer, stored_rows, wait_until, write_jsonl

SHARD = 8
COUNT = 240
WORDS = ("bees", "mites", "winter", "colony", "brood", "bridge", "weld", "steel", "bread", "tide")


@pytest.fixture(scope="module")
def cluster():
    if why := ray_cluster.missing():
        pytest.skip(why)
    with ray_cluster.running() as started:
        import ray  # it reads the environment now

        # One session for all: its workers load what they need once.
        ray.init(started.address, log_to_driver=False, logging_level="ERROR")
        yield started


@pytest.fixture
def on_ray(home, cluster):
    """An explorer over an empty home that imports on the cluster."""
    return make_explorer(home, ray=cluster.address, shard_documents=SHARD)


def generated(count=COUNT, **other):
    """Documents of a few sentences, no two alike."""
    chance = np.random.default_rng(7)
    texts = [". ".join(" ".join(chance.choice(WORDS, 9)) for _ in range(4)) for _ in range(count)]
    return [
        {"doc_id": f"d{i:04d}", "title": f"Title {i}", "text": f"{text}.", "year": 1990 + i % 30}
        | other
        for i, text in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return write_jsonl(tmp_path_factory.mktemp("many") / "many.jsonl", generated())


def rows(explorer, name="c"):
    return stored_rows(explorer, name, by_id=False)


def ids(explorer):
    return rows(explorer)["doc_id"].to_pylist()


def wanted(source, model, **more):
    return ImportRequest(source, "c", encoder=str(model) if model else None, **more)


class AtDocument:
    """Does something once so many documents are indexed, and at each so many more."""

    def __init__(self, action, every, times=1):
        self._action, self._every, self._left, self.done = action, every, times, 0

    def __call__(self, progress):
        due = progress.done >= self._every * (self.done + 1)
        if progress.phase == "indexing" and due and self._left and self._action() is not False:
            self._left -= 1
            self.done += 1


EXPECTED = [document["doc_id"] for document in generated()]


def test_a_corpus_and_its_searches_are_those_of_a_local_import(on_ray, tmp_path, small_source):
    local = make_explorer(tmp_path / "local", shard_documents=SHARD)
    reports = [e.library.import_documents(wanted(small_source, None)) for e in (local, on_ray)]
    assert reports[0].warnings == reports[1].warnings
    assert (reports[1].added, reports[1].documents) == (len(DOCUMENTS), len(DOCUMENTS))
    for name in (ours := rows(on_ray)).column_names:
        here, there = rows(local)[name].combine_chunks(), ours[name].combine_chunks()
        if "vector" not in name and not name.startswith("aspect_") and name != "roles":
            assert here.equals(there), name
            continue
        while not pa.types.is_primitive(here.type):
            here, there = here.flatten(), there.flatten()
        least = 5e-3 if pa.types.is_floating(here.type) else 4  # tokens are stored in 8 bits
        np.testing.assert_allclose(np.float32(here), np.float32(there), atol=least, err_msg=name)
    for system in ("bm25", "dense", "aspect", "facts"):
        query = Query("c", seed="bees-network", aspect="method", system=system)
        here, there = (
            {r.doc_id: r.score for r in e.search(query).results} for e in (local, on_ray)
        )
        for one, other in ((here, there), (there, here)):  # what is alike may lie below the page
            least = min(other.values())
            assert one == pytest.approx({i: other.get(i, least) for i in one}, abs=5e-3), system
    assert on_ray.library.corpus("c").state == "ready"


@pytest.mark.parametrize("lost", ["workers", "node"])
def test_every_document_is_there_once_when_workers_are_gone(
    on_ray, many, tiny_model, cluster, lost
):
    lose = (kill_worker, 60, 2) if lost == "workers" else (cluster.lose_node, 100)
    losses = AtDocument(*lose)
    report = on_ray.library.import_documents(wanted(many, tiny_model), losses)
    cluster.forget_lost()
    assert losses.done == (2 if lost == "workers" else 1)
    assert (report.added, ids(on_ray)) == (COUNT, EXPECTED)


@pytest.mark.parametrize("arrives", [True, False])
def test_no_row_is_there_twice_or_missing_when_the_answer_to_a_commit_is_lost(
    on_ray, tiny_model, tmp_path, monkeypatch,
    arrives
):  # fmt: skip
    from storage import vectors

    real, calls = vectors.commit, 0

    def commit(*given):
        nonlocal calls
        calls += 1
        if calls > 1 or arrives:
            real(*given)
        if calls == 1:
            raise OSError("connection reset by peer")

    monkeypatch.setattr(vectors, "commit", commit)
    source = write_jsonl(tmp_path / "some.jsonl", generated(40))
    report = on_ray.library.import_documents(wanted(source, tiny_model))
    assert (report.added, ids(on_ray)) == (40, EXPECTED[:40])
    assert calls == (1 if arrives else 2)


# -- on object storage --------------------------------------------------------------------------


def on_store(place, cluster, endpoint=""):
    """A server of the store that imports on the cluster."""
    return place.app("one", endpoint, ray=cluster.address, shard_documents=SHARD)


def seen(explorer):
    """What a server opens, in its order; [] where nothing was published."""
    try:
        return list(explorer.library.open("c").doc_ids)
    except CorpusMissingError:
        return []


def driver(place, source, model, address):
    """An import by the server ``one``, in a process of its own."""
    settings = {"HOME": place.folder / "one", "LEDGER_URL": place.ledger, "STORE": place.store}
    settings |= {"SHARD_DOCUMENTS": SHARD, "MAPS": 0}
    command = ["import", str(source), "--name", "c", "--encoder", str(model), "--on", address]
    return subprocess.Popen(
        [sys.executable, "-m", "engine.cli", *command],
        env={**os.environ, **{f"SEEDLENS_{name}": str(v) for name, v in settings.items()}},
        cwd=ROOT,
    )


@pytest.mark.parametrize("there", [0, 80])
def test_other_servers_see_what_was_published_and_then_all_whatever_is_killed(
    place, many, tiny_model, cluster, tmp_path, there
):
    one, other = on_store(place, cluster), place.app("other")
    if there:
        first = write_jsonl(tmp_path / "first.jsonl", generated()[:there])
        one.library.import_documents(wanted(first, tiny_model))
    table = one.home.corpus("c")
    with driver(place, many, tiny_model, cluster.address) as process:
        wait_until(kill_worker, what="a worker")
        wait_until(
            lambda: DocumentTable.is_stored(table) and DocumentTable.open(table).count() > there,
            what="a commit",
        )
        process.kill()
    published = EXPECTED[:there]
    assert seen(other) == published
    if there:  # then what was committed here counts no more
        later = write_jsonl(tmp_path / "later.jsonl", [{**generated(1)[0], "doc_id": "later"}])
        other.library.import_documents(wanted(later, tiny_model))
        published = [*published, "later"]

    def look():
        assert seen(other) == published
        return kill_worker()

    kills = AtDocument(look, every=180)
    report = one.library.import_documents(wanted(many, tiny_model), kills)
    assert (report.added + report.unchanged, kills.done) == (COUNT, 1)
    assert report.unchanged == there or not there
    assert (ids(one), seen(one), seen(other)) == ([*published, *EXPECTED[there:]],) * 3


@pytest.mark.smoke
def test_what_changed_takes_the_place_of_what_was_stored(on_ray, tmp_path):
    before = generated(30)
    on_ray.library.import_documents(wanted(write_jsonl(tmp_path / "a.jsonl", before), None))
    after = [
        *before[:10],
        *({**d, "text": "Now other words."} for d in before[10:14]),
        *generated(34)[30:],
    ]
    report = on_ray.library.import_documents(wanted(write_jsonl(tmp_path / "b.jsonl", after), None))
    assert (report.added, report.updated, report.unchanged) == (4, 4, 10)
    texts = dict(zip(ids(on_ray), rows(on_ray)["text"].to_pylist(), strict=True))
    assert len(texts) == report.documents == 34
    assert {i for i, text in texts.items() if text == "Now other words."} == set(EXPECTED[10:14])


def test_an_import_on_ray_goes_on_with_one_that_was_begun_without_and_can_be_cancelled(
    on_ray, many, tiny_model
):
    def stopped(explorer, after):
        seen: list[int] = []
        return explorer.library.import_documents(
            wanted(many, tiny_model),
            lambda progress: seen.append(progress.phase == "indexing" and progress.done),
            lambda: bool(seen and seen[-1] >= after),
        )

    local = make_explorer(on_ray.home.root, shard_documents=SHARD)
    assert stopped(local, 80).documents == 80
    report = stopped(on_ray, 140)
    assert report.cancelled
    assert on_ray.library.corpus("c").state == "indexing"
    assert 140 <= report.documents < COUNT
    report = on_ray.library.import_documents(wanted(many, tiny_model))
    assert (report.added + report.unchanged, ids(on_ray)) == (COUNT, EXPECTED)


@pytest.mark.skipif(bool(ray_cluster.missing()), reason=ray_cluster.missing())
def test_an_address_where_nobody_answers_is_an_error_of_one_line(home, small_source):
    run = run_process(home, "import", small_source, "--name", "c", "--on", "ray://127.0.0.1:1")
    assert_refused(run, "Nobody answers at ray://127.0.0.1:1", "Check that the cluster runs")


@pytest.mark.skipif(bool(ray_cluster.missing()), reason=ray_cluster.missing())
def test_the_app_imports_on_the_cores_of_its_machine_and_nobody_else_can_reach_them(
    home, small_source, tiny_model, monkeypatch
):
    monkeypatch.setenv("SEEDLENS_RAY", "local")
    monkeypatch.setenv("SEEDLENS_THREADS", "1")
    monkeypatch.setenv("HOME", str(home.parent))
    explorer = make_explorer(home)
    job = explorer.library.start_import(ImportRequest(small_source, "c"))
    listening: set[str] = set()

    def look():
        for process in psutil.Process().children(recursive=True):
            try:
                found = process.net_connections("inet")
            except psutil.Error:
                continue
            listening.update(c.laddr.ip for c in found if c.status == psutil.CONN_LISTEN)
        return explorer.library.jobs.job(job.id)

    done = ended(look)
    assert (done.state, done.error) == ("done", "")
    assert done.report is not None
    assert done.report.added == len(DOCUMENTS)
    assert listening
    assert listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert not home.parent.joinpath(".ray").exists()
