"""The ledger's schema as numbered steps. Append a function; never change one that was released."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    DateTime,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
)

from storage.documents import DOCUMENTS, DocumentRow
from storage.errors import StorageError
from storage.judgment_events import CURRENT, fill_current
from storage.tables import METADATA, insert

FIRST, OLDEST = 13, 9
"""Numbers of the first step, and of the oldest schema that it takes: that of PostgreSQL with the
tables that DuckDB had."""
SCHEMA_VERSION = Table(
    "schema_version",
    METADATA,
    Column("version", BigInteger, nullable=False),
    Column("name", Text, nullable=False),
    Column("applied_at", DateTime, nullable=False),
)


def m0013_documents(connection: Connection) -> None:
    """Current judgments, and all that is read by its key alone as documents."""
    there = set(inspect(connection).get_table_names())
    for name in there.intersection(EPHEMERAL):
        connection.exec_driver_sql(f"DROP TABLE {name}")
    METADATA.create_all(connection)
    for index in (index for table in METADATA.sorted_tables for index in table.indexes):
        index.create(connection, checkfirst=True)
    if CURRENT.name not in there:
        fill_current(connection)

    def rows(name: str) -> list[Row]:
        if name not in there:
            return []
        table = Table(name, MetaData(), autoload_with=connection)
        order = [table.c[one] for one in ("id", "position") if one in table.c]
        query = select(table).order_by(*order)
        return [dict(row) for row in connection.execute(query).mappings()]

    fill_documents(connection, rows)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE answers ALTER rowid DROP IDENTITY IF EXISTS")
    for name in there.intersection(BEFORE_DOCUMENTS):
        connection.exec_driver_sql(f"DROP TABLE {name}")


Row = dict[str, Any]
EPHEMERAL = ("leases", "locks", "import_jobs")
BEFORE_DOCUMENTS = (
    *("project_versions", "build_versions", "trail_steps", "kept_events", "trail_names"),
    *("query_states", "saved_searches", "asked", "texts", "model_capabilities"),
    *("ended_logins", "spent", "jobs"),
)
"""Tables of versions before 13."""


def fill_documents(connection: Connection, rows: Callable[[str], Iterable[Row]]) -> None:
    """Store the rows of :data:`BEFORE_DOCUMENTS`, in order of arrival, as documents."""
    made: list[DocumentRow] = []

    def add(kind: str, scope: str, key: str, owner: str, content: str, of: list[Row]) -> None:
        times = [
            row["time"].astimezone(UTC) if row["time"].tzinfo else row["time"].replace(tzinfo=UTC)
            for row in of
        ]
        packed = zlib.compress(content.encode())
        made.append(DocumentRow(kind, scope, key, owner, min(times), max(times), packed))

    for kind in ("project", "build"):
        for (corpus, name), of in _grouped(rows(f"{kind}_versions"), "corpus", kind).items():
            add(kind, corpus, name, of[-1]["author"], of[-1]["settings"], of)
    for (owner, link), of in _grouped(rows("saved_searches"), "owner", "link").items():
        if of[-1]["saved"]:
            search = {"name": of[-1]["name"], "link": link}
            add("saved search", owner, link, owner, json.dumps(search), of[-1:])
    for (corpus, project), of in _grouped(rows("query_states"), "corpus", "project").items():
        last_asked = {row["query_id"]: row["asked"] for row in of}
        retired = sorted(query_id for query_id, asked in last_asked.items() if not asked)
        add("retired queries", corpus, project, of[-1]["author"], json.dumps(retired), of)
    for row in rows("model_capabilities"):
        capabilities = json.dumps(row["capabilities"])
        add("capabilities", row["endpoint"], row["model"], "", capabilities, [row])
    for row in rows("texts"):
        add("text", "", row["text_id"], "", json.dumps(row["text"]), [row])
    for row in rows("ended_logins"):
        add("ended login", "", row["digest"], "", '""', [{"time": row["ended_at"]}])
    for row in rows("asked"):
        question = {name: row[name] for name in ("corpus", "question", "state")}
        question |= {"id": row["asked_id"], "time": f"{row['time'].isoformat()}Z"}
        answer = zlib.decompress(row["answer"]).decode()
        for kind, content in (("question", json.dumps(question)), ("answer", answer)):
            add(kind, "", row["asked_id"], row["owner"], content, [row])
    for row in rows("jobs"):
        job = json.loads(zlib.decompress(row["content"]))
        job |= {"id": row["job_id"], "pid": row["process"], "stopping": bool(row["stop"])}
        job |= {name: row[name] for name in ("state", "owner", "machine")}
        job["started_at"] = row["started"].replace(tzinfo=UTC).isoformat()
        times = [{"time": row[name]} for name in ("started", "renewed")]
        add("import", "", row["job_id"], row["owner"], json.dumps(job), times)
    steps = _grouped(rows("trail_steps"), "trail_id")
    names = _grouped(rows("trail_names"), "trail_id")
    kept = _grouped(rows("kept_events"), "trail_id")
    for key in {**steps, **names, **kept}:
        last = [of[-1] for of in _grouped(kept.get(key, []), "corpus", "doc_id").values()]
        last.sort(key=lambda row: (row["place"], row["id"]))
        fields = ("corpus", "doc_id", "note", "kept")
        named: Row = {"name": "", "deleted": False, "owner": ""}
        named = names[key][-1] if key in names else named
        trail = {
            "name": named["name"],
            "deleted": bool(named["deleted"]),
            "searches": [json.loads(step["query"]) for step in steps.get(key, [])],
            "documents": [{name: row[name] for name in fields} for row in last],
        }
        of = steps.get(key) or [*kept.get(key, []), *names.get(key, [])]
        add("trail", "", key[0], named["owner"], json.dumps(trail), of)
    insert(connection, DOCUMENTS, made)


def _grouped(rows: Iterable[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


Migration = Callable[[Connection], None]
MIGRATIONS: list[Migration] = [m0013_documents]
"""In order: the first takes a ledger to schema version :data:`FIRST`, and so on."""


def newest() -> int:
    """The version that this SeedLens writes."""
    return FIRST + len(MIGRATIONS) - 1


def version_of(connection: Connection) -> int:
    """The version of the schema; 0 where there is none."""
    if not inspect(connection).has_table(SCHEMA_VERSION.name):
        return 0
    return int(connection.scalar(select(func.max(SCHEMA_VERSION.c.version))) or 0)


def check(connection: Connection, ledger: str) -> int:
    """The version of the schema."""
    version = _known_version(connection, ledger)
    if version != newest():
        raise StorageError(
            f"The ledger {ledger} is of another version of SeedLens, and its folder cannot be "
            "written to.",
            "Open it once where it can be written to, or copy the home.",
        )
    return version


def migrate(
    connection: Connection,
    ledger: str,
    begin: str = "BEGIN IMMEDIATE",
    fill: Callable[[Connection], None] = lambda _: None,
) -> None:
    """Make the tables or bring them up to date, in one transaction.

    Args:
        ledger: its name in errors.
        fill: called with tables that were made.
    """
    if _known_version(connection, ledger) == newest():
        return
    connection.exec_driver_sql(begin)
    try:
        version = _known_version(connection, ledger)  # another program may have been first
        if not version:
            METADATA.create_all(connection, checkfirst=False)
            fill(connection)
            _note(connection, newest(), "created")
        for number in range(max(FIRST, version + 1), newest() + 1) if version else ():
            migration = MIGRATIONS[number - FIRST]
            migration(connection)
            _note(connection, number, migration.__name__)
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise


def _known_version(connection: Connection, ledger: str) -> int:
    version = version_of(connection)
    if version > newest():
        raise StorageError(
            f"The ledger {ledger} was written by a newer SeedLens: it has schema version {version}"
            f", this SeedLens knows versions up to {newest()}.",
            "Upgrade SeedLens, or use another ledger (SEEDLENS_HOME, SEEDLENS_LEDGER_URL). "
            "Nothing was changed.",
        )
    if 0 < version < OLDEST:
        raise StorageError(
            f"The ledger {ledger} has schema version {version}, and this SeedLens can bring up to "
            f"date versions from {OLDEST} on.",
            "Open it once with SeedLens 0.1 of November 2026. Nothing was changed.",
        )
    return version


def _note(connection: Connection, version: int, name: str) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    connection.execute(SCHEMA_VERSION.insert().values(version=version, name=name, applied_at=now))
