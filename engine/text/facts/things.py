"""The things that a text speaks of: which phrases name the same one.

"The Fairphone model 2019", "the 2019 model" and "the newer one" are one thing, "the red tent" and
"the blue tent" are two; where a phrase fits several equally, it names none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from engine.text.facts.phrases import DETERMINERS, GENERIC, TOKEN
from engine.types.documents import Span

_NEWER = frozenset(["newer", "newest", "new", "latest", "later"])
_OLDER = frozenset(["older", "oldest", "old", "earlier", "previous", "prior"])
_COUNTED = frozenset(["two", "three", "four", "five", "second", "third", "ii", "iii"])
_REMEMBERED = 40
"""How many things back a phrase may refer; keeps a book of 200 pages linear."""


def keys_of(phrase: str) -> frozenset[str]:
    """The words of a phrase that tell its thing from others.

    >>> sorted(keys_of("the Fairphone model 2019"))
    ['2019', 'fairphone']
    """
    found = [found[0] for found in TOKEN.finditer(phrase) if found[0][0].isalnum()]
    words = [word if word == "A" and at else word.lower() for at, word in enumerate(found)]
    parts = [part for word in words for part in word.split("-") if part]
    plain = [part.removesuffix("'s").removesuffix("’s") for part in parts]
    plain = [word for word in plain if word not in DETERMINERS]
    return frozenset(word for word in plain if word not in GENERIC) or frozenset(plain)


def _numbered(keys: frozenset[str]) -> frozenset[str]:
    return frozenset(
        key for key in keys if key in _COUNTED or any(letter.isdigit() for letter in key)
    )


@dataclass(eq=False, slots=True)
class Thing:
    """Something that amounts belong to.

    Attributes:
        names: the phrases that name it, in order.
        keys: what tells it from others, one set per name.
    """

    names: list[Span] = field(default_factory=list)
    keys: list[frozenset[str]] = field(default_factory=list)

    def fits(self, keys: frozenset[str]) -> int:
        """How well a phrase with ``keys`` names it: 0 not at all."""
        best = 0
        numbers = _numbered(keys)
        for known in self.keys:
            others = _numbered(known)
            if numbers and others:
                if numbers <= others or others <= numbers:
                    best = max(best, 4 + len(keys & known))
                else:
                    return 0
            elif keys == known:
                best = max(best, 4 + len(keys))
            elif not numbers and (keys <= known or (known <= keys and not others)):
                best = max(best, 1 + len(keys & known))
        return best


class Things:
    """The things of a text, in the order in which they are named."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._all: list[Thing] = []
        self.recent: list[Thing] = []

    def named(self, span: Span, *, create: bool = True, than: Thing | None = None) -> Thing | None:
        """The thing that a phrase names.

        Args:
            span: of the phrase.
            create: make a thing for a phrase that fits none.
            than: the thing that it is compared with, which it therefore is not.

        Returns:
            None when it fits several equally, or none and ``create`` is False.
        """
        keys = keys_of(self._text[slice(*span)])
        known = [thing for thing in self._all[-_REMEMBERED:] if thing is not than]
        thing = self._pointed_at(keys, known, than)
        if thing is None:
            fits = sorted(((thing.fits(keys), at) for at, thing in enumerate(known)), reverse=True)
            if fits and fits[0][0] > 0:
                if len(fits) > 1 and fits[1][0] == fits[0][0]:
                    return None
                thing = known[fits[0][1]]
        if thing is None and create:
            thing = Thing()
            self._all.append(thing)
        if thing is not None and keys not in thing.keys:
            thing.names.append(span)
            thing.keys.append(keys)
        return thing

    def distinct(self, span: Span, known: Thing) -> Thing:
        """A thing of its own for a phrase that was taken as one more name of ``known``."""
        keys = keys_of(self._text[slice(*span)])
        if span in known.names:
            at = known.names.index(span)
            del known.names[at], known.keys[at]
        thing = Thing([span], [keys])
        self._all.append(thing)
        return thing

    def is_narrower(self, span: Span, thing: Thing) -> bool:
        """Whether a phrase says more than the earlier names of its thing: "the family ticket"."""
        keys = keys_of(self._text[slice(*span)])
        earlier = [known for known, at in zip(thing.keys, thing.names, strict=True) if at != span]
        return span in thing.names and any(known < keys for known in earlier)

    def new(self) -> Thing:
        """A thing without a name."""
        thing = Thing()
        self._all.append(thing)
        return thing

    def last(self, than: Thing | None = None) -> Thing | None:
        """The thing spoken of last that is not ``than``."""
        latest = self.recent[-_REMEMBERED:]
        return next((thing for thing in reversed(latest) if thing is not than), None)

    def _pointed_at(
        self, keys: frozenset[str], known: list[Thing], than: Thing | None
    ) -> Thing | None:
        """ "the latter", "the other", "the newer one" of two that carry years."""
        priced = set(self.recent[-_REMEMBERED:])
        if keys == {"latter"} and known:
            return known[-1]
        if keys == {"former"} and len(known) > 1:
            return known[-2]
        if keys == {"other"}:
            others = [thing for thing in known if thing is not (than or self.last())]
            return others[0] if len(others) == 1 and len(priced) <= 2 else None
        newer, older = keys <= _NEWER, keys <= _OLDER
        if (newer or older) and not any(keys in thing.keys for thing in known):
            years = [(year, at) for at, thing in enumerate(known) if (year := _year(thing))]
            if len(years) == 2 and years[0][0] != years[1][0]:
                return known[(max(years) if newer else min(years))[1]]
        return None


def _year(thing: Thing) -> int | None:
    found = [int(key) for keys in thing.keys for key in keys if re.fullmatch(r"(?:19|20)\d\d", key)]
    return found[0] if found else None
