"""Dates that texts state and imply: what is found, what it follows from, and what is left alone."""

from __future__ import annotations

import csv
import re
import tomllib
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

import pytest

from engine.facts.dates import find_dates
from tests.engine.facts.fact_cases import facts_of

HERE = Path(__file__).parent
IMPLIRET = HERE.parents[3] / "shared" / "data" / "impliret-open" / "T_Multi.csv"
Days = tuple[int, int, str]


@dataclass(frozen=True)
class Case:
    """A text with the days its words name; see the head of temporal_cases.toml."""

    text: str
    date: date | None = None
    stated: dict[str, str] = field(default_factory=dict)
    implied: dict[str, str] = field(default_factory=dict)
    maybe: dict[str, str] = field(default_factory=dict)

    def found(self):
        """The dates that are found."""
        return [fact for fact in facts_of(self.text, self.date) if fact.kind == "date"]


def days(words):
    """Read "2024-05-03", "2024-05-03/2024-05-05", "2024-05-06/.. FREQ=WEEKLY"."""
    stretch, _, rule = words.partition(" ")
    low, _, high = stretch.partition("/")
    last = date.max if high == ".." else date.fromisoformat(high or low)
    return date.fromisoformat(low).toordinal(), last.toordinal(), rule


def value(fact):
    return int(fact.low), int(fact.high), fact.recurrence


def read(name):
    document = tomllib.loads((HERE / name).read_text("utf-8"))
    cases = []
    for entry in document["case"]:
        when = entry.pop("date", None)
        cases.append(Case(**entry, date=date.fromisoformat(when) if when else None))
    return cases


CASES = read("temporal_cases.toml")
MORE = read("temporal_more_cases.toml")
KNOWN_TO_MISS = {
    "by half two months ago",  # "half" stands before a count
    "valve replaced the day before",  # before which of the two days told?
    "May and June 2017",  # found as one stretch
    "Greeks vote on Sunday",  # no word tells the tense
}
"""What no test below asks for, though it counts in the recall."""


@pytest.mark.parametrize("case", CASES + MORE, ids=lambda case: case.text[:50])
def test_nothing_is_found_that_the_text_does_not_mean(case):
    expected = {
        days(words) for part in (case.stated, case.implied, case.maybe) for words in part.values()
    }
    wrong = [(fact.text, fact.derivation) for fact in case.found() if value(fact) not in expected]
    assert not wrong


@pytest.mark.parametrize(
    "case",
    [case for case in CASES + MORE if not any(words in case.text for words in KNOWN_TO_MISS)],
    ids=lambda case: case.text[:50],
)
def test_what_the_text_means_is_found_where_it_stands(case):
    found = case.found()
    for words, when in {**case.stated, **case.implied}.items():
        places = [match.span() for match in re.finditer(re.escape(words), case.text)]
        assert any(
            value(fact) == days(when) and low < fact.span[1] and fact.span[0] < high
            for fact in found
            for low, high in places
        ), f"{words!r} was not found as {when}"


def only(text, document_date=None):
    """The one fact of a text that is not a message's stamp."""
    facts = Case(text, document_date).found()
    assert len(facts) == 1, facts
    return facts[0]


def test_a_relative_date_says_what_it_follows_from_and_where_that_stands():
    text = "2024-02-29 09:01, Henry: I read it two days ago."
    fact = only(text)
    assert (fact.kind, fact.unit, fact.text) == ("date", "day", "27 February 2024")
    assert fact.low == fact.high == date(2024, 2, 27).toordinal()
    assert text[slice(*fact.span)] == "two days ago"
    assert fact.anchor is not None
    assert text[slice(*fact.anchor)] == "2024-02-29 09:01"
    assert fact.derivation == "'two days ago' in a message of 29 February 2024"
    assert fact.implied
    assert 0.9 < fact.confidence <= 1


def test_an_event_dates_what_is_told_before_and_after_it():
    text = "The launch is on 21 November 2024. Freeze the text a fortnight before the launch."
    stated, implied = find_dates(text)
    assert implied.text == "7 November 2024"
    assert implied.anchor == stated.span
    assert "the launch" in implied.derivation
    assert "21 November 2024" in implied.derivation


def test_the_time_stamp_of_a_message_counts_for_less_than_what_it_says():
    stamp, said = find_dates("2024-02-29 09:01, Henry: it was on 27 February 2024")
    assert not stamp.implied
    assert stamp.confidence < said.confidence


def test_a_span_ends_with_the_words_that_name_the_day():
    text = "The party was on 9 April 2024. Two days after the party we slept. Back on 2 Sept. 2024"
    spans = [text[slice(*fact.span)] for fact in find_dates(text)]
    assert spans == ["9 April 2024", "Two days after the party", "2 Sept. 2024"]
    text = "It is due on 9 April."
    (fact,) = find_dates(text, date(2024, 1, 1))
    assert text[slice(*fact.span)] == "9 April"


def test_the_nearer_of_two_anchors_is_taken():
    text = "2024-06-20 10:00, Ada: it began on 3 June 2024, and two days later it was over."
    *_, later = find_dates(text, document_date=date(2030, 1, 1))
    assert later.text == "5 June 2024"
    assert later.derivation == "'two days later', told after 3 June 2024"


@pytest.mark.parametrize(
    "text",
    ["", " \n", "\x00", "İ" * 50 + " two days ago", "0000-00-00", "every every Monday until until",
     "9999-12-31 23:59, A: in 9 weeks' time", "1000-01-01 00:00, A: 900 years ago", "²/³/2024"],
)  # fmt: skip
def test_odd_texts_do_no_harm(text):
    for fact in find_dates(text, date(2024, 1, 1)):
        assert fact.low <= fact.high
        assert 0 <= fact.span[0] < fact.span[1] <= len(text)


@pytest.mark.skipif(not IMPLIRET.exists(), reason="needs ../shared/data/impliret-open")
def test_the_dates_of_impliret_are_found():
    with IMPLIRET.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = 0
    for row in rows:
        words = re.search(r"on (\w+ \d+, \d{4})\?", row["question"])
        assert words
        wanted = datetime.strptime(words[1], "%B %d, %Y").date().toordinal()
        assert [fact.low for fact in find_dates(row["question"])] == [wanted]
        facts = find_dates(row["pos_document"])
        found += any(fact.implied and fact.low == wanted == fact.high for fact in facts)
    assert found / len(rows) > 0.98
