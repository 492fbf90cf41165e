"""What a step made as a CSV file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine.build.opened_build import OpenBuild
from engine.collections.judgment_formats import csv_lines
from engine.errors import BadInputError
from engine.types.builds import BuildStep

SHEETS: Mapping[BuildStep, Sequence[str]] = {
    "label": ("doc_id", "label", "quote", "maker", "author", "title"),
    "collapse": ("cluster", "name", "dropped", "doc_id", "label", "title"),
    "verbalise": ("cluster", "query", "dropped", "overlap", "words", "documents", "name"),
}
"""Columns of each step's file."""


def sheet(build: OpenBuild, step: BuildStep, *, spreadsheet: bool = False) -> Iterator[str]:
    """The lines of a step's file; BadInputError for "expand".

    Args:
        spreadsheet: no text is a formula to a spreadsheet program.
    """
    if step not in SHEETS:
        raise BadInputError(
            f"The step '{step}' leaves judgments, which are no table here.",
            "Judge in its annotation project, or use seedlens qrels.",
        )
    corpus, names = build.corpus, SHEETS[step]

    def title(doc_id: str) -> str:
        return corpus.titles[corpus.row_of[doc_id]] if doc_id in corpus.row_of else ""

    rows: list[tuple[object, ...]]
    if step == "label":
        rows = [
            (x.doc_id, x.text, x.quote, x.maker, x.author, title(x.doc_id)) for x in build.labels()
        ]
    elif step == "collapse":
        labels = build.shown_labels()
        rows = [
            (c.key, c.name, "yes" if c.dropped else "no", i, labels.get(i, ""), title(i))
            for c in build.clusters()
            for i in c.doc_ids
        ]
    else:
        clusters = {cluster.key: cluster.name for cluster in build.clusters()}
        rows = [
            (
                *(q.key, q.text, "yes" if q.dropped else "no", f"{q.overlap.share:.3f}"),
                *(" ".join(q.overlap.words), len(q.doc_ids), clusters[q.key]),
            )
            for q in build.queries()
        ]
    fields = (dict(zip(names, row, strict=True)) for row in rows)
    return csv_lines(fields, names, spreadsheet=spreadsheet)
