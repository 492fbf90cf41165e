"""The ``seedlens`` command. Results go to stdout; progress and warnings to stderr."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click
from pydantic import ValidationError

from engine.cli.options import command
from engine.cli.terminal import protect_terminal, say
from engine.config import ROOT, Settings, __version__
from engine.errors import SeedLensError
from storage.home import keep_files_private

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
LOOPBACK = ("127.0.0.1", "localhost", "::1")


COMMANDS = {
    name: module
    for module, names in (
        ("doctor", "doctor"),
        ("library", "import update corpora rename edit lens"),
        ("explore", "search trail reading-list export map"),
        ("annotate", "judge pool project grade agreement qrels"),
        ("evaluate", "evaluate sensitivity gap read"),
        ("home", "sql"),
        ("build", "build generate"),
        ("scenarios", "facts scenarios distill"),
        ("home", "backup verify restore ledger"),
    )
    for name in names.split()
}
"""Command -> module, loaded when it is run, with the function ``command`` or ``command_``."""


class SeedLensGroup(click.Group):
    """Loads commands late; turns our errors into one line on stderr and exit code 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        return ["app", *COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module = import_module(f"engine.cli.{COMMANDS[cmd_name]}")
            name = cmd_name.replace("-", "_")
            self.add_command(getattr(module, name, None) or getattr(module, f"{name}_"))
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SeedLensError as error:
            _fail(str(error))
        except ValidationError as error:
            problem = error.errors()[0]
            name = str(problem["loc"][0]).upper()
            _fail(f"SEEDLENS_{name} cannot be '{problem['input']}': {problem['msg']}.")
        except BrokenPipeError:
            raise  # the reader of a pipe has enough
        except OSError as error:
            _fail(f"{str(error.filename or '')[:200]}: {error.strerror or error}.".lstrip(": "))


def _fail(message: str) -> NoReturn:
    click.echo("Error: " + " ".join(message.split()), err=True)
    sys.exit(2)


@click.group(cls=SeedLensGroup, context_settings=CONTEXT)
@click.version_option(__version__)
def main() -> None:
    """Explore a corpus from one document through one aspect of it."""
    keep_files_private()
    protect_terminal()


@command(main, json=False)
def app(*, port: int = 8501, address: str = "127.0.0.1") -> None:
    """Serve the app on http://127.0.0.1:8501, to be opened in a browser.

    Options:
        port: Port to listen on.
        address: Address to listen on; other than loopback, other machines can open your corpora.
    """
    from engine.people import exposed, read_login, secrets_files

    login = read_login(secrets_files())  # refuses a faulty login before anything starts
    files = exposed(secrets_files())
    say([f"others can read {file}; run: chmod 600 {file}" for file in files], "Warning")
    if address not in LOOPBACK:
        anybody = (
            ", and everybody who opens it reads and deletes all corpora, and judges under any "
            "name: set up login (see docs/operating.md)"
        )
        reached = f"{address} can be reached from other machines{'' if login else anybody}."
        hosts = "Add the name they use to allowedHosts in .streamlit/config.toml."
        say([f"{reached} {hosts}"], "Warning")
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
    options = ["--server.port", str(port), "--server.address", address]
    os.environ["SEEDLENS_HOME"] = str(Settings().home)
    os.execv(sys.executable, [*command, *options])  # noqa: S606 - our own command
