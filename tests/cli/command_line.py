"""The command line as a script sees it: arguments and environment in; code and streams out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from engine.cli import main
from engine.config import ROOT
from tests.fakes.model_answers import MODEL
from tests.fakes.model_server import ModelServer


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def clean_environment(home: Path, **settings: str) -> dict[str, str | None]:
    """Our settings only: what the person running the tests has set does not count."""
    ours = [k for k in os.environ if k.startswith(("SEEDLENS_", "OPENAI_"))]
    return {**dict.fromkeys(ours), "SEEDLENS_HOME": str(home), **settings}


def run_inside(home: Path, *args: object, **settings: str) -> Outcome:
    """The command in this process, where models stay loaded."""
    environment = clean_environment(home, **settings)
    result = CliRunner().invoke(main, [str(a) for a in args], env=environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception  # a traceback is what no command may end with
    return Outcome(result.exit_code, result.stdout, result.stderr)


def run_process(home: Path, *args: object, **settings: str) -> Outcome:
    """The command as a process of its own."""
    environment = {**os.environ, **clean_environment(home, **settings)}
    result = subprocess.run(
        [sys.executable, "-m", "engine.cli", *map(str, args)],
        env={k: v for k, v in environment.items() if v is not None},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    return Outcome(result.returncode, result.stdout, result.stderr)


def run_json(home: Path, *args: object, **settings: str) -> Any:
    """The JSON document of a command that ends well."""
    outcome = run_inside(home, *args, "--json", **settings)
    assert outcome.code == 0, outcome.stderr
    return outcome.json


def connected(server: ModelServer) -> dict[str, str]:
    """Settings that connect a model."""
    return {"OPENAI_BASE_URL": server.url, "SEEDLENS_LLM_MODEL": MODEL}


def assert_refused(outcome: Outcome, *says: str) -> None:
    """Exit code 2, nothing on stdout, and one line with all of ``says``."""
    assert (outcome.code, outcome.stdout) == (2, ""), outcome
    (line,) = outcome.stderr.splitlines()
    for words in ("Error: ", *says):
        assert words in line


def assert_shape(data: dict[str, Any], shape: Mapping[str, Any]) -> None:
    """Every key of the contract is there, with a value of its type."""
    for key, kind in shape.items():
        assert isinstance(data[key], kind), f"{key}: {data[key]!r}"


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Files by their paths in a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    """One JSON document a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
    return path
