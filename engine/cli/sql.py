"""``seedlens sql``: queries over a corpus, and over what was judged and measured on it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import click
from pydantic import Field
from pydantic_core import to_jsonable_python

from engine.cli.common import open_explorer
from engine.cli.options import from_signature
from engine.cli.terminal import Figure, print_json, print_table, say_notes


@click.command()
@from_signature
def sql(
    name: str,
    query: str,
    *,
    csv_file: Path | None = None,
    parquet_file: Path | None = None,
    seconds: Annotated[float, Field(gt=0)] = 60.0,
    as_json: bool = False,
) -> None:
    """Run QUERY, one SELECT in the SQL of DuckDB, over corpus NAME.

    Views: documents, sentences, facts, judgments, pools, runs and measures; DESCRIBE VIEW has the
    columns of each. A query changes nothing, and reads no files and no network.

    Options:
        csv_file --csv FILE: Write the result to a CSV file.
        parquet_file --parquet FILE: Write the result to a Parquet file.
        seconds: Stop the query after this time.
    """
    found = open_explorer().analysis.run(name, query, seconds=seconds)
    rows = found.table.num_rows
    if found.truncated:
        say_notes([f"The result is too large: its first {rows:,} rows are shown."])
    if csv_file is not None:
        with csv_file.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [found.table.column_names, *found.rows()]
            )
    if parquet_file is not None:
        parquet_file.write_bytes(found.to_parquet())
    for written in filter(None, (csv_file, parquet_file)):
        click.echo(f"{rows:,} rows written to {written}.", err=True)
    if as_json:
        records = to_jsonable_python(
            found.table.to_pylist(), inf_nan_mode="null", bytes_mode="base64"
        )
        columns, seconds = found.table.column_names, round(found.seconds, 3)
        print_json(
            {
                "corpus": name,
                "columns": columns,
                "rows": records,
                "truncated": found.truncated,
                "seconds": seconds,
            }
        )
    elif csv_file is None and parquet_file is None:
        print_table(found.table.column_names, [[*map(_cell, row)] for row in found.rows()])
        if not rows:
            say_notes(["The result has no rows."])


def _cell(value: object) -> object:
    """Whole numbers without commas: they may be years."""
    return Figure(value) if isinstance(value, int) and not isinstance(value, bool) else value
