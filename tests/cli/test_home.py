"""``seedlens backup``, ``verify``, ``restore``, ``sql`` and ``doctor --rebuild``."""

import csv
import gc
import os
import re
import shutil
import subprocess
import sys

import pytest
from pyarrow import parquet

from engine.config import ROOT
from tests.cli.command_line import assert_refused, run_inside, run_json
from tests.support import make_explorer


def corpora(home):
    return run_json(home, "corpora")


def test_a_home_is_backed_up_checked_restored_and_found_without_its_ledger(small_home, tmp_path):
    file, other = tmp_path / "home.zip", tmp_path / "other"
    written = run_inside(small_home, "backup", file)
    assert (written.code, written.stderr) == (0, "")
    assert written.stdout.startswith(f"Written: {file}")
    assert run_inside(small_home, "verify", file, "--json").json["corpora"] == ["small"]
    assert run_inside(other, "restore", file).code == 0
    assert corpora(other) == corpora(small_home)
    assert_refused(run_inside(other, "restore", file), "in use", "SEEDLENS_HOME")
    (other / "ledger.sqlite").unlink()
    found = run_inside(other, "doctor", "--rebuild")
    assert (found.code, found.stdout.splitlines()[0]) == (0, "Listed again: small")
    assert corpora(other) == corpora(small_home)


def test_what_is_left_out_is_named_with_the_command_that_makes_it_again(small_home, tmp_path):
    small = run_inside(small_home, "backup", tmp_path / "small.zip", "--only", "irreplaceable")
    again = r"seedlens import \S+/small.jsonl --name small"
    assert re.search(again, small.stderr)
    other = tmp_path / "other"
    assert re.search(again, run_inside(other, "restore", tmp_path / "small.zip").stderr)
    listed = run_inside(other, "corpora")
    assert re.search(f"small is not complete. Import it again: {again}", listed.stderr)


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="they are written for a shell")
def test_the_commands_of_the_readme_back_up_restore_and_mend(small_home, home, tmp_path):
    shutil.copytree(small_home, home)
    make_explorer(home).tidy()  # as an app does when it starts: it copies the ledger
    about = (ROOT / "docs" / "operating.md").read_text("utf-8").partition("## Backup")[2]

    def do(commands, folder):
        ours = f'set -e; seedlens() {{ {sys.executable} -m engine.cli "$@"; }}\n'
        env = {**os.environ, "HOME": str(tmp_path), "SEEDLENS_HOME": str(home)}
        env |= {"PYTHONPATH": str(ROOT)}
        subprocess.run(["bash", "-c", ours + commands], cwd=folder, env=env, check=True)

    do(about.partition("```\n")[2].partition("```")[0], tmp_path)
    before = corpora(home)
    assert before
    assert corpora(tmp_path / "restored") == before
    gc.collect()  # nothing has it open any more
    for damaged in ("ledger.sqlite", "ledger.sqlite-wal"):
        (home / damaged).write_bytes(b"damaged")
    assert_refused(run_inside(home, "corpora"), "ledger-copies", "ledger.sqlite-wal")
    [mend] = re.findall(r"`(rm -f ledger\.sqlite[^`]+)`", about)
    [copy] = (home / "ledger-copies").iterdir()
    do(re.sub(r"ledger-\d{4}-\d\d-\d\d\.sqlite", copy.name, mend), home)
    assert corpora(home) == before
    [rebuild] = re.findall(r"A lost ledger\*\*: `seedlens ([^`]+)`", about)
    (home / "ledger.sqlite").unlink()
    assert run_inside(home, *rebuild.split()).stdout.startswith("Listed again: small")
    assert corpora(home) == before


QUERY = "SELECT doc_id, year, authors, title FROM documents ORDER BY doc_id LIMIT 3"


def test_a_result_is_a_table_json_csv_and_parquet(small_home, tmp_path):
    table = run_inside(small_home, "sql", "small", QUERY)
    assert table.code == 0
    assert table.stdout.splitlines()[0].split() == ["doc_id", "year", "authors", "title"]
    files = {"csv": tmp_path / "found.csv", "parquet": tmp_path / "found.parquet"}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    run = run_inside(small_home, "sql", "small", QUERY, "--json", *options)
    rows = run.json["rows"]
    assert (len(rows), run.json["truncated"]) == (3, False)
    assert list(rows[0]) == run.json["columns"] == ["doc_id", "year", "authors", "title"]
    assert parquet.read_table(files["parquet"]).to_pylist() == rows
    with files["csv"].open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["doc_id"] for row in written] == [row["doc_id"] for row in rows]
    assert [row["year"] for row in written] == [str(row["year"] or "") for row in rows]
    assert "3 rows written" in run.stderr
