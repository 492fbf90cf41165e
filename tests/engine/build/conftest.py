"""A collection that was built from a lens over the small corpus, and the model that did it."""

import shutil

import pytest

from tests.fakes.build_answers import AUTHOR, LENS, knows_methods, run_all
from tests.support import made_once, make_explorer


@pytest.fixture(scope="session")
def model():
    """A model that knows the small corpus's methods."""
    with knows_methods() as running:
        yield running


@pytest.fixture(scope="session")
def built_home(small_home, model, tmp_path_factory):
    """A home with the collection, all steps done. For reading only."""

    def build(home):
        shutil.copytree(small_home, home)
        builds = make_explorer(home).builds
        builds.save(LENS, AUTHOR)
        run_all(builds, model)

    return made_once("built", tmp_path_factory, build)


@pytest.fixture
def built(built_home, home):
    """An explorer over a copy of ``built_home`` that the test may write to."""
    shutil.copytree(built_home, home)
    return make_explorer(home)


@pytest.fixture
def server():
    """A model of this test's own, to count what it is asked."""
    with knows_methods() as running:
        yield running
