"""What a terminal gets to see."""

import io
import sys

import click
import pytest

from engine.cli.terminal import bar_of, protect_terminal, table


class _Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_titles_and_names_give_a_terminal_no_commands(name, monkeypatch):
    screen, piped = _Screen(), io.StringIO()
    title = "Bees\x1b]0;owned\x07\x1b[2J\x9b31m\r\u202e\tdance\n"
    monkeypatch.setattr(sys, name, screen)
    protect_terminal()
    protect_terminal()
    click.echo(title, err=name == "stderr")
    assert screen.getvalue() == "Bees◊]0;owned◊◊[2J◊31m◊◊\tdance\n\n"
    monkeypatch.setattr(sys, name, piped)
    protect_terminal()
    click.echo(title, err=name == "stderr", color=True)
    assert piped.getvalue() == title + "\n"


def test_a_bar_still_moves_the_cursor(monkeypatch):
    screen = _Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    protect_terminal()
    with bar_of("documents", total=2) as bar:
        bar.update()
    assert "\r" in screen.getvalue()


def test_a_row_of_a_table_is_a_line_of_a_pipe_and_has_no_colours(monkeypatch):
    piped = io.StringIO()
    monkeypatch.setattr(sys, "stdout", piped)
    long = "a-very-long-id/" * 20
    rows = [(long, 0.5, "Bees [bold]dance[/]"), ("b", None, "")]
    heads, first, second = table(("id", "score", "title"), rows).splitlines()
    assert heads.split() == ["id", "score", "title"]
    assert first.split() == [long, "0.500", "Bees", "[bold]dance[/]"]
    assert second.split() == ["b", "–"]


def test_a_table_keeps_every_value_on_a_narrow_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdout", _Screen())
    monkeypatch.setenv("COLUMNS", "60")
    measures = [f"measure-{n}" for n in range(9)]
    wide = table(("", *measures), [("bm25", *(n / 8 for n in range(9)))])
    assert all(f"{n / 8:.3f}" in wide and measures[n] in wide for n in range(9))
    wrapped = table(("key", "size", "name"), [("k", 1234, "Bees " + "dance " * 30)])
    assert max(map(len, wrapped.splitlines())) <= 60
    assert (wrapped.count("dance"), "1,234" in wrapped) == (30, True)
