"""Labels of collections under construction: nothing is overwritten, people's labels count."""

from __future__ import annotations

from datetime import UTC, datetime

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

    def change(current):
        return [_label("3", f"after {current['2'].label}", "person")]

    ledger.builds.change_labels("c", "b", change)
    assert ledger.builds.labels("c", "b")[-1].label == "after y"
