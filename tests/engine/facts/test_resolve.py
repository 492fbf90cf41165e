"""All facts of a text together."""

from __future__ import annotations

import pytest

from tests.engine.facts.fact_cases import Value, is_near, read_cases, read_mixed, values_of
from tests.engine.facts.test_temporal import CASES, MORE

OTHERS = [(case.style, case.text, case.expected) for case in read_mixed("others_cases.txt")]


def texts():
    """Every text of every file of cases, with what it was written for."""
    for kind in ("amounts", "places"):
        for name in (f"{kind}_cases.txt", f"{kind}_more_cases.txt"):
            yield from ((kind, case.text) for case in read_cases(name))
    yield from (("dates", case.text) for case in CASES + MORE)


@pytest.mark.parametrize("kind", ["amounts", "places", "dates"])
def test_texts_about_one_kind_of_fact_hold_no_wrong_ones_of_the_others(kind):
    for about, text in texts():
        if about != kind:
            continue
        found = [v for v, fact in values_of(text).items() if f"{fact.kind}s" != kind]
        wanted: list[Value] = []
        for style, beginning, values in OTHERS:
            wanted += values if style == kind and text.startswith(beginning) else ()
        assert [v for v in found if not any(is_near(v, one) for one in wanted)] == [], text
        assert [v for v in wanted if not any(is_near(v, one) for one in found)] == [], text


@pytest.mark.parametrize("name", ["mixed_cases.txt", "mixed_more_cases.txt"])
def test_facts_of_all_kinds_are_right_and_mostly_found(name):
    right = wrong = missed = 0
    for case in read_mixed(name):
        found = list(values_of(case.text))
        met = [any(is_near(value, one) for one in case.expected) for value in found]
        maybe = [any(is_near(value, one) for one in case.maybe) for value in found]
        right += sum(met)
        wrong += sum(not (one or other) for one, other in zip(met, maybe, strict=True))
        missed += sum(not any(is_near(one, value) for value in found) for one in case.expected)
    assert right / (right + wrong) >= 0.97
    assert right / (right + missed) >= 0.90
