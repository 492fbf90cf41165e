"""Which facts answer which, and how documents are ranked by them."""

from datetime import date, datetime, timedelta

import pytest
from dateutil.rrule import rrulestr

from engine.corpora.stored_facts import document_date
from engine.facts.fact_index import ELSEWHERE, WEIGHT, FactIndex, matches
from engine.types.documents import Fact


def day(iso, last="", **more):
    low = date.fromisoformat(iso).toordinal()
    high = date.fromisoformat(last).toordinal() if last else low
    return Fact("date", low, high, "day", iso, (0, 1), **more)  # type: ignore[arg-type]


def amount(value, unit="USD", **more):
    return Fact("amount", value, value, unit, str(value), (0, 1), **more)  # type: ignore[arg-type]


def place(code):
    return Fact("place", 0, 0, code, code, (0, 1))


FEBRUARY = day("2024-02-01", "2024-02-29")


@pytest.mark.parametrize(
    ("asked", "found", "score"),
    [
        (day("2024-02-27"), day("2024-02-27"), 1.0),
        (day("2024-02-27"), day("2024-02-28"), None),
        (FEBRUARY, day("2024-02-27"), 1.0),
        (day("2024-02-27"), FEBRUARY, 1 / 29),
        (day("2024-02-20", "2024-03-10"), FEBRUARY, 10 / 29),
        (amount(1950), amount(1950), 1.0),
        (amount(1950), amount(1950.5), 1.0),
        (amount(1950), amount(1960), None),
        (amount(1950), amount(1950, "EUR"), None),
        (place("FR"), place("FR-IDF"), 1.0),
        (place("FR-IDF"), place("FR"), ELSEWHERE),
        (place("FR-IDF"), place("FR-BRE"), None),
        (day("2024-02-27"), amount(738943, "day"), None),
    ],
    ids=lambda value: value.text if isinstance(value, Fact) else "",
)
def test_a_fact_answers_by_the_share_of_it_that_is_asked_for(asked, found, score):
    answers = matches([asked], [found])
    assert [round(a.score, 6) for a in answers] == ([] if score is None else [round(score, 6)])


def test_what_recurs_answers_on_its_days_only():
    mondays = day("2024-02-05", "2024-03-25", recurrence="FREQ=WEEKLY;BYDAY=MO")
    assert matches([day("2024-02-26")], [mondays])
    assert not matches([day("2024-02-27")], [mondays])
    assert not matches([day("2024-04-01")], [mondays])
    assert matches([FEBRUARY], [mondays])


def test_the_surest_fact_of_a_document_answers():
    weak, sure = day("2024-02-27", confidence=0.3), day("2024-02-27", confidence=0.9)
    assert [m.found for m in matches([day("2024-02-27")], [weak, sure])] == [sure]


def test_a_rare_answer_counts_more_than_a_common_one():
    common, rare = amount(5), day("2024-02-27")
    index = FactIndex([(common, rare), (common,), (rare,), *[(common,)] * 20, ()])
    scores = index.scores([common, rare])
    assert scores[0] == pytest.approx(1.0)
    assert scores[2] > scores[1] > scores[-1] == 0.0


def test_nothing_asked_or_nothing_known_scores_nothing():
    assert not FactIndex([(), ()]).scores([day("2024-02-27")]).any()
    assert not FactIndex([(day("2024-02-27"),)]).scores([]).any()


def test_a_place_that_is_mentioned_counts_less_than_a_day_that_is_meant():
    index = FactIndex([(place("FR"),), (day("2024-02-27"),), ()])
    places, days = index.scores([place("FR")]), index.scores([day("2024-02-27")])
    assert places[0] == pytest.approx(WEIGHT["place"])
    assert days[1] == pytest.approx(1.0)


def test_a_rule_that_has_run_for_years_answers_as_one_that_began_last_week():
    for rule in ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", "FREQ=DAILY;INTERVAL=3", "FREQ=MONTHLY"):
        old = day("2014-01-02", "9999-12-31", recurrence=rule)
        walked = rrulestr(rule, dtstart=datetime(2014, 1, 2))
        for offset in range(32):
            asked = date(2024, 2, 1) + timedelta(days=offset)
            at = datetime(asked.year, asked.month, asked.day)
            expected = walked.after(at, inc=True) == at
            assert bool(matches([day(asked.isoformat())], [old])) == expected, (rule, asked)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-02-29", "2024-02-29"),
        ("20240229", "2024-02-29"),
        ("2024-02-29T10:00:00Z", "2024-02-29"),
        ("2024-02-29 10:00:00 UTC", "2024-02-29"),
        ("Thu, 29 Feb 2024 10:00:00 +0000", "2024-02-29"),
        (1711123000000, "2024-03-22"),
        (1711123000, "2024-03-22"),
        ("2024", None),
        ("2024-02", None),
        ("2024-02-31", None),
        ("soon", None),
    ],
)
def test_the_day_on_which_a_document_was_written(value, expected):
    found = document_date({"date": value})
    assert found == (date.fromisoformat(expected) if expected else None)
