"""The network that reads wordings, and that it is asked for what is new only."""

import numpy as np
import pytest

import engine.encode.wording_network
from engine.encode.wording_network import wording_network
from engine.lenses.definitions import RESEARCH
from engine.lenses.instructions import WEIGHTS, chances, description, split
from engine.search.interpretation import lens_words

WORDS = "the same technique, but not the same topic; anything about bees"


@pytest.fixture(scope="module")
def network():
    return wording_network(WEIGHTS)


def test_what_the_parts_of_a_wording_say_adds_up_to_what_it_says(network):
    aspects = network.aspects([description(aspect) for aspect in RESEARCH.aspects])
    parts = split(WORDS)
    of_parts, of_whole = network.scores(parts, aspects), network.scores([WORDS], aspects)
    assert len(parts) > 2
    assert of_parts.shape == (len(parts), 2 * len(RESEARCH.aspects))
    assert np.logaddexp.reduce(of_parts, axis=0) == pytest.approx(of_whole[0], abs=1e-3)
    likely = chances(of_whole[0])
    assert likely[RESEARCH.index("method")] > 0.5
    assert likely[len(RESEARCH.aspects) + RESEARCH.index("background")] > 0.5


def test_what_lies_beyond_the_window_says_nothing(network):
    aspects = network.aspects([description(aspect) for aspect in RESEARCH.aspects])
    scores = network.scores(["bees " * 200, "the same method"], aspects)
    assert np.isfinite(scores).all()
    assert not np.exp(scores[1]).any()


def test_a_wording_that_was_read_before_needs_no_network(tmp_path, monkeypatch):
    first = lens_words(RESEARCH, tmp_path).read(WORDS)
    monkeypatch.setattr(engine.encode.wording_network, "wording_network", None)
    again = lens_words(RESEARCH, tmp_path).read(WORDS)
    assert (again.subject, again.strength) == (first.subject, first.strength)
    assert np.array_equal(again.wants, first.wants)
    assert np.array_equal(again.avoids, first.avoids)
