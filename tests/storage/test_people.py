"""What all programs that share a ledger know of people: logins that were ended, what was spent."""

import hashlib
import threading
from datetime import date, timedelta

import pytest

from storage import people
from storage.people import LASTING, Spent

ONE, TWO = (hashlib.sha256(name.encode()).hexdigest() for name in ("one", "two"))


def test_a_login_that_was_ended_by_one_program_is_over_in_all(open_ledger):
    here, there = (open_ledger().ended_logins for _ in range(2))
    assert not there.has_any([ONE, TWO])
    assert not there.has_any([])
    here.add([ONE])
    assert here.has_any([TWO, ONE])
    assert there.has_any([ONE])
    assert not there.has_any([TWO])
    here.add([ONE, TWO])  # one of them is ended already
    assert there.has_any([TWO])


def test_a_login_that_proves_nothing_any_more_is_forgotten(open_ledger, monkeypatch):
    open_ledger().ended_logins.add([ONE])
    monkeypatch.setattr("storage.people.LASTING", timedelta(0))
    open_ledger().ended_logins.add([TWO])
    assert not open_ledger().ended_logins.has_any([ONE])
    assert timedelta(days=30) < LASTING


@pytest.mark.smoke
def test_a_budget_of_the_day_holds_whichever_program_asks(open_ledger):
    programs = [open_ledger().spending for _ in range(2)]
    assert programs[0].of("ada") == Spent()
    granted = []

    def check(spent):
        if spent.calls >= 5:
            raise ValueError

    def ask(number):
        try:
            programs[number % 2].add("ada", 1, 100, 10, check)
        except ValueError:
            return
        granted.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 5
    programs[1].add("ada", 0, -50, 0)  # what a call did not need of what was set aside
    assert [program.of("ada") for program in programs] == [Spent(5, 450, 50)] * 2
    assert programs[0].of("ben") == Spent()


def test_a_day_begins_with_nothing(ledger, monkeypatch):
    class Tomorrow(date):
        @classmethod
        def today(cls):
            return date(2999, 1, 1)

    ledger.spending.add("ada", 1, 2, 3)
    monkeypatch.setattr(people, "date", Tomorrow)
    assert ledger.spending.of("ada") == Spent()
