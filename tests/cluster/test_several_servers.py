"""Several app servers over one home and one ledger."""

import pytest

from benchmarks.servers import measure
from tests.fakes import postgres_server


def test_annotators_go_on_when_the_ledger_is_restarted_or_their_server_is_killed():
    if why := postgres_server.missing():
        pytest.skip(why)
    figures = measure(people=4, seconds=8, stored=2_000)
    wrong = [figure for figure in figures if "lost, doubled" in figure.what]
    assert [figure.value for figure in wrong] == [0, 0, 0]
    killed = next(f for f in figures if "killed" in f.what and f.note)
    assert not killed.note.endswith(", 0 keys sent again"), "somebody's server was killed"
