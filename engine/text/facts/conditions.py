"""When words that look like a relation between two amounts state none.

"Not twice as much", "is it twice the price?", "up to twice the price" deny, ask or only bound it;
"half as much as both together" compares with a sum that no thing has.
"""

from __future__ import annotations

import re
from dataclasses import replace

from engine.text.facts.phrases import GENERIC, Words, phrase_after
from engine.text.facts.relations import Relation

_NEAR = 80
"""How many characters before a relation a word may deny it."""
_LONGEST = 300
"""How many characters behind a relation its sentence may end with a question mark."""
_STOP = re.compile(r"[.!?](?=\s|$)")
_DENIED = re.compile(
    r"\b(?:not|never|hardly|neither|nor|if|whether)\b|n['’]t\b"
    r"|\b(?:more than|less than|at most|at least|up to|over|under|no more than|by)\s+$",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\s*(?:both|all|together|the\s+(?:rest|others)|(?:the\s+)?(?:two|three)(?=\s*(?:[.,;:!?)]|$)"
    r"|\s+(?:together|combined)\b))(?![\w-])",
    re.IGNORECASE,
)
_LISTED = r",(?=\s(?:the|an?|my|our|his|her|their)\s[^.,;:!?]{1,40},?\s(?:and|or)\s)"
_AND = re.compile(
    rf"\s*(?:,?\s(?:and|or|plus)|&|\+|{_LISTED})\s(?!(?:i|we|you|he|she|it|they)\b)", re.IGNORECASE
)
_ENDED = re.compile(
    r"\s*(?:[.,;:!?)]|$)|\s+(?:together|combined|taken|put|and|or)\b", re.IGNORECASE
)
_UNREAD = re.compile(r"(?<![\w.,])(?!(?:19|20)\d\d\s)\d[\d.,]*\s(?P<unit>[a-z]{2,})[,;]\s")
_PRICED = frozenset(["cost", "costs", "costing", "paid", "pays", "pay", "priced", "sells", "sold"])
_WEIGHED = frozenset(["weighs", "weigh", "weighed"])


def is_denied(words: Words, relation: Relation) -> bool:
    """Whether the clause denies the relation, asks for it or only bounds it."""
    start, end = relation.span
    begin = max(words.sentence(start), start - _NEAR)
    stop = _STOP.search(words.text, end, end + _LONGEST)
    asked = stop is not None and stop[0] == "?"
    return asked or bool(_DENIED.search(words.text, begin, start))


def is_of_several(words: Words, at: int) -> bool:
    """Whether the object at ``at`` is several things: "both", "the helmet and the bike"."""
    if _SEVERAL.match(words.text, at):
        return True
    named = phrase_after(words, at).span
    joined = _AND.match(words.text, named[1]) if named else None
    other = phrase_after(words, joined.end()).span if joined else None
    return other is not None and _ENDED.match(words.text, other[1]) is not None


def is_of_unread(words: Words, start: int, taken: set[int]) -> bool:
    """Whether what "that" means may be an amount in words that are no known unit: "2,000 lire".

    Args:
        words: of the whole text.
        start: of the relation.
        taken: ends of the amounts that were read.
    """
    begin = max(words.sentence(start), start - _NEAR)
    found = _UNREAD.finditer(words.text, begin, start)
    return any(
        unread.end("unit") not in taken and unread["unit"] not in GENERIC for unread in found
    )


def measured(relation: Relation, verbs: frozenset[str]) -> Relation:
    """The relation with what its verb says "twice as much" measures."""
    if relation.dimensions:
        return relation
    if verbs & _PRICED:
        return replace(relation, dimensions=("money",))
    return replace(relation, dimensions=("kg",)) if verbs & _WEIGHED else relation
