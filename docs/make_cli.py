"""Write ``docs/cli.md`` from the commands and the settings: ``python docs/make_cli.py``."""

import ast
import inspect
from itertools import pairwise
from pathlib import Path

import click

from engine.cli import main
from engine.config import Settings

HEAD = """# Commands and settings

Results go to stdout, progress and warnings to stderr; `--json` prints one JSON document. The exit
status is 0, or 2 for bad input, which changes nothing and is explained in one line; 1 if something
failed on the way; 130 after Ctrl-C. This page is written by `python docs/make_cli.py`.

"""


def commands(command: click.Command, name: str) -> dict[str, click.Command]:
    """Full names of commands, without groups."""
    if not isinstance(command, click.Group):
        return {name: command}
    found, context = {}, click.Context(command)
    for member in command.list_commands(context):
        if (known := command.get_command(context, member)) is not None:
            found |= commands(known, f"{name} {member}")
    return found


def section(name: str, command: click.Command) -> str:
    """A command: its arguments, help and options."""
    context = click.Context(command)
    arguments = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    options = [p.get_help_record(context) for p in command.params if isinstance(p, click.Option)]
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    usage = f"\n## {name}\n\n`{' '.join([name, *arguments])}`\n\n{text}\n"
    return usage + (table(["option", "meaning"], options) if options else "")


def table(head: list[str], rows: list[tuple[str, ...]]) -> str:
    """A table; the first column is code."""
    cells = [[" ".join(text.split()).replace("|", "\\|") for text in row] for row in rows]
    lines = [head, ["---"] * len(head), *([f"`{first}`", *more] for first, *more in cells)]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def setting(name: str, meaning: str) -> tuple[str, str, str]:
    """A row of the table of settings."""
    field = Settings.model_fields[name]
    default = str(+field.default) if isinstance(field.default, int | float) else field.default
    variable = field.validation_alias or f"SEEDLENS_{name.upper()}"
    return variable, default if isinstance(default, str) else "", meaning.replace("``", "`")


def page() -> str:
    """The whole page."""
    found = commands(main, "seedlens")
    links = [f"[{name[9:]}](#{name.replace(' ', '-')})" for name in found]
    body = ast.parse(inspect.getsource(Settings)).body[0].body
    texts = {ast.unparse(a.target): b.value for a, b in pairwise(body) if hasattr(a, "target")}
    settings = [setting(name, ast.literal_eval(text)) for name, text in texts.items()]
    sections = "".join(section(*one) for one in found.items())
    rows = table(["name", "default", "meaning"], settings)
    head = f"{HEAD}{', '.join(links)}, [settings](#settings)\n"
    return f"{head}{sections}\n## Settings\n\nEnvironment variables.\n{rows}"


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(page(), "utf-8")
