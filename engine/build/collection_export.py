"""A build as files: the collection in a folder, and each step as a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.annotate.adjudication import DecidedQrels
from engine.annotate.judgment_io import Form
from engine.build.build_records import Expanded
from engine.build.opened_build import OpenBuild
from engine.collections.judgment_formats import csv_lines
from engine.config import __version__
from engine.errors import BadInputError
from engine.types.builds import BuildStep, Provenance
from storage.files import file_errors, write_whole

ABOUT = "provenance.json"
GENERATOR = "seedlens build"
DESCRIPTION = """\
Built from a corpus for an attribute, by the steps of OBLIQ-Bench (section 4): a model labelled \
each document, labels were collapsed into clusters, clusters put into words as queries, and what \
the documents of each cluster and what systems retrieved was graded against the query. Documents \
that state or report the attribute are distractors, unless `gold` is "both". A grade of a model \
counts where no person graded."""


def provenance(build: OpenBuild) -> Provenance:
    """Where a collection comes from."""
    state, labels, clusters = build.state(), build.labels(), build.clusters()
    asked, expanded = build.asked(), build.in_project()
    grades, scale = _grades(build, expanded)
    shares = [query.overlap.share for query in asked]
    return Provenance(
        spec=build.spec,
        author=build.author,
        time=build.time,
        labelled=sum(bool(label.text) for label in labels),
        without=sum(not label.text for label in labels),
        clusters=len(clusters),
        dropped=sum(cluster.dropped for cluster in clusters),
        queries=len(asked),
        overlap=sum(shares) / len(shares) if shares else 0.0,
        positives={one.query_id: len(one.doc_ids) for one in expanded},
        found={
            one.query_id: sum(
                grade > min(scale) and doc_id not in one.doc_ids
                for doc_id, grade in grades.get(one.query_id, {}).items()
            )
            for one in expanded
        },
        checked=_checked(build, expanded),
        edits={step.step: step.edits for step in state.steps},
        models={step.step: step.model for step in state.steps if step.model},
        expressions=dict(Counter(label.expression for label in labels if label.text)),
        confirmed={
            one.query_id: sum(
                grades.get(one.query_id, {}).get(doc_id) == max(scale) for doc_id in one.doc_ids
            )
            for one in expanded
        },
    )


def _grades(
    build: OpenBuild, expanded: Sequence[Expanded]
) -> tuple[Mapping[str, Mapping[str, int]], Sequence[int]]:
    """query_id -> grades by document, as they count, and the values of the scale."""
    if not expanded:
        return {}, ()
    project = build.project()
    return build.annotation.exchange.qrels(project).grades, project.scale.values


def _checked(build: OpenBuild, expanded: Sequence[Expanded]) -> int:
    """Number of items that a model and a person graded."""
    if not expanded:
        return 0
    asked = {one.query_id for one in expanded}
    judgments = build.annotation.judgments(build.project())
    graded = [j for j in judgments if j.relevance is not None and j.query_id in asked]
    by_model = {j.item for j in graded if j.origin == "model"}
    return len(by_model & {j.item for j in graded if j.origin != "model"})


# -- files -------------------------------------------------------------------------------------


def export(build: OpenBuild, out: Path, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write a collection into a folder: BEIR's layout, TREC's judgments, the provenance; returns
    the files."""
    spec, annotation, project = build.spec, build.annotation, build.project()
    asked = {one.query_id for one in build.in_project()}
    decided = annotation.exchange.qrels(project)
    ours = tuple(d for d in decided.decisions if d.query_id in asked)
    qrels = DecidedQrels(ours, decided.notes)
    if not any(qrels.grades.values()):
        raise BadInputError(
            f"No grade counts in the project '{spec.name}'.",
            "Judge some of its items, or let the grades of models count.",
        )
    queries, corpus = annotation.queries(project), build.corpus
    files = {
        name: pieces
        for kind in ("beir", "trec")
        for name, pieces in Form(kind, spec.name, queries, corpus).decided(qrels).files.items()
    }
    about = json.dumps(_about(provenance(build), [*files], qrels), ensure_ascii=False, indent=2)
    files[ABOUT] = [about + "\n"]
    with file_errors(out, "Name another folder."):
        before = _exported_before(out, overwrite=overwrite)
        # The description first: an interrupted export can be recognised and replaced.
        for name in (ABOUT, *(name for name in files if name != ABOUT)):
            pieces = files[name]
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(out / name, pieces)
        for name in before - files.keys():
            (out / name).unlink(missing_ok=True)
    return tuple(out / name for name in files)


