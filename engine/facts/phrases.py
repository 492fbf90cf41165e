"""Words, and the phrases among them that name things.

There is no parser behind this: a phrase is what stands between a verb of having a price or a
size and the next word that cannot be inside a name. Where that leaves two readings there is no
phrase, because a wrong binding is worse than none.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

from engine.facts.periods import word_lists
from engine.types.documents import Span

TOKEN = re.compile(r"[^\W_](?:[\w'’&./+-]*[^\W_]\+?)?|[^\w\s]")
_SENTENCE = re.compile(r"[.!?]+(?=\s|$)|\n+|;\s")
_LOG_HEAD = re.compile(
    r"^\[?(?=[\dA-Z])(?:\d{4}-\d\d-\d\d[T ])?(?:\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?"
    r"(?:Z|[+-]\d\d:?\d\d)?\b\]?(?:[ ][-|])?[ ]*)?\[?(?:(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR"
    r"|FATAL|CRITICAL|TRACE)\b\]?:?)?[ ]",
    re.MULTILINE,
)
"""What a line of a log begins with: its message is a sentence of its own."""
_ABBREVIATED = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|No|St|vs|approx)$")

LISTS = word_lists("phrases")
DETERMINERS, GENERIC, STOPS = LISTS["determiners"], LISTS["generic"], LISTS["stops"]
_BREAKS = frozenset(".!?:;\n-–—|()")
_PREDICATE = LISTS["degrees"] | LISTS["being"] | LISTS["seeming"] | {"like", "as", "to"}


_REACH = 80  # How many words before an amount its owner may stand


class Words:
    """The words and signs of a text with their offsets, and where its sentences begin. `lower`:
    every word or sign in small letters, but the letter of "Model A", which is no article, as it
    stands. `starts`, `ends`: its offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        spans = [token.span() for token in TOKEN.finditer(text)]
        self.starts = [start for start, _ in spans]
        self.ends = [end for _, end in spans]
        self.lower = [text[start:end].lower() for start, end in spans]
        for at, word in enumerate(self.lower):
            if word == "a" and at and text[spans[at][0]] == "A":
                self.lower[at] = word if self.lower[at - 1] in _BREAKS else "A"
            elif "’" in word:
                self.lower[at] = word.replace("’", "'")
        ends = [
            end
            for end in _SENTENCE.finditer(text)
            if not _ABBREVIATED.search(text, max(0, end.start() - 4), end.start())
            or text[end.start()] != "."
        ]
        heads = [head.end() for head in _LOG_HEAD.finditer(text)]
        self._sentences = sorted({0, *heads, *(end.end() for end in ends)})

    def word(self, at: int) -> str:
        """In small letters; a full stop behind the last one."""
        return self.lower[at] if at < len(self.lower) else "."

    def at(self, offset: int) -> int:
        """Index of the first word that begins at ``offset`` or later."""
        return bisect_left(self.starts, offset)

    def sentence(self, offset: int) -> int:
        """Where the sentence of ``offset`` begins."""
        return self._sentences[bisect_left(self._sentences, offset + 1) - 1]

    def span(self, first: int, last: int) -> Span:
        """Characters from word ``first`` to word ``last``, both included."""
        return self.starts[first], self.ends[last]


@dataclass(frozen=True, slots=True)
class Reference:
    """What a part of a sentence is about."""

    span: Span | None = None  # the phrase; None when it is left out or a pronoun stands for it
    recent: bool = False  # "it", "that", or nothing at all: what was spoken of last
    # end of an amount that the words follow (", which is ..."), else None
    amount: int | None = None
    # a participle leads over ("..., costing"), so that it may also be the subject of the clause
    # before
    participle: bool = False
    # the words skipped between the phrase and what it was looked up for
    verbs: frozenset[str] = frozenset()


