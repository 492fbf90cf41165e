"""Files to read, written by a test."""

import json

import pytest


@pytest.fixture
def write(tmp_path):
    def _write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _write


@pytest.fixture
def jsonl(write):
    def _jsonl(*rows, name="papers.jsonl"):
        return write(name, "".join(json.dumps(row) + "\n" for row in rows))

    return _jsonl
