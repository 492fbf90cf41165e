"""What stands of the judgments of one project, kept up to date event by event."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import itemgetter

from storage.records import Judgment

Event = tuple[int, Judgment]
"""The id under which it is stored, and what it says."""
Item = tuple[str, str]
MOST_TALLIES = 4
"""Sets of items that a project's annotations are counted over: those used last."""


@dataclass(frozen=True, slots=True)
class OwnAndOthers:
    """What one annotator and all others said.

    Attributes:
        own: what stands of theirs, by item, in order of arrival; no adjudications.
        verdicts: of the items asked about, how many they said each of.
        left: of these, how many are lacking, and they said nothing of.
        annotated: by item, how many people graded it or were unsure, they themselves too. It
            goes on counting.
        lacking: of the items asked about, those that have fewer annotations than they need. It
            goes on changing.
        annotations: that all of these have, those beyond what an item needs left aside.
    """

    own: dict[Item, Judgment]
    verdicts: Mapping[str, int]
    left: int
    annotated: Mapping[Item, int]
    lacking: Set[Item]
    annotations: int


class _Tally:
    """Counts over some items, each of which needs some annotations; kept with every change.

    Attributes:
        people: of those who were asked about, how many items they said each verdict of, and, by
            "", of how many that are lacking.
    """

    def __init__(self, items: Collection[Item], needed: int, annotated: Mapping[Item, int]) -> None:
        self.items, self.needed = items, needed
        there = {item: min(annotated.get(item, 0), needed) for item in items}
        self.lacking = {item for item, n in there.items() if n < needed}
        self.annotations = sum(there.values())
        self.people: dict[str, Counter[str]] = {}

    def of(self, annotator: str, own: Mapping[Item, Judgment]) -> Counter[str]:
        """The counts of one annotator, who said all of this."""
        if annotator not in self.people:
            self.people[annotator] = Counter()
            for said in own.values():
                self.say(said, 1)
        return self.people[annotator]

    def say(self, said: Judgment, change: int) -> None:
        """Somebody says this, or no more (-1)."""
        item, count = said.item, self.people.get(said.annotator)
        if count is not None and item in self.items:
            count[said.verdict] += change
            count[""] += change * (item in self.lacking)

    def move(
        self, item: Item, before: int, after: int, own: Mapping[str, Collection[Item]]
    ) -> None:
        """An item has another number of annotations; ``own``: what each annotator said."""
        if item not in self.items:
            return
        self.annotations += min(after, self.needed) - min(before, self.needed)
        lacks = after < self.needed
        if lacks != (item in self.lacking):
            (self.lacking.add if lacks else self.lacking.remove)(item)
            for who, count in self.people.items():
                count[""] += (1 if lacks else -1) * (item in own.get(who, ()))


