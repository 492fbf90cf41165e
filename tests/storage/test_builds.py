"""What is kept of collections under construction: nothing is overwritten, people's word stands."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from storage.builds import LabelRow, StepRow
from storage.ledger import Ledger

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def _label(doc_id: str, label: str, maker: str) -> LabelRow:
    return LabelRow("c", "b", doc_id, label, "", maker, "who", "basis", NOW)


def _step(content: str, kind: str = "run") -> StepRow:
    return StepRow("c", "b", "collapse", kind, content, "", 0, "who", "", NOW)  # type: ignore[arg-type]


def test_a_persons_label_stands_whatever_a_model_says_later(ledger: Ledger) -> None:
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


def test_a_step_is_changed_from_what_stands_or_not_at_all(ledger: Ledger) -> None:
    assert ledger.builds.last("c", "b", "collapse") is None
    ledger.builds.change("c", "b", "collapse", lambda row: None if row else _step("first 🐝"))
    ledger.builds.add_step(_step(""))

    def fails(row: StepRow | None) -> StepRow | None:
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        ledger.builds.change("c", "b", "collapse", fails)
    ledger.builds.change("c", "b", "collapse", lambda row: None)
    last = ledger.builds.last("c", "b", "collapse")
    assert last is not None
    assert last.content == "first 🐝", "a run that made nothing takes nothing away"
    assert [row.content for row in ledger.builds.steps("c", "b")] == ["", ""]
    assert ledger.builds.steps("c", "b")[0].time == NOW
