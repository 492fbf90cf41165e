"""The ledger's schema as numbered steps. Append a function; never change one that was released."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    DateTime,
    MetaData,
    Table,
    Text,
    false,
    func,
    inspect,
    select,
)

from storage.documents import DOCUMENTS, DocumentRow, key_of
from storage.errors import StorageError
from storage.judgment_events import CURRENT, fill_current
from storage.tables import METADATA, put

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

    fill_documents(connection, partial(_rows, connection))
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE answers ALTER rowid DROP IDENTITY IF EXISTS")
    for name in BEFORE_DOCUMENTS:
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")


def m0014_studies(connection: Connection) -> None:
    """Evaluations, gaps, uploaded files and steps of builds as documents."""
    fill_studies(connection, partial(_rows, connection))
    for name in ("evaluations", "qrels_files", "build_steps"):
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")
    if "uploaded" in {column["name"] for column in inspect(connection).get_columns("runs")}:
        connection.exec_driver_sql("DELETE FROM runs WHERE uploaded")
        connection.exec_driver_sql("DROP INDEX IF EXISTS runs_by_collection")
        for name in ("collection", "uploaded"):
            connection.exec_driver_sql(f"ALTER TABLE runs DROP COLUMN {name}")


def m0015_expressions(connection: Connection) -> None:
    """How a document has what its label names; labels before this version count as implied."""
    if "expression" not in {c["name"] for c in inspect(connection).get_columns("build_labels")}:
        column = "expression TEXT NOT NULL DEFAULT 'implied'"
        connection.exec_driver_sql(f"ALTER TABLE build_labels ADD COLUMN {column}")


def _rows(connection: Connection, name: str) -> list[Row]:
    """The rows of a table of earlier versions, in order of arrival; of runs the uploaded ones."""
    if not inspect(connection).has_table(name):
        return []
    table = Table(name, MetaData(), autoload_with=connection)
    query = select(table).order_by(*(table.c[n] for n in ("id", "position") if n in table.c))
    if name == "runs":
        query = query.where(table.c.uploaded if "uploaded" in table.c else false())
    return [dict(row) for row in connection.execute(query).mappings()]


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
        made.append(_document(kind, scope, key, owner, content, of))

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
        named = names.get(key, [{"name": "", "deleted": False, "owner": ""}])[-1]
        trail = {
            "name": named["name"],
            "deleted": bool(named["deleted"]),
            "searches": [json.loads(step["query"]) for step in steps.get(key, [])],
            "documents": [{name: row[name] for name in fields} for row in last],
        }
        of = steps.get(key) or [*kept.get(key, []), *names.get(key, [])]
        add("trail", "", key[0], named["owner"], json.dumps(trail), of)
    put(connection, DOCUMENTS, made)


def fill_studies(connection: Connection, rows: Callable[[str], Iterable[Row]]) -> None:
    """Store evaluations and gaps, uploaded judgments and runs, and steps of builds as documents."""
    made: list[DocumentRow] = []

    def add(kind: str, scope: str, key: str, content: Any, of: list[Row]) -> None:
        text = json.dumps(content, ensure_ascii=False)
        made.append(_document(kind, scope, key, "", text, of))

    asked = ("corpus_version", "systems", "settings")
    for (place, *key), of in _grouped(rows("evaluations"), "collection", *asked).items():
        result, settings, record = (
            json.loads(one)
            for one in (_unpacked(of[-1]["result"]), of[-1]["settings"], of[-1]["summary"])
        )
        kind = "evaluation" if "request" in settings else "gap"
        scope = place.removeprefix("gap:") if kind == "gap" else place
        if kind == "gap":
            systems = json.loads(of[-1]["systems"])
            record["request"] = {**settings, "collection": scope, "systems": systems}
            result["report"] = result.pop("llm")
        else:
            record |= {"request": settings["request"], "corpus": of[-1]["corpus"]}
            result["rankings"] = {}
        add(kind, scope, key_of(*key), {**record, "time": _second(of[-1])}, of)
        add(f"{kind} result", scope, key_of(*key), result, of)
    evaluated = _grouped(rows("evaluations"), "collection")
    uploaded = _grouped((row for row in rows("runs") if row["uploaded"]), "collection")
    for (place,), of in {**uploaded, **evaluated}.items():
        if "@" in place and not place.startswith("gap:"):
            add("collection of files", "", place, "", of)
    for row in rows("qrels_files"):
        content = {"corpus": row["corpus"], "name": row["name"], "qrels": _unpacked(row["qrels"])}
        add("uploaded judgments", "", str(row["id"]), content, [row])
    for row in rows("runs"):
        if row["uploaded"]:
            run = {name: row[name] for name in ("id", "collection")} | json.loads(row["settings"])
            run |= {"name": row["system"], "time": _second(row)}
            add("uploaded run", "", str(row["id"]), run, [row])
            add("text of an uploaded run", "", str(row["id"]), _unpacked(row["run"]), [row])
    steps = _grouped(rows("build_steps"), "corpus", "build", "step")
    for (corpus, build, step), of in steps.items():
        contents = [row["content"] for row in of if row["content"]]
        value = json.loads(_unpacked(contents[-1])) if contents else None
        if step == "verbalise":  # the first versions stored the overlap of a query flat
            flat = ("share", "words")
            value = [
                {**query, "overlap": {n: query[n] for n in flat}} if "share" in query else query
                for query in value or []
            ]
        last = next((row for row in reversed(of) if row["kind"] == "run"), None)
        run = {} if last is None else {name: last[name] for name in ("basis", "model")}
        ran = None if last is None else _utc(last["time"]).isoformat()
        edits = sum(row["changes"] for row in of)
        add(f"build {step}", corpus, build, {"value": value, **run, "ran": ran, "edits": edits}, of)
    put(connection, DOCUMENTS, made)


def _document(
    kind: str, scope: str, key: str, owner: str, content: str, of: list[Row]
) -> DocumentRow:
    times = [_utc(row["time"]) for row in of]
    packed = zlib.compress(content.encode())
    return DocumentRow(kind, scope, key, owner, min(times), max(times), packed)


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _second(row: Row) -> str:
    return str(_utc(row["time"]).isoformat(timespec="seconds"))


def _unpacked(content: bytes) -> str:
    return zlib.decompress(content).decode()


def _grouped(rows: Iterable[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


Migration = Callable[[Connection], None]
MIGRATIONS: list[Migration] = [m0013_documents, m0014_studies, m0015_expressions]
"""In order: the first takes a ledger to schema version :data:`FIRST`, and so on."""


def newest() -> int:
    """The version that this SeedLens writes."""
    return FIRST + len(MIGRATIONS) - 1


def version_of(connection: Connection) -> int:
    """The version of the schema; 0 where there is none."""
    if not inspect(connection).has_table(SCHEMA_VERSION.name):
        return 0
    return int(connection.scalar(select(func.max(SCHEMA_VERSION.c.version))) or 0)


def check(connection: Connection, ledger: str) -> None:
    """Raise StorageError where a ledger that cannot be written to would have to be."""
    if _known_version(connection, ledger) != newest():
        raise StorageError(
            f"The ledger {ledger} is of another version of SeedLens, and its folder cannot be "
            "written to.",
            "Open it once where it can be written to, or copy the home.",
        )


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
