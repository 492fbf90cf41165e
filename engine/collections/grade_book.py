"""Grades read line by line: checked, duplicates found, every problem named by its line."""

from __future__ import annotations

from dataclasses import dataclass

from engine.collections.judgment_formats import JUDGMENT_NAMES, Rows
from engine.errors import BadInputError
from engine.text import counted
from engine.types.evaluations import Qrels
from engine.types.limits import HIGHEST_GRADE


@dataclass(frozen=True, slots=True)
class JudgmentsFile:
    """Judgments, and plain sentences about what is odd in their file."""

    qrels: Qrels
    warnings: tuple[str, ...] = ()


def grade_of(value: str) -> int:
    """A grade as a number: ``2.0`` is 2, and what is below 0 (spam, in TREC's files) counts as 0.

    Raises:
        ValueError: it is no whole number.

    >>> grade_of("2.0"), grade_of("-2")
    (2, 0)
    """
    number = float(value)
    if not number.is_integer():
        raise ValueError(value)
    return max(0, int(number))


def check_grade(value: str, where: str, most: int) -> int:
    """:func:`grade_of`, ``most`` at most; BadInputError naming file and line in ``where``."""
    try:
        grade = grade_of(value)
    except ValueError as error:
        raise BadInputError(
            f"{where}: the grade '{value}' is not a whole number.", "Correct that line."
        ) from error
    if grade > most:
        raise BadInputError(
            f"{where}: the grade {grade} is out of range.",
            f"Grades are 0 to {most:,}; correct it.",
        )
    return grade


class GradeBook:
    """Collects the grades of one file and watches for pairs that come twice.

    Args:
        file: its name, for errors.
        unit: what the numbers count: ``line`` or ``row``.
    """

    def __init__(self, file: str, unit: str = "line") -> None:
        self._file, self._unit = file, unit
        self._seen: dict[tuple[str, str], int] = {}
        self._repeats: list[int] = []
        self.qrels: dict[str, dict[str, int]] = {}

    def add(self, query_id: str, doc_id: str, grade: int, number: int) -> None:
        """Take in one grade; BadInputError when the pair has another one already."""
        first = self._seen.setdefault((query_id, doc_id), number)
        grades = self.qrels.setdefault(query_id, {})
        if grades.setdefault(doc_id, grade) != grade:
            raise BadInputError(
                f"{self._file}, {self._unit}s {first} and {number}: document '{doc_id}' has grade "
                f"{grades[doc_id]} and grade {grade} for query '{query_id}'.",
                "Keep one of the two.",
            )
        if first != number:
            self._repeats.append(number)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence when pairs were repeated with the same grade."""
        if not self._repeats:
            return ()
        what = counted(len(self._repeats), f"{self._unit} repeats", f"{self._unit}s repeat")
        first = f"{self._unit} {self._repeats[0]}"
        return (f"{self._file}: {what} a judgment with the same grade (first: {first}).",)


def read_grades(rows: Rows, file: str) -> JudgmentsFile:
    """The judgments of a file of any format; BadInputError where a line is broken."""
    book = GradeBook(file)
    for number, row in rows:
        if isinstance(row, str):
            raise broken_line(file, number, row)
        query_id, doc_id, grade = (str(row.get(name) or "") for name in JUDGMENT_NAMES)
        if not query_id or not doc_id:
            raise broken_line(file, number, "It names no query and document.")
        relevance = check_grade(grade, f"{file}, line {number}", HIGHEST_GRADE)
        book.add(query_id, doc_id, relevance, number)
    return JudgmentsFile(book.qrels, book.warnings)


def broken_line(file: str, number: int, problem: str) -> BadInputError:
    """The error for a line that cannot be read."""
    return BadInputError(f"{file}, line {number}: {problem}", "Correct that line.")
