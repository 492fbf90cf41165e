"""The sessions of ``benchmarks/load.py``, which have no browser, get what a browser gets."""

from __future__ import annotations

import pytest

from benchmarks.load import _session
from engine.config import DEMO_CORPUS
from tests.browser.conftest import Server
from tests.support import finish


@pytest.mark.nightly
def test_a_session_without_a_browser_chooses_one_seed_after_another(server: Server) -> None:
    async def visit() -> None:
        async with _session(server.url, DEMO_CORPUS) as session:
            for doc_id in ("demo-0007", "demo-0011"):
                await session.choose(doc_id)
            with pytest.raises(RuntimeError, match="no results"):
                await session.choose("no-such-document")

    finish(visit())
