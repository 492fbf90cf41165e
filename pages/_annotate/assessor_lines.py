"""A model that grades, in words: what it takes, how far it is, where people differ from it."""

from __future__ import annotations

import html

from engine.types.annotating import Scale
from engine.types.documents import Document
from engine.types.grading import GradingDifference, GradingEstimate, GradingJob, GradingReport
from engine.types.lenses import Lens
from engine.types.plurals import counted
from pages._annotate.decide import card_html
from pages._common.document_view import shortened
from pages._library.library_page import time_left
from pages._model.model_lines import ENDS, at_most, duration, joined, spent, tokens


def estimate_line(estimate: GradingEstimate) -> str:
    """``360 candidates of 12 queries: at most 360 calls, 0.42 M tokens.``"""
    sentences = []
    if estimate.candidates:
        queries = counted(estimate.queries, "query", "queries")
        sentences.append(
            f"{counted(estimate.candidates, 'candidate')} of {queries}: {at_most(estimate)}."
        )
    else:
        sentences.append("Nothing is left to grade.")
    if estimate.done:
        have = "has" if estimate.done == 1 else "have"
        sentences.append(f"{estimate.done:,} {have} its grade already.")
    if estimate.judged:
        are = "is left to the people who graded it" if estimate.judged == 1 else (
            "are left to the people who graded them"
        )  # fmt: skip
        sentences.append(f"{estimate.judged:,} {are}.")
    if estimate.without_anchors and estimate.request.anchors:
        which = "1 query has" if estimate.without_anchors == 1 else (
            f"{estimate.without_anchors:,} queries have"
        )  # fmt: skip
        sentences.append(
            f"{which} no document known to be relevant: there it goes by query and guidelines."
        )
    return " ".join(sentences)


def unconnected_line(estimate: GradingEstimate) -> str:
    """What could be graded, while nobody knows by which model."""
    queries = counted(estimate.queries, "query", "queries")
    have = "has" if estimate.candidates == 1 else "have"
    return (
        f"{counted(estimate.candidates, 'candidate')} of {queries} {have} no grade by people. "
        "Connect a language model first."
    )


def progress_line(job: GradingJob) -> str:
    """Candidates done of total, calls, tokens, time, in one line of HTML."""
    progress = job.progress
    if not progress.total:
        return joined([f"{progress.annotator}: preparing", duration(job.seconds)])
    parts = [
        f"{progress.annotator}: {progress.done:,} of {counted(progress.total, 'candidate')} graded",
        counted(progress.calls, "call"),
        tokens(progress.tokens),
    ]
    if progress.failed:
        parts.append(f"{progress.failed:,} without a usable answer")
    parts.append(duration(job.seconds))
    if not job.stopping and 0 < progress.done < progress.total:
        parts.append(time_left(progress.seconds_left))
    return joined(parts)


def outcome_line(report: GradingReport) -> str:
    """How a run ended and what it did, in one line of HTML."""
    each = ", ".join(f"{number:,} × {value}" for value, number in report.grades.items() if number)
    parts = [
        f"{report.annotator}: {ENDS[report.stopped].lower()}",
        f"{counted(report.graded, 'candidate')} graded{f' ({each})' if each else ''}",
    ]
    if report.changed:
        parts.append(f"{report.changed:,} otherwise than before")
    if report.left:
        parts.append(f"{report.left:,} not reached")
    if report.failed:
        parts.append(f"{report.failed:,} without a usable answer: asked again next time")
    return joined([*parts, *spent(report), duration(report.seconds)])


def difference_html(
    found: GradingDifference,
    scale: Scale,
    asked: str,
    document: Document | None,
    lens: Lens,
    model: str,
) -> str:
    """What people and the model said of one item, side by side; all of it is escaped.

    Args:
        asked: what the query is, in a few words.
        document: None when the corpus does not hold it any more.
    """
    names = {grade.value: grade.name for grade in scale.grades}
    notes = "".join(
        f'<p class="note">{html.escape(who)}: {html.escape(note)}</p>'
        for who, note in found.notes.items()
    )
    title = found.doc_id if document is None else document.title or shortened(document.text)
    whole = (
        ""
        if document is None
        else f"<details><summary>Read it</summary>"
        f"{card_html('Candidate', document, lens, set())}</details>"
    )
    boxes = "".join(
        f'<div><div class="who">{html.escape(who)}</div><div class="grade">{grade} · '
        f"{html.escape(names.get(grade, ''))}</div>{more}</div>"
        for who, grade, more in (
            (", ".join(found.annotators), found.people, notes),
            (f"{model} (a model)", found.model, f'<p class="note">{html.escape(found.reason)}</p>'),
        )
    )
    return (
        f'<section class="sl-differ"><div class="title">{html.escape(title)}</div>'
        f'<div class="sl-facts">{html.escape(asked)}</div>'
        f'<div class="sl-said">{boxes}</div>{whole}</section>'
    )
