"""Answers of language models in the ledger, by content, and what is known of endpoints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from storage.access import LedgerFile

_COLUMNS = "key, endpoint, model, prompt, answer, input_tokens, output_tokens, time"


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer that could be read.

    Attributes:
        key: hash of all that the answer depends on; the question itself is not stored.
        endpoint, model, prompt: for counting and clearing; the key covers them.
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


class Answers:
    """The tables of answers of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def find(self, keys: Collection[str]) -> dict[str, str]:
        """The answers that are there, by key."""
        if not keys:
            return {}
        sql = "SELECT key, answer FROM answers WHERE key IN (SELECT unnest(?::VARCHAR[]))"
        with self._file.access() as connection:
            return dict(connection.execute(sql, [sorted(keys)]).fetchall())

    def add(self, rows: Sequence[AnswerRow]) -> None:
        """Store answers, all or none; of two for one key, the first stays."""
        if not rows:
            return
        values = [
            (r.key, r.endpoint, r.model, r.prompt, r.answer, r.input_tokens, r.output_tokens,
             r.time.astimezone(UTC).replace(tzinfo=None))
            for r in rows
        ]  # fmt: skip
        with self._file.access() as connection:
            connection.executemany(
                f"INSERT INTO answers ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
                "ON CONFLICT DO NOTHING",
                values,
            )

    def count(self, endpoint: str | None = None, model: str | None = None) -> int:
        """How many answers are kept."""
        sql = """
            SELECT count(*) FROM answers
            WHERE ($endpoint::VARCHAR IS NULL OR endpoint = $endpoint)
                AND ($model::VARCHAR IS NULL OR model = $model)"""
        with self._file.access() as connection:
            row = connection.execute(sql, {"endpoint": endpoint, "model": model}).fetchone()
        return int(row[0]) if row else 0

    def clear(self, endpoint: str | None = None, model: str | None = None) -> None:
        """Forget answers: of one endpoint, of one model, or all."""
        sql = """
            DELETE FROM answers
            WHERE ($endpoint::VARCHAR IS NULL OR endpoint = $endpoint)
                AND ($model::VARCHAR IS NULL OR model = $model)"""
        with self._file.access() as connection:
            connection.execute(sql, {"endpoint": endpoint, "model": model})

    # What an endpoint can do

    def capabilities(self, endpoint: str, model: str) -> str | None:
        """What was remembered of a model there (JSON owned by the engine), or None."""
        sql = "SELECT capabilities FROM model_capabilities WHERE endpoint = ? AND model = ?"
        found = self._file.remembered(
            ("capabilities", endpoint, model),
            lambda c: c.execute(sql, [endpoint, model]).fetchone(),
        )
        return None if found is None else str(found[0])

    def remember_capabilities(self, endpoint: str, model: str, capabilities: str | None) -> None:
        """Remember, or with None forget, what a model there can do."""
        with self._file.access() as connection:
            if capabilities is None:
                connection.execute(
                    "DELETE FROM model_capabilities WHERE endpoint = ? AND model = ?",
                    [endpoint, model],
                )
                return
            connection.execute(
                """INSERT INTO model_capabilities (endpoint, model, capabilities, time)
                   VALUES (?, ?, ?, ?)
                   ON CONFLICT (endpoint, model) DO UPDATE SET
                       capabilities = excluded.capabilities, time = excluded.time""",
                [endpoint, model, capabilities, datetime.now(UTC).replace(tzinfo=None)],
            )
