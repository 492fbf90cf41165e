"""A verdict says what the figures beside it say."""

from __future__ import annotations

import pytest

from engine.compare.comparer import Judgments, Profile, find_verdict
from engine.types.comparisons import Variant, VariantRanking
from engine.types.searches import Ranking

# Ten documents are relevant to both aspects, two only to the method; thirty to nothing.
BOTH = [f"both-{i}" for i in range(10)]
ONLY = ["only-0", "only-1"]
REST = [f"rest-{i:02}" for i in range(30)]
METHOD = {**dict.fromkeys(BOTH, 3), **dict.fromkeys(ONLY, 1), **dict.fromkeys(REST, 0)}
JUDGED: Judgments = {"method": METHOD, "background": {**METHOD, **dict.fromkeys(ONLY, 0)}}
BLIND = [*BOTH, *REST[:10], *ONLY, *REST[10:]]


def verdict(ranked, judgments, gains=None, blind=BLIND):
    """Of one variant, for the method."""
    scores = tuple(float(-i) for i in range(len(ranked)))
    ranking = VariantRanking(
        Variant("mine", "words"),
        Ranking("mine", tuple(ranked), scores),
        (),
        (),
        (),
        (),
        {},
        tuple((gains or {"Background": 0.0, "Method": 0.0}).items()),
        0.0,
    )
    return find_verdict(Profile(ranking, blind, True, False, "Method", "method", judgments))


FOLLOWED, NOTHING = {"Background": 0.1, "Method": 0.8}, None
LOST = "nDCG@20 (CSFCube) 0.97 to 0."


@pytest.mark.parametrize(
    ("ranked", "gains", "kind", "says"),
    [
        ([*BOTH, *ONLY, *REST], FOLLOWED, "follows", "documents judged alike only in Method rose"),
        (
            [*ONLY, *REST, *BOTH],
            {"Background": -0.2, "Method": -1.44},
            "costly",
            f"follows, and loses most relevant documents ({LOST}",
        ),
        (
            [*ONLY, *REST[:4], *BOTH, *REST[4:]],
            NOTHING,
            "costly",
            f"follows, at the cost of relevance ({LOST}",
        ),
        ([*REST, *BOTH, *ONLY], NOTHING, "wrong way", f"lost ({LOST}"),
        ([*REST[:10], *BOTH, *ONLY, *REST[10:]], NOTHING, "little", f"lost ({LOST}"),
    ],
)
def test_with_judgments_the_verdict_says_what_rose_and_what_was_lost(ranked, gains, kind, says):
    found = verdict(ranked, JUDGED, gains)
    assert found.kind == kind
    assert says in found.text
    assert ("loses" in found.text) == ("loses" in says)
    if gains and gains["Method"] < 0:
        assert "became less similar in Method" in found.text
        for words in ("rank gain over no wording +", "Method -1.44", "of the top 20 in common"):
            assert words in found.numbers


def test_one_judged_aspect_tells_the_cost_of_what_is_estimated():
    found = verdict([*ONLY, *REST, *BOTH], {"method": METHOD}, FOLLOWED)
    assert found.kind == "costly"
    assert "loses most relevant documents" in found.text
    assert "(estimate)" in found.text


@pytest.mark.parametrize(
    ("gains", "kind", "says"),
    [
        ({"Background": 0.0, "Method": 0.9}, "follows", "more similar in Method"),
        ({"Background": 1.3, "Method": 0.9}, "follows", "and more so in Background"),
        ({"Background": 1.4, "Method": 0.3}, "wrong way", "more similar in Background"),
        ({"Background": 0.1, "Method": -1.44}, "wrong way", "less similar in Method"),
        (
            {"Background": -0.8, "Method": 0.227},
            "follows",
            "became slightly more similar in Method and became less so in Background",
        ),
        ({"Background": -0.8, "Method": 0.02}, "follows", "stayed as similar in Method"),
        (
            {"Background": -0.8, "Method": -0.1},
            "different",
            "without becoming clearly more similar",
        ),
        ({"Background": 0.1, "Method": 0.1}, "different", "without becoming clearly more similar"),
    ],
)
def test_without_judgments_the_verdict_goes_by_the_aspect_that_is_meant(gains, kind, says):
    found = verdict([*REST, *BOTH, *ONLY], {}, gains)
    assert found.kind == kind
    assert says in found.text
    assert "nDCG" not in found.text + found.numbers, "nobody judged anything"


def test_without_judgments_replacing_nearly_all_documents_is_told():
    found = verdict([*REST[10:], *BLIND[:20], *ONLY], {}, {"Background": 0.0, "Method": 0.9})
    assert found.kind == "follows"
    assert "0% of the top 20 stayed" in found.text
