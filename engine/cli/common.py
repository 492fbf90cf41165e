"""The engine, opened late, and the values of options, checked early."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.terminal import advancing
from engine.config import Settings
from engine.errors import BadInputError, UnknownNameError

if TYPE_CHECKING:
    from engine.explorer import Explorer
    from engine.types.evaluations import Collection
    from engine.types.searches import Filter


def open_explorer(**settings: Any) -> Explorer:
    """The engine, loaded late, so that ``--help`` and bad options do not wait for databases.

    Args:
        settings: in place of the environment.
    """
    from engine.explorer import Explorer

    return Explorer(Settings(**settings))


def parsed_filters(texts: Sequence[str]) -> tuple[Filter, ...]:
    """The filters of ``--filter``."""
    from engine.search.queries import parse_filter

    return tuple(map(parse_filter, texts))


def selection_of(explorer: Explorer, corpus: str, file: Path | None) -> tuple[Filter, ...]:
    """The filter of ``--within``, if it was given."""
    if file is None:
        return ()
    explorer.library.corpus(corpus)
    doc_ids = ids_in(file)
    try:
        return (explorer.select(corpus, doc_ids),)
    except (BadInputError, UnknownNameError) as error:
        raise type(error)(f"{file}: {error.message}", error.remedy) from error


def ids_in(file: Path) -> list[str]:
    """The ids in a file, one on each line."""
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise BadInputError(
            f"{file} cannot be read: {reason}.", "Name a text file with an id on each line."
        ) from error
    return [line.strip() for line in lines if line.strip()]


def import_command(source: str, name: str) -> str:
    """The command that imports a source again under its name.

    Args:
        source: of a query whose end was left out, the command is not known.
    """
    if source.endswith(" …"):
        return "with the command of the first import."
    return f"seedlens import {shlex.quote(source)} --name {name}"


def author_or_own(author: str | None) -> str:
    """The name that ``--author`` or ``--annotator`` gave, or that of the settings."""
    return Settings().annotator if author is None else author


def parts_of(text: str) -> list[str]:
    """The different parts of a list between commas, in their order."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def whole_numbers(text: str, what: str, example: str) -> tuple[int, ...]:
    """Numbers between commas; ``what`` they are, in the plural, for the error."""
    try:
        return tuple(map(int, parts_of(text)))
    except ValueError as error:
        raise BadInputError(f"The {what} '{text}' are no numbers.", f"Write {example}.") from error


def system_names(text: str) -> list[str]:
    """The systems of a comma-separated list, checked before anything is indexed."""
    from engine.search.systems import find_system

    names = parts_of(text)
    if not names:
        raise BadInputError("--systems names no system.", "Write --systems bm25,dense.")
    return [find_system(name).name for name in names]


def corpus_of(explorer: Explorer, collection: Collection, corpus: str | None) -> str:
    """The corpus that was named, or that of the collection's own documents, indexed if needed."""
    with advancing("documents", "checking") as tell:
        return corpus or explorer.library.import_collection(collection, tell)


def check_weight(weight: float | None) -> None:
    """Raise BadInputError for an aspect weight out of range."""
    if weight is not None and not 0.0 <= weight <= 1.0:
        raise BadInputError(f"steer is {weight}.", "Give a number from 0 to 1.")