class Standing:
    """The judgments of a project that stand. Safe to share between threads.

    "What stands" is as in :meth:`storage.judgment_events.Judging.latest`.

    Attributes:
        last: id and name of the last event that was taken in; (0, "") before the first.
    """

    def __init__(self) -> None:
        self.last = (0, "")
        self._lock = threading.Lock()
        # Annotator -> item -> all they said of it and did not take back; items in the order of
        # what was said last. Adjudications are kept apart.
        self._own: dict[str, dict[Item, list[Event]]] = {}
        self._decided: dict[str, dict[Item, list[Event]]] = {}
        self._now: dict[str, dict[Item, Judgment]] = {}
        """What stands of the first, in the same order."""
        self._undone: set[str] = set()
        self._annotated: Counter[Item] = Counter()
        self._all: list[Judgment] | None = None
        self._tallies: list[_Tally] = []

    def take(self, events: Sequence[Event]) -> None:
        """Take in the next events, in order of arrival; those that are known are passed over."""
        with self._lock:
            new = [event for event in events if event[0] > self.last[0]]
            if not new:
                return
            undos = [said for _, said in new if said.verdict == "undo"]
            # Also those that are on their way: an undo may arrive before what it takes back.
            self._undone.update(undo.undoes for undo in undos)
            arriving = {said.event for _, said in new}
            for undo in undos:
                if undo.undoes not in arriving:
                    self._take_back(undo)
            for number, said in new:
                if said.verdict != "undo" and said.event not in self._undone:
                    self._say(number, said)
            self.last = (new[-1][0], new[-1][1].event)
            self._all = None

    def judgments(self) -> list[Judgment]:
        """All that stands, in order of arrival, adjudications included."""
        with self._lock:
            if self._all is None:
                last = [said[-1] for items in self._every() for said in items.values()]
                ordered = [said for _, said in sorted(last, key=itemgetter(0))]
                self._all = [said for said in ordered if said.verdict != "withdrawn"]
            return list(self._all)

    def of(self, annotator: str, items: Collection[Item], needed: int) -> OwnAndOthers:
        """What an annotator said, and how far these items are.

        Args:
            items: they are counted once for the same object, which stays as it is.
            needed: annotations of each, at least 1.
        """
        with self._lock:
            own, tally = self._now.get(annotator, {}), self._tally(items, needed)
            verdicts = {**tally.of(annotator, own)}
            left = len(tally.lacking) - verdicts.pop("", 0)
            others = (self._annotated, tally.lacking, tally.annotations)
            return OwnAndOthers(dict(own), verdicts, left, *others)

    def _tally(self, items: Collection[Item], needed: int) -> _Tally:
        same = [t for t in self._tallies if t.items is items and t.needed == needed]
        tally = same[0] if same else _Tally(items, needed, self._annotated)
        others = [t for t in self._tallies if t is not tally]
        self._tallies = [*others, tally][-MOST_TALLIES:]
        return tally

    def _every(self) -> Iterator[dict[Item, list[Event]]]:
        return itertools.chain(self._own.values(), self._decided.values())

    def _say(self, number: int, said: Judgment) -> None:
        side = self._decided if said.origin == "adjudication" else self._own
        items = side.setdefault(said.annotator, {})
        before = items.pop(said.item, [])
        items[said.item] = [*before, (number, said)]
        self._turn(before, items[said.item])

    def _take_back(self, undo: Judgment) -> None:
        """Take out the event that an undo names, if it is here."""
        own = [side.get(undo.annotator, {}) for side in (self._own, self._decided)]
        likely = any(self._remove(items, undo.item, undo.undoes) for items in own)
        if not likely:  # whoever stored the undo may have named another item beside the event
            any(self._remove(items, item, undo.undoes) for items in self._every() for item in items)

    def _remove(self, items: dict[Item, list[Event]], item: Item, event: str) -> bool:
        events = items.get(item, [])
        kept = [each for each in events if each[1].event != event]
        if len(kept) == len(events):
            return False
        items[item] = kept
        self._turn(events, kept)
        # What counts again was said before what others in this order say.
        ordered = sorted((e for e in items.items() if e[1]), key=lambda pair: pair[1][-1][0])
        items.clear()
        items.update(ordered)
        who = events[-1][1].annotator
        if items is self._own.get(who):
            last = ((item, events[-1][1]) for item, events in ordered)
            self._now[who] = {item: said for item, said in last if said.verdict != "withdrawn"}
        return True

    def _turn(self, before: Sequence[Event], after: Sequence[Event]) -> None:
        """Count what an annotator says of an item by now, and no more what they said."""
        for events, change in ((before, -1), (after, 1)):
            if events and events[-1][1].verdict != "withdrawn":
                self._count(events[-1][1], change)

    def _count(self, said: Judgment, change: int) -> None:
        if said.origin == "adjudication":
            return
        own = self._now.setdefault(said.annotator, {})
        if change < 0:
            del own[said.item]
            self._tell(said, change)
        if said.is_annotation:
            before = self._annotated[said.item]
            self._annotated[said.item] = before + change
            for tally in self._tallies:
                tally.move(said.item, before, before + change, self._now)
        if change > 0:
            own[said.item] = said
            self._tell(said, change)

    def _tell(self, said: Judgment, change: int) -> None:
        for tally in self._tallies:
            tally.say(said, change)
