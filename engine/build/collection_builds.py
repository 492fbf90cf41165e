"""Collections built for an attribute: begun, opened, run step by step, exported."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from engine.annotate.annotation import Annotation
from engine.annotate.judgment_io import check_held
from engine.annotate.projects import check_annotator
from engine.build.build_estimates import estimate_step
from engine.build.build_records import check_spec, spec_from_json, spec_to_json
from engine.build.collection_export import export, provenance
from engine.build.labelling import TellStep
from engine.build.opened_build import OpenBuild
from engine.build.steps import check_step, run_step
from engine.config import Settings
from engine.corpora.library import Library
from engine.corpora.recent import Recent
from engine.errors import BadInputError, UnknownNameError
from engine.jobs.runner import JobRunner, in_foreground
from engine.llm.connecting import connect, describe
from engine.llm.endpoints import Endpoint
from engine.permissions import all_for_leads, operator_only
from engine.types.builds import (
    BUILD_STEPS,
    BuildSpec,
    BuildStep,
    Provenance,
    StepEstimate,
    StepProgress,
    StepReport,
)
from engine.types.callbacks import Ask, tell_nobody
from engine.types.people import ForPerson
from storage.builds import BuildRow
from storage.home import Home
from storage.ledger import Ledger


@all_for_leads
class CollectionBuilds(ForPerson):
    """Collections built for an attribute. Safe to share between threads and processes.

    Everything that the steps make and people change is kept in the ledger, append-only.
    What names a corpus and a build raises UnknownNameError when there is none.

    Attributes:
        steps: in the order in which they run.
        jobs: steps in the background, by (corpus, build): ``Job[StepProgress, StepReport]``.
    """

    steps = BUILD_STEPS

    def __init__(
        self,
        home: Home,
        ledger: Ledger,
        settings: Settings,
        library: Library,
        annotation: Annotation,
    ) -> None:
        self._home, self._ledger, self._settings = home, ledger, settings
        self._library, self._annotation = library, annotation
        # Digests and vocabularies of two or three corpora.
        self._recent: Recent[Hashable, Any] = Recent(6)
        self.jobs = JobRunner()

    def names(self, corpus: str | None = None) -> list[tuple[str, str]]:
        """(corpus, name) of every build of a corpus that can be searched, the newest last."""
        there = self._library.names()
        rows = self._ledger.builds.all()
        return [
            (r.corpus, r.build) for r in rows if r.corpus in there and corpus in (None, r.corpus)
        ]

    def open(self, corpus: str, name: str) -> OpenBuild:
        """A build, to read and to correct.

        Raises:
            UnknownNameError: no such corpus or build; names those that there are.
        """
        self._library.corpus(corpus)
        known = {row.build: row for row in self._ledger.builds.all() if row.corpus == corpus}
        if name not in known:
            raise UnknownNameError(
                f"Corpus '{corpus}' has no build '{name}'.",
                f"It has {', '.join(known)}."
                if known
                else "Begin one on Build, or with: seedlens build new.",
            )
        row = known[name]
        return self._opened(spec_from_json(row.settings), row.author, row.time)

    def _opened(self, spec: BuildSpec, author: str, time: datetime) -> OpenBuild:
        rows = self._ledger.builds
        return OpenBuild(spec, author, time, rows, self._library, self._annotation, self._recent)

    def save(self, spec: BuildSpec, author: str, before: BuildSpec | None = None) -> BuildSpec:
        """Begin a build, or change its settings; what rested on what changed becomes stale.

        Args:
            before: the settings that were changed; None for whatever there are.

        Raises:
            UnknownNameError: no such corpus, aspect or system.
            BadInputError: a name, text or number that cannot be used, see :func:`check_spec`; an
                annotation project that is not this build's has the name; or somebody changed the
                settings since they were ``before``.
        """
        spec = check_spec(spec, self._library.lens(spec.corpus))
        build = self._opened(spec, check_annotator(author), datetime.now(UTC))
        build.check_name()
        text = spec_to_json(spec)
        latest = {(r.corpus, r.build): r.settings for r in build.rows.all()}
        stands = latest.get((spec.corpus, spec.name))
        if before is not None and stands is not None and spec_from_json(stands) != before:
            raise BadInputError(
                f"The build '{spec.name}' was changed by somebody else in the meantime.",
                "Look at it again, and then change it.",
            )
        if stands != text:
            build.rows.put(BuildRow(spec.corpus, spec.name, text, build.author, build.time))
        return spec

    # -- running the steps -------------------------------------------------------------

    def estimate(
        self, corpus: str, name: str, step: BuildStep, endpoint: Endpoint | None = None
    ) -> StepEstimate:
        """What a step would ask of the model at most; nothing is asked.

        Raises:
            BadInputError: what the step rests on is not there yet.
        """
        build = self.open(corpus, name)
        check_step(build, step)
        info = describe(self._settings, self._ledger.answers, endpoint)
        connection = connect(self._settings, endpoint, person=self.person) if info.set_up else None
        return estimate_step(build, step, connection, self._ledger.answers)

    def start(
        self,
        corpus: str,
        name: str,
        step: BuildStep,
        author: str,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
    ) -> str:
        """Run a step in the background; returns the id of the job, which :attr:`jobs` keeps.

        The step that is under way already is not begun again: it is that job's id.

        Raises:
            NoEndpointError: the step needs a model, and none is set up; says how to.
            CorpusBusyError: another step of the build is under way.
            BadInputError: what the step rests on is not there yet.
        """
        work = self._prepared(corpus, name, step, author, endpoint, most_calls)
        return self.jobs.start(
            (corpus, name), work, StepProgress(step=step), request=step, owner=author,
            busy=f"Another step of '{name}' is under way.",
        )  # fmt: skip

    def run(
        self,
        corpus: str,
        name: str,
        step: BuildStep,
        author: str,
        *,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        tell: TellStep = tell_nobody,
    ) -> StepReport:
        """Run a step now. Ctrl-C ends it after the batch at hand; a second one is a
        KeyboardInterrupt.

        Raises:
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            CorpusBusyError: another process is running a step of this build.
            NoEndpointError, BadInputError: as :meth:`start`.
        """
        work = self._prepared(corpus, name, step, author, endpoint, most_calls)
        return in_foreground(lambda cancelled: work(tell, cancelled))

    def _prepared(
        self,
        corpus: str,
        name: str,
        step: BuildStep,
        author: str,
        endpoint: Endpoint | None,
        most_calls: int | None,
    ) -> Callable[[TellStep, Ask], StepReport]:
        build, author = self.open(corpus, name), check_annotator(author)
        check_step(build, step)
        info = describe(self._settings, self._ledger.answers, endpoint)
        connection = None
        if info.set_up or step != "collapse":  # which can do without
            connection = connect(self._settings, endpoint, most_calls, self.person)
            connection = connection.within(self.estimate(corpus, name, step, endpoint))
        return partial(run_step, self._home, self._ledger, build, step, author, connection)

    # -- what comes of it --------------------------------------------------------------

    def provenance(self, corpus: str, name: str) -> Provenance:
        """Where the collection comes from, as it stands."""
        return provenance(self.open(corpus, name))

    def files(self, corpus: str, name: str) -> dict[str, bytes]:
        """The files of :meth:`export` by their paths in its folder; raises as it does and as
        :func:`engine.annotate.judgment_io.check_held`."""
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
