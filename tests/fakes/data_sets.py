"""Data sets of ir_datasets in local files: ``small``, ``small/test`` and ``small/trec``."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

TOPICS = """<top>
<num> Number: 301
<title> crayfish in ponds
<desc> Description: What eats crayfish?
<narr> Narrative: Relevant documents name an animal that
eats crayfish. Others are not relevant.
</top>
"""
ROWS = (
    "d1\tCrayfish\tOtters eat them.\t2011-05-01",
    "d2\tPonds\tDeep.\t",
    "d3\tNo text\t\t1999",
    "d 4\tA blank in its id\t\t",
)


class Article(NamedTuple):
    """A document with a title, as cord19 has them."""

    doc_id: str
    title: str
    abstract: str
    date: str

    def default_text(self):
        return f"{self.title} {self.abstract}"


@contextmanager
def small_data_sets(folder: Path) -> Iterator[None]:
    """The data sets, known to ir_datasets by their names."""
    from ir_datasets import registry
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TrecQrels, TrecQueries, TsvDocs, TsvQueries
    from ir_datasets.util import LocalDownload

    def file(name, text):
        (folder / name).write_text(text)
        return LocalDownload(folder / name)

    of_docs = {"namespace": "small", "lang": "en", "skip_first_line": False}
    docs = TsvDocs(file("docs.tsv", "\n".join(ROWS)), Article, **of_docs)
    queries = TsvQueries(file("queries.tsv", "q1\twho eats crayfish\nq2\tnobody judged this\n"))
    qrels = TrecQrels(file("qrels.txt", "q1 0 d1 5\nq1 0 d2 -2\n"), {})
    trec = TrecQrels(file("qrels-trec.txt", "301 0 d1 1\n"), {})
    sets = {
        "small": (docs, queries),
        "small/test": (docs, queries, qrels),
        "small/trec": (docs, TrecQueries(file("topics.txt", TOPICS)), trec),
    }
    for name, parts in sets.items():
        registry.register(name, Dataset(*parts))
    try:
        yield
    finally:
        for name in sets:
            registry._registered.pop(name)
