"""TREC judgments and runs, and the rule by which grades of all formats are read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.collections.judgment_formats import (
    JUDGMENT_NAMES,
    Rows,
    columns_of,
    content_of,
    decoded,
    judgment_rows,
)
from engine.errors import BadInputError
from engine.text import counted
from engine.types.evaluations import Qrels
from engine.types.limits import HIGHEST_GRADE
from engine.types.searches import Ranking

# -- judgments ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JudgmentsFile:
    """Judgments, and notes on oddities of their file."""

    qrels: Qrels
    warnings: tuple[str, ...] = ()


def grade_of(value: str) -> int:
    """A grade as a number, grades below 0 (spam in TREC's files) as 0; ValueError.

    >>> grade_of("2.0"), grade_of("-2")
    (2, 0)
    """
    number = float(value)
    if not number.is_integer():
        raise ValueError(value)
    return max(0, int(number))


def check_grade(value: str, where: str, most: int) -> int:
    """:func:`grade_of`, at most ``most``; errors begin with ``where``."""
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


def broken_line(file: str, number: int, problem: str) -> BadInputError:
    """The error for a line that cannot be read."""
    return BadInputError(f"{file}, line {number}: {problem}", "Correct that line.")


def read_grades(rows: Rows, file: str) -> JudgmentsFile:
    """The judgments of a file of any format; BadInputError where a line is broken."""
    qrels: dict[str, dict[str, int]] = {}
    first: dict[tuple[str, str], int] = {}
    repeats = []
    for number, row in rows:
        if isinstance(row, str):
            raise broken_line(file, number, row)
        query_id, doc_id, value = (str(row.get(name) or "") for name in JUDGMENT_NAMES)
        if not query_id or not doc_id:
            raise broken_line(file, number, "It names no query and document.")
        grade = check_grade(value, f"{file}, line {number}", HIGHEST_GRADE)
        earlier = first.setdefault((query_id, doc_id), number)
        known = qrels.setdefault(query_id, {}).setdefault(doc_id, grade)
        if known != grade:
            raise BadInputError(
                f"{file}, lines {earlier} and {number}: document '{doc_id}' has grade "
                f"{known} and grade {grade} for query '{query_id}'.",
                "Keep one of the two.",
            )
        if earlier != number:
            repeats.append(number)
    if not repeats:
        return JudgmentsFile(qrels)
    what = counted(len(repeats), "line repeats", "lines repeat")
    warning = f"{file}: {what} a judgment with the same grade (first: line {repeats[0]})."
    return JudgmentsFile(qrels, (warning,))


def read_qrels(text: str, file: str) -> JudgmentsFile:
    """The judgments of a file in any format of :func:`judgment_rows`; ``file`` is its name."""
    judgments = read_grades(judgment_rows(text), file)
    if not judgments.qrels:
        raise BadInputError(f"{file} has no judgments.", "Add lines 'query_id 0 doc_id relevance'.")
    return judgments


def qrels_in(path: Path) -> JudgmentsFile:
    """The judgments of a folder, in ``qrels.txt`` or under another usual name."""
    for name in ("qrels.txt.gz", "qrels.txt", "qrels.trec", "qrels"):
        file = path / name
        if file.is_file():
            return read_qrels(decoded(content_of(file), name), name)
    raise BadInputError(f"{path} has topics but no qrels.", "Add TREC judgments as qrels.txt.")


def trec_lines(qrels: Qrels) -> Iterator[str]:
    """``query_id 0 doc_id relevance``; BadInputError for an id with white space."""
    for query_id, grades in qrels.items():
        for doc_id, grade in grades.items():
            _check_ids((query_id, doc_id), "Use --format csv or jsonl.")
            yield f"{query_id} 0 {doc_id} {grade}\n"


def _check_ids(names: Iterable[str], remedy: str) -> None:
    for name in names:
        if len(name.split()) != 1:
            raise BadInputError(
                f"The id '{name}' holds white space, which TREC files cannot.", remedy
            )


# -- runs --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run: one ranking per query, best first, and the tag of its first line."""

    rankings: tuple[Ranking, ...]
    tag: str


def write_run(rankings: Sequence[Ranking], path: Path | str, system: str) -> None:
    """Write a TREC run file: query_id Q0 doc_id rank score system, ranks from 1."""
    with Path(path).open("w", encoding="utf-8") as out:
        out.writelines(run_lines(rankings, system))


def run_lines(rankings: Sequence[Ranking], system: str) -> Iterator[str]:
    """The lines of a TREC run; BadInputError for an id with white space."""
    for ranking in rankings:
        _check_ids(
            (ranking.query_id, *ranking.doc_ids), "Import the documents with ids without spaces."
        )
        pairs = zip(ranking.doc_ids, _falling(ranking.scores), strict=True)
        for rank, (doc_id, score) in enumerate(pairs, start=1):
            yield f"{ranking.query_id} Q0 {doc_id} {rank} {score:.9g} {system}\n"


def _falling(scores: Iterable[float]) -> Iterator[float]:
    """The scores, equal ones one 32-bit step apart.

    trec_eval reads scores as 32-bit numbers, ignores ranks, and breaks ties by doc_id backwards.
    """
    last = np.float32(np.inf)
    for score in scores:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        yield float(last)


def read_run(text: str, file: str) -> RunFile:
    """Read ``query_id Q0 doc_id rank score tag`` lines.

    As in trec_eval, the score alone decides the order, and scores that are equal as 32-bit numbers
    are ordered by doc_id backwards.
    """
    scored: dict[str, dict[str, float]] = {}
    tag = ""
    for number, fields, problem in columns_of(text, 6, "query_id Q0 doc_id rank score tag"):
        if problem:
            raise broken_line(file, number, problem)
        query_id, _, doc_id, _, score, own = fields
        scores = scored.setdefault(query_id, {})
        if doc_id in scores:
            raise broken_line(file, number, f"query '{query_id}' ranks '{doc_id}' twice.")
        with suppress(ValueError):
            scores[doc_id] = float(score)
        if not math.isfinite(scores.get(doc_id, math.nan)):
            raise broken_line(file, number, f"the score '{score}' is not a number.")
        tag = tag or own
    if not scored:
        raise BadInputError(
            f"{file} has no lines.", "Give a run: 'query_id Q0 doc_id rank score tag'."
        )
    rankings = []
    for query_id, scores in scored.items():
        with np.errstate(over="ignore"):  # infinite as a 32-bit number, as in trec_eval
            order = sorted(scores, key=lambda d: (float(np.float32(scores[d])), d), reverse=True)
        rankings.append(Ranking(query_id, tuple(order), tuple(scores[d] for d in order)))
    return RunFile(tuple(rankings), tag)
