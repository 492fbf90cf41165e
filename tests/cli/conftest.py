"""Homes and models that the tests of the command line share."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import run_inside


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


@pytest.fixture(scope="module")
def evaluated(lab_home, lab_source, tmp_path_factory):
    """With a home for the tests of one file."""
    runs = tmp_path_factory.mktemp("evaluated") / "runs"
    options = ("--systems", "dense,hybrid,aspect", "--run-out", runs, "--json")
    run = run_inside(lab_home, "evaluate", lab_source, *options)
    assert (run.code, run.stderr) == (0, "")
    return Evaluated(lab_source, lab_home, run.json, runs)
