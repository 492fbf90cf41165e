"""The words of this package: requests, implicit tuples, sets of them, and examples."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field
from pydantic.dataclasses import dataclass as checked

Category = Literal["arithmetic", "temporal", "world"]
Style = Literal["uni", "multi"]
Repetition = Literal["once", "apart", "running"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
STYLES: tuple[Style, ...] = get_args(Style)
DOCUMENTS = 30  # Documents per tuple set, as in the paper: 1500 documents from 50 sets
MOST_DOCUMENTS = 60
MOST_SETS = 2000


@dataclass(frozen=True, slots=True)
class PriceTuple:
    """A price that follows from another (section 2.1, arithmetic). In whole units of currency."""

    base: int  # the price that the document states
    multiplier: Fraction  # how the two compare
    inverse: bool  # False: `queried = multiplier * base`; True: `base = multiplier * queried`
    queried: int  # the price that the query asks for


@dataclass(frozen=True, slots=True)
class DateTuple:
    """Days that follow from another (section 2.1, temporal)."""

    base: date  # the day that the document states: that of its message
    targets: tuple[date, ...]  # the days that the query asks for, in order
    part: str = ""  # of each day: "morning" or "evening"; "" where the days alone tell
    repetition: Repetition = "once"  # one day, several with gaps between, or several on end

    @property
    def offsets(self) -> tuple[int, ...]:
        """Days from ``base`` to each target: below zero for what is past."""
        return tuple((target - self.base).days for target in self.targets)


@dataclass(frozen=True, slots=True)
class PlaceTuple:
    """A place and the country that it lies in (section 2.1, world knowledge)."""

    place: str
    country: str
    code: str  # of the country, ISO 3166-1 alpha-2


ImplicitTuple: TypeAlias = PriceTuple | DateTuple | PlaceTuple


@dataclass(frozen=True, slots=True)
class TupleSet:
    """The tuples behind one thread, or behind the chats of one person."""

    category: Category
    style: Style
    number: int
    tuples: tuple[ImplicitTuple, ...]
    # low, high: what prices (in units) or days (`date.toordinal`) are spread over: from `low` up to
    # but without `high`. 0 for places.
    low: int = 0
    high: int = 0


@checked(frozen=True, slots=True)
class ImplicitRequest:
    """What to generate.

    Options:
        category: What is implied.
        style: multi: threads of many people; uni: chats of one person.
        sets: Threads, or people.
        seed: The same seed gives the same files.
        documents: Documents, and queries, per set.
    """

    category: Category
    style: Style = "multi"
    sets: Annotated[int, Field(ge=1, le=MOST_SETS)] = 10
    seed: int = 0
    documents: Annotated[int, Field(ge=1, le=MOST_DOCUMENTS)] = DOCUMENTS


@dataclass(frozen=True, slots=True)
class Scene:
    """A tuple bound to people and things (section 2.2, entity binding)."""

    doc_id: str  # of the document, and of the query whose only relevant document it is
    set_number: int
    category: Category
    style: Style
    implicit: ImplicitTuple
    speaker: str  # who did it: the author of a post, the main conversant of a chat
    other: str  # the second conversant of a chat, "" in a thread
    job: str  # what the speaker does for a living
    written: datetime  # when the document, or its first message, was written
    # two sentences that the document begins with; no other of the set does
    opening: tuple[str, str]
    topic: str = ""  # what the set is about, and the same in all its documents; "" in a chat
    activity: int = 0  # an index into `vocabulary.ACTIVITIES`; prices have none
    item: str = ""  # what was bought; "" where nothing was
    reference: str = ""  # reference, bought: names of the two things whose prices are compared
    bought: str = ""
    currency: str = ""  # ISO 4217; "" where nothing was bought
    # days that other queries of the set ask for, and none may hint at in passing
    taken: frozenset[date] = frozenset()


@dataclass(frozen=True, slots=True)
class Example:
    """A document and the query whose only relevant document it is."""

    scene: Scene
    document: str
    question: str
    answer: str
    hint: str  # the tuple in words, for people and reader tests; never searched
    opening_post: str  # what the thread replies to; "" for a chat
    realised_by: str = "templates"  # "templates", or the name of the model that wrote the document
