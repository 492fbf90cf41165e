"""``seedlens sql``."""

from __future__ import annotations

import csv
from pathlib import Path

from pyarrow import parquet

from tests.cli.command_line import run_inside

QUERY = "SELECT doc_id, year, authors, title FROM documents ORDER BY doc_id LIMIT 3"


def test_a_result_is_a_table_json_csv_and_parquet(small_home: Path, tmp_path: Path) -> None:
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
