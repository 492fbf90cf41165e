"""Several app servers over one home and one ledger: what each keeps to itself, and what it must
not."""

import threading

import pytest

from benchmarks.servers import measure
from engine.errors import CorpusBusyError, SeedLensError, UnknownNameError
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from tests.cli.command_line import run_inside, write_lines
from tests.fakes import postgres_server
from tests.support import make_explorer, wait_until


@pytest.fixture
def servers(home, postgres, monkeypatch):
    """Of the same home and ledger, each with what a process of its own would have."""
    url = postgres.database()
    monkeypatch.setenv("SEEDLENS_LEDGER_URL", url)
    monkeypatch.setenv("SEEDLENS_SHARD_DOCUMENTS", "4")
    return [make_explorer(home, ledger_url=url) for _ in range(2)]


def many(folder):
    """A source that takes long to import."""
    rows = [{"id": f"d{n}", "title": f"Frogs {n}", "text": "Frogs sing. " * 40} for n in range(800)]
    return write_lines(folder / "many.jsonl", rows)


def ended(jobs, job_id):
    """How a job ended; "" while it runs."""
    job = jobs.job(job_id)
    return "" if job.state == "running" else f"{job.state} {job.error}".strip()


def test_servers_that_start_an_import_at_the_same_time_start_one(servers, tmp_path, postgres):
    source, started, refused = many(tmp_path), [], []
    ready = threading.Barrier(len(servers))

    def start(server):
        ready.wait()
        try:
            started.append(server.library.jobs.start(ImportRequest(source, "many")))
        except CorpusBusyError as error:
            refused.append(error)

    threads = [threading.Thread(target=start, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(started), len(refused)) == (1, 1)
    jobs = servers[0].library.jobs
    jobs.cancel(started[0].id)
    wait_until(lambda: ended(jobs, started[0].id), what="its end")


def test_annotators_go_on_when_the_ledger_is_restarted_or_their_server_is_killed():
    if why := postgres_server.missing():
        pytest.skip(why)
    figures = measure(people=4, seconds=8, stored=2_000)
    wrong = [figure for figure in figures if "lost, doubled" in figure.what]
    assert [figure.value for figure in wrong] == [0, 0, 0]
    killed = next(f for f in figures if "killed" in f.what and f.note)
    assert not killed.note.endswith(", 0 keys sent again"), "somebody's server was killed"


@pytest.mark.smoke
def test_what_one_server_deletes_is_gone_at_the_others_and_back_when_it_is_brought_back(
    small_copy, postgres
):
    root, url = small_copy.home.root, postgres.database()
    assert run_inside(root, "ledger", "copy", "server", SEEDLENS_LEDGER_URL=url).code == 0
    here, there = (make_explorer(root, ledger_url=url) for _ in range(2))
    seed, _ = here.starting_point("small")
    query = Query("small", seed=seed, aspect="method")
    before = [result.doc_id for result in there.search(query).results]
    done, other, said = threading.Event(), [], []

    def search():
        while not done.is_set():
            try:
                assert [result.doc_id for result in there.search(query).results] == before
            except SeedLensError as error:
                said.append(str(error))
            except BaseException as error:
                other.append(error)

    searching = threading.Thread(target=search)
    searching.start()
    for _ in range(2):
        here.library.delete("small")
        with pytest.raises(UnknownNameError, match="small"):
            there.search(query)
        refused = len(said)
        wait_until(lambda n=refused: other or len(said) > n, what="a search while it is gone")
        here.library.restore("small")
        assert [result.doc_id for result in there.search(query).results] == before
    done.set()
    searching.join()
    assert other == []
