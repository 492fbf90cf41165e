"""A home with a map."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import made_once, make_explorer


@pytest.fixture(scope="session")
def mapped_home(tmp_path_factory: pytest.TempPathFactory, small_home: Path) -> Path:
    """A home whose corpus ``small`` has a map. For reading only."""

    def make(home: Path) -> None:
        shutil.copytree(small_home, home)
        make_explorer(home).maps.build("small")

    return made_once("mapped", tmp_path_factory, make)
