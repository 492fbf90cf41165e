"""Writing a folder of files as a whole: a reader, or a kill, finds all of them or none."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from engine.errors import BadInputError, StorageError


def write_folder(
    files: Mapping[str, Iterable[str]], out: Path, replaced: Collection[str] = ()
) -> tuple[Path, ...]:
    """Write text files into a folder beside its place, and move it there when it is whole.

    Between two moves of a folder that replaces another, a kill leaves both beside the place,
    each whole; at no time does the place hold a part of either.

    Args:
        files: relative path -> its text in pieces.
        replaced: files of a folder that is there already which go; its others stay.

    Returns:
        the files in their place.

    Raises:
        BadInputError: the folder is the one that this process, or its shell, is in.
        StorageError: it cannot be written there. What was there stays.
    """
    place = out.resolve()
    if place.is_dir() and Path.cwd().is_relative_to(place):
        raise BadInputError(
            f"{out} is the folder you are in, which cannot be moved away.",
            "Name a folder in it, or go elsewhere.",
        )
    mark = secrets.token_hex(4)
    new, old = (place.with_name(f".{place.name}.{kind}-{mark}") for kind in ("new", "old"))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            if place.is_dir():
                _copy_others(place, new, {*files, *replaced})
            _write(files, new)
            _exchange(new, place, old)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"{out} cannot be written to ({error.strerror or error}).", "Name another folder."
        ) from error
    return tuple(out / name for name in files)


def _write(files: Mapping[str, Iterable[str]], new: Path) -> None:
    for name, pieces in files.items():
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        with (new / name).open("x", encoding="utf-8", newline="") as handle:
            handle.writelines(pieces)


def _copy_others(place: Path, new: Path, names: Collection[str]) -> None:
    """What a person put into the folder is no part of it, and goes with it."""

    def ours(folder: str, inside: list[str]) -> list[str]:
        at = Path(folder).relative_to(place)
        return [name for name in inside if (at / name).as_posix() in names]

    shutil.copytree(place, new, symlinks=True, ignore=ours)


def _exchange(new: Path, place: Path, old: Path) -> None:
    """Move a folder to its place, and away what is there; on an error all stays as it was."""
    was_there = place.is_dir()
    if was_there:
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if was_there:
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)
