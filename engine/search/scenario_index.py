"""The scenarios of an opened corpus as searches see them: vectors grouped by document."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.corpora.contracts import Rows
from engine.corpora.opened import OpenCorpus
from engine.corpora.scenario_store import (
    SETTINGS,
    TEXT_COLUMNS,
    ScenarioSettings,
    ScenarioStore,
    read_settings,
    to_scenario,
)
from engine.corpora.schema import matrix
from engine.errors import BadInputError
from engine.numeric import FloatArray
from engine.types.scenarios import SCENARIO, ScenarioMatch
from storage.removal import changed_at
from storage.vectors import ScenarioTable


class ScenarioIndex:
    """One version of the scenarios of one version of a corpus, without those of changed
    documents."""

    def __init__(self, corpus: OpenCorpus, table: ScenarioTable) -> None:
        self._table, self._shared = table, corpus.shared
        self._width = corpus.spec.dimension
        self.settings: ScenarioSettings = read_settings(table.path)  # of the corpus
        # whether vectors are in memory, and scores exact
        self.resident = corpus.make_room(table.count() * self._width * 4)
        columns = ["doc_id", "content_hash", "position", *["vector"] * self.resident]
        held = pa.Table.from_batches(table.columns(columns))
        current = ScenarioStore(corpus).hashes
        ids, hashes = held["doc_id"].to_pylist(), held["content_hash"].to_pylist()
        fresh = np.flatnonzero([current.get(d) == h for d, h in zip(ids, hashes, strict=True)])
        places = np.array([corpus.row_of[ids[at]] for at in fresh], dtype=np.intp)
        order = np.lexsort((held["position"].to_numpy()[fresh], places))
        held = held.take(pa.array(fresh[order]))
        # (g,) rows of `doc_ids` in the corpus, and the first scenario of each
        self.rows, self._starts = np.unique(places[order], return_index=True)
        self.doc_ids = [corpus.doc_ids[row] for row in self.rows]  # those with scenarios
        self.row_of = {doc_id: row for row, doc_id in enumerate(self.doc_ids)}
        self._corpus_ids = corpus.doc_ids
        self._hashes = dict(
            zip(held["doc_id"].to_pylist(), held["content_hash"].to_pylist(), strict=True)
        )
        if self.resident:
            self._matrix = matrix(held["vector"].combine_chunks(), self._width)

    def __len__(self) -> int:
        return len(self.doc_ids)

    @property
    def weight(self) -> float:
        """What a document counts for against its best scenario, 0 to 1."""
        return self.settings.weight

    @property
    def identity(self) -> str:
        """Which scenarios exactly, and how they count: equal ones rank alike."""
        table, settings = self._table, self.settings
        digest = f"-{table.digest[:12]}" * self._shared
        return f"{table.version}-{table.made}{digest} {settings.component} {settings.weight:g}"

    def is_current(self) -> bool:
        """False when somebody wrote or removed scenarios, or changed the settings."""
        return self._table.is_newest() and read_settings(self._table.path) == self.settings

    def best(self, rows: Rows, vector: FloatArray) -> FloatArray:
        """Cosine (n,) of the best scenario of each document in ``rows`` (n,) with ``vector``; NaN
        without any."""
        best = np.full(len(self._corpus_ids), np.nan, dtype=np.float32)
        if not self.resident:
            known = [d for d in (self._corpus_ids[row] for row in rows) if d in self.row_of]
            found, cosines = self._compared(known, vector)
            places = [self.row_of[doc_id] for doc_id in found["doc_id"].to_pylist()]
            np.fmax.at(best, self.rows[places], cosines)
        elif len(self):
            best[self.rows] = np.maximum.reduceat(self._matrix @ vector, self._starts)
        return best[rows]

    def nearest(self, vector: FloatArray, limit: int, allowed: NDArray[np.bool_]) -> Rows:
        """Rows of at most ``limit`` documents by their best scenario, best first; ``allowed`` is
        (n,) over the corpus."""
        if not self.resident:
            found = dict.fromkeys(self._table.nearest("vector", vector, 4 * limit))
            near = self.rows[[self.row_of[d] for d in found if d in self.row_of]]
            return near[allowed[near]][:limit]
        best = self.best(self.rows, vector)
        best[~allowed[self.rows]] = -np.inf
        order = np.argsort(-best, kind="stable")[:limit]
        return self.rows[order[np.isfinite(best[order])]]

    def matches(self, doc_ids: Sequence[str], vector: FloatArray) -> dict[str, ScenarioMatch]:
        """The best scenario of each document that has any."""
        known = [d for d in dict.fromkeys(doc_ids) if d in self.row_of]
        texts, cosines = self._compared(known, vector, [*TEXT_COLUMNS, "component"])
        found: dict[str, ScenarioMatch] = {}
        for row, cosine in zip(texts.to_pylist(), cosines.tolist(), strict=True):
            before = found.get(row["doc_id"])
            if before is None or cosine > before.score:
                settings = ScenarioSettings(row["component"])  # checks it
                found[row["doc_id"]] = ScenarioMatch(
                    to_scenario(row), cosine, settings.component, self.weight
                )
        return found

    def _compared(
        self, doc_ids: Sequence[str], vector: FloatArray, columns: Sequence[str] = ()
    ) -> tuple[pa.Table, FloatArray]:
        """Scenarios (s,) of documents, and their cosines (s,) with a vector."""
        names = ["doc_id", "content_hash", "position", "vector", *columns]
        rows = self._table.of(doc_ids, names)
        rows = rows.sort_by([("doc_id", "ascending"), ("position", "ascending")])
        pairs = zip(rows["doc_id"].to_pylist(), rows["content_hash"].to_pylist(), strict=True)
        fresh = [self._hashes[doc_id] == content for doc_id, content in pairs]
        rows = rows.filter(pa.array(fresh, pa.bool_()))
        vectors = matrix(rows["vector"].combine_chunks(), self._width)
        return rows.drop(["vector"]), vectors @ vector


def no_scenarios(corpus: str) -> BadInputError:
    """What to say of a corpus that has none."""
    name = shlex.quote(corpus)
    return BadInputError(
        f"The corpus '{corpus}' has no scenarios.",
        f"Write them on the Library page, or with: seedlens scenarios {name} (without a "
        f"language model: seedlens scenarios {name} --extractive).",
    )


_OPEN: WeakKeyDictionary[OpenCorpus, ScenarioIndex] = WeakKeyDictionary()
_LOCK = Lock()


def scenario_index(corpus: OpenCorpus) -> ScenarioIndex:
    """The scenarios of a corpus as they are now; kept while nobody writes any."""
    path = corpus.table.path
    if not ScenarioTable.is_stored(path):
        raise no_scenarios(corpus.name)
    with _LOCK:
        index = _OPEN.get(corpus)
        if index is None or not index.is_current():
            index = _OPEN[corpus] = ScenarioIndex(corpus, ScenarioTable.open(path))
    if not len(index):
        raise no_scenarios(corpus.name)
    return index


def ranked_from(corpus: OpenCorpus, systems: Collection[str]) -> str:
    """A stamp that changes when the corpus, or scenarios used by one of these systems, are
    written."""
    if SCENARIO not in systems:
        return corpus.identity
    path = corpus.table.path
    return f"{corpus.identity} {ScenarioTable.stamp(path)} {changed_at(path / SETTINGS)}"


def scenarios_of(corpus: OpenCorpus, systems: Collection[str]) -> str:
    """Which scenarios a corpus has, for systems that rank by them; "" where none of these does."""
    return scenario_index(corpus).identity if SCENARIO in systems else ""
