"""A test collection small enough to evaluate in seconds: four seeds of the demo, 60 documents."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from engine.config import DEMO
from tests.support import write_jsonl

SEEDS = 4
DOCUMENTS = 60
QUERIES = 3 * SEEDS


def write_collection(folder: Path) -> Path:
    """A native collection: documents with labels, topics, and judgments that are complete."""
    folder.mkdir(parents=True)
    with (DEMO / "corpus.jsonl").open(encoding="utf-8") as lines:
        documents = [json.loads(next(lines)) for _ in range(DOCUMENTS)]
    write_jsonl(folder / "corpus.jsonl", documents)
    ids = {document["doc_id"] for document in documents}
    seeds = sorted(ids)[:SEEDS]
    with (DEMO / "topics.jsonl").open(encoding="utf-8") as lines:
        topics = [json.loads(line) for line in lines]
    write_jsonl(folder / "topics.jsonl", (t for t in topics if t["seed"] in seeds))
    qrels = gzip.decompress((DEMO / "qrels.txt.gz").read_bytes()).decode().splitlines()
    kept = [q for q in qrels if q.split("_")[0] in seeds and q.split()[2] in ids]
    (folder / "qrels.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
    about = {"name": folder.name, "complete": True}
    (folder / "collection.json").write_text(json.dumps(about), encoding="utf-8")
    return folder
