"""Several people at one queue: nobody is asked for what others have before them."""

from __future__ import annotations

import random
import shutil
import statistics
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.annotators import KEY_EVERY, MOST_CPU, MOST_WAITED, PEOPLE, _at_work, filled
from engine.annotate.pool import MOST_AHEAD, Pool, Queue, find_share
from engine.types.annotating import Item, Judgment, PoolItem, Project, Source
from storage import people as storage_people
from storage.judgment_events import CurrentJudgments
from storage.ledger import Ledger
from storage.people import SECONDS, Lease
from tests.engine.annotate.grading_steps import make_project
from tests.support import make_explorer

ITEMS = [PoolItem("q", f"d{n:02}", (Source("dense", n + 1),)) for n in range(12)]
KEYS = [item.item for item in ITEMS]
CROWD = ("Ada", "Ben", "Grace")


def said(item, who, **more):
    return replace(Judgment(*item, who, 1, corpus="c", project="p"), **more)  # type: ignore[arg-type]


def leases_of(folder):
    return Ledger(folder / "ledger.sqlite").leases


class Tab:
    """One browser: it shows what it was sent, judges on its own, and tells of it later."""

    def __init__(self, leases, project, who, stored):
        self.leases, self.project, self.who, self.stored = leases, project, who, stored
        self.next: list[Item] = []
        self.elsewhere = 0
        self.untold: list[Judgment] = []
        self.judged: set[Item] = set()

    @property
    def at(self):
        return next((item for item in self.next if item not in self.judged), None)

    def judge(self):
        if self.at is not None:
            self.untold.append(said(self.at, self.who))
            self.judged.add(self.at)

    def tell(self):
        at, shown = self.at, frozenset(self.next)
        self.stored.extend(self.untold)
        self.untold.clear()
        with self.leases.of("c", "p") as leases:
            before = leases.pop(self.who, Lease(self.who, ()))
            current = CurrentJudgments(self.stored)
            queue = Queue(self.project, self.who, Pool(ITEMS), current)
            share, lease = find_share(
                queue, [*leases.values()], shown.intersection(before.items), at
            )
            leases[self.who] = lease
        self.next, self.elsewhere = list(share.next), share.elsewhere

    @property
    def has_work(self):
        return self.at is not None or bool(self.untold)


