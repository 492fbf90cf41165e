"""The facade: the one object that pages and the command line call."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.annotate.annotation import Annotation
from engine.ask.reader import Reader
from engine.assist.assistant import Assistant
from engine.build.collection_builds import CollectionBuilds
from engine.build.opened_build import OpenBuild as OpenBuild  # pages are handed it
from engine.compare.comparisons import Comparisons
from engine.compare.sensitivity_table import sensitivity
from engine.config import DEMO_CORPUS, Settings
from engine.corpora.library import MOST_OPEN, Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.registry import adding, home_of
from engine.corpora.selections import Selections
from engine.errors import BadInputError, SeedLensError, StorageError, UnknownNameError
from engine.evaluate.analysis import Analysis
from engine.evaluate.collection_store import CollectionStore
from engine.evaluate.evaluation_run import evaluate
from engine.evaluate.evaluations import Evaluations
from engine.evaluate.measuring import human_rows
from engine.evaluate.verification_gap import Gaps
from engine.explorations.notebook import Notebook, ReadingLists
from engine.facts import find_facts as facts_in
from engine.lenses.definitions import ALL_SETS, SETS
from engine.lenses.embedded_texts import EmbeddedTexts
from engine.lenses.instructions import LensWords
from engine.maps.facade import Maps
from engine.numeric import FloatArray
from engine.permissions import check_operator, leads_only, operator_only
from engine.queries import parse_filters as filters_in
from engine.queries import parse_reading as reading_in
from engine.scenarios.pair_grading import PairGrading
from engine.scenarios.writing import Scenarios
from engine.search.finding import find_documents
from engine.search.interpretation import lens_words, load_network
from engine.search.searcher import Searcher
from engine.search.systems import PREPARED, READ_STEER, SYSTEM_NAMES, SYSTEMS, find_system
from engine.search.systems import reads_wording as wording_counts
from engine.sentences import split_sentences
from engine.text import counted, size
from engine.types.annotating import Project
from engine.types.comparisons import Sensitivity
from engine.types.documents import Document, Fact
from engine.types.encoders import Encoder, Passage
from engine.types.evaluations import Collection, Evaluation, SystemScores
from engine.types.lenses import Lens
from engine.types.people import OPERATOR, ForPerson, Person, acting_as
from engine.types.searches import SELECTION, Facets, Filter, FoundDocument, Query, SearchResults
from storage.ledger import Ledger

log = logging.getLogger("seedlens")
DEMO_SEED = "demo-0232"
MOST_NAMED = 5  # Documents that a message names


class Explorer(ForPerson):
    """SeedLens over one home. Safe to share between threads.

    Its parts do the work: ``library`` (corpora), ``notebook`` (grades, trails, saved searches),
    ``reading_lists``, ``comparing`` (wordings side by side), ``maps``, ``collections`` (test
    collections, uploaded judgments and runs), ``evaluations``, ``gaps`` (retrieval against
    verification by a model),
    ``analysis`` (SQL), ``verifier`` (a language model, where one is connected), ``annotation``
    (projects, pools, judgments), ``builds`` (collections from a corpus), ``reader`` (questions),
    ``scenarios`` and ``pair_grading`` (pairs of documents, to train an encoder).
    """

    demo_corpus = DEMO_CORPUS
    systems = tuple(SYSTEMS)  # of every corpus; `systems_of` has those of one
    known_systems = SYSTEM_NAMES  # that a corpus may have
    model_systems = Assistant.systems  # that need a language model
    rerank_modes = Assistant.modes  # name -> one line for people
    wording_sets = ALL_SETS  # built-in wordings for a whole collection
    parse_filters = staticmethod(filters_in)  # "year>=2010; venue=ACL|EMNLP"
    parse_reading = staticmethod(reading_in)  # "+method,-background"
    reads_wording = staticmethod(wording_counts)  # a system ranks by aspects or terms
    find_facts = staticmethod(facts_in)
    split_sentences = staticmethod(split_sentences)

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.home = home_of(self.settings)
        try:
            self.home.create()
        except StorageError as error:
            if not os.access(self.home.ledger, os.R_OK):
                raise
            log.warning("%s What is there can be searched.", error.message)
        home, settings, search = self.home, self.settings, self.searcher
        url = settings.ledger_url.get_secret_value()
        ledger = self._ledger = Ledger(home.ledger, settings.ledger_wait_seconds, url)
        library = self.library = Library(home, ledger, settings, tuple(SYSTEMS), tuple(PREPARED))
        annotation = self.annotation = Annotation(ledger, library, search, settings)
        lists = self.reading_lists = ReadingLists(ledger, library)
        notebook = self.notebook = Notebook(ledger, library, annotation, lists, settings.annotator)
        answers, add = ledger.answers, partial(adding, home, ledger)
        self.comparing = Comparisons(settings, answers, library, notebook.grades, search)
        self.maps = Maps(library, annotation, search, settings, answers, add)
        self.collections = CollectionStore(ledger, library)
        self.scenarios = Scenarios(home, ledger, settings, library)
        self.pair_grading = PairGrading(ledger, settings, library)
        self.builds = CollectionBuilds(ledger, settings, library, annotation)
        self.verifier = Assistant(settings, ledger, search)
        self.evaluations = Evaluations(settings, ledger, self.collections, search)
        self.gaps = Gaps(settings, ledger, self.collections, search)
        self.analysis = Analysis(library, annotation, self.evaluations)
        self.reader = Reader(settings, ledger, search)
        self._acting: dict[Person, Explorer] = {OPERATOR: self}
        self._lens_words: Callable[[Lens], LensWords] = lru_cache(maxsize=32)(
            partial(lens_words, folder=self.home.embedded_texts)
        )

    @property
    def ledger(self) -> Ledger:
        """What is stored, without checks of who may do what: for commands and programs."""
        check_operator(self.person)
        return self._ledger

    def acting_as(self, person: Person) -> Explorer:
        """This explorer for a person who logged in, with shared state.

        What they may not do raises NotAllowedError. Only the operator's explorer has this.
        """
        if person != self.person:
            check_operator(self.person)
        found = self._acting.get(person)
        return found or self._acting.setdefault(person, acting_as(self, person))

    @operator_only
    def start(self) -> None:
        """Start of the app: :meth:`tidy`, and add the demo to a new home."""
        self.tidy()
        if not self._ledger.corpora():
            try:
                self.library.add_demo()
            except SeedLensError as error:  # another server does it, say
                log.warning("The demo was not added. %s", error)

    @operator_only
    def tidy(self) -> None:
        """Daily work of the app: copy the ledger, and empty the trash."""
        for step in (self._ledger.keep_copy, self.library.note_corpora, self.library.empty_trash):
            try:
                step()
            except (StorageError, OSError) as error:  # searching works without
                log.warning("%s", error)

    @operator_only
    def warm_up(self) -> None:
        """Load the model and the corpora before the first search."""
        for name in self.library.names()[:MOST_OPEN]:
            try:
                seed, aspect = self.starting_point(name)
                self.search(Query(name, seed=seed, aspect=aspect or None))
                self.library.encoder(self.library.open(name))
                load_network()
            except SeedLensError as error:  # the others are warmed up
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
        """Whether the ranking of a system depends on the aspect."""
        return find_system(system).reads_aspect

    def reads_steer(self, system: str) -> bool:
        """Whether the ranking of a system depends on the aspect weight."""
        return find_system(system).name in READ_STEER

    def facets(self, corpus: str, filters: Sequence[Filter] = ()) -> Facets:
        """How many documents have what, where these filters hold."""
        return self.library.open(corpus).facet_index.facets(filters)

    def select(self, corpus: str, doc_ids: Sequence[str]) -> Filter:
        """Store a selection of documents with their corpus; returns a filter for them.

        The same documents make the same filter.
        """
        opened = self.library.open(corpus)
        _check_known(opened, doc_ids)
        key = Selections(self._ledger, opened.name, opened.table.path).add(doc_ids)
        return Filter(SELECTION, "=", key)

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
        """annotator -> measures of their grades as a ranking, against decisions without them."""
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
            corpus: with its documents; None: the collection's own, indexed once under its name.
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
        sample: int | None = None,
    ) -> Sensitivity:
        """How far systems follow the wording; see :mod:`engine.compare.sensitivity_table`.

        Args:
            corpus: as in :meth:`evaluate`.
        """
        searcher = self.searcher(corpus or self.library.import_collection(collection))
        return sensitivity(searcher, collection, systems, variants, steer=steer, sample=sample)

    def sql(self, corpus: str, query: str) -> pa.Table:
        """The result of one SELECT over a corpus and its judgments and measures; see
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

    def find_documents(self, corpus: str, words: str, limit: int = 12) -> tuple[FoundDocument, ...]:
        """Documents for typed words; by their meaning too, once the corpus's model is loaded."""
        opened = self.library.open(corpus)
        by_meaning = self.library.loaded_encoder(opened) is not None
        return find_documents(self.searcher(corpus), words, limit, by_meaning=by_meaning)

    def browse(self, corpus: str, offset: int, limit: int) -> list[Document]:
        """Documents in the order of the corpus."""
        opened = self.library.open(corpus)
        return opened.documents(opened.doc_ids[offset : offset + limit])


def _check_known(corpus: OpenCorpus, doc_ids: Sequence[str]) -> None:
    """Refuse a selection of no document, or of documents that the corpus does not have."""
    if not doc_ids:
        raise BadInputError("The selection has no document.", "Select at least one.")
    asked = pa.array(doc_ids, pa.string())
    known = pc.is_in(asked, value_set=corpus.doc_ids.array)
    if unknown := asked.filter(pc.invert(known)).to_pylist():
        named, more = ", ".join(map(repr, unknown[:MOST_NAMED])), len(unknown) - MOST_NAMED
        raise UnknownNameError(
            f"The corpus '{corpus.name}' does not have {counted(len(unknown), 'document')} of the "
            f"selection: {named}{f' and {more:,} more' if more > 0 else ''}.",
            "Check the ids: they are the doc_id that the import read.",
        )
