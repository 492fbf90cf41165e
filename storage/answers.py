"""Answers of language models in the ledger, by content, and what is known of endpoints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from storage.database import Connection, LedgerTables
from storage.rows import insert, stored

NEIGHBOURS = 4000
"""Answers that are read along with one that is wanted: an access costs 2 ms, and who asks
again what was asked before asks the rest of it too."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer that could be read.

    Attributes:
        key: hash, 64 hex digits, of all that the answer depends on; the question is not stored.
        endpoint, model, prompt: what was asked, and how; the key covers them.
        answer: JSON owned by the engine.
        input_tokens, output_tokens: what it took.
    """

    key: str
    endpoint: str
    model: str
    prompt: str
    answer: str
    input_tokens: int
    output_tokens: int
    time: datetime


class Answers(LedgerTables):
    """The tables of answers of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def find(self, keys: Collection[str]) -> dict[str, str]:
        """The answers that are there, by key; some that were written after them come along."""
        if not keys:
            return {}
        sql = """
            WITH wanted AS (
                SELECT rowid AS place FROM answers
                WHERE key IN (SELECT unnest($keys::VARCHAR[]))
            )
            SELECT key, answer FROM answers
            WHERE rowid IN (SELECT place FROM wanted)
                OR rowid BETWEEN (SELECT min(place) FROM wanted)
                    AND (SELECT min(place) + $more FROM wanted)"""
        with self._file.access(writes=False) as connection:
            answers = connection.execute(sql, {"keys": sorted(keys), "more": NEIGHBOURS})
            return dict(answers.fetchall())

    def heads(self, endpoint: str, model: str) -> NDArray[np.uint64]:
        """The first 16 digits of the keys of a model's answers, as numbers in ascending order.

        Eight bytes an answer say which ones there may be, without a look into the ledger.
        """
        return self._known(endpoint, model).heads

    def add(self, rows: Sequence[AnswerRow]) -> None:
        """Store answers, all or none; of two for one key, the first stays."""
        if not rows:
            return
        with self._file.access() as connection:
            insert(connection, "answers", rows, "ON CONFLICT DO NOTHING")

    # What an endpoint can do

    def capabilities(self, endpoint: str, model: str) -> str | None:
        """What was remembered of a model there (JSON owned by the engine), or None."""
        return self._known(endpoint, model).capabilities

    def remember_capabilities(self, endpoint: str, model: str, capabilities: str) -> None:
        """Remember what a model there can do, in place of what was remembered before."""
        with self._file.access() as connection:
            connection.execute(
                """INSERT INTO model_capabilities (endpoint, model, capabilities, time)
                   VALUES (?, ?, ?, ?)
                   ON CONFLICT (endpoint, model) DO UPDATE SET
                       capabilities = excluded.capabilities, time = excluded.time""",
                [endpoint, model, capabilities, stored(datetime.now(UTC))],
            )

    def _known(self, endpoint: str, model: str) -> _Known:
        """Both in one access: every run begins with them."""
        return self._file.remembered(
            ("model", endpoint, model), lambda connection: _read_known(connection, endpoint, model)
        )


class _Known(NamedTuple):
    capabilities: str | None
    heads: NDArray[np.uint64]


def _read_known(connection: Connection, endpoint: str, model: str) -> _Known:
    place = [endpoint, model]
    sql = "SELECT capabilities FROM model_capabilities WHERE endpoint = ? AND model = ?"
    capabilities = connection.execute(sql, place).fetchone()
    sql = """
        SELECT string_agg(left(key, 16), '') FROM answers
        WHERE endpoint = ? AND model = ? AND key ~ '^[0-9a-f]{16}.*$'"""
    (joined,) = connection.execute(sql, place).fetchone() or ("",)
    heads = np.frombuffer(bytes.fromhex(joined or ""), dtype=">u8").astype(np.uint64)
    return _Known(None if capabilities is None else str(capabilities[0]), np.sort(heads))
