"""A command that is refused: one line on stderr, and nothing has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.command_line import Outcome, run_inside


def corpora(home: Path) -> Any:
    return run_inside(home, "corpora", "--json").json


def assert_refused(home: Path, *args: object, says: tuple[str, ...], **settings: str) -> Outcome:
    """Run a command that must be refused, with all of ``says`` in its one line."""
    before = corpora(home)
    run = run_inside(home, *args, **settings)
    assert_refusal(run, says)
    assert corpora(home) == before
    return run


def assert_refusal(run: Outcome, says: tuple[str, ...]) -> None:
    assert (run.code, run.stdout) == (2, "")
    (line,) = run.stderr.splitlines()
    assert line.startswith("Error: ")
    for words in says:
        assert words in line
