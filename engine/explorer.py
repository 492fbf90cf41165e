"""The facade: the one object that pages and the command line call."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from engine.annotate.annotation import Annotation
from engine.annotate.notebook import Notebook
from engine.ask.reader import Reader
from engine.assist.assistant import Assistant
from engine.build.collection_builds import CollectionBuilds
from engine.build.opened_build import OpenBuild as OpenBuild  # pages are handed it
from engine.compare.comparisons import Comparisons
from engine.compare.sensitivity_table import sensitivity
from engine.config import DEMO_CORPUS, Settings
from engine.corpora.library import MOST_OPEN, Library
from engine.corpora.registry import adding, home_of
from engine.errors import BadInputError, CorpusBusyError, SeedLensError, StorageError
from engine.evaluate.analysis import Analysis
from engine.evaluate.collection_store import CollectionStore
from engine.evaluate.evaluation_run import evaluate
from engine.evaluate.evaluations import Evaluations
from engine.evaluate.gaps import Gaps
from engine.evaluate.human import human_rows
from engine.facts import find_facts
from engine.lenses.embedded_texts import EmbeddedTexts
from engine.lenses.instructions import LensWords
from engine.lenses.variants import ALL_SETS, SETS
from engine.maps.facade import Maps
from engine.numeric import FloatArray
from engine.permissions import check_operator, leads_only, operator_only
from engine.scenarios.facade import Scenarios
from engine.search.finding import find_documents
from engine.search.interpretation import lens_words, load_network
from engine.search.queries import check_held, parse_filters, parse_reading
from engine.search.searcher import Searcher
from engine.search.systems import PREPARED, READ_STEER, SYSTEMS, find_system, reads_wording
from engine.text import size
from engine.tuning.pair_grading import PairGrading
from engine.types.annotating import Project
from engine.types.comparisons import Sensitivity
from engine.types.documents import Document, Fact
from engine.types.encoders import Encoder, Passage
from engine.types.evaluations import Collection, Evaluation, SystemScores
from engine.types.lenses import Lens
from engine.types.people import OPERATOR, ForPerson, Person, acting_as
from engine.types.searches import SELECTION, Facets, Filter, FoundDocument, Query, SearchResults
from storage.ledger import Ledger
from storage.selections import write_selection

log = logging.getLogger("seedlens")
DEMO_SEED = "demo-0232"


class Explorer(ForPerson):
    """SeedLens over one home. Safe to share between threads.

    Attributes:
        library: the corpora: importing, listing, deleting.
        notebook: grades, trails, kept documents.
        comparing: wordings side by side.
        maps: the documents of a corpus in the plane.
        collections: test collections, and judgments and runs that people uploaded.
        evaluations: how systems do on a test collection.
        analysis: queries in SQL over a corpus, and over what was judged and measured on it.
        gaps: how much better a model recognises what is relevant than systems find it.
        verifier: what a language model adds, where one is connected.
        annotation: projects, pools, queues and judgments.
        builds: test collections made from a corpus and an attribute of its documents.
        reader: questions answered from the documents, where a model is connected.
        scenarios: what documents are of use for, written beforehand.
        pair_grading: pairs of documents graded by aspect, for an encoder to learn from.
        person: for whom it acts; see :meth:`acting_as`.
        systems: those that every corpus has; :meth:`systems_of` has those of one.
        known_systems: all that a corpus may have.
        model_systems: those that need a language model.
        rerank_modes: how a model reranks: name -> one line for people.
        wording_sets: built-in wordings that a whole collection can be asked in.
    """

    demo_corpus = DEMO_CORPUS
    systems = tuple(SYSTEMS)
    known_systems = (*SYSTEMS, *PREPARED)
    model_systems = Assistant.systems
    rerank_modes = Assistant.modes
    wording_sets = ALL_SETS

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.home = home_of(self.settings)
        try:
            self.home.create()
        except StorageError as error:
            if not os.access(self.home.ledger, os.R_OK):
                raise
            log.warning("%s What is there can be searched.", error.message)
        self._ledger = Ledger(
            self.home.ledger,
            self.settings.ledger_wait_seconds,
            self.settings.ledger_url.get_secret_value(),
        )
        self.library = Library(
            self.home, self._ledger, self.settings, tuple(SYSTEMS), tuple(PREPARED)
        )
        self.annotation = Annotation(self._ledger, self.library, self.searcher, self.settings)
        self.notebook = Notebook(
            self._ledger, self.library, self.annotation, self.settings.annotator
        )
        self.comparing = Comparisons(
            self.settings,
            self._ledger.answers,
            self.library,
            self.notebook.grades,
            self.searcher,
        )
        self.maps = Maps(
            *(self.library, self.annotation, self.searcher, self.settings, self._ledger.answers),
            partial(adding, self.home, self._ledger),
        )
        self.collections = CollectionStore(self._ledger, self.library)
        self.scenarios = Scenarios(self.home, self._ledger, self.settings, self.library)
        self.pair_grading = PairGrading(self._ledger, self.settings, self.library)
        self.builds = CollectionBuilds(
            self.home, self._ledger, self.settings, self.library, self.annotation
        )
        self.verifier = Assistant(self.settings, self._ledger, self.searcher)
        shared = (self.settings, self._ledger, self.collections, self.searcher)
        self.evaluations, self.gaps = Evaluations(*shared), Gaps(*shared)
        self.analysis = Analysis(self.library, self.annotation, self.evaluations)
        self.reader = Reader(self.settings, self._ledger, self.searcher)
        self._acting: dict[Person, Explorer] = {OPERATOR: self}
        self._lens_words: Callable[[Lens], LensWords] = lru_cache(maxsize=32)(
            partial(lens_words, folder=self.home.embedded_texts)
        )

    @property
    def ledger(self) -> Ledger:
        """What is stored, for commands and programs: nothing in it knows who may do what."""
        check_operator(self.person)
        return self._ledger

    def acting_as(self, person: Person) -> Explorer:
        """This explorer for a person who logged in: it refuses what they may not do.

        What is refused raises NotAllowedError. State is shared; asking again gives the same object.
        Only the operator's explorer acts as somebody else.
        """
        if person != self.person:
            check_operator(self.person)
        found = self._acting.get(person)
        return found or self._acting.setdefault(person, acting_as(self, person))

    @operator_only
    def start(self) -> None:
        """What the app does once: :meth:`tidy`, and index the demo in a new home."""
        self.tidy()
        if not any(row.state == "ready" for row in self._ledger.corpora()):
            job = self.library.demo_job()
            if job is None or job.state in ("interrupted", "elsewhere"):
                with suppress(CorpusBusyError):  # another server that was started now does it
                    self.library.start_demo()

    @operator_only
    def tidy(self) -> None:
        """What the app does once a day: copy the ledger, and forget what was deleted long ago."""
        for step in (self._ledger.keep_copy, self.library.note_corpora, self.library.empty_trash):
            try:
                step()
            except (StorageError, OSError) as error:  # people can search all the same
                log.warning("%s", error)

    @operator_only
    def warm_up(self) -> None:
        """Do once what the first searches would wait for: the model, and corpora in memory."""
        for name in self.library.names()[:MOST_OPEN]:
            try:
                seed, aspect = self.starting_point(name)
                self.search(Query(name, seed=seed, aspect=aspect or None))
                self.library.encoder(self.library.open(name))
                load_network()
            except SeedLensError as error:  # the others deserve their warm-up all the same
                log.warning("Corpus '%s' could not be warmed up: %s", name, error)

    # -- searching ---------------------------------------------------------------------

    def search(self, query: Query) -> SearchResults:
        """A page of ranked documents with evidence."""
        return self.searcher(query.corpus).search(query)

    def searcher(self, corpus: str) -> Searcher:
        """The search engine of one corpus."""
        opened = self.library.open(corpus)
        encoder = partial(self.library.encoder, opened)
        embed = self._embedded_texts(opened.spec.fingerprint, encoder)
        return Searcher(opened, encoder, self._lens_words, embed)

    def _embedded_texts(self, fingerprint: str, encoder: Callable[[], Encoder]) -> EmbeddedTexts:
        """Texts as vectors of a model, which is loaded for new ones only."""

        def embed(texts: Sequence[str]) -> FloatArray:
            encoded = encoder().encode([Passage("", text, ()) for text in texts])
            return np.stack([e.vector for e in encoded])

        return EmbeddedTexts(self.home.embedded_texts, fingerprint, embed)

    def systems_of(self, corpus: str) -> tuple[str, ...]:
        """The systems that a corpus can be searched with; UnknownNameError."""
        return self.library.corpus(corpus).systems

    def reads_aspect(self, system: str) -> bool:
        """False when the system ranks the same whatever the aspect."""
        return find_system(system).reads_aspect

    def reads_wording(self, system: str) -> bool:
        """Whether the ranking of a system goes by aspects or terms."""
        return reads_wording(system)

    def reads_steer(self, system: str) -> bool:
        """False when the system ranks the same whatever the steer."""
        return find_system(system).name in READ_STEER

    def parse_filters(self, text: str) -> tuple[Filter, ...]:
        """Read filters between semicolons: ``year>=2010; venue=ACL|EMNLP``."""
        return parse_filters(text)

    def facets(self, corpus: str, filters: Sequence[Filter] = ()) -> Facets:
        """How many documents have what, where these filters hold.

        Raises:
            UnknownNameError: no such corpus, or a field or an aspect that it does not have.
            BadInputError: a filter that means nothing.
        """
        return self.library.open(corpus).facet_index.facets(filters)

    def select(self, corpus: str, doc_ids: Sequence[str]) -> Filter:
        """Keep a selection of documents with their corpus; returns the filter that is met by them.

        The same documents make the same filter. It is kept as long as the corpus is.

        Raises:
            UnknownNameError: no such corpus, or documents that it does not have; they are named.
            BadInputError: no document is given.
            StorageError: it cannot be written.
        """
        opened = self.library.open(corpus)
        check_held(opened, doc_ids)
        key = write_selection(opened.table.path, corpus, doc_ids)
        if self.home.mirror is not None:
            self.home.mirror.share_selection(corpus, opened.table.path, key)
        return Filter(SELECTION, "=", key)

    @staticmethod
    def parse_reading(text: str) -> tuple[str, ...]:
        """Read how a query is to be read, like ``+method,-background``."""
        return parse_reading(text)

    def starting_point(self, corpus: str) -> tuple[str, str]:
        """A seed and an aspect to open a corpus with: the first document that has them all."""
        opened = self.library.open(corpus)
        keys = list(opened.aspects)
        preferred = [DEMO_SEED] if corpus == DEMO_CORPUS and DEMO_SEED in opened.row_of else []
        for document in opened.documents([*preferred, *opened.doc_ids[:50]]):
            if {s.role for s in document.sentences} >= set(range(len(keys))):
                return document.doc_id, "method" if "method" in keys else keys[0]
        return opened.doc_ids[0], ""

    @leads_only
    def human_rows(self, project: Project) -> dict[str, SystemScores]:
        """annotator -> how well their own grades rank what was decided without them."""
        queries, judgments = self.annotation.queries(project), self.annotation.judgments(project)
        return human_rows(project, queries, judgments, self.searcher(project.corpus))

    # -- measuring ---------------------------------------------------------------------

    @operator_only
    def evaluate(
        self,
        collection: Collection,
        systems: Sequence[str],
        *,
        corpus: str | None = None,
        steer: float | None = None,
        sample: int | None = None,
        human: bool = False,
    ) -> Evaluation:
        """Systems side by side on a test collection; see :mod:`engine.evaluate.evaluation_run`.

        Args:
            corpus: holds its documents; None: its own documents, indexed once under its name.
        """
        searcher = self.searcher(corpus or self.library.import_collection(collection))
        return evaluate(searcher, collection, systems, steer=steer, sample=sample, human=human)

    @operator_only
    def sensitivity(
        self,
        collection: Collection,
        systems: Sequence[str],
        variants: Sequence[str] = SETS,
        *,
        corpus: str | None = None,
        steer: float | None = None,
    ) -> Sensitivity:
        """How far systems follow the wording; see :func:`engine.compare.sensitivity_table`.

        Args:
            corpus: as :meth:`evaluate`.
        """
        searcher = self.searcher(corpus or self.library.import_collection(collection))
        return sensitivity(searcher, collection, systems, variants, steer=steer)

    def sql(self, corpus: str, query: str) -> pa.Table:
        """The result of one SELECT over a corpus, and what was judged and measured on it; see
        :mod:`engine.evaluate.analysis`."""
        found = self.analysis.run(corpus, query)
        if found.truncated:
            raise BadInputError(
                f"The result has more than {found.table.num_rows:,} rows, which take "
                f"{size(found.table.nbytes)}.",
                "Add a LIMIT, or read fewer columns.",
            )
        return found.table

    # -- documents ---------------------------------------------------------------------

    def document(self, corpus: str, doc_id: str) -> Document:
        """One document, or UnknownNameError."""
        return self.library.open(corpus).document(doc_id)

    def facts(self, corpus: str, doc_id: str) -> tuple[Fact, ...]:
        """What a document states or implies: dates, amounts, places; or UnknownNameError."""
        opened = self.library.open(corpus)
        return opened.facts([opened.document(doc_id).doc_id])[doc_id]

    @staticmethod
    def find_facts(text: str, written: date | None = None) -> tuple[Fact, ...]:
        """What a text states or implies, when it was written on this day (None: not known)."""
        return find_facts(text, written)

    def find_documents(self, corpus: str, words: str, limit: int = 12) -> tuple[FoundDocument, ...]:
        """Documents for words as one types them; see :func:`engine.search.finding.find_documents`.

        By their meaning too, once the corpus's model is loaded.
        """
        opened = self.library.open(corpus)
        by_meaning = self.library.loaded_encoder(opened) is not None
        return find_documents(self.searcher(corpus), words, limit, by_meaning=by_meaning)

    def browse(self, corpus: str, offset: int, limit: int) -> list[Document]:
        """Documents in the order of the corpus."""
        opened = self.library.open(corpus)
        return opened.documents(opened.doc_ids[offset : offset + limit])
