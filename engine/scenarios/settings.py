"""What a corpus is searched with by its scenarios: a small file beside them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.errors import BadInputError, StorageError
from engine.types.scenarios import COMPONENTS, Component
from storage.scenarios import ScenarioTable

WEIGHT = 0.7
"""What a document counts for against its best scenario, as in SPIKE, section 4.1."""
SETTINGS = "scenarios.json"


@dataclass(frozen=True, slots=True)
class ScenarioSettings:
    """What a corpus is searched with.

    Attributes:
        component: what of a scenario is embedded.
        weight: of the document against its best scenario, 0 to 1.

    Raises:
        BadInputError: no such component, or a weight beyond its bounds.
    """

    component: Component = "M+E"
    weight: float = WEIGHT

    def __post_init__(self) -> None:
        if self.component not in COMPONENTS:
            raise BadInputError(
                f"There is no component '{self.component}' of a scenario.",
                f"Use one of {', '.join(COMPONENTS)}.",
            )
        if not 0.0 <= self.weight <= 1.0:
            raise BadInputError(f"The weight is {self.weight}.", "Give a number from 0 to 1.")


def read_settings(path: Path) -> ScenarioSettings:
    """The settings of the corpus in a folder."""
    try:
        text = (path / SETTINGS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ScenarioSettings()
    try:
        return ScenarioSettings(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise StorageError(
            f"{path / SETTINGS} cannot be read: {error}.",
            "Delete that file, and set component and weight again.",
        ) from error


def write_settings(path: Path, settings: ScenarioSettings) -> None:
    """Replace the settings at once: a reader finds the old ones or the new ones."""
    beside = path / f"{SETTINGS}.{os.getpid()}.tmp"
    try:
        beside.write_text(json.dumps(asdict(settings)), encoding="utf-8")
        beside.replace(path / SETTINGS)
    except OSError as error:
        raise StorageError(
            f"{path / SETTINGS} cannot be written: {error.strerror or error}.",
            "Check the disk and the permissions of the home.",
        ) from error


def has_scenarios(path: Path) -> bool:
    """Whether scenarios were written for the corpus in a folder."""
    return ScenarioTable.is_stored(path)


def carry_scenarios(source: Path, target: Path) -> None:
    """Take the scenarios of a corpus along to another folder with the same documents."""
    ScenarioTable.copy(source, target)
    if (source / SETTINGS).is_file():
        write_settings(target, read_settings(source))
