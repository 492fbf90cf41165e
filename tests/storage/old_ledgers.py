"""Ledgers as earlier versions made them: their tables, and rows in all of them."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

import duckdb

NEWEST = 9
PER_ITEM = '{"per_item": 2}'
_PLACE = "corpus VARCHAR NOT NULL, project VARCHAR NOT NULL"
_BUILD = "corpus VARCHAR NOT NULL, build VARCHAR NOT NULL"
TABLES = {
    "corpora": "name VARCHAR PRIMARY KEY, state VARCHAR NOT NULL, source VARCHAR NOT NULL, "
    "source_format VARCHAR NOT NULL, lens VARCHAR NOT NULL, encoder VARCHAR NOT NULL, "
    "documents BIGINT NOT NULL, expected BIGINT NOT NULL, created_at TIMESTAMP NOT NULL, "
    "updated_at TIMESTAMP NOT NULL, generation VARCHAR DEFAULT ''",
    "trail_steps": "trail_id VARCHAR NOT NULL, position BIGINT NOT NULL, corpus VARCHAR NOT NULL, "
    "query VARCHAR NOT NULL, time TIMESTAMP NOT NULL, PRIMARY KEY (trail_id, position)",
    "kept_events": "ID, trail_id VARCHAR NOT NULL, corpus VARCHAR NOT NULL, "
    "doc_id VARCHAR NOT NULL, kept BOOLEAN NOT NULL, time TIMESTAMP NOT NULL, "
    "note VARCHAR DEFAULT '', place DOUBLE DEFAULT 0",
    "texts": "text_id VARCHAR PRIMARY KEY, text VARCHAR NOT NULL, time TIMESTAMP NOT NULL",
    "runs": "ID, collection VARCHAR NOT NULL, corpus VARCHAR NOT NULL, "
    "corpus_version VARCHAR NOT NULL, system VARCHAR NOT NULL, settings VARCHAR NOT NULL, "
    "uploaded BOOLEAN NOT NULL, seconds DOUBLE NOT NULL, run BLOB NOT NULL, "
    "time TIMESTAMP NOT NULL",
    "evaluations": "ID, collection VARCHAR NOT NULL, corpus VARCHAR NOT NULL, "
    "corpus_version VARCHAR NOT NULL, systems VARCHAR NOT NULL, settings VARCHAR NOT NULL, "
    "summary VARCHAR NOT NULL, result BLOB NOT NULL, time TIMESTAMP NOT NULL",
    "qrels_files": "ID, corpus VARCHAR NOT NULL, name VARCHAR NOT NULL, qrels BLOB NOT NULL, "
    "time TIMESTAMP NOT NULL",
    "answers": "key VARCHAR PRIMARY KEY, endpoint VARCHAR NOT NULL, model VARCHAR NOT NULL, "
    "prompt VARCHAR NOT NULL, answer VARCHAR NOT NULL, input_tokens BIGINT NOT NULL, "
    "output_tokens BIGINT NOT NULL, time TIMESTAMP NOT NULL",
    "model_capabilities": "endpoint VARCHAR NOT NULL, model VARCHAR NOT NULL, "
    "capabilities VARCHAR NOT NULL, time TIMESTAMP NOT NULL, PRIMARY KEY (endpoint, model)",
    "judgment_events": f"ID, event VARCHAR PRIMARY KEY, {_PLACE}, query_id VARCHAR NOT NULL, "
    "doc_id VARCHAR NOT NULL, verdict VARCHAR NOT NULL, relevance SMALLINT, "
    "annotator VARCHAR NOT NULL, origin VARCHAR NOT NULL, note VARCHAR NOT NULL, "
    "marks VARCHAR NOT NULL, instruction VARCHAR NOT NULL, rank BIGINT, system VARCHAR NOT NULL, "
    "blind BOOLEAN NOT NULL, seconds DOUBLE, undoes VARCHAR NOT NULL, time TIMESTAMP NOT NULL, "
    "CHECK (relevance BETWEEN 0 AND 100), CHECK ((verdict = 'grade') = (relevance IS NOT NULL))",
    "project_versions": f"ID, {_PLACE}, settings VARCHAR NOT NULL, author VARCHAR NOT NULL, "
    "time TIMESTAMP NOT NULL",
    "project_queries": f"ID, {_PLACE}, query_id VARCHAR NOT NULL, query VARCHAR NOT NULL, "
    "time TIMESTAMP NOT NULL, PRIMARY KEY (corpus, project, query_id)",
    "pool_items": f"ID, {_PLACE}, query_id VARCHAR NOT NULL, doc_id VARCHAR NOT NULL, "
    "source VARCHAR NOT NULL, rank BIGINT NOT NULL, time TIMESTAMP NOT NULL, "
    "PRIMARY KEY (corpus, project, query_id, doc_id, source)",
    "build_versions": f"ID, {_BUILD}, settings VARCHAR NOT NULL, author VARCHAR NOT NULL, "
    "time TIMESTAMP NOT NULL",
    "build_labels": f"ID, {_BUILD}, doc_id VARCHAR NOT NULL, label VARCHAR NOT NULL, "
    "quote VARCHAR NOT NULL, maker VARCHAR NOT NULL, author VARCHAR NOT NULL, "
    "basis VARCHAR NOT NULL, time TIMESTAMP NOT NULL, CHECK (maker IN ('model', 'person'))",
    "build_steps": f"ID, {_BUILD}, step VARCHAR NOT NULL, kind VARCHAR NOT NULL, "
    "content BLOB NOT NULL, basis VARCHAR NOT NULL, changes BIGINT NOT NULL, "
    "author VARCHAR NOT NULL, model VARCHAR NOT NULL, time TIMESTAMP NOT NULL, "
    "CHECK (kind IN ('run', 'edit'))",
    "query_states": f"ID, {_PLACE}, query_id VARCHAR NOT NULL, asked BOOLEAN NOT NULL, "
    "author VARCHAR NOT NULL, time TIMESTAMP NOT NULL",
    "trail_names": "ID, trail_id VARCHAR NOT NULL, name VARCHAR NOT NULL, owner VARCHAR NOT NULL, "
    "deleted BOOLEAN NOT NULL, time TIMESTAMP NOT NULL",
    "saved_searches": "ID, owner VARCHAR NOT NULL, name VARCHAR NOT NULL, link VARCHAR NOT NULL, "
    "saved BOOLEAN NOT NULL, time TIMESTAMP NOT NULL",
    "asked": "asked_id VARCHAR PRIMARY KEY, owner VARCHAR NOT NULL, corpus VARCHAR NOT NULL, "
    "question VARCHAR NOT NULL, state VARCHAR NOT NULL, answer BLOB NOT NULL, "
    "time TIMESTAMP NOT NULL",
}
_LATER = {"trail_names", "saved_searches", "asked"}
"""Tables that version 6 did not have; nor the columns that have a default."""


def packed(text: str) -> bytes:
    return zlib.compress(text.encode())


def rows(time: str = "2026-03-01 12:30:15.123456") -> dict[str, list[tuple[Any, ...]]]:
    """Some in every table, without their ids, in the order of the columns."""

    def said(event: str, doc: str, verdict: str, grade: int | None, **more: str) -> tuple[Any, ...]:
        return (event, "c", "p", "q", doc, verdict, grade, more.get("who", "Ada"),
                more.get("origin", "person"), "O'Brien 🌱", json.dumps([[1, 4]]), "i", 3, "dense",
                False, 1.5, more.get("undoes", ""), time)  # fmt: skip

    flat = '[{"key": "c1", "share": 0.5, "words": ["w"]}]'
    return {
        "corpora": [("c", "ready", "s", "jsonl", "{}", "{}", 3, 3, time, time, "g")],
        "trail_steps": [("t", n, "c", f'{{"seed": "{n}"}}', time) for n in (1, 2)],
        "kept_events": [("t", "c", doc, True, time, "why", place) for doc, place in
                        (("d1", 2.0), ("d2", 1.0))],
        "texts": [("x", "pasted", time)],
        "runs": [("k", "c", "1", "bm25", "{}", uploaded, 1.5, packed("run"), time)
                 for uploaded in (False, True)],
        "evaluations": [
            ("k", "c", "1", "[]", '{"request": {"sample": 2}}', '{"queries": 1}',
             packed(f'{{"corpus": "{version}"}}'), time) for version in ("before", "c")
        ] + [
            ("gap:k", "c", "1", '["bm25"]', '{"verifier": "v"}', '{"bounds": [0, 1]}',
             packed('{"llm": {}}'), time)
        ],
        "qrels_files": [("c", "mine", packed("q 0 d 1"), time)],
        "answers": [(f"{n:064x}", "e", "m", "p", "{}", 1, 2, time) for n in range(3)],
        "model_capabilities": [("e", "m", "{}", time)],
        "judgment_events": [
            said("e1", "d1", "grade", 1), said("e2", "d1", "grade", 3),
            said("e3", "d2", "skip", None),
            said("e4", "d1", "undo", None, undoes="e2"), said("e5", "d3", "grade", 2, who="Ben"),
            said("e6", "d3", "withdrawn", None, who="Ben"),
            said("e7", "d1", "grade", 2, who="Lea", origin="adjudication"),
        ],
        "project_versions": [("c", "p", settings, "Lea", time) for settings in ("{}", PER_ITEM)],
        "project_queries": [("c", "p", query, "{}", time) for query in ("q", "q2")],
        "pool_items": [("c", "p", "q", doc, "bm25", 1, time) for doc in ("d1", "d2", "d3")],
        "build_versions": [("c", "b", "{}", "Lea", time)],
        "build_labels": [("c", "b", "d1", "x", "quote", "person", "Lea", "", time)],
        "build_steps": [
            ("c", "b", "verbalise", "run", packed(flat), "basis", 0, "Lea", "m", time),
            ("c", "b", "verbalise", "edit", packed(flat), "basis", 2, "Lea", "", time),
            ("c", "b", "label", "run", b"", "", 0, "Lea", "m", time),
        ],
        "query_states": [("c", "p", "q2", False, "Lea", time)],
        "trail_names": [("t", "mine", "Ada", False, time)],
        "saved_searches": [("Ada", "s", "?seed=1", True, time)],
        "asked": [("a", "Ada", "c", "why?", "done", packed('"because"'), time)],
    }  # fmt: skip


def statements(version: int = NEWEST) -> list[tuple[str, list[Any]]]:
    """What makes a ledger of a version, in SQL of DuckDB and PostgreSQL, with ? for values."""
    step = "INSERT INTO schema_version VALUES (?, 'm', TIMESTAMP '2026-01-01')"
    made: list[tuple[str, list[Any]]] = [
        ("CREATE TABLE schema_version (version INTEGER NOT NULL, name VARCHAR NOT NULL, "
         "applied_at TIMESTAMP NOT NULL)", []),
        *((step, [n]) for n in range(1, version + 1)),
    ]  # fmt: skip
    filled = rows()
    for name, columns in TABLES.items():
        if version < 7 and name in _LATER:
            continue
        if version < 7:
            columns = re.sub(r", \w+ \w+ DEFAULT [^,]+", "", columns)
        named = re.findall(
            r"(\w+) (?:VARCHAR|BIGINT|DOUBLE|BOOLEAN|TIMESTAMP|SMALLINT|BLOB)", columns
        )
        if columns.startswith("ID"):
            sequence = f"{name.removesuffix('s')}_ids"
            made.append((f"CREATE SEQUENCE {sequence}", []))
            columns = f"id BIGINT NOT NULL DEFAULT nextval('{sequence}'){columns[2:]}"
        made.append((f"CREATE TABLE {name} ({columns})", []))
        for row in filled[name]:
            marks = ", ".join("?" * len(named))
            sql = f"INSERT INTO {name} ({', '.join(named)}) VALUES ({marks})"  # noqa: S608
            made.append((sql, list(row[: len(named)])))
    return made


def make(path: Path, version: int = NEWEST) -> None:
    """A ledger in a file of DuckDB."""
    with duckdb.connect(str(path)) as connection:
        for sql, values in statements(version):
            connection.execute(sql, values)
