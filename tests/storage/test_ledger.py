"""Nothing that the ledger acknowledged is lost, and its errors say what to do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from multiprocessing.connection import Connection
from pathlib import Path

import duckdb
import pytest
from filelock import FileLock

from storage.access import LedgerFile
from storage.errors import LedgerBusyError, StorageError, StorageFullError
from storage.home import CorpusNameError, Home, check_corpus_name
from storage.judging import JudgmentRow
from storage.ledger import Ledger
from storage.projects import PoolRow, ProjectQueryRow, ProjectRow
from storage.records import CorpusRow

SPAWN = multiprocessing.get_context("spawn")
NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
NASTY = "O'Brien\"; DROP TABLE judgments; -- 🌱 naïve 漢字\n\t\\ %s $corpus ?"
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.duckdb")


def judgment(doc_id: str = "d1", relevance: int | None = 2, **fields: object) -> JudgmentRow:
    verdict = "withdrawn" if relevance is None else "grade"
    row = JudgmentRow(
        "demo", "s1_method", doc_id, relevance, "ann", "", "", 3, "aspect", NOW, verdict
    )
    return replace(row, **fields)  # type: ignore[arg-type]


def corpus(name: str = "demo") -> CorpusRow:
    return CorpusRow(name, "indexing", "a.jsonl", "jsonl", "{}", "{}", 0, 10, NOW, NOW)


# What other processes do in these tests


def judge(path: Path, who: str, count: int) -> None:
    ledger = Ledger(path, wait_seconds=120)
    for number in range(count):
        ledger.judging.add([judgment(f"d{number}", annotator=who)])


def judge_until_killed(path: Path, acknowledged: Connection) -> None:
    ledger = Ledger(path)
    for number in range(100_000):
        ledger.judging.add([judgment(f"d{number}")])
        acknowledged.send(number)


def die_in_mid_transaction(path: Path) -> None:
    with LedgerFile(path, 5).access() as connection:
        connection.execute("UPDATE judgment_events SET relevance = 0")
        connection.execute("DELETE FROM judgment_events WHERE doc_id = 'd1'")
        os.kill(os.getpid(), signal.SIGKILL)


def die_before_closing(path: Path) -> None:
    connection = duckdb.connect(str(path))
    connection.execute(
        "INSERT INTO judgment_events BY NAME SELECT * EXCLUDE (id) "
        "REPLACE ('wal' AS doc_id, 'wal' AS event) FROM judgment_events LIMIT 1"
    )
    os.kill(os.getpid(), signal.SIGKILL)


def hold_lock(path: Path, ready: Connection) -> None:
    with FileLock(f"{path}.lock"):
        ready.send("held")
        time.sleep(60)


def hold_database(path: Path, ready: Connection) -> None:
    connection = duckdb.connect(str(path))
    ready.send("held")
    time.sleep(60)
    connection.close()


def fill_disk(path: Path, outcome: Connection) -> None:
    import resource

    limit = path.stat().st_size + 4096
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        Ledger(path).put_text(os.urandom(1_000_000).hex())
        outcome.send("stored")
    except StorageError as e:
        outcome.send((type(e).__name__, str(e)))


# Many at once


def test_eight_processes_judging_at_once_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    processes = [SPAWN.Process(target=judge, args=(path, f"p{n}", 25)) for n in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0] * 8
    rows = Ledger(path).judging.history("demo")
    assert len(rows) == 200
    assert len({(row.annotator, row.doc_id) for row in rows}) == 200


def test_threads_sharing_one_ledger_lose_no_row(ledger: Ledger) -> None:
    def work(who: str) -> None:
        for number in range(10):
            ledger.judging.add([judgment(f"d{number}", annotator=who)])

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({(row.annotator, row.doc_id) for row in ledger.judging.history("demo")}) == 60


@pytest.mark.parametrize("holder", [hold_lock, hold_database])
def test_a_ledger_held_by_another_process_is_reported_within_the_wait(
    tmp_path: Path, holder: object
) -> None:
    path = tmp_path / "ledger.duckdb"
    Ledger(path).judging.add([judgment()])
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=holder, args=(path, there))  # type: ignore[arg-type]
    process.start()
    try:
        assert here.recv() == "held"
        started = time.monotonic()
        with pytest.raises(LedgerBusyError, match=r"0\.4 s.*Try again") as caught:
            Ledger(path, wait_seconds=0.4).judging.add([judgment("d2")])
        assert 0.3 < time.monotonic() - started < 5
        assert str(path) in str(caught.value)
        with pytest.raises(LedgerBusyError):
            Ledger(path, wait_seconds=0).judging.history("demo")
    finally:
        process.kill()
        process.join()
    assert [row.doc_id for row in Ledger(path).judging.history("demo")] == ["d1"]


# Crashes, full disks, damaged files


@posix_only
@pytest.mark.parametrize(
    ("crash", "survivors"),
    [(die_in_mid_transaction, ["d1", "d2"]), (die_before_closing, ["d1", "d2", "wal"])],
)
def test_a_crash_keeps_exactly_what_was_committed(
    tmp_path: Path, crash: object, survivors: list[str]
) -> None:
    path = tmp_path / "ledger.duckdb"
    Ledger(path).judging.add([judgment("d1"), judgment("d2")])
    process = SPAWN.Process(target=crash, args=(path,))  # type: ignore[arg-type]
    process.start()
    process.join()

    assert process.exitcode == -signal.SIGKILL
    Ledger(path, wait_seconds=5).judging.add([judgment("after")])
    rows = Ledger(path).judging.history("demo")
    assert [row.doc_id for row in rows] == [*survivors, "after"]
    assert {row.relevance for row in rows} == {2}


@posix_only
@pytest.mark.parametrize("seconds", [0.0, 0.11, 0.27])
def test_every_judgment_acknowledged_before_a_kill_is_there_after_it(
    tmp_path: Path, seconds: float
) -> None:
    path = tmp_path / "ledger.duckdb"
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=judge_until_killed, args=(path, there))
    process.start()
    acknowledged = [here.recv()]
    time.sleep(seconds)
    process.kill()
    process.join()
    while here.poll():
        acknowledged.append(here.recv())

    found = [row.doc_id for row in Ledger(path).judging.history("demo")]
    # The kill may fall between the commit and its acknowledgement.
    assert found[: len(acknowledged)] == [f"d{number}" for number in acknowledged]
    assert len(found) <= len(acknowledged) + 1


def test_a_crash_while_the_ledger_was_first_made_does_not_spoil_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    (tmp_path / "ledger.duckdb.new").write_bytes(b"half a file")
    (tmp_path / "ledger.duckdb.new.wal").write_bytes(b"half a log")
    Ledger(path).judging.add([judgment()])
    assert len(Ledger(path).judging.history("demo")) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.duckdb", "ledger.duckdb.lock"]


@posix_only
def test_a_full_disk_is_named_and_costs_nothing_stored_before(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    Ledger(path).judging.add([judgment()])
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=fill_disk, args=(path, there))
    process.start()
    kind, message = here.recv()
    process.join()

    assert kind == StorageFullError.__name__
    assert str(path) in message
    assert "Free some space" in message
    assert Ledger(path).judging.history("demo") == [judgment()]
    Ledger(path).put_text("there is room again")


@pytest.mark.parametrize("content", [b"", b"junk", b"not a database " * 5000])
def test_a_corrupt_file_is_named_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.duckdb"
    path.write_bytes(content)
    with pytest.raises(StorageError, match="left the file as it is") as caught:
        Ledger(path).judging.history("demo")
    assert str(path) in str(caught.value)
    assert isinstance(caught.value.__cause__, duckdb.Error)
    assert path.read_bytes() == content


def test_a_truncated_file_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    Ledger(path).judging.add([judgment()])
    content = path.read_bytes()[:20_000]
    path.write_bytes(content)
    with pytest.raises(StorageError, match="cannot be read or written"):
        Ledger(path).judging.add([judgment()])
    assert path.read_bytes() == content


def test_a_ledger_from_a_newer_seedlens_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    Ledger(path).judging.add([judgment()])
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (99, 'm0099', now()::TIMESTAMP)")
    content = path.read_bytes()
    for access in (Ledger(path).corpora, lambda: Ledger(path).judging.add([judgment()])):
        with pytest.raises(StorageError, match=r"newer SeedLens.*99.*Upgrade"):
            access()
    assert path.read_bytes() == content


def test_a_place_that_cannot_hold_a_file_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "ledger.duckdb"
    with pytest.raises(StorageError, match=r"ledger\.duckdb cannot be read or written"):
        Ledger(path).corpora()


# Corpora


def test_a_corpus_is_replaced_but_keeps_its_birthday(ledger: Ledger) -> None:
    later = NOW + timedelta(days=1)
    ledger.put_corpus(corpus())
    ledger.put_corpus(
        replace(corpus(), state="ready", documents=10, created_at=later, updated_at=later)
    )
    expected = replace(corpus(), state="ready", documents=10, updated_at=later)
    assert ledger.corpus("demo") == expected
    assert ledger.corpora() == [expected]


def test_corpora_are_listed_by_name_and_removed_once(ledger: Ledger) -> None:
    for name in ("b", "a", NASTY):
        ledger.put_corpus(corpus(name))
    assert [row.name for row in ledger.corpora()] == sorted(["b", "a", NASTY])
    assert ledger.remove_corpus("a") == corpus("a")
    assert ledger.remove_corpus("a") is None
    assert ledger.corpus("a") is None
    ledger.put_corpus(corpus("a"))
    assert ledger.corpus("a") == corpus("a")


# Judgments


def test_a_changed_grade_counts_and_the_old_one_stays_in_the_history(ledger: Ledger) -> None:
    first, other = judgment(relevance=1), judgment(annotator="bob", relevance=0)
    changed = judgment(relevance=3, time=NOW - timedelta(hours=1), note="on reflection")
    for row in (first, other, changed):
        ledger.judging.add([row])
    assert ledger.judging.history("demo") == [first, other, changed]
    assert ledger.judging.latest("demo") == [other, changed]
    assert ledger.judging.latest("demo", annotator="bob") == [other]


def test_a_grade_taken_back_is_gone_until_it_is_given_again(ledger: Ledger) -> None:
    ledger.judging.add([judgment("d1"), judgment("d2"), judgment("d1", None)])
    assert ledger.judging.latest("demo") == [judgment("d2")]
    assert len(ledger.judging.history("demo")) == 3
    ledger.judging.add([judgment("d1", 0)])
    assert [(r.doc_id, r.relevance) for r in ledger.judging.latest("demo")] == [
        ("d2", 2),
        ("d1", 0),
    ]


def test_judgments_are_found_by_corpus_and_query(ledger: Ledger) -> None:
    wanted = judgment(query_id="s2_result", rank=None)
    ledger.judging.add([judgment(), wanted, judgment(corpus="other", query_id="s2_result")])
    assert ledger.judging.history("demo", query_id="s2_result") == [wanted]
    assert ledger.judging.latest("demo", query_id="s2_result") == [wanted]
    assert ledger.judging.latest("demo", query_id="s2_result", annotator="bob") == []


@pytest.mark.parametrize("grade", [-1, 101, 1.5])
def test_one_grade_out_of_range_refuses_the_whole_batch(ledger: Ledger, grade: int) -> None:
    with pytest.raises(StorageError, match=rf"{grade}.*'d2'.*0 to 100"):
        ledger.judging.add([judgment("d1"), judgment("d2", grade)])
    assert ledger.judging.history("demo") == []


def test_an_event_sent_twice_is_stored_once(ledger: Ledger) -> None:
    row = judgment(event="the-same")
    assert [ledger.judging.add([row, row]), ledger.judging.add([row])] == [1, 0]
    assert ledger.judging.history("demo") == [row]
    assert ledger.judging.known(["the-same", "another"]) == {"the-same"}


def test_undo_brings_back_what_was_said_before(ledger: Ledger) -> None:
    first, second = judgment("d1", 1), judgment("d1", 3)
    ledger.judging.add([first, judgment("d2", annotator="bob"), second])
    assert ledger.judging.undo("demo", "", "ann") == second
    assert ledger.judging.latest("demo", annotator="ann") == [first]
    assert ledger.judging.undo("demo", "", "ann") == first
    assert ledger.judging.undo("demo", "", "ann") is None
    assert [row.annotator for row in ledger.judging.latest("demo")] == ["bob"]
    assert [row.verdict for row in ledger.judging.history("demo")] == [
        *["grade"] * 3,
        *["undo"] * 2,
    ]


def test_nobody_undoes_what_another_said(ledger: Ledger) -> None:
    other = judgment(annotator="bob")
    ledger.judging.add([other])
    assert ledger.judging.undo("demo", "", "ann", other.event) is None
    assert ledger.judging.latest("demo") == [other]


def test_projects_and_adjudications_stand_beside_one_s_own_grade(ledger: Ledger) -> None:
    own = judgment(relevance=1)
    project, decided = (
        replace(own, project="p", event="p"),
        judgment(relevance=2, origin="adjudication"),
    )
    ledger.judging.add([own, project, decided])
    assert ledger.judging.latest("demo") == [own, decided]
    assert ledger.judging.latest("demo", "p") == [project]


def test_a_project_keeps_its_versions_queries_and_pools(ledger: Ledger) -> None:
    row = ProjectRow("demo", "p", "{}", "ann", NOW)
    ledger.projects.put(row)
    ledger.projects.put(replace(row, settings='{"scale": 1}'))
    assert [r.settings for r in ledger.projects.all()] == ['{"scale": 1}']
    query = ProjectQueryRow("demo", "p", "s1_method", "{}", NOW)
    assert [ledger.projects.add_queries([query, query]), ledger.projects.add_queries([query])] == [
        1,
        0,
    ]
    assert ledger.projects.queries("demo", "p") == [query]
    item = PoolRow("demo", "p", "s1_method", "d1", "dense", 4, NOW)
    deeper = replace(item, source="bm25", rank=9)
    assert ledger.projects.add_to_pool([item, deeper, replace(item, rank=1)]) == 2
    assert ledger.projects.pool("demo", "p", "s1_method") == [item, deeper]
    assert ledger.projects.pool("demo", "q") == []


def test_any_words_come_back_as_they_went_in(ledger: Ledger) -> None:
    row = JudgmentRow(NASTY, NASTY, NASTY, 3, NASTY, NASTY, NASTY, 1, NASTY, NOW)
    ledger.judging.add([row])
    assert (
        ledger.judging.history(NASTY, query_id=NASTY)
        == ledger.judging.latest(NASTY, query_id=NASTY, annotator=NASTY)
        == [row]
    )
    assert ledger.text(ledger.put_text(NASTY)) == NASTY
    assert ledger.add_step(NASTY, NASTY, NASTY) == ledger.steps(NASTY)[0]


def test_words_that_no_file_can_hold_are_refused_as_a_value(ledger: Ledger) -> None:
    with pytest.raises(StorageError, match="cannot hold this value"):
        ledger.put_text("half a pair: \ud800")


def test_times_come_back_in_utc_to_the_microsecond(ledger: Ledger) -> None:
    there = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    ledger.judging.add([judgment(time=there)])
    found = ledger.judging.history("demo")[0].time
    assert found == NOW
    assert found.tzinfo is UTC
    with pytest.raises(ValueError, match="no time zone"):
        ledger.judging.add([judgment(time=NOW.replace(tzinfo=None))])


# Trails, kept documents, texts


def test_a_trail_keeps_its_order_and_skips_a_repeated_step(ledger: Ledger) -> None:
    first = ledger.add_step("t", "demo", '{"seed": "a"}')
    assert ledger.add_step("t", "demo", '{"seed": "a"}') == first
    ledger.add_step("other", "demo", '{"seed": "z"}')
    second = ledger.add_step("t", "demo", '{"seed": "b"}')
    third = ledger.add_step("t", "demo", '{"seed": "a"}')
    assert [step.position for step in (first, second, third)] == [1, 2, 3]
    assert ledger.steps("t") == [first, second, third]
    assert ledger.steps("nobody's") == []


def test_kept_documents_are_the_ones_not_let_go_since(ledger: Ledger) -> None:
    for doc_id in ("d1", "d2", "d3", "d1"):
        ledger.keep("t", "demo", doc_id)
    ledger.unkeep("t", "demo", "d2")
    ledger.unkeep("t", "demo", "never kept")
    ledger.keep("other", "demo", "d2")
    assert [row.doc_id for row in ledger.kept("t")] == ["d1", "d3"]
    ledger.keep("t", "demo", "d2")
    assert [row.doc_id for row in ledger.kept("t")] == ["d1", "d3", "d2"]


def test_a_text_pasted_twice_has_one_id(ledger: Ledger) -> None:
    text_id = ledger.put_text("a pasted abstract")
    assert ledger.put_text("a pasted abstract") == text_id
    assert ledger.put_text("a pasted abstract ") != text_id
    assert ledger.text(text_id) == "a pasted abstract"
    assert ledger.text("unknown") is None


# The home


def test_a_home_makes_its_folders_and_nothing_else(tmp_path: Path) -> None:
    home = Home(tmp_path / "a" / "home")
    home.create()
    home.create()
    found = [path.relative_to(home.root).as_posix() for path in home.root.rglob("*")]
    assert sorted(found) == ["corpora", "jobs", "trash", "uploads"]
    assert home.corpus("demo").parent == home.corpora == home.corpus_lock("demo").parent


def test_a_home_that_cannot_be_made_says_where_and_how_to_choose_another(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"file/home.*SEEDLENS_HOME"):
        Home(tmp_path / "file" / "home").create()


@pytest.mark.parametrize("name", ["a", "CSFCube-v1_1", "größe", "論文", "x" * 64])
def test_plain_names_are_allowed(name: str) -> None:
    check_corpus_name(name)
    assert Home(Path("h")).corpus(name) == Path("h", "corpora", name)


@pytest.mark.parametrize("name", ["", "x" * 65, "..", "a/b", "a b", "a.b", "a\\b", "a\0", "🌱"])
def test_names_that_could_lead_astray_are_quoted_and_refused(name: str) -> None:
    for check in (check_corpus_name, Home(Path("h")).corpus, Home(Path("h")).corpus_lock):
        with pytest.raises(CorpusNameError) as caught:
            check(name)
        assert repr(name)[:60] in str(caught.value)
        assert "letters, digits" in str(caught.value)


def test_what_another_process_writes_is_seen_at_the_next_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    mine = Ledger(path)
    mine.judging.add([judgment("d1")])
    assert len(mine.judging.history("demo")) == 1
    other = SPAWN.Process(target=judge_once_more, args=(path,))
    other.start()
    other.join()
    assert [row.doc_id for row in mine.judging.history("demo")] == ["d1", "d2"]


def judge_once_more(path: Path) -> None:
    Ledger(path).judging.add([judgment("d2")])


def test_changing_a_list_that_was_read_does_not_change_the_next_one(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.duckdb")
    ledger.judging.add([judgment("d1")])
    ledger.judging.history("demo").clear()
    assert len(ledger.judging.history("demo")) == 1
