"""Homes and models that the tests of the command line share."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import run_inside
from tests.fakes.small_corpus import write_collection


@pytest.fixture
def corpus(small_home, home):
    """A home with the corpus ``small``, to be written to."""
    shutil.copytree(small_home, home)
    return home


@dataclass(frozen=True)
class Evaluated:
    """A collection of four seeds, a home in which three systems were evaluated on it, what the
    command printed, and the folder of its runs."""

    collection: Path
    home: Path
    report: Any
    runs: Path


@pytest.fixture(scope="session")
def _evaluated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluated")
    collection, home = write_collection(folder / "tiny"), folder / "home"
    options = ("--systems", "dense,hybrid,aspect", "--run-out", folder / "runs", "--json")
    run = run_inside(home, "evaluate", collection, *options)
    assert (run.code, run.stderr) == (0, "")
    return Evaluated(collection, home, run.json, folder / "runs")


@pytest.fixture(scope="module")
def evaluated(_evaluated, tmp_path_factory):
    """With a copy of the home for the tests of one file."""
    home = tmp_path_factory.mktemp("evaluated") / "home"
    shutil.copytree(_evaluated.home, home)
    return replace(_evaluated, home=home)
