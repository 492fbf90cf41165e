"""A home with a map."""

import shutil

import pytest

from tests.support import made_once, make_explorer


@pytest.fixture(scope="session")
def mapped_home(tmp_path_factory, small_home):
    """A home whose corpus ``small`` has a map. For reading only."""

    def make(home):
        shutil.copytree(small_home, home)
        make_explorer(home).maps.build("small")

    return made_once("mapped", tmp_path_factory, make)


@pytest.fixture
def mapped_copy(mapped_home, home):
    """An explorer over a copy of that home."""
    shutil.copytree(mapped_home, home)
    return make_explorer(home)
