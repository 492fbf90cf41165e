"""Errors that reach people. Every one says what happened, where, and how to correct it."""

from __future__ import annotations


class SeedLensError(Exception):
    """Base of all errors that SeedLens raises on purpose.

    Args:
        message: what happened and where, in one line.
        remedy: what the person can do about it, in one line; may be empty.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class StorageError(SeedLensError):
    """The files of the home could not be read or written."""


class StorageFullError(StorageError):
    """The disk (or a quota) has no room for the next write."""


class CorpusMissingError(StorageError):
    """No corpus of that name is stored in this home."""


class CorpusBusyError(StorageError):
    """Another process is writing to the same corpus."""


class LedgerBusyError(StorageError):
    """The ledger stayed locked by other processes for longer than we wait."""


class QueryError(SeedLensError):
    """A query in SQL cannot be run, or was refused or stopped."""
