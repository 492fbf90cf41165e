"""Judgments of the small corpus as files that people bring."""

from __future__ import annotations

from pathlib import Path

METHOD = "bees-network_method"
GOOD = f"{METHOD} 0 bread-network 3\n{METHOD} 0 maps-survey 0\n"


def qrels(tmp_path: Path, text: str, name: str = "q.qrels") -> Path:
    (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / name
