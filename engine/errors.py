"""The errors of the engine, and those of storage that pass through it."""

from __future__ import annotations

from storage.errors import (
    CorpusBusyError,
    CorpusMissingError,
    LedgerBusyError,
    SeedLensError,
    StorageError,
    StorageFullError,
)

__all__ = [
    "BadInputError",
    "CorpusBusyError",
    "CorpusMissingError",
    "LedgerBusyError",
    "ModelMissingError",
    "SeedLensError",
    "StorageError",
    "StorageFullError",
    "UnknownNameError",
]


class BadInputError(SeedLensError):
    """Something a person gave us cannot be used: a file, a row, an option."""


class UnknownNameError(BadInputError):
    """A name (corpus, seed, aspect, system, format, field) that does not exist."""


class ModelMissingError(SeedLensError):
    """The model that a corpus was indexed with cannot be loaded now."""
