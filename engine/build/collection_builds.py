"""Collections built for an attribute: begun, opened, run step by step, exported."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.annotate.annotation import Annotation
from engine.annotate.projects import check_annotator
from engine.build.build_records import RESULTS, check_spec
from engine.build.collection_export import export, provenance
from engine.build.opened_build import OpenBuild
from engine.build.steps import RunStep
from engine.collections.judgment_formats import check_held
from engine.config import Settings
from engine.corpora.library import Library
from engine.corpora.recent import Recent
from engine.errors import BadInputError, UnknownNameError
from engine.llm.tasks import TaskRunner
from engine.permissions import all_for_leads, operator_only
from engine.types.builds import (
    BUILD_STEPS,
    BuildSpec,
    Provenance,
    StepRequest,
)
from storage.documents import Stored
from storage.ledger import Ledger


@all_for_leads
class CollectionBuilds(TaskRunner[StepRequest, int]):
    """Collections built for an attribute; thread- and process-safe.

    ``items`` of an estimate are documents, clusters or candidates that are left. Steps without
    their input raise BadInputError, unknown names of corpora and builds UnknownNameError.
    """

    # jobs: in the background, by (corpus, build): :data:`StepJob`
    steps = BUILD_STEPS  # in the order in which they run

    def __init__(
        self,
        ledger: Ledger,
        settings: Settings,
        library: Library,
        annotation: Annotation,
    ) -> None:
        super().__init__(settings, ledger.answers)
        self._ledger = ledger
        self._stored = ledger.documents("build", BuildSpec)
        self._results = {step: ledger.documents(f"build {step}", r) for step, r in RESULTS.items()}
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
        stored = self._ledger.builds, self._results
        return OpenBuild(
            *(spec, author, time, *stored, self._library, self._annotation, self._recent)
        )

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
        build = self.open(request.corpus, request.build)
        return RunStep(build, request, self._ledger)

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
        """Write the collection into a folder; see :func:`.collection_export.export`."""
        return export(self.open(corpus, name), out, overwrite=overwrite)
