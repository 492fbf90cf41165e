"""The sessions of ``benchmarks/load.py``, which have no browser, get what a browser gets."""

import pytest

from benchmarks.load import measure
from engine.config import DEMO_CORPUS


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_twenty_five_people_get_their_results_and_two_hundred_leave_no_memory_behind(demo_home):
    """How long they wait on a machine that does nothing else, ``--part load`` measures."""
    figures = measure(demo_home, DEMO_CORPUS, [25], seconds=20, closed=200)
    value = {figure.what.rpartition(": ")[2]: figure.value for figure in figures}
    assert value["median"] < 2
    assert value["memory that 200 more sessions left behind"] < 100
