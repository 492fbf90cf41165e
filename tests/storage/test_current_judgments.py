"""The current judgments are at all times what the whole history says."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from storage.judgment_events import CURRENT, fill_current
from storage.records import Judgment, new_event

QUERIES, DOCUMENTS = ("q1", "q2"), ("d1", "d2", "d3")
PEOPLE = ("Ada", "Ben", "model:m")
PLACES = (("demo", ""), ("demo", "p"), ("other", "p"))


def latest(history):
    """The current judgments by their definition: the last event of each annotator and item that
    nobody took back, adjudications apart."""
    history = list(history)
    undone = {said.undoes for said in history if said.verdict == "undo"}
    last: dict[tuple[object, ...], Judgment] = {}
    for said in history:
        if said.verdict != "undo" and said.event not in undone:
            key = (said.item, said.annotator, said.origin == "adjudication")
            last.pop(key, None)
            last[key] = said
    return [said for said in last.values() if said.verdict != "withdrawn"]


def any_event(chance):
    """A grade, skip, doubt, withdrawal or adjudication."""
    place = chance.choice(PLACES)
    who, item = chance.choice(PEOPLE), (chance.choice(QUERIES), chance.choice(DOCUMENTS))
    said = Judgment(*item, who, corpus=place[0], project=place[1], verdict="skip")
    kind = chance.random()
    if kind < 0.5:
        origin = "model" if who == "model:m" else chance.choice(("person", "import"))
        said = replace(said, verdict="grade", relevance=chance.randrange(4), origin=origin)
    elif kind < 0.6:
        said = replace(said, verdict="grade", relevance=1, origin="adjudication")
    elif kind < 0.8:
        said = replace(said, verdict=chance.choice(("withdrawn", "unsure", "skip")))
        said = replace(said, origin=chance.choice(("person", "adjudication")))
    return replace(said, event="twice" if chance.random() < 0.03 else new_event())


def check(ledger, followed, chance):
    for place in PLACES:
        expected = latest(ledger.judging.history(*place))
        assert followed.judging.latest(*place) == expected
        who = chance.choice(PEOPLE)
        current = followed.judging.current(*place)
        own, spread = current.of(who, ITEMS)
        assert [*own.values()] == [
            s for s in expected if s.annotator == who and s.origin != "adjudication"
        ]
        counts = Counter(s.item for s in expected if s.is_annotation)
        assert +current.annotated == counts
        assert +spread == Counter(counts[item] for item in ITEMS)


ITEMS = frozenset({("q1", "d1"), ("q1", "d2"), ("q2", "d3")})


@pytest.mark.smoke
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, 20))]
)
def test_what_counts_is_what_the_whole_history_says_after_every_step_of_two_programs(
    open_ledger, seed
):
    chance = random.Random(seed)  # noqa: S311
    # Two of them, as in two processes: neither notices directly what the other does.
    programs = [open_ledger(), open_ledger()]
    for _ in range(16):
        program = chance.choice(programs)
        if chance.random() < 0.75:
            events = [any_event(chance) for _ in range(chance.choice((1, 1, 1, 5)))]
            program.judging.add(events)
        else:
            place, who = chance.choice(PLACES), chance.choice(PEOPLE)
            items = [(q, d) for q in QUERIES for d in DOCUMENTS if chance.random() < 0.5]
            program.judging.undo(*place, who, only=items or None)
        if chance.random() < 0.1:  # an import with what it found
            place = chance.choice(PLACES)
            more = replace(any_event(chance), corpus=place[0], project=place[1])
            program.judging.change(*place, lambda current: [more])  # noqa: B023
        check(programs[0], chance.choice(programs), chance)
    for program in programs:
        check(open_ledger(), program, chance)
    one, other = ([p.judging.latest(*place) for place in PLACES] for p in programs)
    assert one == other


def test_the_current_judgments_of_a_ledger_without_any_are_found_again(ledger):
    chance = random.Random(7)  # noqa: S311
    for _ in range(60):
        ledger.judging.add([any_event(chance)])
        if chance.random() < 0.2:
            ledger.judging.undo(*chance.choice(PLACES), chance.choice(PEOPLE))
    before = [ledger.judging.latest(*place, annotator=who) for place in PLACES for who in PEOPLE]
    assert any(before)
    with ledger._database.write() as connection:
        connection.execute(CURRENT.delete())
        fill_current(connection)
    after = [ledger.judging.latest(*place, annotator=who) for place in PLACES for who in PEOPLE]
    assert after == before
