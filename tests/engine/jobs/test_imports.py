"""What people may rely on when an import runs beside the app, in real processes."""

from __future__ import annotations

import csv
import os
import signal
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.corpora.library import Library
from engine.errors import BadInputError, CorpusBusyError, UnknownNameError
from engine.jobs.imports import ImportJobs
from engine.lenses.definitions import RESEARCH
from engine.types.corpora import (
    ImportJob,
    ImportReport,
    ImportRequest,
    NamedDataset,
    Progress,
    Repairs,
    ServiceQueries,
    ServiceQuery,
)
from storage.home import CorpusNameError, Home
from storage.ledger import Ledger
from storage.locks import MACHINE
from tests.support import make_explorer, store_job, wait_until

PATIENCE = 120.0


def write_csv(path, documents):
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["PMID", "title", "abstract", "year"])
        for n in range(documents):
            text = f"Study {n} asks why number {n} is odd. We count it {n} times. It stays {n}."
            writer.writerow([f"p{n}", f"On number {n}", text, 1900 + n % 100])
    return path


def wait(jobs, id_, until):

    def come():
        job = jobs.job(id_)
        return job if until(job) else None

    return wait_until(come, what=f"the state of job {id_} that is waited for", seconds=PATIENCE)


def ended(job):
    return job.state != "running"


def under_way(job):
    return ended(job) or (job.progress.phase == "indexing" and job.progress.done > 0)


def an_old_job(**changes):
    job = ImportJob(
        id="20260101T000000000000-abcdef",
        request=ImportRequest(
            Path("/nowhere/papers.csv"), "papers", "csv", {"doc_id": "PMID"}, lens=RESEARCH
        ),
        state="done",
        progress=Progress("done", 3, 3, 1.0),
        seconds=1.0,
        started_at="2026-01-01T00:00:00+00:00",
        machine=MACHINE,
    )
    return replace(job, **changes)  # type: ignore[arg-type]


@pytest.fixture
def jobs(home):
    Home(home).create()
    return ImportJobs(Home(home), Ledger(Home(home).ledger))


@pytest.fixture
def app(home, monkeypatch):
    # Small batches, so that a job can be stopped on its way.
    monkeypatch.setenv("SEEDLENS_SHARD_DOCUMENTS", "4")
    explorer = make_explorer(home)
    yield explorer
    for job in explorer.library.jobs.list():
        if job.state == "running" and job.pid:
            os.kill(job.pid, signal.SIGKILL)


def test_an_import_reaches_its_end_in_another_process(app, tmp_path):
    source = write_csv(tmp_path / "papers.csv", 20)
    job = app.library.jobs.start(ImportRequest(source, "papers", mapping={"doc_id": "PMID"}))
    assert (job.state, job.request.name) == ("running", "papers")
    with pytest.raises(BadInputError, match="still running"):
        app.library.jobs.dismiss(job.id)
    with pytest.raises(CorpusBusyError, match="'papers' is being indexed"):
        app.library.start_import(ImportRequest(source, "papers"))
    with pytest.raises(CorpusNameError):
        app.library.start_import(ImportRequest(source, "../papers"))

    job = wait(app.library.jobs, job.id, ended)
    assert (job.state, job.error) == ("done", "")
    assert (job.progress.phase, job.progress.done, job.progress.total) == ("done", 20, 20)
    assert job.report is not None
    assert (job.report.added, job.report.documents) == (20, 20)
    assert job.pid not in (0, os.getpid())
    assert app.document("papers", "p7").title == "On number 7"
    assert app.library.corpus("papers").state == "ready"
    if os.name != "nt":  # the process keeps its files private, although this one does not
        stored = app.home.corpus("papers").rglob("*")
        assert {stat.S_IMODE(path.stat().st_mode) for path in stored} <= {0o700, 0o600}


@pytest.mark.nightly
def test_an_import_that_was_cancelled_or_killed_goes_on_where_it_stopped(
    app, tmp_path, monkeypatch
):
    source = write_csv(tmp_path / "papers.csv", 160)
    job = app.library.start_import(ImportRequest(source, "papers", "csv", {"doc_id": "PMID"}))
    wait(app.library.jobs, job.id, under_way)
    app.library.jobs.cancel(job.id)
    job = wait(app.library.jobs, job.id, ended)
    assert job.state == "cancelled"
    assert job.report is not None
    stored = job.report.documents
    assert 0 < stored < 160
    assert stored % 4 == 0  # whole batches only

    later = make_explorer(app.home.root)  # another app process, as after a restart
    assert later.library.jobs.list() == [job]
    assert later.library.jobs.resume(job.id).state == "running"
    job = wait(later.library.jobs, job.id, under_way)
    os.kill(job.pid, signal.SIGKILL)
    for jobs in (later.library.jobs, app.library.jobs):
        found = wait(jobs, job.id, ended)
        assert found.state == "interrupted"
        assert "Resume" in found.remedy

    monkeypatch.setenv("SEEDLENS_SHARD_DOCUMENTS", "64")
    later.library.jobs.resume(job.id)
    job = wait(later.library.jobs, job.id, ended)
    assert (job.state, job.stopping, job.error) == ("done", False, "")
    assert job.report is not None
    assert job.report.documents == 160
    assert job.report.unchanged >= stored
    later.library.jobs.dismiss(job.id)
    assert later.library.jobs.list() == []
    assert list((app.home.root / "jobs").iterdir()) == []


