"""All facts of a text together."""

from __future__ import annotations

import pytest

from tests.engine.facts.fact_cases import Count, Expected, facts_of, read_cases
from tests.engine.facts.test_temporal import CASES, MORE

OTHERS = list(read_cases("others_cases.txt"))
TEXTS = {
    kind: [case.text for n in ("", "_more") for case in read_cases(f"{kind}{n}_cases.txt")]
    for kind in ("amounts", "places")
} | {"dates": [case.text for case in CASES + MORE]}
"""What each text was written for."""


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_about_one_kind_of_fact_hold_no_wrong_ones_of_the_others(kind):
    for text in TEXTS[kind]:
        found = [fact for fact in facts_of(text) if f"{fact.kind}s" != kind]
        wanted: list[Expected] = []
        for case in OTHERS:
            wanted += case.expected if case.style == kind and text.startswith(case.text) else ()
        assert [f for f in found if not any(one.is_met_by(f) for one in wanted)] == [], text
        assert [one for one in wanted if not any(map(one.is_met_by, found))] == [], text


@pytest.mark.parametrize("name", ["mixed_cases.txt", "mixed_more_cases.txt"])
def test_facts_of_all_kinds_are_right_and_mostly_found(name):
    count = Count()
    for case in read_cases(name):
        found = {(f.low, f.high, f.unit, f.recurrence): f for f in facts_of(case.text)}
        count.add(case, found.values())
    assert count.wrong == 0
    assert count.missed <= 9
