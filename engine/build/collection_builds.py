"""Collections built for an attribute: begun, opened, run step by step, and as files."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.annotate.adjudication import DecidedQrels
from engine.annotate.annotation import Annotation
from engine.annotate.judgment_io import Form
from engine.annotate.projects import check_annotator, is_unread
from engine.build.build_records import Expanded, check_spec
from engine.build.opened_build import OpenBuild
from engine.build.steps import RunStep
from engine.collections.folders import OwnFolder
from engine.collections.judgment_formats import check_held, csv_lines
from engine.config import Settings, __version__
from engine.corpora.library import Library
from engine.corpora.recent import Recent
from engine.errors import BadInputError, UnknownNameError
from engine.llm.tasks import TaskRunner
from engine.permissions import all_for_leads, operator_only
from engine.types.builds import BUILD_STEPS, BuildSpec, BuildStep, Provenance, StepRequest
from storage.documents import Stored
from storage.ledger import Ledger

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
    grades, scale, relevant = _grades(build, expanded)
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
                grade >= relevant and doc_id not in one.doc_ids
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
                grades.get(one.query_id, {}).get(d) == max(scale) for d in one.doc_ids
            )
            for one in expanded
        },
        rejected={
            one.query_id: tuple(
                doc_id
                for doc_id in one.doc_ids
                if grades.get(one.query_id, {}).get(doc_id, max(scale)) < max(scale)
            )
            for one in expanded
        },
    )


def _grades(
    build: OpenBuild, expanded: Sequence[Expanded]
) -> tuple[Mapping[str, Mapping[str, int]], Sequence[int], int]:
    """query_id -> grades by document, as they count; the scale, and where relevant begins."""
    if not expanded:
        return {}, (), 0
    project = build.project()
    grades = build.annotation.exchange.qrels(project).grades
    return grades, project.scale.values, project.scale.relevant


def _checked(build: OpenBuild, expanded: Sequence[Expanded]) -> int:
    """Number of items that a model and a person graded."""
    if not expanded:
        return 0
    asked = {one.query_id for one in expanded}
    judgments = build.annotation.judgments(build.project())
    graded = [j for j in judgments if j.relevance is not None and j.query_id in asked]
    by_model = {j.item for j in graded if j.origin == "model" and not is_unread(j)}
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
    return OwnFolder(out, ABOUT, GENERATOR, "exported from a build").write(
        files, overwrite=overwrite
    )


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


# -- the facade ----------------------------------------------------------------------------------


@all_for_leads
class CollectionBuilds(TaskRunner[StepRequest, int]):
    """Collections built for an attribute; thread- and process-safe.

    ``items`` of an estimate are documents, clusters or candidates that are left. Steps without
    their input raise BadInputError, unknown names of corpora and builds UnknownNameError.
    """

    # jobs: in the background, by (corpus, build): :data:`StepJob`
    steps = BUILD_STEPS  # in the order in which they run

    def __init__(
        self, ledger: Ledger, settings: Settings, library: Library, annotation: Annotation
    ) -> None:
        super().__init__(settings, ledger.answers)
        self._ledger = ledger
        self._stored = ledger.documents("build", BuildSpec)
        self._library, self._annotation = library, annotation
        # Digests and vocabularies of two or three corpora.
        self._recent: Recent[Hashable, Any] = Recent(6)

    def names(self, corpus: str | None = None) -> list[tuple[str, str]]:
        """(corpus, name) of every build of a corpus that can be searched, the newest last."""
        there = self._library.names()
        specs = [stored.value for stored in self._stored.all(corpus)]
        return [(spec.corpus, spec.name) for spec in specs if spec.corpus in there]

    def open(self, corpus: str, name: str) -> OpenBuild:
        """A build, to read and to correct."""
        self._library.corpus(corpus)
        known = {stored.key: stored for stored in self._stored.all(corpus)}
        if name not in known:
            raise UnknownNameError(
                f"Corpus '{corpus}' has no build '{name}'.",
                f"It has {', '.join(known)}."
                if known
                else "Begin one on Build, or with: seedlens build new.",
            )
        return self._opened(known[name].value, known[name].owner, known[name].time)

    def _opened(self, spec: BuildSpec, author: str, time: datetime) -> OpenBuild:
        parts = self._ledger, self._library, self._annotation, self._recent
        return OpenBuild(spec, author, time, *parts)

    def save(self, spec: BuildSpec, author: str, before: BuildSpec | None = None) -> BuildSpec:
        """Create a build or change its settings; dependent results become stale. ``before`` is the
        version that was edited, None for any."""
        spec = check_spec(spec, self._library.lens(spec.corpus))
        build = self._opened(spec, check_annotator(author), datetime.now(UTC))
        build.check_name()

        def change(stored: Stored[BuildSpec] | None) -> BuildSpec | None:
            if before is not None and stored is not None and stored.value != before:
                raise BadInputError(
                    f"The build '{spec.name}' was changed by somebody else in the meantime.",
                    "Look at it again, and then change it.",
                )
            return None if stored is not None and stored.value == spec else spec

        self._stored.change(spec.name, change, build.author, spec.corpus)
        return spec

    def _task(self, request: StepRequest) -> RunStep:
        return RunStep(self.open(request.corpus, request.build), request)

    # -- what comes of it --------------------------------------------------------------

    def provenance(self, corpus: str, name: str) -> Provenance:
        """Where the collection comes from."""
        return provenance(self.open(corpus, name))

    def files(self, corpus: str, name: str) -> dict[str, bytes]:
        """The files of :meth:`export` by their paths in its folder."""
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "collection"
            paths = export(self.open(corpus, name), out)
            check_held(sum(path.stat().st_size for path in paths), "Use seedlens build export.")
            return {path.relative_to(out).as_posix(): path.read_bytes() for path in paths}

    @operator_only
    def export(
        self, corpus: str, name: str, out: Path, *, overwrite: bool = False
    ) -> tuple[Path, ...]:
        """Write the collection into a folder; see :func:`export`."""
        return export(self.open(corpus, name), out, overwrite=overwrite)
