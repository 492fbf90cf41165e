"""Ledgers of earlier versions are brought up to date whole, and stay as they were."""

import hashlib
import json
import time
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from filelock import FileLock
from sqlalchemy import inspect, text

from engine.jobs.imports import ImportJobs
from storage import migrations
from storage.documents import key_of
from storage.errors import LedgerBusyError, StorageError
from storage.home import Home
from storage.ledger import Ledger
from storage.migrations import newest
from tests.storage import old_ledgers
from tests.storage.rows import judgment

TIME = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def documents(ledger, kind, scope=""):
    found = ledger.documents(kind, Any).all(scope)
    assert {one.time for one in found} == {TIME}
    return [(one.key, one.owner, one.value) for one in found]


def check(ledger, version=old_ledgers.NEWEST):
    """Everything of :func:`tests.storage.old_ledgers.rows` is there."""
    (corpus,) = ledger.corpora()
    assert (corpus.name, corpus.created_at) == ("c", TIME)
    history = ledger.judging.history("c", "p")
    assert [said.event for said in history] == [f"e{n}" for n in range(1, 8)]
    assert {(s.note, s.marks, s.rank, s.seconds, s.time) for s in history} == {
        ("O'Brien 🌱", ((1, 4),), 3, 1.5, TIME)
    }
    current = [(s.annotator, s.doc_id, s.relevance) for s in ledger.judging.latest("c", "p")]
    assert current == [("Ada", "d1", 1), ("Ada", "d2", None), ("Lea", "d1", 2)]
    later = version > 6
    assert documents(ledger, "trail") == [
        ("t", "Ada" if later else "", {
            "name": "mine" if later else "", "deleted": False,
            "searches": [{"seed": "1"}, {"seed": "2"}],
            "documents": [
                {"corpus": "c", "doc_id": doc, "note": "why" if later else "", "kept": True}
                for doc in (("d2", "d1") if later else ("d1", "d2"))
            ],
        })
    ]  # fmt: skip
    assert documents(ledger, "project", "c") == [("p", "Lea", {"per_item": 2})]
    assert documents(ledger, "build", "c") == [("b", "Lea", {})]
    if later:
        search = {"name": "s", "link": "?seed=1"}
        assert documents(ledger, "saved search", "Ada") == [("?seed=1", "Ada", search)]
        question = {"id": "a", "corpus": "c", "question": "why?", "state": "done"}
        question["time"] = f"{TIME:%Y-%m-%dT%H:%M:%S.%f}Z"
        assert documents(ledger, "question") == [("a", "Ada", question)]
        assert documents(ledger, "answer") == [("a", "Ada", "because")]
    assert ledger.text("x") == "pasted"
    run = ledger.rankings.latest("c", "1", "bm25", "{}")
    assert run is not None
    assert run.run == "run"
    check_studies(ledger)
    keys = [f"{n:064x}" for n in range(3)]
    assert ledger.answers.find(keys) == dict.fromkeys(keys, "{}")
    assert ledger.answers.capabilities("e", "m") == "{}"
    assert [row.query_id for row in ledger.projects.queries("c", "p")] == ["q", "q2"]
    assert ledger.projects.retired("c", "p") == {"q2"}
    assert [row.doc_id for row in ledger.projects.pool("c", "p")] == ["d1", "d2", "d3"]
    assert [row.label for row in ledger.builds.labels("c", "b")] == ["x"]
    # It goes on where it was.
    assert ledger.judging.undo("c", "p", "Ada") == history[2]


def check_studies(ledger):
    """Evaluations, gaps, uploads and steps of builds."""
    second = "2026-03-01T12:30:15+00:00"
    key = key_of("1", "[]", '{"request": {"sample": 2}}')
    evaluation = {"request": {"sample": 2}, "queries": 1, "corpus": "c", "time": second}
    assert documents(ledger, "evaluation", "k") == [(key, "", evaluation)]
    result = {"corpus": "c", "rankings": {}}
    assert documents(ledger, "evaluation result", "k") == [(key, "", result)]
    ((_, _, gap),) = documents(ledger, "gap", "k")
    request = {"verifier": "v", "collection": "k", "systems": ["bm25"]}
    assert gap == {"bounds": [0, 1], "request": request, "time": second}
    assert [found[2] for found in documents(ledger, "gap result", "k")] == [{"report": {}}]
    ((number, _, run),) = documents(ledger, "uploaded run")
    assert run == {"id": int(number), "collection": "k", "name": "bm25", "time": second}
    assert documents(ledger, "text of an uploaded run") == [(number, "", "run")]
    qrels = {"corpus": "c", "name": "mine", "qrels": "q 0 d 1"}
    assert [found[2] for found in documents(ledger, "uploaded judgments")] == [qrels]
    query = {"key": "c1", "share": 0.5, "words": ["w"], "overlap": {"share": 0.5, "words": ["w"]}}
    ran = TIME.isoformat()
    made = {"value": [query], "basis": "basis", "model": "m", "ran": ran, "edits": 2}
    assert documents(ledger, "build verbalise", "c") == [("b", "", made)]
    made = {"value": None, "basis": "", "model": "m", "ran": ran, "edits": 0}
    assert documents(ledger, "build label", "c") == [("b", "", made)]


@pytest.mark.parametrize("version", [6, 9])
def test_a_ledger_of_duckdb_is_copied_whole_and_stays_as_it_was(tmp_path, version):
    old = tmp_path / "ledger.duckdb"
    old_ledgers.make(old, version)
    login = hashlib.sha256(b"ended").hexdigest()
    (tmp_path / "ended-logins").write_text(f"{int(time.time())} {login}\nhalf a line\n")
    before = old.read_bytes()
    check(Ledger(tmp_path / "ledger.sqlite"), version)
    assert old.read_bytes() == before
    again = Ledger(tmp_path / "ledger.sqlite")
    assert again.ended_logins.has_any([login])
    assert len(again.judging.history("c", "p")) == 8, "and is not copied again"


