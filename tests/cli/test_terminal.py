"""What a terminal gets to see."""

from __future__ import annotations

import io
import sys

import click
import pytest

from engine.cli.terminal import bar_of, print_table, progress, write_text_alone
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


def test_a_row_of_a_table_is_a_line_of_a_pipe_and_has_no_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    piped = io.StringIO()
    monkeypatch.setattr(sys, "stdout", piped)
    long = "a-very-long-id/" * 20
    print_table(("id", "score", "title"), [(long, 0.5, "Bees [bold]dance[/]"), ("b", None, "")])
    heads, first, second = piped.getvalue().splitlines()
    assert heads.split() == ["id", "score", "title"]
    assert first.split() == [long, "0.500", "Bees", "[bold]dance[/]"]
    assert second.split() == ["b", "–"]


def test_a_table_keeps_every_value_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "60")
    write_text_alone()
    measures = [f"measure-{n}" for n in range(9)]
    print_table(("", *measures), [("bm25", *(n / 8 for n in range(9)))])
    print_table(("key", "size", "name"), [("k", 1234, f"Bees\x1b[2J {'dance ' * 30}")])
    shown = screen.getvalue()
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 60
    assert all(f"{n / 8:.3f}" in shown and measures[n] in shown for n in range(9))
    assert (shown.count("dance"), "1,234" in shown) == (30, True)
