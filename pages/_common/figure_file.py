"""What the files of a chart say besides its drawing: title, caption and the data as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.text import spreadsheet_cell


@dataclass(frozen=True, slots=True)
class FigureFile:
    """What is exported of a chart.

    Attributes:
        name: of the files, without an ending, and of the chart in the labels of its menu.
        title, caption: above and below the drawing; plain text of any length.
        head, rows: the data. Fractions are written with the three digits that the page shows.
    """

    name: str
    title: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]

    def data(self) -> dict[str, str]:
        """For the component that makes the files."""
        shown = ([_cell(value) for value in row] for row in self.rows)
        return {
            "name": self.name,
            "title": self.title,
            "caption": self.caption,
            "csv": to_csv(self.head, shown),
        }


def _cell(value: object) -> object:
    return f"{value:.3f}" if isinstance(value, float) else value


def to_csv(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table as CSV, in which no text is a formula to a spreadsheet program."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in (head, *lines):
        writer.writerow([spreadsheet_cell(v) if isinstance(v, str) else v for v in line])
    return out.getvalue()
