"""Documents and their vectors in LanceDB; the only importer of ``lancedb`` and ``lance``.

One database per corpus: table ``documents``, one row per document, and ``scenarios``, one row per
scenario. Arrow batches in, Arrow tables out; roles and aspects are unknown here.
"""

from __future__ import annotations

import errno
import json
import re
import secrets
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Self

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.dataset
from lancedb.background_loop import LOOP
from lancedb.expr import Expr, col, lit
from lancedb.index import FTS, BTree, IvfRq
from lancedb.merge import LanceMergeInsertBuilder
from lancedb.query import FullTextOperator, MatchQuery
from lancedb.table import LanceTable
from numpy.typing import NDArray

from storage.errors import CorpusMissingError, StorageError, StorageFullError
from storage.files import NO_ROOM, digest_of
from storage.records import FRAGMENT_ROWS
from storage.removal import delete

PROBES = 1_000_000
"""Partitions that a search looks into, which are all: the compressed vectors of a million documents
take less time than reading some hundred of the documents that are found."""
PARTITION = 4096  # Rows of one partition of a vector index
SAMPLE, ROUNDS, BITS = 64, 15, 1
"""Of a vector index: rows per partition that k-means reads, its rounds, bits of a dimension."""
TEXT = {"with_position": False, "language": "English", "stem": True}
"""Of the full-text index: texts are cut into English words."""
BY_DICTIONARY = {**TEXT, "base_tokenizer": "icu/split"}
"""Of one with texts in scripts without blanks between words (Chinese, Thai ...), or with marks in
words that other tokenizers take for punctuation (Devanagari ...)."""
_SCRIPTS = re.compile("[\u0900-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LOOKED_AT = 1_000  # Documents from all over a table that say which scripts it has
PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}
"""Without it two upserts of the same new id leave two rows; with it, one."""
GONE_WORDS = ("not found", "no longer exists", f"os error {errno.ENOENT})")
"""LanceDB's words when a file of a table is not there."""
EXAMINE = "seedlens doctor says whether files of a corpus are damaged, and what to do."
ROW_ID = "_rowid"  # LanceDB's name for where a row lies
HALF = ".tmp"  # How names of files begin that Lance is writing
READ_ROWS = 1024  # Rows that are read at a time; 40 MB
MADE = "seedlens-made"  # Where a table's schema says which table it is


