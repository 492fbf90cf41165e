"""A ledger moves from its file to a server and back, whole, and goes on where it was."""

import pytest

from storage.answers import AnswerRow
from storage.builds import LabelRow
from storage.errors import StorageError
from storage.ledger import Ledger
from storage.projects import PoolRow, ProjectQueryRow
from storage.rankings import RunRow
from tests.storage.rows import NOW, corpus, judgment

MANY = 2_500  # More than are copied at once
KEYS = [f"{number:016x}".ljust(64, "f") for number in range(MANY)]


def fill(ledger):
    """Something in every table."""
    ledger.put_corpus(corpus())
    ledger.put_text("O'Brien 🌱 %s ? $name")
    ledger.judging.add([judgment(f"d{n}", marks=((1, 2),)) for n in range(MANY)])
    ledger.judging.undo("demo", "", "ann")
    ledger.documents("project", str).put("p", "settings", "ann", "demo")
    ledger.projects.add_queries([ProjectQueryRow("demo", "p", q, "{}", NOW) for q in "ab"])
    ledger.projects.set_asked("demo", "p", ["b"], asked=False, author="ann")
    ledger.projects.add_to_pool([PoolRow("demo", "p", "a", "d1", "bm25", 1, NOW)])
    ledger.builds.add_labels([LabelRow("demo", "b", "d1", "x", "", "person", "ann", "", NOW)])
    ledger.rankings.add(RunRow("demo", "1", "bm25", "{}", 1.5, "the run", NOW))
    ledger.answers.add([AnswerRow(key, "e", "m", "p", "{}", 1, 2, NOW) for key in KEYS])
    ledger.answers.remember_capabilities("e", "m", "{}")
    ledger.ended_logins.add(["a login"])
    ledger.spending.add("ada@example.org", 1, 2, 3)
    ledger.documents("import", str).put("j", "done", "ann")


def contents(ledger):
    """What can be read of it."""
    return [
        ledger.corpora(), ledger.judging.history("demo"), ledger.judging.latest("demo"),
        ledger.documents("project", str).all(), ledger.projects.queries("demo", "p"),
        ledger.projects.retired("demo", "p"), ledger.projects.pool("demo", "p"),
        ledger.builds.labels("demo", "b"),
        ledger.rankings.latest("demo", "1", "bm25", "{}"),
        ledger.answers.heads("e", "m").tolist(), ledger.answers.capabilities("e", "m"),
        ledger.answers.find(KEYS[-3:-1]),
        ledger.ended_logins.has_any(["a login"]), ledger.spending.of("ada@example.org"),
        ledger.documents("import", str).all(),
    ]  # fmt: skip


@pytest.mark.smoke
def test_a_ledger_goes_to_a_server_and_comes_back_as_it_was(postgres, tmp_path):
    file, back = Ledger(tmp_path / "ledger.sqlite"), Ledger(tmp_path / "back.sqlite")
    server = Ledger(tmp_path / "none", url=postgres.database())
    fill(file)
    rows = file.copy_to(server)
    assert not [table for table, count in rows.items() if not count], "every table has some here"
    assert (rows["judgment_events"], rows["answers"]) == (MANY + 1, MANY)
    assert contents(server) == contents(file)
    assert server.copy_to(back) == rows
    assert contents(back) == contents(file)
    for ledger in (server, back):  # numbers go on
        ledger.judging.add([judgment("new")])
        assert ledger.judging.history("demo")[-1].doc_id == "new"
        ledger.judging.undo("demo", "", "ann")
        assert contents(ledger)[2] == contents(file)[2]


def test_a_backup_of_a_ledger_on_a_server_is_a_file(postgres, tmp_path):
    server = Ledger(tmp_path / "none", url=postgres.database())
    fill(server)
    server.copy(tmp_path / "copy.sqlite")
    assert contents(Ledger(tmp_path / "copy.sqlite")) == contents(server)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_what_is_there_already_is_not_mixed_with_another_ledger(postgres, tmp_path):
    file = Ledger(tmp_path / "ledger.sqlite")
    server = Ledger(tmp_path / "none", url=postgres.database())
    file.judging.add([judgment("d1")])
    server.put_text("there")
    for source, target in ((file, server), (server, file)):
        with pytest.raises(StorageError, match=r"is not empty: \w+(, \w+)* have rows"):
            source.copy_to(target)
    assert len(file.judging.history("demo")) == 1
    assert server.judging.history("demo") == []
