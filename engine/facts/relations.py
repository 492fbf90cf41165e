"""Relations between amounts: "twice the price of", "25 percent less than", "30 euros more".

Every relation is linear, ``amount of subject = factor * amount of object + offset``, and so works
in both directions. Words are taken as people use them: "two and a half times more expensive" is
2.5 times the price (not 3.5), "two times cheaper" is half of it, "25 percent more" is 1.25 times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from engine.facts.numbers import Number
from engine.facts.periods import table
from engine.facts.phrases import GENERIC, LISTS, Words, phrase_after, phrase_before
from engine.facts.units import Quantity
from engine.types.documents import Span


@dataclass(frozen=True, slots=True)
class Relation:
    """How the amount of a subject follows from that of an object."""

    span: Span  # the words of the relation, without subject and object
    object_at: int | None = None  # where the object is named, None when it is left out
    factor: float = 1.0  # factor, offset: of the line; the offset is in `unit`
    offset: float = 0.0
    unit: str = ""  # of the offset, "" without one
    dimensions: tuple[str, ...] = ()  # what the amounts measure; () when the words do not say
    object_required: bool = False  # the words make no sense without an object
    # where the subject may stand behind ("twice as much sugar"), else None
    counted_at: int | None = None


def _measured(name: str) -> dict[str, tuple[str, ...]]:
    """What words of comparison measure; () for what fits any amount."""
    return {
        word: () if dimensions == "any" else tuple(dimensions.split())
        for dimensions, words in table("phrases")[name].items()
        for word in words.split()
    }


_FALLING, _MORE, _LESS = _measured("falling"), _measured("more"), _measured("less")
_ADJECTIVES = _measured("rising") | _FALLING
_MONEY_NOUN = (
    r"price(?:\s+tag)?|prices|cost|costs|amount|sum|fee|fees|rent|salary|wage|pay|fare|budget|rate"
)
_FACTORS: dict[str, float] = table("phrases")["factors"]
_SPELLED = re.compile(
    rf"\b(?=tw|do|th|tr|qu|ha|as|ju|ex)(?:(?P<word>{'|'.join(_FACTORS)})\b"
    r"|(?P<same>(?:just |exactly )?as (?:expensive|costly|much|heavy|long|tall) as"
    r"|the same (?:price|amount|cost)?\s?as)\b)",
    re.IGNORECASE,
)
_TIMES = re.compile(r"[ -]?(?:times|x|×|fold)\b", re.IGNORECASE)
_AS = re.compile(r"\s+as\s+(?P<adjective>\w+)(?P<as>\s+as\b)?(?P<again>\s+again\b)?", re.I)
_STEP = re.compile(
    rf"\s+(?P<step>{'|'.join((*_MORE, *_LESS))})\b(?:\s+(?P<next>\w+))?", re.IGNORECASE
)
_THAN = re.compile(r"\s+than\b(?:\s+that\s+of\b)?", re.IGNORECASE)
_NOUN = re.compile(
    rf"\s+(?:of\s+)?(?:the\s+|its\s+|their\s+|that\s+|what\s+)?(?P<kind>(?:original|full|list|retail"
    rf"|regular|usual|normal|old|previous)\s+)?(?:{_MONEY_NOUN})\b(?P<of>\s+(?:of|for)\b)?",
    re.IGNORECASE,
)
_DIRECT = re.compile(
    r"\s+(?:of\s+)?(?P<what>what\s+)?"
    r"(?=(?:the|that|this|it|mine|my|his|her|hers|its|our|ours|your|yours|their|theirs)\b|[A-Z]"
    r"|\w+['’]s\b)"
)
_OF = re.compile(r"\s+of\s+(?:the\s+(?:price|cost)\s+of\s+)?(?=\w)", re.IGNORECASE)
_COMPARED = re.compile(
    r"[^.;:!?\n]{0,60}?\b(?:compared\s+(?:to|with)|relative\s+to|versus|vs\.?)\s+", re.IGNORECASE
)
_PAID = re.compile(r"\b(?:pays?|paid|costs?|earns?|earned|charges?|charged)\s+$", re.IGNORECASE)
_ENDED = re.compile(r"\s*(?:[.,;!?)\n]|$)")
_IDIOM = re.compile(
    r"\s+(?:a|an|room|bed|bedroom|past|price\b|way|hour|time|check|click|dozen)\b", re.I
)


def find_relations(
    text: str, numbers: tuple[Number, ...], quantities: tuple[Quantity, ...]
) -> tuple[Relation, ...]:
    """All relations of a text, in order.

    >>> from engine.facts.numbers import find_numbers
    >>> text = "The red one costs two and a half times as much as the blue one."
    >>> [(r.factor, text[slice(*r.span)]) for r in find_relations(text, find_numbers(text), ())]
    [(2.5, 'two and a half times as much as')]
    """
    counted = {quantity.span[1] for quantity in quantities}
    of_numbers = _of_numbers(text, numbers, counted)
    found = [*of_numbers, *_of_quantities(text, quantities), *_of_words(text)]
    found.sort(key=lambda relation: relation.span)
    return tuple(
        relation
        for before, relation in zip([None, *found], found, strict=False)
        if before is None or before.span[1] <= relation.span[0]
    )


def _of_numbers(text: str, numbers: tuple[Number, ...], counted: set[int]) -> Iterator[Relation]:
    for number in numbers:
        start, end = number.span
        times, relation = _TIMES.match(text, end), None
        part = 0 < number.value < 1 and not text[start:end].lower().startswith(("half a", "0", "."))
        if times and number.value > 0 and not number.ordinal:
            relation = _factor(text, number.value, (start, times.end()), direct=True)
        elif part and text[end : end + 1] != "%" and end not in counted:
            step = _step(text, number.value, number.span)
            relation = step or _factor(text, number.value, number.span, direct=False)
        if relation:
            yield relation


def _of_quantities(text: str, quantities: tuple[Quantity, ...]) -> Iterator[Relation]:
    for quantity in quantities:
        if quantity.low != quantity.high or quantity.low <= 0:
            continue
        percent = quantity.dimension == "percent"
        part = quantity.low / 100 if percent else quantity.low
        relation = _step(text, part, quantity.span, None if percent else quantity)
        of = _OF.match(text, quantity.span[1]) if percent and not relation else None
        if of:
            relation = Relation((quantity.span[0], of.end()), of.end(), part, object_required=True)
        if relation:
            yield relation


def _of_words(text: str) -> Iterator[Relation]:
    for match in _SPELLED.finditer(text):
        if match["same"]:
            yield Relation(match.span(), match.end(), object_required=True)
        elif not _IDIOM.match(text, match.end()):
            word = match["word"].lower()
            relation = _factor(text, _FACTORS[word], match.span(), direct=True)
            if relation:
                yield relation


def _factor(text: str, factor: float, span: Span, *, direct: bool) -> Relation | None:
    """The relation of "N times", "twice" or "a third", by the words behind it."""
    start, end = span
    as_adjective = _AS.match(text, end)
    if as_adjective:
        adjective = as_adjective["adjective"].lower()
        if adjective not in _ADJECTIVES:
            return None
        if adjective in _FALLING:
            factor = 1 / factor
        if as_adjective["again"]:
            factor += 1
        after = as_adjective.end()
        named = after if as_adjective["as"] else _compared(text, after)
        counted_at = None if as_adjective["as"] else after
        dimensions = _ADJECTIVES[adjective]
        return Relation((start, after), named, factor, dimensions=dimensions, counted_at=counted_at)
    step = _STEP.match(text, end) if direct else None
    if step:
        read = _read_step(text, step)
        if read is None:
            return None
        rising, dimensions, after, object_at = read
        factor = factor if rising else 1 / factor
        return Relation((start, after), object_at, factor, dimensions=dimensions)
    noun = _NOUN.match(text, end)
    if noun and noun["kind"]:
        at = noun.start("kind")
        return Relation((start, at), at, factor, dimensions=("money",), object_required=True)
    if noun:
        named = noun.end() if noun["of"] else None
        return Relation((start, noun.end()), named, factor, dimensions=("money",))
    of = _OF.match(text, end) or (_DIRECT.match(text, end) if direct else None)
    if of:
        return Relation((start, of.end()), of.end(), factor, object_required=True)
    if factor > 1 and _PAID.search(text, max(0, start - 12), start) and _ENDED.match(text, end):
        return Relation(span, None, factor, dimensions=("money",))
    return None


def _step(text: str, size: float, span: Span, quantity: Quantity | None = None) -> Relation | None:
    """ "25 percent more than", "a quarter cheaper", "30 euros less"."""
    step = _STEP.match(text, span[1])
    read = _read_step(text, step) if step else None
    if step is None or read is None:
        return None
    rising, dimensions, after, object_at = read
    if step["step"].lower() == "off" and object_at is None:
        return None
    whole, change = (span[0], after), size if rising else -size
    if quantity is None:
        return Relation(whole, object_at, 1 + change, dimensions=dimensions)
    if dimensions and quantity.dimension not in dimensions:
        return None
    return Relation(whole, object_at, 1.0, change, quantity.unit, (quantity.dimension,))


def _read_step(
    text: str, step: re.Match[str]
) -> tuple[bool, tuple[str, ...], int, int | None] | None:
    """Whether it rises, what it measures, where it ends, where the object is. None for what is no
    amount: "20 percent more likely"."""
    word, following = step["step"].lower(), (step["next"] or "").lower()
    rising = word in _MORE
    dimensions = _MORE[word] if rising else _LESS[word]
    after = step.end("step")
    if word in {"more", "less"} and following in _ADJECTIVES:
        dimensions = _ADJECTIVES[following]
        rising ^= following in _FALLING
        after = step.end()
    elif word == "off":
        named = bool(following) and following in {"the", "its", "that", "my", "their"}
        return rising, dimensions, after, after if named else None
    elif word in {"above", "below"}:
        return (rising, dimensions, after, after) if following else None
    elif following and following not in LISTS["open"] and text[after : after + 1] == " ":
        return None
    than = _THAN.match(text, after)
    if than:
        return rising, dimensions, than.end(), than.end()
    return rising, dimensions, after, _compared(text, after)


def _compared(text: str, at: int) -> int | None:
    """Where the object stands in "... more, compared with the old one"."""
    compared = _COMPARED.match(text, at)
    return compared.end() if compared else None


_CHANGE = re.compile(
    r"\b(?:(?P<up>rose|rises?|risen|increase[sd]?|grew|grows?|climb(?:s|ed)|jump(?:s|ed)|went up|up"
    r")|(?P<down>fell|falls?|drop(?:s|ped)|decline[sd]?|decrease[sd]?|sank|went down|down))"
    r"(?:\s+by)?\s+$",
    re.IGNORECASE,
)
_MULTIPLES: dict[str, float] = table("phrases")["multiples"]
_MULTIPLIED = re.compile(rf"\b(?P<word>{'|'.join(_MULTIPLES)})\s+to\s+$", re.IGNORECASE)


def find_change(
    text: str, quantity: Quantity, quantities: Sequence[Quantity]
) -> tuple[float, Span] | None:
    """By what factor ``quantity`` differs from what it was, and the words that say so.

    Returns a factor above 0; None when no change is spoken of, or nothing was left.

    >>> from engine.facts.units import find_quantities
    >>> text = "Oil fell 20 percent to 80 dollars."
    >>> percent, price = find_quantities(text)
    >>> find_change(text, price, (percent, price))
    (0.8, (4, 19))
    """
    start = quantity.span[0]
    multiplied = _MULTIPLIED.search(text, max(0, start - 60), start)
    if multiplied:
        return _MULTIPLES[multiplied["word"].lower()], (multiplied.start(), start)
    if text[max(0, start - 4) : start] != " to ":
        return None
    percent = next((one for one in quantities if one.span[1] == start - 4), None)
    if percent is None or percent.dimension != "percent":
        return None
    change = _CHANGE.search(text, max(0, percent.span[0] - 24), percent.span[0])
    if change is None:
        return None
    factor = 1 + (1 if change["up"] else -1) * percent.low / 100
    return (factor, (change.start(), percent.span[1])) if factor > 0 else None


_CHOICE = re.compile(
    r"""
    (?P<active>\b(?=bo|bu|pu|ch|pi|se|or|go|to|we|op|en|de|up|vo|ag)(?:
        (?:bought|buy|buying|purchas(?:e|ed|ing)|chose|choose|chosen|choosing|pick(?:ed|ing)?
        |select(?:ed|ing)?|order(?:ed|ing)|got|took|gone\s+for|went\s+(?:with|for|ahead\s+with)
        |go(?:ing)?\s+with|opt(?:ed|ing)?\s+for|end(?:ed|ing)?\s+up\s+(?:with|getting|taking)
        |settl(?:ed|ing)\s+(?:on|for)|decid(?:ed|ing)\s+(?:on|for|in\s+favou?r\s+of)
        |upgraded\s+to|voted\s+for|agreed\s+on)\b(?:\s+up)?
    ))
    | (?P<noun>\b(?:is|was)\s+(?:the|my|our|their|his|her)\s+(?:\w+\s+)?
        (?:choice|pick|winner|purchase|best\s+option|way\s+to\s+go)\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NOT = re.compile(
    r"(?:n['’]t|\bnot|\bnever|\balmost|\bnearly|\binstead\s+of|\brather\s+than|\bcould\s+have"
    r"|\bwithout|\bbefore|\bif)\s+(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
_PASSIVE = re.compile(r"\b(?:is|was|were|been|being)\s+(?:\w+ly\s+)?$", re.IGNORECASE)
_RELATIVE = re.compile(r",?\s+(?:which|that)\b[^,.;:!?]{1,40}$", re.IGNORECASE)
_THE_ONE = re.compile(
    r"\b(?:is|was|being|be)\s+(?:\w+ly\s+)?(?:the\s+one|what)\b[^,.;:!?]{0,40}$", re.IGNORECASE
)
_ADRIFT = re.compile(r"\s+(?:for|in|of|on|at|with|by|from|after|because)\b", re.IGNORECASE)
_INDEFINITE = re.compile(r"an?\b(?!.*\d)", re.IGNORECASE)
_IT = re.compile(r"\s+(?:it|that\s+one|this\s+one)\b", re.IGNORECASE)
_IT_WAS = re.compile(r"\b(?:it|that)(?:\s+was|['’]s|\s+is)\b[^.;:!?]{0,40}$", re.IGNORECASE)
_NEAR = 160  # How many characters back "it" may refer to

_SPOKEN_OF = re.compile(
    r"\b(?:seems?|seemed|looks?|sounds?|(?:could|might|may|would|to)\s+be|is|was|offers?)\b",
    re.IGNORECASE,
)


def find_choices(words: Words, taken: set[int]) -> Iterator[Span]:
    """The phrases that name what was chosen, in order. "We settled on the steel frame", "the steel
    frame was chosen", "the steel frame, which we bought"; not "we almost bought", nor "a frame",
    which may be any."""
    text = words.text
    for match in _CHOICE.finditer(text):
        start, end = match.span()
        if _NOT.search(text, max(0, start - 32), start):
            continue
        if match["noun"]:
            span = phrase_before(words, start, taken).span
        else:
            adrift = _ADRIFT.match(text, end) is not None
            after = None if adrift else phrase_after(words, end).span
            span = after or _before(words, start, taken)
        if span is None and (
            _IT.match(text, end) or _IT_WAS.search(text, max(0, start - 60), start)
        ):
            span = _spoken_of(words, start, taken)
        if span and not _INDEFINITE.match(text, *span):
            yield span


def _spoken_of(words: Words, start: int, taken: set[int]) -> Span | None:
    """What "it" is in "the X200 seems a good choice, and it was bought": a name, or nothing."""
    for match in _SPOKEN_OF.finditer(words.text, max(words.sentence(start), start - _NEAR), start):
        span = phrase_before(words, match.start(), taken).span
        if span and any(sign.isupper() or sign.isdigit() for sign in words.text[slice(*span)][1:]):
            return span
    return None


def _before(words: Words, start: int, taken: set[int]) -> Span | None:
    """What was chosen when it stands before the verb."""
    text = words.text
    for pattern in (_THE_ONE, _PASSIVE, _RELATIVE):
        match = pattern.search(text, max(0, start - 60), start)
        span = phrase_before(words, match.start(), taken).span if match else None
        if span:
            return span
    return None


_NEARBY = 80  # How many characters before a relation a word may deny it
_LONGEST = 300  # How many characters behind a relation its sentence may end with a question mark
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
_CLAUSE_ENDED = re.compile(
    r"\s*(?:[.,;:!?)]|$)|\s+(?:together|combined|taken|put|and|or)\b", re.IGNORECASE
)
_UNREAD = re.compile(r"(?<![\w.,])(?!(?:19|20)\d\d\s)\d[\d.,]*\s(?P<unit>[a-z]{2,})[,;]\s")


def is_denied(words: Words, relation: Relation) -> bool:
    """Whether the clause denies the relation, asks for it or only bounds it."""
    start, end = relation.span
    begin = max(words.sentence(start), start - _NEARBY)
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
    return other is not None and _CLAUSE_ENDED.match(words.text, other[1]) is not None


def is_of_unread(words: Words, start: int, taken: set[int]) -> bool:
    """Whether what "that" means may be an amount in words that are no known unit: "2,000 lire"."""
    begin = max(words.sentence(start), start - _NEARBY)
    counted = _UNREAD.finditer(words.text, begin, start)
    return any(
        unread.end("unit") not in taken and unread["unit"] not in GENERIC for unread in counted
    )


def measured(relation: Relation, verbs: frozenset[str]) -> Relation:
    """The relation with what its verb says "twice as much" measures."""
    if relation.dimensions:
        return relation
    if verbs & LISTS["priced"]:
        return replace(relation, dimensions=("money",))
    return replace(relation, dimensions=("kg",)) if verbs & LISTS["weighed"] else relation
