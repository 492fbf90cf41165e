"""Parts of CSFCube's release, in its own format."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support import write_jsonl

ABSTRACTS = "abstracts-csfcube-preds.jsonl"


def write_judged(csfcube: Path, folder: Path, most: int | None = None) -> Path:
    """A folder with the judged queries, and the documents that their pools need.

    Args:
        most: only queries with a pool of at most so many candidates; None for all.
    """
    folder.mkdir()
    kept: set[str] = set()
    for path in csfcube.glob("test-pid2anns-csfcube-*.json"):
        pools = {
            seed: pool
            for seed, pool in json.loads(path.read_text("utf-8")).items()
            if most is None or len(pool["cands"]) <= most
        }
        (folder / path.name).write_text(json.dumps(pools), "utf-8")
        for seed, pool in pools.items():
            kept.update((seed, *pool["cands"]))
    with (csfcube / ABSTRACTS).open(encoding="utf-8") as lines:
        documents = [d for d in map(json.loads, lines) if d["paper_id"] in kept]
    write_jsonl(folder / ABSTRACTS, documents)
    return folder


METHOD = "bees-network_method"
GOOD = f"{METHOD} 0 bread-network 3\n{METHOD} 0 maps-survey 0\n"


def qrels(tmp_path: Path, text: str, name: str = "q.qrels") -> Path:
    (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / name
