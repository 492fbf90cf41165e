"""What a terminal gets to see."""

from __future__ import annotations

import io
import sys

import click
import pytest

from engine.cli.terminal import bar_of, progress, write_text_alone
from engine.types.corpora import Progress


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_titles_and_names_give_a_terminal_no_commands(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, piped = _Screen(), io.StringIO()
    title = "Bees\x1b]0;owned\x07\x1b[2J\x9b31m\r\u202e\tdance\n"
    monkeypatch.setattr(sys, name, screen)
    write_text_alone()
    write_text_alone()
    click.echo(title, err=name == "stderr")
    assert screen.getvalue() == "Bees◊]0;owned◊◊[2J◊31m◊◊\tdance\n\n"
    monkeypatch.setattr(sys, name, piped)
    write_text_alone()
    click.echo(title, err=name == "stderr", color=True)
    assert piped.getvalue() == title + "\n"


def test_a_bar_still_moves_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    write_text_alone()
    with bar_of("documents", total=2) as bar:
        bar.update()
    assert "\r" in screen.getvalue()


def test_the_disk_that_an_import_takes_is_said_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen, piped = _Screen(), io.StringIO()
    for stream in (screen, piped):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress() as tell:
            tell(Progress("checking", 5, 5, 0.0, disk=12_345_678))
    assert "takes about 12.3 MB of disk" in screen.getvalue()
    assert piped.getvalue() == ""
