"""What several test modules call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from engine.explorer import Explorer

Result = TypeVar("Result")
SHARD = 32
"""Documents per shard of the corpora made here: small, so that they have several fragments."""


def make_explorer(home: Path, **settings: Any) -> Explorer:
    """An explorer over ``home`` whatever the environment says."""
    from engine.config import Settings
    from engine.explorer import Explorer

    return Explorer(Settings(**{"home": home, "shard_documents": SHARD, **settings}))


def write_jsonl(path: Path, documents: Iterable[Mapping[str, Any]]) -> Path:
    """Documents as a JSONL file that ``seedlens import`` reads."""
    lines = (json.dumps(document, ensure_ascii=False) + "\n" for document in documents)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def finish(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end, in a thread: Playwright leaves a loop running in this one."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