@pytest.mark.parametrize("per_item", [1, 2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_an_item_is_judged_as_often_as_it_needs_in_whatever_order_people_judge(
    tmp_path, seed, per_item
):
    chance = random.Random(seed)  # noqa: S311
    stored: list[Judgment] = []
    leases, project = leases_of(tmp_path), Project("c", "p", per_item=per_item)
    tabs = [Tab(leases, project, who, stored) for who in CROWD]
    while len(stored) < per_item * len(ITEMS):
        tab = chance.choice(tabs)
        if tab.has_work and chance.random() < 0.6:
            tab.judge()
        else:
            tab.tell()
    for tab in tabs:
        tab.tell()
        assert not tab.next
        assert not tab.elsewhere
    assert Counter(j.item for j in stored) == dict.fromkeys(KEYS, per_item)


def judge_until_nothing_is_left(explorer, project, who):
    at = None
    while True:
        share = explorer.annotation.share(project, who, f"tab of {who}", at)
        if not share.next and not share.elsewhere:
            return
        time.sleep(0.01)  # they read
        for at in share.next[:1]:
            explorer.annotation.judge(project, Judgment(*at, who, 1))


def test_three_people_at_once_judge_twelve_items_twice_in_24_judgments(small_copy):
    project = make_project(small_copy, depth=12, per_item=2)
    with ThreadPoolExecutor() as pool:
        for done in [
            # An explorer each, as in processes of their own.
            pool.submit(
                judge_until_nothing_is_left, make_explorer(small_copy.home.root), project, who
            )
            for who in CROWD
        ]:
            done.result()
    judgments = small_copy.annotation.judgments(project)
    assert len(judgments) == 24
    assert Counter(j.item for j in judgments) == dict.fromkeys((j.item for j in judgments), 2)
    assert small_copy.annotation.progress(project).extra == 0


@pytest.fixture
def one_each(small_copy, monkeypatch):
    """A project of twelve items that one person each judges, and what its leases go by."""
    begun, now = datetime.now(UTC), [0.0]
    monkeypatch.setattr(storage_people, "_now", lambda: begun + timedelta(seconds=now[0]))
    return make_project(small_copy, depth=12), now


def test_what_an_annotator_leaves_alone_goes_to_others_and_what_they_say_later_is_kept(
    small_copy, one_each
):
    annotation, (project, now) = small_copy.annotation, one_each
    ada = annotation.share(project, "Ada", "tab 1")
    assert (len(ada.next), ada.people) == (12, 1)
    waiting = annotation.share(project, "Ben", "tab 2")
    assert (waiting.next, waiting.elsewhere, waiting.minutes) == ([], 12, 5)
    assert (waiting.people, waiting.progress.total) == (2, 6)

    now[0] += SECONDS - 1
    assert annotation.share(project, "Ben", "tab 2").elsewhere == 12
    now[0] += 1
    ben = annotation.share(project, "Ben", "tab 2")
    assert len(ben.next) == 12
    late, *_ = ada.next
    for who in ("Ben", "Ada"):
        annotation.judge(project, Judgment(*late, who, 2))
    assert {j.annotator for j in annotation.judgments(project)} == {"Ada", "Ben"}
    assert annotation.progress(project).extra == 1
    assert not annotation.share(project, "Ada", "tab 1", late).beyond, "they said what they said"


def test_who_comes_later_gets_a_share_with_the_next_key_of_who_has_it_all(small_copy, one_each):
    annotation, project = small_copy.annotation, one_each[0]
    ada = annotation.share(project, "Ada", "tab 1")
    assert annotation.share(project, "Ben", "tab 2").next == []
    shown = frozenset(ada.next)
    ada = annotation.share(project, "Ada", "tab 1", ada.next[0], shown)
    assert (len(ada.next), ada.progress.total) == (3, 6), "half of her share of six at a time"
    assert annotation.share(project, "Ben", "tab 2").next == [], "she may see the others still"
    annotation.share(project, "Ada", "tab 1", ada.next[0], frozenset(ada.next))
    ben = annotation.share(project, "Ben", "tab 2")
    assert len(ben.next) == 3
    assert not shown.intersection(ada.next).intersection(ben.next)


def test_an_item_that_was_skipped_or_left_is_for_others_at_once(small_copy, one_each):
    annotation, project = small_copy.annotation, one_each[0]
    skipped, *rest = annotation.share(project, "Ada", "tab 1").next
    annotation.judge(project, Judgment(*skipped, "Ada", verdict="skip"))
    annotation.share(project, "Ada", "tab 1", rest[0], frozenset(rest))
    ben = annotation.share(project, "Ben", "tab 2")
    assert (ben.next, ben.elsewhere) == ([skipped], 0)
    again = annotation.share(project, "Ada", "tab 1", skipped, frozenset(rest))
    assert again.beyond, "Ben has it before him"
    annotation.leave(project, "Ben", "tab 2")
    assert not annotation.share(project, "Ada", "tab 1", skipped, frozenset(rest)).beyond
    annotation.leave(project, "Ada", "tab 1")
    assert annotation.share(project, "Ben", "tab 2").elsewhere == 0


def test_where_an_item_needs_everybody_who_is_there_nobody_waits():
    project = Project("c", "p", per_item=2)
    many = [PoolItem("q", f"d{n}", ()) for n in range(100)]
    keys = [item.item for item in many]
    queue = Queue(project, "Ben", Pool(many), CurrentJudgments())
    share, lease = find_share(queue, [Lease("Ada", tuple(keys[:MOST_AHEAD]))])
    assert (len(share.next), share.people, share.progress.total) == (MOST_AHEAD, 2, 100)
    own, _ = find_share(queue, [Lease("Ben", tuple(keys))])
    assert own.people == 1, "another tab of one's own takes nothing away"
    elsewhere, _ = find_share(queue, [Lease("Ada", (("other", "d0"),))])
    assert elsewhere.people == 1, "Ada judges queries that are not Ben's"
    assert lease.annotator == "Ben"


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_key_takes_no_more_where_51_000_judgments_are_stored(demo_home, home):
    """How long people wait on a machine that does nothing else, ``--part annotators`` measures."""
    shutil.copytree(demo_home, home)
    explorer = make_explorer(home)
    project = filled(explorer)
    _at_work(explorer, project, PEOPLE, 2 * KEY_EVERY)  # what the first look costs is apart
    done = _at_work(explorer, project, PEOPLE, 20)
    assert len(done.waits) > 200
    assert statistics.median(done.waits) <= MOST_WAITED
    assert done.cpu <= MOST_CPU
    assert done.grown < 30
