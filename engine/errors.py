"""The errors of the engine, and those of storage that pass through it."""

from __future__ import annotations

from collections.abc import Iterable

from storage.errors import CorpusBusyError as CorpusBusyError
from storage.errors import CorpusMissingError as CorpusMissingError
from storage.errors import LedgerBusyError as LedgerBusyError
from storage.errors import QueryError as QueryError
from storage.errors import SeedLensError as SeedLensError
from storage.errors import StorageError as StorageError
from storage.errors import StorageFullError as StorageFullError


class BadInputError(SeedLensError):
    """Something a person gave us cannot be used: a file, a row, an option."""


class UnknownNameError(BadInputError):
    """A name (corpus, seed, aspect, system, format, field) that does not exist."""


class ModelMissingError(SeedLensError):
    """The model that a corpus was indexed with cannot be loaded now."""


class ServiceError(SeedLensError):
    """A service that documents come from did not send what it was asked for."""


class ClusterError(SeedLensError):
    """The machines that were to do the work cannot."""


class LoginSetupError(SeedLensError):
    """Login is wanted, and not set up so that it can be relied on: nobody may enter."""


class NotLoggedInError(SeedLensError):
    """Login is wanted, and this visitor is not logged in."""


class NotAllowedError(SeedLensError):
    """Whoever asks may not do this; see :mod:`engine.permissions`."""


class RefusedError(SeedLensError):
    """This visitor logged in, and may not enter.

    Args:
        address: by which they logged in; "" where the provider gave none.
    """

    def __init__(self, address: str, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.address = address


def check_length(what: str, text: str, most: int, remedy: str = "Shorten it.") -> None:
    """Raise BadInputError for a text of more than ``most`` characters."""
    if len(text) > most:
        said = f"The {what} has {len(text):,} characters; at most {most:,} are read."
        raise BadInputError(said, remedy)


def check_between(what: str, value: float | None, low: float, high: float | None = None) -> None:
    """Raise BadInputError for a number out of bounds, both included; None is no number."""
    if value is not None and not low <= value <= (value if high is None else high):
        bounds = f"at least {low}" if high is None else f"{low} to {high:,}"
        raise BadInputError(f"{what} is {value}.", f"Give {bounds}.")


def check_known(what: str, name: str, known: Iterable[str]) -> None:
    """Raise UnknownNameError for a name that is not among those that are known."""
    known = tuple(known)
    if name not in known:
        raise UnknownNameError(f"There is no {what} '{name}'.", f"Use one of {', '.join(known)}.")