def phrase_before(
    words: Words, offset: int, taken: set[int], *, floor: int | None = None
) -> Reference:
    """The phrase that is the subject of what begins at ``offset``."""
    before = words.at(offset) - 1
    if floor is None:
        floor = max(words.at(words.sentence(offset)), before - _REACH)
    at, skipped = _skip_links(words, before, floor)
    verbs = frozenset(skipped)
    participle = any(word.endswith("ing") for word in skipped)
    if at < floor:
        return Reference(recent=True, verbs=verbs)
    if words.ends[at] in taken:
        return Reference(amount=words.ends[at], recent=True, participle=participle, verbs=verbs)
    if words.lower[at] in LISTS["persons"]:
        return Reference(words.span(at, at), verbs=verbs)
    first = at + 1 if words.lower[at] in LISTS["recent"] else _back(words, at, floor, taken)
    if first > at:
        being = _being_before(words, at, floor) if participle and "," in skipped else None
        if being is not None:
            return phrase_before(words, words.starts[being], taken, floor=floor)
        return Reference(recent=True, participle=participle, verbs=verbs)
    same = first < at and words.lower[first + 1] == "same"
    if same and words.lower[first - 1] in LISTS["placing"]:  # "... from the same maker"
        return phrase_before(words, words.starts[first - 1], taken, floor=floor)
    being = _predicate_of(words, first, floor) if "," in skipped else None
    if being is not None:
        return phrase_before(words, words.starts[being], taken, floor=floor)
    return Reference(words.span(first, at), participle=participle, verbs=verbs)


def _skip_links(words: Words, at: int, floor: int) -> tuple[int, set[str]]:
    """Step back over verbs, hedges and ", which ..."; where that ends, and what was skipped."""
    skipped: set[str] = set()
    while at >= floor:
        word = words.lower[at]
        led = bool(skipped & LISTS["leading"])
        if word in LISTS["links"] or (word == "price" and "of" in skipped):
            pass
        elif word == "," and "," not in skipped and skipped:
            if not skipped & LISTS["crossing"] and not any(one.endswith("ing") for one in skipped):
                before = _before_clause(words, at, floor)
                if before is None:
                    break
                at = before + 1
        elif "to" in skipped and word.isdecimal() and words.lower[at - 1] == "from":
            at -= 1
        elif not (_is_participle(words, at, led) or _is_adverb(word)):
            break
        skipped.add(word)
        at -= 1
    return at, skipped


def _is_participle(words: Words, at: int, led: bool) -> bool:
    """Whether a word is one as in "was heated for", ", ringing in at", "retailed for"."""
    before = words.lower[at - 1]
    if words.lower[at].endswith("ed"):
        return led or before in LISTS["being"]
    return words.lower[at].endswith("ing") and led and (before in LISTS["being"] or before == ",")


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and len(word) > 5 and word not in LISTS["not_adverbs"]


def _before_clause(words: Words, comma: int, floor: int) -> int | None:
    """Index of the word before ", which ... ," when ``comma`` ends such a clause."""
    for at in range(comma - 1, max(floor, comma - 12), -1):
        if words.lower[at] == ",":
            return at - 1 if words.lower[at + 1] in {"which", "who", "that"} else None
    return None


def _predicate_of(words: Words, first: int, floor: int) -> int | None:
    """Index of the "is" of "is a fine choice, ...", whose subject is meant; else None."""
    verb = None
    for at in range(first - 1, floor - 1, -1):
        word = words.lower[at]
        if word not in _PREDICATE and not _is_adverb(word):
            break
        verb = at if word in LISTS["being"] | LISTS["seeming"] else verb
    return verb if verb is not None and verb > floor else None


def _being_before(words: Words, at: int, floor: int) -> int | None:
    """Index of the "is" of "is quite a bit more, ...", near before word ``at``; else None."""
    for index in range(at, max(floor, at - 6), -1):
        if words.lower[index] in LISTS["being"]:
            return index
        if not words.lower[index][0].isalnum():
            return None
    return None


_BRACKETED = 6  # How many words a bracket inside a phrase spans at most


def _bracket(words: Words, at: int) -> int | None:
    """Index of the other bracket of the one at ``at``, when it is near."""
    step, other = (1, ")") if words.lower[at] == "(" else (-1, "(")
    near = (at + step * distance for distance in range(1, _BRACKETED + 1))
    return next((i for i in near if 0 <= i < len(words.lower) and words.lower[i] == other), None)


