"""The facade over collections built from a lens: what pages and the command line call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from engine.annotate.annotation import Annotation
from engine.annotate.projects import check_annotator
from engine.build.build_estimates import StepEstimator
from engine.build.build_records import check_lens
from engine.build.build_store import BuildStore, step_states
from engine.build.clustering import dropped as dropping
from engine.build.clustering import merged, split
from engine.build.collection_export import export, provenance
from engine.build.corrections import Corrections
from engine.build.expanding import candidates, check_name, project_of
from engine.build.labelling import TellStep
from engine.build.sheets import sheet, take_in
from engine.build.steps import Runner, check_step
from engine.build.verbalising import Vocabularies
from engine.config import Settings
from engine.corpora.library import Library
from engine.errors import CorpusBusyError
from engine.jobs.runner import JobRunner, in_foreground
from engine.llm.connecting import connect, describe
from engine.llm.endpoints import Endpoint
from engine.types.annotating import Project
from engine.types.builds import (
    BUILD_STEPS,
    BuildLens,
    BuildQuery,
    BuildState,
    BuildStep,
    Cluster,
    Label,
    Overlap,
    Provenance,
    StepEstimate,
    StepProgress,
    StepReport,
)
from engine.types.callbacks import Ask, tell_nobody
from storage.home import Home
from storage.ledger import Ledger


class LensBuilds:
    """Collections built from a lens. Safe to share between threads and processes.

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
        self._settings, self._answers = settings, ledger.answers
        self._library, self._annotation = library, annotation
        self._store = BuildStore(ledger.builds, library)
        vocabularies = Vocabularies()
        self._corrections = Corrections(self._store, vocabularies)
        self._runner = Runner(home, ledger, self._store, annotation, vocabularies)
        self._estimator = StepEstimator(self._store, annotation, ledger.answers)
        self.jobs = JobRunner()

    # -- what there is -----------------------------------------------------------------

    def names(self, corpus: str | None = None) -> list[tuple[str, str]]:
        """(corpus, name) of every build of a corpus that can be searched, the newest last."""
        there = self._library.names()
        return [pair for pair in self._store.names(corpus) if pair[0] in there]

    def save(self, lens: BuildLens, author: str) -> BuildLens:
        """Begin a build, or change its lens; what rested on what changed is stale from then on.

        Raises:
            UnknownNameError: no such corpus, aspect or system.
            BadInputError: a name, text or number that cannot be used, see :func:`check_lens`; an
                annotation project that is not this build's has the name.
        """
        checked = check_lens(lens, self._library.lens(lens.corpus))
        check_name(self._store, self._annotation, checked)
        self._store.put(checked, check_annotator(author), datetime.now(UTC))
        return checked

    def state(self, corpus: str, name: str) -> BuildState:
        """How a build stands."""
        saved = self._store.saved(corpus, name)
        graded = candidates(self._annotation, saved.lens, self._store.expanded(saved.lens))
        steps = step_states(self._store, saved.lens, graded)
        return BuildState(saved.lens, saved.author, saved.time, steps)

    # -- labels ------------------------------------------------------------------------

    def labels(self, corpus: str, name: str) -> list[Label]:
        """Every labelled document, in the order of the corpus."""
        return self._store.labels(self._store.lens(corpus, name))

    def set_labels(self, corpus: str, name: str, changes: Mapping[str, str], author: str) -> int:
        """Keep a person's labels ("": the document does not show it); see :class:`Corrections`."""
        return self._corrections.set_labels(self._store.lens(corpus, name), changes, author)

    # -- clusters ----------------------------------------------------------------------

    def clusters(self, corpus: str, name: str) -> list[Cluster]:
        """The clusters, the largest first; those whose size takes them out are ``dropped``."""
        return self._store.clusters(self._store.lens(corpus, name))

    def edit_clusters(
        self, corpus: str, name: str, clusters: Sequence[Cluster], author: str
    ) -> None:
        """Keep the whole list as a person left it; a cluster without a known key is new.

        Raises:
            UnknownNameError, BadInputError: a document twice, unknown or gone; no name.
        """
        lens = self._store.lens(corpus, name)
        self._corrections.change_clusters(lens, lambda _: clusters, author)

    def merge(
        self, corpus: str, name: str, keys: Sequence[str], into_name: str, author: str
    ) -> None:
        """Put clusters together; see :func:`engine.build.clustering.merged`."""
        lens = self._store.lens(corpus, name)
        self._corrections.change_clusters(lens, partial(merged, keys=keys, name=into_name), author)

    def split(
        self, corpus: str, name: str, key: str, doc_ids: Sequence[str], new_name: str, author: str
    ) -> None:
        """Put some documents of a cluster into a new one."""
        lens = self._store.lens(corpus, name)
        change = partial(split, key=key, doc_ids=doc_ids, name=new_name)
        self._corrections.change_clusters(lens, change, author)

    def drop(self, corpus: str, name: str, key: str, dropped: bool, author: str) -> None:
        """Take a cluster out, or back in; BadInputError when its size takes it out."""
        lens = self._store.lens(corpus, name)
        change = partial(dropping, key=key, is_dropped=dropped, lens=lens)
        self._corrections.change_clusters(lens, change, author)

    # -- queries -----------------------------------------------------------------------

    def queries(self, corpus: str, name: str) -> list[BuildQuery]:
        """The queries of the clusters that become one, in the clusters' order."""
        return self._store.queries(self._store.lens(corpus, name))

    def set_query(
        self,
        corpus: str,
        name: str,
        key: str,
        author: str,
        *,
        text: str | None = None,
        dropped: bool | None = None,
    ) -> BuildQuery:
        """Word a query, take it out or back in; its overlap is computed anew."""
        return self._corrections.set_query(
            self._store.lens(corpus, name), key, author, text, dropped
        )

    def overlap(self, corpus: str, name: str, key: str, text: str) -> Overlap:
        """How far a wording would give the documents of a cluster away."""
        return self._corrections.overlap(self._store.lens(corpus, name), key, text)

    # -- as files ----------------------------------------------------------------------

    def sheet(self, corpus: str, name: str, step: BuildStep) -> Iterator[str]:
        """What a step made as the lines of a CSV file; BadInputError for "expand"."""
        return sheet(self._store, self._store.lens(corpus, name), step)

    def take_in(
        self, corpus: str, name: str, step: BuildStep, text: str, file: str, author: str
    ) -> int:
        """Keep what a person changed in such a file, all of it or nothing; returns how much.

        Raises:
            BadInputError, UnknownNameError: with file and line.
        """
        lens = self._store.lens(corpus, name)
        return take_in(self._store, self._corrections, lens, step, text, file, author)

    # -- running the steps -------------------------------------------------------------

    def estimate(
        self,
        corpus: str,
        name: str,
        step: BuildStep,
        endpoint: Endpoint | None = None,
    ) -> StepEstimate:
        """What a step would ask of the model at most; nothing is asked.

        Raises:
            BadInputError: what the step rests on is not there yet.
        """
        lens = self._store.lens(corpus, name)
        check_step(self._store, lens, step)
        info = describe(self._settings, self._answers, endpoint)
        connection = connect(self._settings, endpoint) if info.set_up else None
        return self._estimator.estimate(lens, step, connection)

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
        start = StepProgress(step=step)
        job_id, begun = self.jobs.start((corpus, name), work, start, request=step, owner=author)
        if not begun and self.jobs.job(job_id).request != step:
            raise CorpusBusyError(
                f"Another step of '{name}' is under way.", "Wait until it is done, or cancel it."
            )
        return job_id

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
        lens, author = self._store.lens(corpus, name), check_annotator(author)
        check_step(self._store, lens, step)
        info = describe(self._settings, self._answers, endpoint)
        connection = None
        if info.set_up or step != "collapse":  # which can do without
            connection = connect(self._settings, endpoint, most_calls)
        return partial(self._runner.run, lens, step, author, connection)

    # -- what comes of it --------------------------------------------------------------

    def provenance(self, corpus: str, name: str) -> Provenance:
        """Where the collection comes from, as it stands."""
        return provenance(self._store, self._annotation, self.state(corpus, name))

    def project(self, corpus: str, name: str) -> Project:
        """The annotation project that the build became; UnknownNameError before "expand"."""
        lens = self._store.lens(corpus, name)
        return project_of(self._annotation, lens, self._store.expanded(lens))

    def export(
        self, corpus: str, name: str, out: Path, *, overwrite: bool = False
    ) -> tuple[Path, ...]:
        """Write the collection into a folder: BEIR's layout, TREC's judgments, the provenance.

        Returns:
            the files.

        Raises:
            UnknownNameError: it was not expanded yet.
            BadInputError: the folder is not empty and ``overwrite`` is False, or it holds
                something else; it has no judgments; an id that the formats cannot hold.
            StorageError: nothing can be written there. What was there stays, in any case.
        """
        found = provenance(self._store, self._annotation, self.state(corpus, name))
        return export(self._store, self._annotation, found, out, overwrite=overwrite)
