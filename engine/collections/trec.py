"""TREC judgments and runs that people bring: read strictly, every problem named by its line."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ir_measures
import numpy as np

from engine.collections.judgment_formats import GradeLine, columns_of, decoded, trec_grades
from engine.errors import BadInputError
from engine.types.collections import Qrels
from engine.types.plurals import counted
from engine.types.searches import Ranking


def write_run(rankings: Sequence[Ranking], path: Path | str, system: str) -> None:
    """A TREC run file: query_id Q0 doc_id rank score system, ranks from 1."""
    with Path(path).open("w", encoding="utf-8") as out:
        out.writelines(run_lines(rankings, system))


def run_lines(rankings: Sequence[Ranking], system: str) -> Iterator[str]:
    """The lines of a TREC run.

    Raises:
        BadInputError: an id with white space in it, which the format cannot hold.
    """
    for ranking in rankings:
        spaced = [i for i in (ranking.query_id, *ranking.doc_ids) if len(i.split()) != 1]
        if spaced:
            raise BadInputError(
                f"The id '{spaced[0]}' holds a space, which a TREC run cannot.",
                "Import the documents with other ids, or leave runs away.",
            )
        pairs = zip(ranking.doc_ids, _falling(ranking.scores), strict=True)
        for rank, (doc_id, score) in enumerate(pairs, start=1):
            yield f"{ranking.query_id} Q0 {doc_id} {rank} {score:.9g} {system}\n"


def _falling(scores: Iterable[float]) -> Iterator[float]:
    """The scores, equal ones set apart by the least step that a 32-bit number can take.

    trec_eval goes by the score as such a number, never by the rank, and breaks ties by
    doc_id backwards: without this it would measure another order than ours.
    """
    last = np.float32(np.inf)
    for score in scores:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        yield float(last)


MOST_GRADE = 3
"""Grades of CSFCube and of SeedLens go from 0 to this."""


@dataclass(frozen=True, slots=True)
class JudgmentsFile:
    """Judgments, and plain sentences about what is odd in their file."""

    qrels: Qrels
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run: one ranking per query, best first, and the tag of its first line."""

    rankings: tuple[Ranking, ...]
    tag: str


def check_grade(value: str, where: str, most: int | None) -> int:
    """A grade as a number.

    Args:
        where: file and line, for the error.
        most: the highest grade there is; None for any.

    Raises:
        BadInputError: no whole number, negative, or above ``most``.
    """
    try:
        grade = int(value)
    except ValueError as error:
        raise BadInputError(
            f"{where}: the grade '{value}' is not a whole number.", "Correct that line."
        ) from error
    if grade < 0 or (most is not None and grade > most):
        allowed = "0 or more" if most is None else f"0 to {most}"
        raise BadInputError(
            f"{where}: the grade {grade} is out of range.", f"Grades are {allowed}; correct it."
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


def read_qrels(text: str, file: str, most: int | None = None) -> JudgmentsFile:
    """Read ``query_id 0 doc_id relevance`` lines; empty lines are skipped.

    Args:
        file: its name, for errors.
        most: the highest grade there is; None for any that is not negative.

    Raises:
        BadInputError: names file, line and remedy.
    """
    judgments = read_grades(trec_grades(text), file, most)
    if not judgments.qrels:
        raise BadInputError(f"{file} has no judgments.", "Add lines 'query_id 0 doc_id relevance'.")
    return judgments


def read_grades(lines: Iterable[GradeLine], file: str, most: int | None = None) -> JudgmentsFile:
    """The judgments of lines of any format, each of which must be sound.

    Raises:
        BadInputError: names file, line and remedy.
    """
    book = GradeBook(file)
    for line in lines:
        if line.problem:
            raise broken_line(file, line.number, line.problem)
        grade = check_grade(line.grade, f"{file}, line {line.number}", most)
        book.add(line.query_id, line.doc_id, grade, line.number)
    return JudgmentsFile(book.qrels, book.warnings)


def read_run(text: str, file: str) -> RunFile:
    """Read ``query_id Q0 doc_id rank score tag`` lines; the score alone decides the order.

    Equal scores are ordered by doc_id backwards, as trec_eval does it.

    Raises:
        BadInputError: names file, line and remedy: a malformed line, a score that is no
            number, a document that a query has twice.
    """
    seen: dict[tuple[str, str], int] = {}
    tag = ""
    for number, fields, problem in columns_of(text, 6, "query_id Q0 doc_id rank score tag"):
        if problem:
            raise broken_line(file, number, problem)
        query_id, _, doc_id, rank, score, own = fields
        where = f"{file}, line {number}"
        _check(rank, float, f"{where}: the rank '{rank}' is not a number.")
        _check(score, float, f"{where}: the score '{score}' is not a number.")
        first = seen.setdefault((query_id, doc_id), number)
        if first != number:
            raise BadInputError(
                f"{file}, lines {first} and {number}: document '{doc_id}' stands twice in the "
                f"ranking of query '{query_id}'.",
                "Keep one of the two.",
            )
        tag = tag or own
    if not seen:
        raise BadInputError(
            f"{file} has no lines.", "Give a run: 'query_id Q0 doc_id rank score tag'."
        )
    # Every line is sound by now, and the reader of the field decides what it says.
    scored: dict[str, list[tuple[float, str]]] = {}
    for row in ir_measures.read_trec_run(io.StringIO(text)):
        scored.setdefault(row.query_id, []).append((row.score, row.doc_id))
    rankings = []
    for query_id, pairs in scored.items():
        pairs.sort(reverse=True)
        doc_ids, scores = [doc_id for _, doc_id in pairs], [score for score, _ in pairs]
        rankings.append(Ranking(query_id, tuple(doc_ids), tuple(scores)))
    return RunFile(tuple(rankings), tag)


def broken_line(file: str, number: int, problem: str) -> BadInputError:
    """The error for a line that cannot be read."""
    return BadInputError(f"{file}, line {number}: {problem}", "Correct that line.")


def _check(value: str, number: Callable[[str], float], message: str) -> None:
    try:
        fine = math.isfinite(number(value))
    except ValueError:
        fine = False
    if not fine:
        raise BadInputError(message, "Correct that line.")


def qrels_in(path: Path) -> JudgmentsFile:
    """The judgments of a folder: ``qrels.txt`` and what else it may be called.

    Raises:
        BadInputError: there is none, or a line of it cannot be read.
    """
    for name in ("qrels.txt.gz", "qrels.txt", "qrels.trec", "qrels"):
        file = path / name
        if file.is_file():
            content = file.read_bytes()
            if file.suffix == ".gz":
                content = _unpacked(content, file.name)
            return read_qrels(decoded(content, file.name), file.name, MOST_GRADE)
    raise BadInputError(f"{path} has topics but no qrels.", "Add TREC judgments as qrels.txt.")


def _unpacked(content: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise BadInputError(f"{name} cannot be unpacked ({error}).", "Pack it again.") from error
