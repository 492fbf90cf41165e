"""Ledgers as earlier versions made them: their tables, and rows in all of them."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import duckdb

NEWEST = 9
PER_ITEM = '{"per_item": 2}'
TABLES = {
    "corpora": "name state source source_format lens encoder documents:i expected:i created_at:t "
    "updated_at:t generation='' | PRIMARY KEY (name)",
    "trail_steps": "trail_id position:i corpus query time:t | PRIMARY KEY (trail_id, position)",
    "kept_events": "# trail_id corpus doc_id kept:b time:t note='' place:d=0",
    "texts": "text_id text time:t | PRIMARY KEY (text_id)",
    "runs": "# collection corpus corpus_version system settings uploaded:b seconds:d run:x time:t",
    "evaluations": "# collection corpus corpus_version systems settings summary result:x time:t",
    "qrels_files": "# corpus name qrels:x time:t",
    "answers": "key endpoint model prompt answer input_tokens:i output_tokens:i time:t "
    "| PRIMARY KEY (key)",
    "model_capabilities": "endpoint model capabilities time:t | PRIMARY KEY (endpoint, model)",
    "judgment_events": "# event corpus project query_id doc_id verdict relevance:s? annotator "
    "origin note marks instruction rank:i? system blind:b seconds:d? undoes time:t "
    "| PRIMARY KEY (event), CHECK (relevance BETWEEN 0 AND 100), "
    "CHECK ((verdict = 'grade') = (relevance IS NOT NULL))",
    "project_versions": "# corpus project settings author time:t",
    "project_queries": "# corpus project query_id query time:t "
    "| PRIMARY KEY (corpus, project, query_id)",
    "pool_items": "# corpus project query_id doc_id source rank:i time:t "
    "| PRIMARY KEY (corpus, project, query_id, doc_id, source)",
    "build_versions": "# corpus build settings author time:t",
    "build_labels": "# corpus build doc_id label quote maker author basis time:t "
    "| CHECK (maker IN ('model', 'person'))",
    "build_steps": "# corpus build step kind content:x basis changes:i author model time:t "
    "| CHECK (kind IN ('run', 'edit'))",
    "query_states": "# corpus project query_id asked:b author time:t",
    "trail_names": "# trail_id name owner deleted:b time:t",
    "saved_searches": "# owner name link saved:b time:t",
    "asked": "asked_id owner corpus question state answer:x time:t | PRIMARY KEY (asked_id)",
}
"""Columns as name:type?=default, texts by default, # for numbered rows; constraints after |."""
_TYPES = {"i": "BIGINT", "d": "DOUBLE", "b": "BOOLEAN", "t": "TIMESTAMP", "s": "SMALLINT"}
_TYPES |= {"x": "BLOB", "": "VARCHAR"}
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
    for name, spec in TABLES.items():
        if version < 7 and name in _LATER:
            continue
        columns, _, constraints = spec.partition(" | ")
        given = [one for one in columns.removeprefix("# ").split() if version > 6 or "=" not in one]
        sql = [*map(_column, given), *filter(None, [constraints])]
        if columns.startswith("#"):
            sequence = f"{name.removesuffix('s')}_ids"
            made.append((f"CREATE SEQUENCE {sequence}", []))
            sql.insert(0, f"id BIGINT NOT NULL DEFAULT nextval('{sequence}')")
        made.append((f"CREATE TABLE {name} ({', '.join(sql)})", []))
        names = ", ".join(_column(one).partition(" ")[0] for one in given)
        for row in filled[name]:
            marks = ", ".join("?" * len(given))
            insert = f"INSERT INTO {name} ({names}) VALUES ({marks})"  # noqa: S608
            made.append((insert, list(row[: len(given)])))
    return made


def _column(spec: str) -> str:
    """The SQL of a column of :data:`TABLES`."""
    spec, _, default = spec.partition("=")
    name, _, kind = spec.removesuffix("?").partition(":")
    more = f" DEFAULT {default}" if default else "" if spec.endswith("?") else " NOT NULL"
    return f"{name} {_TYPES[kind]}{more}"


def make(path: Path, version: int = NEWEST) -> None:
    """A ledger in a file of DuckDB."""
    with duckdb.connect(str(path)) as connection:
        for sql, values in statements(version):
            connection.execute(sql, values)
