"""A record comes back as it was stored last, and changes of several people do not mix."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from storage.errors import StorageError


@dataclass(frozen=True)
class Note:
    text: str
    places: tuple[int, ...] = ()


@pytest.fixture
def notes(ledger):
    return ledger.documents("note", Note)


def test_records_come_in_the_order_of_creation_as_they_were_stored_last(ledger, notes):
    for key, text in [("z", "1"), ("a", "2 🐝"), ("z", "3")]:
        notes.put(key, Note(text, (1, 2)), "ann", "c")
    notes.put("z", Note("elsewhere"), "ben", "d")
    ledger.documents("other", Note).put("z", Note("of another kind"), scope="c")
    found = [(one.key, one.value) for one in notes.all("c")]
    assert found == [("z", Note("3", (1, 2))), ("a", Note("2 🐝", (1, 2)))]
    assert [one.value.text for one in notes.newest("ann")] == ["3", "2 🐝"]
    assert [one.owner for one in notes.newest()] == ["ben", "ann", "ann"]
    assert len(notes.all()) == 3
    notes.remove("z", "c")
    assert notes.get("z", "c") is None
    assert notes.get("z", "d") is not None


def test_a_change_sees_the_record_and_its_error_undoes_it(notes):
    notes.change("k", lambda stored: None if stored else Note("first"), "ann")

    def fails(stored):
        assert stored is not None
        assert stored.value == Note("first")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        notes.change("k", fails)
    notes.change("k", lambda _: None)
    notes.put("k", Note("second"))
    found = notes.get("k")
    assert found is not None
    assert (found.value.text, found.owner) == ("second", "ann")


def test_a_record_of_another_version_is_an_error_that_names_it(ledger, notes):
    ledger.documents("note", dict[str, int]).put("k", {"number": 1})
    with pytest.raises(StorageError, match="The note 'k' was stored by another version"):
        notes.get("k")