def phrase_after(words: Words, offset: int) -> Reference:
    """The phrase that begins at ``offset``, a pronoun, or nothing (then ``recent`` is False)."""
    at = words.at(offset)
    while at < len(words.lower) and words.lower[at] in {"for", "in", "of", "on", "at", "with"}:
        at += 1
    if at >= len(words.lower) or words.starts[at] - offset > 12:
        return Reference()
    word, following = words.lower[at], words.word(at + 1)
    if word in {"that", "this", "it", "those", "these"}:
        named = following[0].isalnum() and following not in STOPS and following not in GENERIC
        if word in {"that", "it"} or not named:
            return Reference(recent=True)
    if word in LISTS["own"] or word in {"i", "me", "we"}:
        return Reference(words.span(at, at))
    last = at - 1
    skipped = -1
    for index in range(at, min(at + 14, len(words.lower))):
        word = words.lower[index]
        if index <= skipped:
            continue
        shut = _bracket(words, index) if word == "(" and index > at else None
        if shut is not None:
            skipped = shut
            continue
        inside = word in DETERMINERS if index == at else word in {"&", "-"}
        inside |= word in LISTS["measure"] and words.lower[index - 1] in DETERMINERS
        if not inside and (word in STOPS or word in DETERMINERS or not word[0].isalnum()):
            break
        last = index
    if last < at or (last == at and words.lower[at] in DETERMINERS):
        return Reference()
    return Reference(words.span(at, last))


def _back(words: Words, last: int, floor: int, taken: set[int]) -> int:
    """Index of the first word of the phrase that ends with word ``last``."""
    at = last
    while at >= floor and last - at < 14:
        word = words.lower[at]
        opening = _bracket(words, at) if word == ")" and at < last else None
        if opening is not None and opening > floor:
            at = opening - 1
            continue
        if words.ends[at] in taken:
            break
        if word in DETERMINERS:
            return at
        joins = word in {"&", "-"} or (word == "of" and floor < at < last)
        if word in LISTS["placing"] and at < last:
            head = _determined(words, at - 1, floor)
            return at + 1 if head is None else head
        if not joins and (word in STOPS or not word[0].isalnum()):
            break
        participle = word.endswith("ed") and words.text[words.starts[at]].islower()
        if at < last and participle and words.lower[at - 1] not in DETERMINERS:
            break
        at -= 1
    return at + 1


def _determined(words: Words, last: int, floor: int) -> int | None:
    """Index of the article of a short phrase that ends with word ``last``, if it has one."""
    for at in range(last, max(floor, last - 3) - 1, -1):
        if words.lower[at] in DETERMINERS:
            return at if at < last else None
        if words.lower[at] in STOPS or not words.lower[at][0].isalnum():
            return None
    return None


_REMEMBERED = 40  # How many things back a phrase may refer; keeps a book of 200 pages linear


def keys_of(phrase: str) -> frozenset[str]:
    """The words of a phrase that tell its thing from others.

    >>> sorted(keys_of("the Fairphone model 2019"))
    ['2019', 'fairphone']
    """
    tokens = [token[0] for token in TOKEN.finditer(phrase) if token[0][0].isalnum()]
    words = [word if word == "A" and at else word.lower() for at, word in enumerate(tokens)]
    parts = [part for word in words for part in word.split("-") if part]
    plain = [part.removesuffix("'s").removesuffix("’s") for part in parts]
    plain = [word for word in plain if word not in DETERMINERS]
    return frozenset(word for word in plain if word not in GENERIC) or frozenset(plain)


def _numbered(keys: frozenset[str]) -> frozenset[str]:
    return frozenset(
        key for key in keys if key in LISTS["counted"] or any(letter.isdigit() for letter in key)
    )


@dataclass(eq=False, slots=True)
class Thing:
    """Something that amounts belong to."""

    names: list[Span] = field(default_factory=list)  # the phrases that name it, in order
    # what tells it from others, one set per name
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
        """The thing that a phrase names. Returns None when it fits several equally, or none and
        `create` is False."""
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
        newer, older = keys <= LISTS["newer"], keys <= LISTS["older"]
        if (newer or older) and not any(keys in thing.keys for thing in known):
            years = [(year, at) for at, thing in enumerate(known) if (year := _year(thing))]
            if len(years) == 2 and years[0][0] != years[1][0]:
                return known[(max(years) if newer else min(years))[1]]
        return None


def _year(thing: Thing) -> int | None:
    years = [int(key) for keys in thing.keys for key in keys if re.fullmatch(r"(?:19|20)\d\d", key)]
    return years[0] if years else None
