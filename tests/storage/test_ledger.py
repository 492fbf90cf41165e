"""What is put into the ledger comes back as it was, and its errors say what to do."""

import os
import stat
from dataclasses import replace
from datetime import UTC, timedelta, timezone
from pathlib import Path

import pytest

from storage.errors import StorageError
from storage.home import CorpusNameError, Home, check_corpus_name
from storage.records import Judgment
from tests.storage.rows import NOW, corpus, judgment

NASTY = "O'Brien\"; DROP TABLE judgments; -- 🌱 naïve 漢字\n\t\\ %s $corpus ?"


# Corpora


def test_a_corpus_is_replaced_but_keeps_its_birthday(ledger):
    later = NOW + timedelta(days=1)
    ledger.put_corpus(corpus())
    ledger.put_corpus(
        replace(corpus(), state="ready", documents=10, created_at=later, updated_at=later)
    )
    expected = replace(corpus(), state="ready", documents=10, updated_at=later)
    assert ledger.corpus("demo") == expected
    assert ledger.corpora() == [expected]


def test_corpora_are_listed_by_name_and_removed_as_they_were_read(ledger):
    for name in ("b", "a", NASTY):
        ledger.put_corpus(corpus(name))
    assert [row.name for row in ledger.corpora()] == sorted(["b", "a", NASTY])
    ledger.remove_corpus(replace(corpus("a"), state="deleted"))
    assert ledger.corpus("a") == corpus("a"), "another program has changed it since"
    ledger.remove_corpus(corpus("a"))
    ledger.remove_corpus(corpus("a"))
    assert ledger.corpus("a") is None
    ledger.put_corpus(corpus("a"))
    assert ledger.corpus("a") == corpus("a")


# Judgments


def test_judgments_are_found_by_corpus_and_query(ledger):
    wanted = judgment(query_id="s2_result", rank=None)
    ledger.judging.add([judgment(), wanted, judgment(corpus="other", query_id="s2_result")])
    assert ledger.judging.latest("demo", query_id="s2_result") == [wanted]
    assert ledger.judging.latest("demo", query_id="s2_result", annotator="bob") == []


def test_an_event_sent_twice_is_stored_once(ledger):
    row = judgment(event="the-same")
    assert [ledger.judging.add([row, row]), ledger.judging.add([row])] == [1, 0]
    assert ledger.judging.history("demo") == [row]
    assert ledger.judging.known(["the-same", "another"]) == {"the-same"}


@pytest.mark.smoke
def test_any_words_come_back_as_they_went_in(ledger):
    texts = dict.fromkeys(("note", "system", "instruction", "corpus"), NASTY)
    row = Judgment(NASTY, NASTY, NASTY, 3, rank=1, time=NOW, **texts)
    ledger.judging.add([row])
    assert ledger.judging.history(NASTY) == [row]
    assert ledger.judging.latest(NASTY, query_id=NASTY, annotator=NASTY) == [row]
    assert ledger.text(ledger.put_text(NASTY)) == NASTY
    notes = ledger.documents(NASTY, str)
    notes.put(NASTY, NASTY, NASTY, NASTY)
    assert [(one.key, one.value, one.owner) for one in notes.all(NASTY)] == [(NASTY,) * 3]


def test_words_that_no_file_can_hold_are_refused_as_a_value(ledger):
    with pytest.raises(StorageError, match="cannot hold this value"):
        ledger.put_text("half a pair: \ud800")


def test_times_come_back_in_utc_to_the_microsecond(ledger):
    there = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    ledger.judging.add([judgment(time=there)])
    found = ledger.judging.history("demo")[0].time
    assert found == NOW
    assert found.tzinfo is UTC
    with pytest.raises(ValueError, match="no time zone"):
        ledger.judging.add([judgment(time=NOW.replace(tzinfo=None))])


# The home


def test_a_home_makes_its_folders_and_nothing_else(tmp_path):
    home = Home(tmp_path / "a" / "home")
    home.create()
    home.create()
    found = [path.relative_to(home.root).as_posix() for path in home.root.rglob("*")]
    assert sorted(found) == ["corpora", "jobs", "trash", "uploads"]
    assert home.corpus("demo").parent == home.corpora


def test_a_home_that_cannot_be_made_says_where_and_how_to_choose_another(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"file/home.*SEEDLENS_HOME"):
        Home(tmp_path / "file" / "home").create()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_home_that_everybody_may_write_to_is_closed(tmp_path):
    home = Home(tmp_path / "home")
    home.root.mkdir()
    home.root.chmod(0o777)
    home.create()
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "name", ["a", "CSFCube-v1_1", "größe", "My papers 2024", "論" * 64, "x" * 64]
)
def test_plain_names_are_allowed(name):
    check_corpus_name(name)
    assert Home(Path("h")).corpus(name) == Path("h", "corpora", name)


@pytest.mark.parametrize(
    "name", ["", "x" * 65, "..", "a/b", " b", "a  b", "a.b", "a\\b", "a\0", "🌱"]
)
def test_names_that_could_lead_astray_are_quoted_and_refused(name):
    for check in (check_corpus_name, Home(Path("h")).corpus):
        with pytest.raises(CorpusNameError) as caught:
            check(name)
        assert repr(name)[:60] in str(caught.value)
        assert "letters, digits" in str(caught.value)


@pytest.mark.parametrize(
    ("verdict", "relevance"), [("grade", None), ("skip", 2), ("grade", -1), ("grade", 101)]
)
def test_the_database_itself_refuses_grades_that_are_none(ledger, verdict, relevance):
    bad = replace(judgment("d2"), verdict=verdict, relevance=relevance)
    with pytest.raises(StorageError, match="cannot hold this value"):
        ledger.judging.add([judgment("d1"), bad])
    assert ledger.judging.history("demo") == []
