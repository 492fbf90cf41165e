"""The ``seedlens`` command. Results go to stdout; progress and warnings to stderr."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click
from pydantic import ValidationError

from engine.cli import explore, library
from engine.cli.agreement import agreement, grade
from engine.cli.annotate import judge, pool, project, qrels
from engine.cli.build import build, generate
from engine.cli.evaluate import evaluate, gap, read, sensitivity
from engine.cli.home import backup, ledger, restore, sql, verify
from engine.cli.options import command
from engine.cli.scenarios import distill, facts, scenarios
from engine.cli.terminal import protect_terminal, say
from engine.config import ROOT, Settings, __version__
from engine.errors import SeedLensError
from storage.home import keep_files_private

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class SeedLensGroup(click.Group):
    """Turns our errors into one line on stderr and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SeedLensError as error:
            _fail(str(error))
        except ValidationError as error:
            problem = error.errors()[0]
            name = "_".join(map(str, problem["loc"])).upper()
            _fail(f"SEEDLENS_{name} cannot be '{problem['input']}': {problem['msg']}.")
        except BrokenPipeError:
            raise  # the reader of a pipe has enough
        except OSError as error:
            _fail(f"{str(error.filename or '')[:200]}: {error.strerror or error}.".lstrip(": "))


def _fail(message: str) -> NoReturn:
    click.echo("Error: " + " ".join(message.split()), err=True)
    sys.exit(2)


@click.group(cls=SeedLensGroup, context_settings={"help_option_names": ["-h", "--help"]})
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


@command(main)
def doctor(*, rebuild: bool = False) -> None:
    """Check what is installed, which models load, and where the home is.

    Options:
        rebuild: First list corpora again that are in the home and not in its ledger.
    """
    from engine.cli.doctor import diagnose

    diagnose(rebuild=rebuild)


COMMANDS: tuple[click.Command, ...] = (
    *(library.import_, library.update, library.corpora, library.lens_group),
    *(explore.search, explore.trail, explore.export_corpus, explore.map_command),
    *(judge, pool, project, grade, agreement, qrels),
    *(evaluate, sensitivity, gap, read, sql, build, generate),
    *(facts, scenarios, distill, backup, verify, restore, ledger),
)
for one in COMMANDS:
    main.add_command(one)