def _about(made: Provenance, files: Sequence[str], qrels: DecidedQrels) -> dict[str, Any]:
    bases = sorted({decision.basis for decision in qrels.decisions})
    return {
        "generator": GENERATOR,
        "version": __version__,
        "description": DESCRIPTION,
        **json_fields(made),
        "judgments": sum(map(len, qrels.grades.values())),
        "basis": {basis: qrels.count(basis) for basis in bases},
        "files": list(files),
    }


def json_fields(record: Any) -> dict[str, Any]:
    """A record's fields as JSON has them: times as text, and the spec as ``lens``."""
    fields = json.loads(json.dumps(asdict(record), default=datetime.isoformat))
    return {"lens": fields.pop("spec"), **fields} if "spec" in fields else fields


def _exported_before(out: Path, *, overwrite: bool) -> set[str]:
    """Names of the files of an earlier export that is replaced."""
    if out.exists() and not out.is_dir():
        raise BadInputError(f"{out} is a file.", "Name a folder.")
    if not out.is_dir() or not any(out.iterdir()):
        return set()
    if not overwrite:
        raise BadInputError(
            f"{out} is not empty.", "Name a new folder, or add --overwrite to replace it."
        )
    paths: list[Path] | None = None
    with suppress(OSError, ValueError, KeyError, TypeError):
        about = json.loads((out / ABOUT).read_text("utf-8"))
        if about["generator"] == GENERATOR:
            paths = list(map(Path, about["files"]))
    if paths is None:
        raise BadInputError(
            f"{out} holds files that were not exported from a build (no {ABOUT} says so).",
            "Name another folder.",
        )
    return {str(path) for path in paths if ".." not in path.parts and not path.is_absolute()}


# -- tables ------------------------------------------------------------------------------------

SHEETS: Mapping[BuildStep, Sequence[str]] = {
    "label": ("doc_id", "label", "quote", "maker", "author", "title", "expression"),
    "collapse": ("cluster", "name", "dropped", "doc_id", "label", "title"),
    "verbalise": ("cluster", "query", "dropped", "overlap", "words", "documents", "name"),
}
"""Columns of each step's file."""


def sheet(build: OpenBuild, step: BuildStep, *, spreadsheet: bool = False) -> Iterator[str]:
    """The lines of a step's file, with ``spreadsheet`` formulas escaped."""
    names, rows = sheet_rows(build, step)
    fields = (dict(zip(names, row, strict=True)) for row in rows)
    return csv_lines(fields, names, spreadsheet=spreadsheet)


def sheet_rows(
    build: OpenBuild, step: BuildStep
) -> tuple[Sequence[str], Iterable[tuple[object, ...]]]:
    """Columns and rows of a step's table; BadInputError for "expand"."""
    if step not in SHEETS:
        raise BadInputError(
            f"The step '{step}' leaves judgments, which are no table here.",
            "Judge in its annotation project, or use seedlens qrels.",
        )
    corpus, names = build.corpus, SHEETS[step]

    def title(doc_id: str) -> str:
        return corpus.titles[corpus.row_of[doc_id]] if doc_id in corpus.row_of else ""

    rows: Iterable[tuple[object, ...]]
    if step == "label":
        rows = (
            (
                *(x.doc_id, x.text, x.quote, x.maker, x.author, title(x.doc_id)),
                x.expression if x.text else "",
            )
            for x in build.labels()
        )
    elif step == "collapse":
        labels = build.shown_labels()
        rows = (
            (c.key, c.name, "yes" if c.dropped else "no", i, labels.get(i, ""), title(i))
            for c in build.clusters()
            for i in c.doc_ids
        )
    else:
        clusters = {cluster.key: cluster.name for cluster in build.clusters()}
        rows = (
            (
                *(q.key, q.text, "yes" if q.dropped else "no", f"{q.overlap.share:.3f}"),
                *(" ".join(q.overlap.words), len(q.doc_ids), clusters[q.key]),
            )
            for q in build.queries()
        )
    return names, rows
