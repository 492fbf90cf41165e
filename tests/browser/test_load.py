"""The sessions of ``benchmarks/load.py``, which have no browser, get what a browser gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.load import _session, measure
from engine.config import DEMO_CORPUS
from engine.llm.client import finish
from tests.browser.conftest import Server


def test_a_session_without_a_browser_chooses_one_seed_after_another(server: Server) -> None:
    async def visit() -> None:
        async with _session(server.url, DEMO_CORPUS) as session:
            for doc_id in ("demo-0007", "demo-0011"):
                await session.choose(doc_id)
            with pytest.raises(RuntimeError, match="no results"):
                await session.choose("no-such-document")

    finish(visit())


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_twenty_five_people_get_their_results_and_two_hundred_leave_no_memory_behind(
    demo_home: Path,
) -> None:
    """How long they wait on a machine that does nothing else, ``--part load`` measures."""
    figures = measure(demo_home, DEMO_CORPUS, [25], seconds=20, closed=200)
    value = {figure.what.rpartition(": ")[2]: figure.value for figure in figures}
    assert value["median"] < 2
    assert value["memory that 200 more sessions left behind"] < 100
