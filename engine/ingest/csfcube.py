"""CSFCube: the abstracts of the release's folder, with a role per sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.errors import BadInputError
from engine.ingest import jsonl
from engine.ingest.rows import InputFile, Row

ABSTRACTS = "abstracts-*.jsonl"
JUDGMENTS = "test-pid2anns-*.json"
FIELDS = {
    "doc_id": "paper_id",
    "title": "title",
    "text": "abstract",
    "roles": "pred_labels",
    "year": "metadata.year",
}


def rows(file: InputFile) -> Iterator[Row]:
    """Rows of the folder's abstracts (or of the abstracts file itself)."""
    if not file.path.is_dir():
        return jsonl.rows(file)
    files = sorted(file.path.glob(ABSTRACTS))
    if not files:
        raise BadInputError(
            f"{file.name} has no {ABSTRACTS}.",
            "Choose the folder that holds abstracts-csfcube-preds.jsonl.",
        )
    return jsonl.rows(replace(file, path=files[0]))
