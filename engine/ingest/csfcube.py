"""CSFCube: the abstracts of the release's folder, with a role per sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.errors import BadInputError
from engine.ingest import jsonl
from engine.ingest.rows import Row

ABSTRACTS = "abstracts-*.jsonl"
JUDGMENTS = "test-pid2anns-*.json"
FIELDS = {
    "doc_id": "paper_id",
    "title": "title",
    "text": "abstract",
    "roles": "pred_labels",
    "year": "metadata.year",
}


def rows(path: Path) -> Iterator[Row]:
    """Rows of the folder's abstracts (or of the abstracts file itself)."""
    if not path.is_dir():
        return jsonl.rows(path)
    files = sorted(path.glob(ABSTRACTS))
    if not files:
        raise BadInputError(
            f"{path.name} has no {ABSTRACTS}.",
            "Choose the folder that holds abstracts-csfcube-preds.jsonl.",
        )
    return jsonl.rows(files[0])
