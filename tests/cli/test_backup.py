"""``seedlens backup``, ``verify``, ``restore`` and ``doctor --rebuild``."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.command_line import run_inside
from tests.cli.refusals import assert_refused, corpora


def test_a_home_is_backed_up_checked_restored_and_found_without_its_ledger(
    small_home: Path, small_source: Path, tmp_path: Path
) -> None:
    file, other = tmp_path / "home.zip", tmp_path / "other"
    written = run_inside(small_home, "backup", file)
    assert (written.code, written.stderr) == (0, "")
    assert written.stdout.startswith(f"Written: {file}")
    assert run_inside(small_home, "verify", file, "--json").json["corpora"] == ["small"]
    assert run_inside(other, "restore", file).code == 0
    assert corpora(other) == corpora(small_home)
    assert_refused(other, "restore", file, says=("in use", "SEEDLENS_HOME"))
    assert_refused(other, "verify", small_source, says=("not a backup of SeedLens",))
    (other / "ledger.duckdb").unlink()
    found = run_inside(other, "doctor", "--rebuild")
    assert (found.code, found.stdout.splitlines()[0]) == (0, "Listed again: small")
    assert corpora(other) == corpora(small_home)


def test_what_is_left_out_is_named_with_the_command_that_makes_it_again(
    small_home: Path, tmp_path: Path
) -> None:
    small = run_inside(small_home, "backup", tmp_path / "small.zip", "--only", "irreplaceable")
    again = r"seedlens import \S+/small.jsonl --name small"
    assert re.search(again, small.stderr)
    other = tmp_path / "other"
    assert re.search(again, run_inside(other, "restore", tmp_path / "small.zip").stderr)
    listed = run_inside(other, "corpora")
    assert re.search(f"small is not complete. Import it again: {again}", listed.stderr)
