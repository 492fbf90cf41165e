"""Files to read, written by a test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.ingest.reading_files import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _write


@pytest.fixture
def jsonl(write: Write) -> Callable[..., Path]:
    def _jsonl(*rows: Any, name: str = "papers.jsonl") -> Path:
        return write(name, "".join(json.dumps(row) + "\n" for row in rows))

    return _jsonl
