"""Labels of collections under construction: nothing is overwritten, people's labels count."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from storage.builds import LabelRow

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def _label(doc_id, label, maker):
    return LabelRow("c", "b", doc_id, label, "", maker, "who", "basis", NOW)


def test_a_persons_label_stands_whatever_a_model_says_later(ledger):
    for rows in (
        [_label("1", "x", "model"), _label("2", "x", "model")],
        [_label("1", "", "person")],
        [_label("1", "y", "model"), _label("2", "y", "model")],
    ):
        ledger.builds.add_labels(rows)
    ledger.builds.add_labels([])
    found = {row.doc_id: (row.label, row.maker) for row in ledger.builds.labels("c", "b")}
    assert found == {"1": ("", "person"), "2": ("y", "model")}
    assert ledger.builds.labels("c", "other") == []


def test_labels_are_changed_in_view_of_what_stands_or_not_at_all(ledger):
    ledger.builds.add_labels([_label("d1", "said", "person"), _label("d1", "later", "model")])
    seen: list[str] = []

    def change(standing):
        seen.extend(row.label for row in standing.values())
        return [_label("d2", "new", "person")]

    ledger.builds.change_labels("c", "b", change)
    assert seen == ["said"]

    def refuse(_):
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        ledger.builds.change_labels("c", "b", refuse)
    assert [row.label for row in ledger.builds.labels("c", "b")] == ["said", "new"]
