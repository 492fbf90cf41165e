"""Make what follows from the demo's abstracts: ``make_demo.py [--check | --index]``.

``corpus.jsonl`` is written by hand; ``labels.jsonl`` says which problem, method and result each
abstract is about, and ``values.json`` which of these belong together. Queries, judgments and the
description of the collection follow from them: same input, same bytes. ``--index`` imports the
abstracts: ``index/`` is the corpus as a new home gets it, to be made again with another embedded
model, other rules of facts or other columns.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ASPECTS = ("background", "method", "result")
SAME_VALUE, SAME_FAMILY = 3, 1


def read_lines(name: str) -> list[dict[str, Any]]:
    """The records of a JSONL file of the collection."""
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def families() -> dict[str, str]:
    """Value -> the family that it belongs to."""
    values = json.loads((HERE / "values.json").read_text("utf-8"))
    return {value["id"]: value["family"] for aspect in ASPECTS for value in values[aspect]}


def qrels(labels: Sequence[dict[str, str]]) -> Iterator[str]:
    """TREC lines for every grade above 0, the seed itself left out."""
    family = families()
    members: dict[str, list[dict[str, str]]] = defaultdict(list)
    for record in labels:
        for aspect in ASPECTS:
            members[family[record[aspect]]].append(record)
    for seed in labels:
        for aspect in ASPECTS:
            for other in members[family[seed[aspect]]]:
                if seed is not other:
                    grade = SAME_VALUE if seed[aspect] == other[aspect] else SAME_FAMILY
                    yield f"{seed['doc_id']}_{aspect} 0 {other['doc_id']} {grade}\n"


def describe(documents: int) -> dict[str, Any]:
    """``collection.json``."""
    return {
        "name": "demo",
        "title": "SeedLens demo (synthetic)",
        "synthetic": True,
        "complete": True,
        "documents": documents,
        "queries": documents * len(ASPECTS),
        "aspects": list(ASPECTS),
        "description": "Invented research abstracts, written for SeedLens. Each is about one of "
        "15 problems, 15 methods and 12 results, so what two documents share is known: grade 3 "
        "for the same value of the aspect, 1 for the same family, 0 otherwise. The studies, "
        "numbers, authors and venues do not exist.",
        "licence": "MIT",
    }


def _zipped(text: str) -> bytes:
    """Gzip without time or file name, so that the bytes depend on the text alone."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write(text.encode())
    return buffer.getvalue()


def build() -> dict[str, bytes]:
    """File name to content, for every generated file."""
    labels = read_lines("labels.jsonl")
    topics = (
        {"query_id": f"{one['doc_id']}_{aspect}", "seed": one["doc_id"], "aspect": aspect}
        for one in labels
        for aspect in ASPECTS
    )
    return {
        "topics.jsonl": "".join(json.dumps(topic) + "\n" for topic in topics).encode(),
        "qrels.txt.gz": _zipped("".join(qrels(labels))),
        "collection.json": (json.dumps(describe(len(labels)), indent=2) + "\n").encode(),
    }


def same(name: str, one: bytes, other: bytes) -> bool:
    """Equal bytes; for gzip equal content, as zlib builds compress differently."""
    unpack: Callable[[bytes], bytes] = gzip.decompress if name.endswith(".gz") else bytes
    return one == other or unpack(one) == unpack(other)


def check(folder: Path) -> list[str]:
    """Which files in ``folder`` are not what abstracts and labels give."""
    found = []
    for name, content in build().items():
        path = folder / name
        if not path.exists():
            found.append(f"{path} is missing: run make_demo.py without --check")
        elif not same(name, path.read_bytes(), content):
            found.append(f"{path} is not what the labels give: run make_demo.py again")
    return found


def index() -> None:
    """Import the abstracts with this version of SeedLens, and keep their corpus as ``index/``."""
    from engine import Explorer, Settings
    from engine.types.corpora import ImportRequest

    with tempfile.TemporaryDirectory() as home:
        explorer = Explorer(Settings(home=Path(home), store="", ledger_url=""))
        explorer.library.import_documents(ImportRequest(HERE, "demo"))
        made = Path(home) / "corpora" / "demo"
        manifest = made / "corpus.json"
        row = json.loads(manifest.read_text("utf-8")) | {"source": ""}
        manifest.write_text(json.dumps(row, indent=1), "utf-8")
        shutil.rmtree(HERE / "index", ignore_errors=True)
        shutil.copytree(made, HERE / "index")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make what follows from the demo's abstracts.")
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    parser.add_argument("--check", action="store_true", help="compare with --out; write nothing")
    parser.add_argument("--index", action="store_true", help="import the abstracts into index/")
    options = parser.parse_args(arguments)
    if options.index:
        index()
        return 0
    if options.check:
        found = check(options.out)
        print("\n".join(found) or "The demo collection is in order.")
        return 1 if found else 0
    options.out.mkdir(parents=True, exist_ok=True)
    for name, content in build().items():
        (options.out / name).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
