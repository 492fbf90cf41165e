"""Folders that commands write: whole again each time, and never over files of a person."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadInputError
from storage.files import file_errors, write_whole


@dataclass(frozen=True, slots=True)
class OwnFolder:
    """A folder of files that a command made, known by the file that describes them."""

    path: Path
    about: str  # name of that file, a JSON object with "generator" and "files"
    generator: str
    made: str  # "exported from a build", for the error about files that were not

    def check(self, *, overwrite: bool) -> set[str]:
        """Names of the files that are replaced; BadInputError where the folder cannot be used."""
        with file_errors(self.path, "Name another folder."):
            if self.path.exists() and not self.path.is_dir():
                raise BadInputError(f"{self.path} is a file.", "Name a folder.")
            if not self.path.is_dir() or not any(self.path.iterdir()):
                return set()
        if not overwrite:
            raise BadInputError(
                f"{self.path} is not empty.",
                "Name a new folder, or add --overwrite to replace it.",
            )
        with suppress(OSError, ValueError, KeyError, TypeError):
            about = json.loads((self.path / self.about).read_text("utf-8"))
            if about["generator"] == self.generator:
                paths = list(map(Path, about["files"]))
                return {str(p) for p in paths if ".." not in p.parts and not p.is_absolute()}
        raise BadInputError(
            f"{self.path} holds files that were not {self.made} (no {self.about} says so).",
            "Name another folder.",
        )

    def write(
        self, files: Mapping[str, bytes | str | Iterable[str]], *, overwrite: bool
    ) -> tuple[Path, ...]:
        """Write the files by their paths in the folder; those of an earlier time that are not
        among them go."""
        before = self.check(overwrite=overwrite)
        with file_errors(self.path, "Name another folder."):
            # The description first: what was interrupted can be recognised and replaced.
            for name in sorted(files, key=lambda name: name != self.about):
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                write_whole(self.path / name, files[name])
            for name in before - files.keys():
                (self.path / name).unlink(missing_ok=True)
        return tuple(self.path / name for name in files)
