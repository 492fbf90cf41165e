"""TREC judgments and runs that people bring: read strictly, every problem named by its line."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ir_measures
import numpy as np

from engine.collections.grade_book import JudgmentsFile, broken_line, read_grades
from engine.collections.judgment_formats import columns_of, content_of, decoded, judgment_rows
from engine.errors import BadInputError
from engine.types.evaluations import Qrels
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


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run: one ranking per query, best first, and the tag of its first line."""

    rankings: tuple[Ranking, ...]
    tag: str


def read_qrels(text: str, file: str) -> JudgmentsFile:
    """Read the judgments of a file, see :func:`judgment_rows`; empty lines are skipped.

    Args:
        file: its name, for errors.

    Raises:
        BadInputError: names file, line and remedy.
    """
    judgments = read_grades(judgment_rows(text), file)
    if not judgments.qrels:
        raise BadInputError(f"{file} has no judgments.", "Add lines 'query_id 0 doc_id relevance'.")
    return judgments


def read_run(text: str, file: str) -> RunFile:
    """Read ``query_id Q0 doc_id rank score tag`` lines; the score alone decides the order.

    Equal scores are ordered by doc_id backwards, as trec_eval does it, to which
    scores are equal that are the same 32-bit number.

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
        with np.errstate(over="ignore"):  # beyond the largest it is infinite in trec_eval, too
            pairs.sort(key=_as_trec_eval, reverse=True)
        doc_ids, scores = [doc_id for _, doc_id in pairs], [score for score, _ in pairs]
        rankings.append(Ranking(query_id, tuple(doc_ids), tuple(scores)))
    return RunFile(tuple(rankings), tag)


def _as_trec_eval(pair: tuple[float, str]) -> tuple[float, str]:
    score, doc_id = pair
    return float(np.float32(score)), doc_id


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
            return read_qrels(decoded(content_of(file), file.name), file.name)
    raise BadInputError(f"{path} has topics but no qrels.", "Add TREC judgments as qrels.txt.")


# -- writing -----------------------------------------------------------------------------------


def trec_lines(qrels: Qrels) -> Iterator[str]:
    """``query_id 0 doc_id relevance``; BadInputError for an id with white space in it."""
    for query_id, grades in qrels.items():
        for doc_id, grade in grades.items():
            for name in (query_id, doc_id):
                if len(name.split()) != 1:
                    raise BadInputError(
                        f"The id '{name}' holds white space, which TREC files cannot.",
                        "Use --format csv or jsonl.",
                    )
            yield f"{query_id} 0 {doc_id} {grade}\n"