def test_a_ledger_of_duckdb_that_was_left_in_the_middle_of_its_work_is_copied_whole(tmp_path):
    old = tmp_path / "ledger.duckdb"
    with duckdb.connect(str(old)) as connection:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        for sql, values in old_ledgers.statements():
            connection.execute(sql, values)
    assert Path(f"{old}.wal").stat().st_size
    check(Ledger(tmp_path / "ledger.sqlite"))


def test_a_ledger_of_duckdb_that_is_open_elsewhere_is_not_copied(tmp_path):
    old_ledgers.make(tmp_path / "ledger.duckdb")
    with (
        FileLock(tmp_path / "ledger.duckdb.lock"),  # as those programs hold it
        pytest.raises(LedgerBusyError, match="Close all programs of the earlier version"),
    ):
        Ledger(tmp_path / "ledger.sqlite", wait_seconds=0.3).corpora()
    check(Ledger(tmp_path / "ledger.sqlite"))


@pytest.mark.parametrize("version", [3, 10])
def test_a_ledger_of_duckdb_that_is_too_old_or_too_new_is_refused(tmp_path, version):
    with duckdb.connect(str(tmp_path / "ledger.duckdb")) as connection:
        for sql, values in old_ledgers.statements(version)[: version + 1]:
            connection.execute(sql, values)
    with pytest.raises(StorageError, match=rf"ledger\.duckdb has schema version {version}.*4 to 9"):
        Ledger(tmp_path / "ledger.sqlite").corpora()


@pytest.mark.smoke
def test_a_server_s_ledger_of_the_version_before_is_brought_up_to_date(postgres, tmp_path):
    import psycopg

    url = postgres.database()
    with psycopg.connect(url) as connection:
        for sql, values in old_ledgers.statements():
            sql = sql.replace("BLOB", "BYTEA").replace("DOUBLE", "DOUBLE PRECISION")
            connection.execute(sql.replace("?", "%s"), values)  # type: ignore[arg-type]
        connection.execute(
            "ALTER TABLE answers ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY"
        )
        connection.execute("CREATE TABLE ended_logins (digest VARCHAR PRIMARY KEY, "
                           "ended_at TIMESTAMPTZ NOT NULL)")  # fmt: skip
        connection.execute("INSERT INTO ended_logins VALUES ('a login', now())")
        connection.execute("CREATE TABLE leases (name VARCHAR PRIMARY KEY, content BYTEA NOT NULL)")
    check(Ledger(tmp_path / "ledger.sqlite", url=url))
    again = Ledger(tmp_path / "ledger.sqlite", url=url)
    assert again.ended_logins.has_any(["a login"])
    with again.leases.of("c", "p") as leases:
        assert leases == {}
    with again._database.read() as connection:
        versions = connection.exec_driver_sql("SELECT max(version) FROM schema_version")
        assert versions.scalar() == newest()


@pytest.mark.parametrize("version", [10, 12])
def test_a_ledger_of_version_10_to_12_keeps_its_imports_and_the_rest(open_ledger, version):
    ledger = open_ledger()
    ledger.judging.add([judgment()])
    ledger.ended_logins.add(["a login"])
    blob = "BYTEA" if open_ledger.keywords["url"] else "BLOB"
    content = {"request": {"source": "/nowhere/a.csv", "name": "a"}, "error": "no", "remedy": "do"}
    content["progress"] = {"phase": "indexing", "done": 1, "total": 2, "seconds": 3.5}
    job = {"job_id": "j", "about": "a", "state": "failed", "owner": "Ada", "machine": "here",
           "content": zlib.compress(json.dumps(content).encode()), "process": 7, "stop": False,
           "started": TIME.replace(tzinfo=None), "renewed": TIME.replace(tzinfo=None)}  # fmt: skip
    with ledger._database.write() as connection:
        for sql in (
            "CREATE TABLE import_jobs (name TEXT PRIMARY KEY)",
            "CREATE TABLE locks (name TEXT PRIMARY KEY)",
            "CREATE TABLE jobs (job_id TEXT PRIMARY KEY, about TEXT, state TEXT, "
            f"content {blob}, owner TEXT, machine TEXT, process BIGINT, stop BOOLEAN, "
            "started TIMESTAMP, renewed TIMESTAMP)",
            f"UPDATE schema_version SET version = {version}",  # noqa: S608
        ):
            connection.exec_driver_sql(sql)
        names = ", ".join(f":{name}" for name in job)
        insert = text(f"INSERT INTO jobs ({', '.join(job)}) VALUES ({names})")  # noqa: S608
        connection.execute(insert.bindparams(**job))
    again = open_ledger()
    (found,) = ImportJobs(Home(open_ledger.args[0].parent), again).list()
    assert (found.id, found.state, found.owner, found.pid) == ("j", "failed", "Ada", 7)
    assert (found.error, found.seconds, found.request.name) == ("no", 3.5, "a")
    assert found.started_at == TIME.isoformat()
    with again.locks.hold("grading", what="It is graded"):
        assert again.judging.history("demo") == [judgment()]
    assert again.ended_logins.has_any(["a login"])
    with again._database.read() as connection:
        assert migrations.version_of(connection) == newest()
        for name in ("import_jobs", "locks", "jobs"):
            assert not inspect(connection).has_table(name)