@contextmanager
def _wrapped(action: str, path: Path) -> Iterator[None]:
    """Re-raise LanceDB's errors as ours; a full disk has its own."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        text = str(error)
        number = error.errno if isinstance(error, OSError) else None
        if number in NO_ROOM or any(f"os error {code}" in text for code in NO_ROOM):
            raise StorageFullError(
                f"No room left while {action} in {path}.",
                "Free some space (or set SEEDLENS_HOME to a larger disk) and run the same "
                "command again: it goes on where it stopped.",
            ) from error
        gone = number == errno.ENOENT or any(words in text.lower() for words in GONE_WORDS)
        if gone or not path.is_dir():
            raise CorpusMissingError(
                f"The corpus in {path} was deleted or changed while it was being read, or a file "
                "of it is lost.",
                "Open it again; a deleted corpus can be brought back on Library for a day. If this "
                f"stays, the corpus is damaged. {EXAMINE}",
            ) from error
        raise StorageError(
            f"LanceDB failed while {action} in {path}: {text.splitlines()[0] if text else error!r}",
            EXAMINE,
        ) from error


def _is_one_of(column: str, values: Sequence[str]) -> Expr:
    return col(column).isin([lit(value) for value in values])


@dataclass(frozen=True, slots=True)
class Remote:
    """A table that is read in an object store."""

    uri: str  # uri, options: of its database, as LanceDB takes them
    options: tuple[tuple[str, str], ...]
    version: int  # to read
    digest: str  # see :attr:`StoredTable.digest`


class _Columns(pa.dataset.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """Some columns of a Lance data set: DuckDB cannot read those of 16-bit floats."""

    def __init__(self, whole: Any, names: Sequence[str]) -> None:
        self._whole, self._names = whole, list(names)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([self._whole.schema.field(name) for name in self._names])

    def scanner(
        self, columns: list[str] | None = None, filter: pa.compute.Expression | None = None
    ) -> Any:
        return self._whole.scanner(self._names if columns is None else columns, filter)


class StoredTable:
    """One table of the database of a corpus."""

    name: ClassVar[str]  # of the table, and what its rows are called
    key: ClassVar[str]  # the column that names a row

    def __init__(self, path: Path, table: LanceTable, remote: Remote | None = None) -> None:
        # path: the folder of the corpus; remote: place of the table, None for that folder
        self.path, self.remote = path, remote
        self._table = table
        # SHA-256 over the file list of the opened version, as version numbers of homes that share a
        # corpus may collide
        self.digest = self._digest() if remote is None else remote.digest
        self._newest: Hashable = None
        self._addresses: tuple[NDArray[np.uint64], NDArray[np.intp] | None] | None = None
        self._held: pa.Table | None = None

    @classmethod
    def folder(cls, path: Path) -> Path:
        """The folder of the table under ``path``."""
        return path / f"{cls.name}.lance"

    @classmethod
    def is_stored(cls, path: Path) -> bool:
        """Whether there is such a table under ``path``."""
        # A table that was being created when its process was killed has no version.
        return any(cls.folder(path).glob("_versions/*.manifest"))

    @classmethod
    def stamp(cls, path: Path) -> Hashable:
        """A stamp of the table that every write changes; None without the table."""
        versions = cls.folder(path) / "_versions"
        try:
            found, names = versions.stat(), sorted(file.name for file in versions.iterdir())
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, tuple(names)

    @classmethod
    def open(cls, path: Path, remote: Remote | None = None) -> Self:
        """Open the table under ``path``, or a remote one; CorpusMissingError when there is none."""
        if remote is None and not cls.is_stored(path):
            raise CorpusMissingError(f"No {cls.name} are stored under {path}.")
        with _wrapped(f"opening the {cls.name}", path):
            if remote is None:
                return cls(path, lancedb.connect(str(path)).open_table(cls.name))
            database = lancedb.connect(remote.uri, storage_options=dict(remote.options))
            table = database.open_table(cls.name)
            table.checkout(remote.version)
            return cls(path, table, remote)

    @classmethod
    def open_or_create(cls, path: Path, schema: pa.Schema) -> Self:
        """Open the table, or create it; older tables get missing last columns, empty."""
        try:
            table = cls.open(path)
        except CorpusMissingError:
            with _wrapped(f"creating the {cls.name}", path):
                path.mkdir(parents=True, exist_ok=True)
                marked = schema.with_metadata({MADE: secrets.token_hex(6)})
                return cls(path, lancedb.connect(str(path)).create_table(cls.name, schema=marked))
        there = table.schema.names
        if there != schema.names[: len(there)]:
            raise StorageError(
                f"The corpus in {path} was indexed with other aspects or another version.",
                "Import it under a new name, or delete it first.",
            )
        if len(there) < len(schema):
            with _wrapped("adding columns", path):
                table._table.add_columns([schema.field(n) for n in range(len(there), len(schema))])
        return table

    @contextmanager
    def _writing(self, action: str) -> Iterator[None]:
        try:
            with _wrapped(action, self.path):
                yield
        finally:
            # Rows lie elsewhere now.
            self._addresses = self._held = None

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    @property
    def version(self) -> int:
        """Grows with every write; what is cached of a table is valid for one version."""
        return int(self._table.version)

    @property
    def made(self) -> str:
        """A random id from the table's creation; "" for tables of early versions."""
        metadata: dict[bytes, bytes] = self.schema.metadata or {}
        return metadata.get(MADE.encode(), b"").decode()

    def is_newest(self) -> bool:
        """False when somebody wrote to this table, or put another one in its place."""
        if self.remote is not None:
            return True  # what is in a store never changes
        stamp = self.stamp(self.path)
        if stamp is not None and stamp == self._newest:
            return True
        with _wrapped("looking for changes", self.path):
            if stamp is None:  # LanceDB would make the folder
                raise FileNotFoundError(errno.ENOENT, "no table", str(self.path))
            # Opened again: a table that is open goes to no version below its own, which is where
            # another in its place may be. This one stays as what was read of it.
            found = type(self).open(self.path)
        own = (self.version, self.made, self.digest)
        newest = (found.version, found.made, found.digest) == own
        self._newest = stamp if newest else None
        return newest

    def _digest(self) -> str:
        folder, version = self.folder(self.path) / "_versions", self.version
        for name in (f"{2**64 - 1 - version:020}", version):  # counted down, or as earlier versions
            with suppress(OSError):
                return digest_of(folder / f"{name}.manifest")
        return ""

    def marks(self) -> dict[str, int]:
        """Names of versions whose files stay, see :meth:`mark`."""
        with _wrapped("reading", self.path):
            return {name: int(tag["version"]) for name, tag in self._table.tags.list().items()}

    def mark(self, name: str, version: int | None) -> None:
        """Move a tag, which keeps a version's files, to this version; None removes it."""
        known = name in self.marks()
        with _wrapped("naming a version", self.path):
            if version is None and known:
                self._table.tags.delete(name)
            elif version is not None:
                (self._table.tags.update if known else self._table.tags.create)(name, version)

    def go_back(self, version: int) -> None:
        """Make the table what it was at a version whose files are there."""
        with self._writing("going back to a version"):
            self._table.restore(version)

    def count(self) -> int:
        with _wrapped("counting", self.path):
            return int(self._table.count_rows())

    def own_bytes(self) -> int:
        """Size of the files of this version and its indexes, in bytes."""
        with _wrapped("reading", self.path):
            return int(self._table.stats()["total_bytes"])

    def write(self, batch: pa.RecordBatch, *, replace: bool) -> None:
        """Add rows in one atomic commit; with ``replace``, rows of the same key give way."""
        table = pa.Table.from_batches([batch])
        with self._writing(f"writing {self.name}"):
            if replace:
                self._merge().when_not_matched_insert_all().execute(table)
            else:
                self._table.add(table)

    def _merge(self) -> LanceMergeInsertBuilder:
        """A write in which rows give way to new ones of the same key."""
        return self._table.merge_insert(self.key).when_matched_update_all()

    def write_fragments(self, batch: pa.RecordBatch) -> list[str]:
        """Write rows for :meth:`append`, at any time, by any process; returns its arguments."""
        from lance.fragment import write_fragments  # late: searches do without another Lance

        with _wrapped(f"writing {self.name}", self.path):
            rows = pa.Table.from_batches([batch])
            written = write_fragments(rows, str(self.folder(self.path)), mode="append")
        return [json.dumps(one.to_json()) for one in written]

    def append(self, fragments: Sequence[str]) -> None:
        """Commit written rows, all at once. After an error they may be there."""
        with self._writing(f"writing {self.name}"):
            try:
                commit(self.folder(self.path), fragments)
            finally:
                self._table.checkout_latest()

    def update(self, rows: pa.Table) -> None:
        """Change some columns, those of ``rows``, of stored rows with the same key."""
        fields = [self.schema.field(name) for name in rows.schema.names]
        with self._writing(f"updating {self.name}"):
            self._merge().execute(rows.cast(pa.schema(fields)))

    def columns(self, names: Sequence[str], batch_size: int = 4096) -> Iterator[pa.RecordBatch]:
        """Stream some columns of all rows."""
        with _wrapped("reading", self.path):
            query = self._table.search().select(list(names)).limit(max(self.count(), 1))
            yield from query.to_batches(batch_size)

    def data_set(self, names: Sequence[str]) -> pa.dataset.Dataset:
        """Some columns of all rows, of which others read what they need."""
        with _wrapped("reading", self.path):
            return _Columns(self._table.to_lance(), names)

    def nearest(self, column: str, vector: np.ndarray, limit: int) -> list[str]:
        """Keys of the rows nearest to ``vector`` by cosine, best first."""
        return list(self._nearest(column, vector, limit, None, "doc_id")["doc_id"].to_pylist())

    def _nearest(
        self, column: str, vector: np.ndarray, limit: int, where: Expr | str | None, name: str
    ) -> pa.Table:
        with _wrapped("searching vectors", self.path):
            query = self._table.search(vector.astype(np.float32), vector_column_name=column)
            query = query.distance_type("cosine").nprobes(PROBES)
            if where is not None:
                query = query.where(where)
            query = query.select([name, "_distance"]).with_row_id(name == ROW_ID)
            return query.limit(limit).to_arrow()

    def of(self, doc_ids: Sequence[str], names: Sequence[str]) -> pa.Table:
        """The rows of these documents, in no particular order."""
        if not doc_ids:
            return self.schema.empty_table().select(list(names))
        with _wrapped(f"reading {self.name}", self.path):
            query = self._table.search().where(_is_one_of("doc_id", doc_ids))
            return query.select(list(names)).limit(max(self.count(), 1)).to_arrow()

    def discard(self, doc_ids: Sequence[str]) -> None:
        """Delete the rows of these documents."""
        with self._writing(f"deleting {self.name}"):
            self._table.delete(_is_one_of("doc_id", doc_ids))

    def compact(self, grace: timedelta) -> None:
        """Join small fragments of the last writes up to FRAGMENT_ROWS rows, with as much extra
        disk, and delete what is no longer used; ``grace`` as in :meth:`finish`.

        LanceDB's ``optimize`` makes fragments of a million rows: it rewrites the whole corpus, with
        memory that grows with it.
        """
        import lance

        with self._writing(f"compacting the {self.name}"):
            for most in (2 * FRAGMENT_ROWS, None):  # None: for larger ones that lost many rows
                removed = 1
                while removed:
                    found = lance.dataset(str(self.folder(self.path))).optimize.compact_files(
                        target_rows_per_fragment=FRAGMENT_ROWS,
                        max_source_rows=most,
                        num_threads=1,
                        batch_size=READ_ROWS,
                    )
                    removed = found.fragments_removed
                    _clean(self.folder(self.path), grace)
            self._table.checkout_latest()

    def finish(self, vector_columns: Sequence[str], grace: timedelta) -> None:
        """Compact the fragments and (re)build what searches need: ids, vectors, full text.

        Args:
            vector_columns: columns to index, with at least 256 rows; empty for small corpora, which
                are searched exactly.
            grace: how long files of former versions stay for their readers.
        """
        self.compact(grace)
        with self._writing("building the indexes"):
            self._build(vector_columns)
            _clean(self.folder(self.path), grace)

    def _build(self, vector_columns: Sequence[str]) -> None:
        self._table.create_index("doc_id", config=BTree(), replace=True)
        config = IvfRq(
            distance_type="cosine",
            num_bits=BITS,
            num_partitions=max(1, self.count() // PARTITION),
            sample_rate=SAMPLE,
            max_iterations=ROUNDS,
        )
        for column in vector_columns:
            self._table.create_index(column, config=config, replace=True)


def commit(dataset: Path, fragments: Sequence[str]) -> None:
    """Add written fragments to a data set, all or none."""
    import lance
    from lance.fragment import FragmentMetadata

    version = lance.dataset(str(dataset)).version
    written = [FragmentMetadata.from_json(one) for one in fragments]
    files = [dataset / "data" / file.path for one in written for file in one.files]
    if not all(file.exists() for file in files):  # Lance does not look
        raise StorageError(
            f"Rows that were written for the table in {dataset} are not there.",
            "All machines of the cluster need the home at the same path: share its folder.",
        )
    added = lance.LanceOperation.Append(written)
    lance.LanceDataset.commit(str(dataset), added, read_version=version)


def _clean(dataset: Path, grace: timedelta) -> None:
    """Delete files of versions older than ``grace`` and of none; only for the one writer."""
    import lance

    lance.dataset(str(dataset)).cleanup_old_versions(
        grace, delete_unverified=True, error_if_tagged_old_versions=False
    )
    # Lance does not know files that a killed process was writing; one may have gigabytes.
    for half in dataset.rglob(f"{HALF}*"):
        delete(half)


class DocumentTable(StoredTable):
    """The documents of one corpus. Rows are counted from 0 in the order of :meth:`columns`, which
    changes with every write."""

    name = "documents"
    key = "doc_id"

    def stay(self) -> None:
        """Read now what searches of this version need, while its files are certainly there."""
        self._placed()

    def _placed(self) -> tuple[NDArray[np.uint64], NDArray[np.intp] | None]:
        """Row addresses (n,) in the order of scans, and their order; None where they ascend."""
        if self._addresses is None:
            with _wrapped("reading", self.path):
                query = self._table.search().select([ROW_ID]).with_row_id(True)
                batches = query.limit(max(self.count(), 1)).to_batches(65_536)
                read = [batch[ROW_ID].to_numpy() for batch in batches]
            found = np.concatenate([np.zeros(0, dtype=np.uint64), *read])
            ascends = (found[1:] > found[:-1]).all()
            self._addresses = found, None if ascends else np.argsort(found)
        return self._addresses

    def _rows(self, found: pa.Table) -> NDArray[np.intp]:
        """The rows at the addresses that a search found."""
        addresses, order = self._placed()
        at: NDArray[np.intp] = np.searchsorted(addresses, found[ROW_ID].to_numpy(), sorter=order)
        return at if order is None else order[at]

    def _at(self, rows: NDArray[np.intp] | None) -> str | None:
        """The condition that a row is one of these; None for all."""
        if rows is None:
            return None
        addresses = ",".join(map(str, self._placed()[0][rows].tolist()))
        return f"{ROW_ID} IN ({addresses})" if addresses else "false"

    def sizes(self, rows: Sequence[int], measure: str) -> list[int]:
        """Sizes of these rows, in the given order.

        Args:
            measure: in SQL, as ``octet_length(text)``; 0 where :meth:`hold` has them.
        """
        if self._held is not None:
            return [0] * len(rows)
        found = self._take(rows, {"size": measure})["size"].to_pylist() if rows else []
        return [size or 0 for size in found]

    def take(self, rows: Sequence[int] | NDArray[np.intp], names: Sequence[str]) -> pa.Table:
        """Some columns of these rows, in the order asked for."""
        names = list(dict.fromkeys(names))
        if not len(rows):
            return self.schema.empty_table().select(names)
        held = self._held
        if held is not None and set(names) <= set(held.column_names):
            return held.select(names).take(pa.array(np.asarray(rows, dtype=np.intp)))
        return self._take(rows, names)

    def hold(self, names: Sequence[str]) -> int:
        """Cache columns in memory for :meth:`take`, ten times as fast; returns their bytes."""
        schema = pa.schema([self.schema.field(name) for name in names])
        held = pa.Table.from_batches(self.columns(names), schema).combine_chunks()
        self._held = held
        return int(held.nbytes)

    def _take(
        self, rows: Sequence[int] | NDArray[np.intp], names: list[str] | dict[str, str]
    ) -> pa.Table:
        places, back = np.unique(np.asarray(rows, dtype=np.intp), return_inverse=True)
        with _wrapped(f"reading {self.name}", self.path):
            query = self._table.take_offsets(places.tolist())
            found = query.select(names).to_arrow()
        # LanceDB gives rows in stored order: put them back into the order asked for.
        return found if (np.diff(back) == 1).all() else found.take(pa.array(back))

    def rows(self, doc_ids: Sequence[str], names: Sequence[str]) -> pa.Table:
        """The rows of ``doc_ids``, in that order; ids that are not stored are left out."""
        wanted = list(dict.fromkeys(doc_ids))
        table = self.of(wanted, list(dict.fromkeys(["doc_id", *names])))
        position = {doc_id: row for row, doc_id in enumerate(table["doc_id"].to_pylist())}
        at = [position[doc_id] for doc_id in wanted if doc_id in position]
        return table.take(pa.array(at, pa.int64()))

    def nearest_rows(
        self, column: str, vector: np.ndarray, limit: int, among: NDArray[np.intp] | None = None
    ) -> NDArray[np.intp]:
        """As :meth:`nearest`, but rows; ``among`` at most some ten thousand, None for all."""
        return self._rows(self._nearest(column, vector, limit, self._at(among), ROW_ID))

    def full_text(
        self, text: str, limit: int, among: NDArray[np.intp] | None = None, every: bool = False
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Rows (n,) and BM25 scores (n,) of documents with any of the words, best first.

        Args:
            among: as in :meth:`nearest_rows`.
            every: only documents with all words.
        """
        where = self._at(among)
        with _wrapped("searching the full text", self.path):
            operator = FullTextOperator.AND if every else FullTextOperator.OR
            asked = MatchQuery(text, "search_text", operator=operator)
            # Asynchronous: the blocking API adds a fifth to a search.
            query = self._table._table.query().nearest_to_text(asked)
            if where is not None:
                query = query.where(where)
            # Neither ids nor texts are read: thousands of them cost more than the search.
            query = query.select([ROW_ID, "_score"]).with_row_id()
            found = LOOP.run(query.limit(limit).to_arrow())
        return self._rows(found), found["_score"].to_numpy()

    def _build(self, vector_columns: Sequence[str]) -> None:
        super()._build(vector_columns)
        # It comes last: is_finished takes it as the sign that all is done.
        rows = range(0, self.count(), max(1, self.count() // _LOOKED_AT))
        texts = self.take(rows, ["search_text"])["search_text"].to_pylist()
        options: dict[str, Any] = BY_DICTIONARY if any(map(_SCRIPTS.search, texts)) else TEXT
        self._table.create_index("search_text", config=FTS(**options), replace=True)

    def is_finished(self) -> bool:
        """True when every row is in the full-text index."""
        with _wrapped("reading the indexes", self.path):
            for index in self._table.list_indices():
                if index.columns == ["search_text"]:
                    return not index.num_unindexed_rows
        return False


class ScenarioTable(StoredTable):
    """The scenarios of documents of one corpus and their vectors, one row per scenario."""

    name = "scenarios"
    key = "scenario_id"

    def put(self, doc_ids: Sequence[str], batch: pa.RecordBatch, *, new: bool) -> None:
        """Replace all rows of ``doc_ids`` by ``batch``, in one commit; ``new``: none are stored
        yet."""
        if new:
            self.write(batch, replace=False)
            return
        with self._writing(f"writing {self.name}"):
            merge = self._merge().when_not_matched_insert_all()
            merge = merge.when_not_matched_by_source_delete(_is_one_of("doc_id", doc_ids))
            merge.execute(pa.Table.from_batches([batch]))