def test_a_failed_import_says_why_and_what_to_do(app, tmp_path):
    source = tmp_path / "papers.csv"
    source.write_text("doc_id,text\na,fine\n,no id here\n", encoding="utf-8")
    job = wait(
        app.library.jobs, app.library.start_import(ImportRequest(source, "papers")).id, ended
    )
    assert job.state == "failed"
    assert "papers.csv, row 2" in job.error
    assert "Fill it in" in job.remedy
    assert app.library.corpora() == []


OLD = datetime(2026, 1, 1, tzinfo=UTC)
STATES: list[tuple[int, str, datetime | None, str]] = [
    (os.getpid(), MACHINE, None, "running"),
    (os.getpid(), MACHINE, OLD, "interrupted"),  # its number was given out again
    (2**30, MACHINE, None, "interrupted"),
    (0, MACHINE, None, "running"),  # it starts
    (0, MACHINE, OLD, "interrupted"),  # it never came up
    (2**30, "another", None, "running"),  # its processes are not seen from here
    (2**30, "another", OLD, "interrupted"),
]


def test_a_job_whose_process_is_gone_is_interrupted(jobs):
    for number, (pid, machine, renewed, state) in enumerate(STATES):
        job = an_old_job(id=str(number), state="running", pid=pid, machine=machine)
        store_job(jobs, job, renewed)
        assert jobs.job(job.id).state == state, (pid, machine, renewed)


def test_jobs_come_back_as_they_were_newest_first(jobs):
    chosen = Repairs(encoding="cp1252", delimiter=";", skip_empty=True, duplicates="merge")
    report = ImportReport("papers", 300, 290, 0, 10, 300, 6.0, ("3 documents had no year.",))
    job = an_old_job(state="failed", error="Zeile 3: „kaputt“", remedy="Mend it.", report=report)
    queries = (ServiceQuery("openalex", "deep sea"), ServiceQuery("acl", ids=("a", "b")))
    sources = [Path("/nowhere/papers.csv"), ServiceQueries(queries), NamedDataset("beir/scifact")]
    stored = [
        store_job(
            jobs,
            replace(
                job,
                id=str(number),
                request=replace(job.request, source=source, repairs=chosen),
                started_at=f"2026-01-0{number}T00:00:00+00:00",
            ),
        )
        for number, source in enumerate(sources, start=1)
    ]
    assert jobs.list() == stored[::-1]
    for ask in (jobs.job, jobs.cancel, jobs.resume, jobs.dismiss):
        with pytest.raises(UnknownNameError):
            ask("nothing")


def test_an_import_in_this_process_is_listed_while_it_runs_and_keeps_others_out(jobs, tmp_path):
    request = ImportRequest(tmp_path / "papers.csv", "papers")
    # A former run of the same command was killed.
    store_job(jobs, an_old_job(state="running", pid=2**30, request=request))
    assert [job.state for job in jobs.list()] == ["interrupted"]
    told: list[Progress] = []
    with jobs.here(request, "Ada", told.append, lambda: False) as (tell, cancelled):
        (job,) = jobs.list()
        assert (job.state, job.owner, job.pid) == ("running", "Ada", os.getpid())
        tell(Progress("indexing", 1, 2, 0.5))
        wait_until(lambda: jobs.job(job.id).progress == told[0], what="its progress")
        with pytest.raises(CorpusBusyError, match="started by Ada"):
            jobs.start(request)
        assert not cancelled()
        jobs.cancel(job.id)
        wait_until(cancelled, what="its end")
    assert jobs.list() == []


def test_an_uploaded_file_stays_inside_the_home_under_a_plain_name(fresh):
    path = fresh.library.save_upload("../../évil name?.csv", b"doc_id,text\n1,x\n")
    assert path.parent.parent == fresh.home.uploads
    assert path.name == "évil name_.csv"
    assert fresh.library.save_upload("../../évil name?.csv", b"doc_id,text\n1,x\n") == path
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    for letter in "x文":  # of one byte, and of three
        assert fresh.library.save_upload(letter * 300 + ".jsonl", b"{}").suffix == ".jsonl"


def test_a_suggested_name_is_always_one_that_is_accepted():
    for text in ("My papers (2020)", "a.b/c", "???", "é" * 200, "x\n", "²"):
        name = Library.suggest_name(text)
        Library.check_name(name)  # raises for a name that an import would refuse
        assert 1 <= len(name) <= 64
