"""Wordings that the reader is fitted on: written ones, and ones composed of written parts."""

from __future__ import annotations

import functools
import json
import random
import re
import string
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.config import ASSETS
from engine.encode.wording_network import WordingNetwork
from engine.lenses.definitions import SHIPPED
from engine.lenses.glossary import gloss, glossed_words
from engine.lenses.instructions import TAGGER, WEIGHTS, LensWords, Reading, description
from engine.sentences import stop_words
from engine.types.lenses import Aspect, Lens

WORDINGS = ASSETS / "wordings"
COMPOSED = 0.6
"""Composed wordings for each written one, anew in every epoch."""
STATEMENTS = 0.2
"""Share of statements among the composed wordings, where the lens has some."""
COMPOSED_WEIGHT = 0.7
"""What a composed wording counts against a written one."""
TYPING_ERRORS = 0.12
"""Share of wordings that get one or two, anew in every epoch."""
CHAT_STYLE = 0.08
"""Share of wordings that lose capitals, apostrophes and the full stop."""
WITHOUT_TERMS, ENGLISH_TERMS = 0.2, 0.45
"""Share of tagged wordings without a term, and of English terms in other languages."""
LANGUAGES = {"en": 0.44, "de": 0.14, "fr": 0.14, "es": 0.14, "zh": 0.14}
THINGS = {
    "en": ("papers", "articles", "studies", "work", "abstracts", "posts", "conversations"),
    "de": ("Arbeiten", "Studien", "Artikel"),
    "fr": ("articles", "travaux", "études"),
    "es": ("artículos", "trabajos", "estudios"),
    "zh": ("论文", "研究", "文章"),
}
LIKENESS = frozenset(("same", "similar", "identical", "comparable"))
"""Words after which a frame has the name of an aspect."""
JOINED, JOINS = 0.12, ("in", "of", "for", "on", "with", "among")
"""Share of English terms that two phrases with one of these words between them make."""
TURNS = frozenset((",", ";", ":", ".", "but", "and", "(", "-", "–", "—"))
"""Words at which a wording goes from the name of an aspect to a term."""
STATED = ("{}", "{}", "{things} about {}", "{things}: {}")
KINDS = {
    "named": (0.20, "+"),
    "kept": (0.12, "+"),
    "against": (0.14, "-"),
    "neither": (0.08, "--"),
    "contrasted": (0.30, "+-"),
    "corrected": (0.06, "+ "),
    "both": (0.10, "++"),
}
"""Of the kinds of frames: their share, and what one says of the first name and of the second."""
Row = dict[str, Any]


class Wording(NamedTuple):
    """A text, the keys of the aspects that it wants and rules out, and what it counts."""

    text: str
    wants: Sequence[str]
    avoids: Sequence[str]
    lens: str
    weight: float = 1.0


def rows(name: str) -> list[Row]:
    """Wordings with what they want and avoid, of all files whose names begin so."""
    paths: list[Path] = sorted(WORDINGS.glob(f"{name}*.jsonl"))
    return [json.loads(line) for path in paths for line in path.open(encoding="utf-8")]


def lenses() -> dict[str, Lens]:
    """The lenses of the wordings: those that ship, and those that were made up for the fit."""
    made_up = json.loads((WORDINGS / "lenses.json").read_text("utf-8"))
    found = {
        key: Lens(key, key, tuple(_aspect(**aspect) for aspect in lens["aspects"]), lens["things"])
        for key, lens in made_up.items()
    }
    return {lens.key: lens for lens in SHIPPED} | found


def _aspect(key: str, name: str, definition: str, phrases: Sequence[str]) -> Aspect:
    return Aspect(key, name, "", definition, "", phrases=tuple(phrases))


def written(wordings: Sequence[Row]) -> list[Wording]:
    """The wordings (in other languages also as they were translated), and those of the lenses."""
    found = []
    for row in wordings:
        meant = row["wants"], row["avoids"], row["lens"]
        found.append(Wording(gloss(row["text"]), *meant))
        if row.get("english"):
            found.append(Wording(row["english"], *meant))
    for lens in SHIPPED:
        for aspect in lens.aspects:
            texts = (aspect.instruction, aspect.definition, *aspect.paraphrases)
            found += [Wording(text, [aspect.key], [], lens.key) for text in texts]
        things = lens.things
        texts = (lens.generic, f"related {things}", f"more {things} like this", f"any {things}")
        found += [Wording(text, [], [], lens.key) for text in texts]
    return found


def reader(weights: Path = WEIGHTS) -> Callable[[Row], Reading]:
    """What reads a row's wording, by its lens."""
    network, known = WordingNetwork(weights, TAGGER), lenses()

    @functools.cache
    def words_of(key: str) -> LensWords:
        lens = known[key]
        aspects = network.aspects([gloss(description(a)) for a in lens.aspects])
        return LensWords(lens, lambda parts: network.scores(parts, aspects), network.tags)

    return lambda row: words_of(row["lens"]).read(row["text"])


class Composer:
    """Wordings put together from names of aspects, statements and frames."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._lenses = rng, lenses()
        self._names: dict[str, list[tuple[str, str]]] = {}
        for row in rows("names"):
            if row.get("verb"):  # fits none of the frames
                continue
            self._names.setdefault(row["lens"], []).append((row["text"], row["aspect"]))
        for key, lens in self._lenses.items():
            phrases = [(phrase, a.key) for a in lens.aspects for phrase in a.phrases]
            self._names.setdefault(key, phrases)
        self._frames: dict[str, list[str]] = {}
        for row in rows("frames"):
            self._frames.setdefault(row["kind"], []).append(gloss(row["text"]))
        self._statements: dict[str, list[tuple[str, str]]] = {}
        for row in rows("statements"):
            if row.get("lens"):
                self._statements.setdefault(row["lens"], []).append((row["text"], row["aspect"]))
        shipped = [lens.key for lens in SHIPPED]
        self._keys = [shipped[0], *shipped, *self._lenses]  # papers are asked for most

    def compose(self) -> Wording:
        rng = self._rng
        lens = rng.choice(self._keys)
        things = self._lenses[lens].things
        if rng.random() < STATEMENTS and lens in self._statements:
            text, aspect = rng.choice(self._statements[lens])
            text = rng.choice(STATED).format(text, things=things)
            return Wording(text, [aspect], [], lens, COMPOSED_WEIGHT)
        (kind,) = rng.choices(list(KINDS), [share for share, _ in KINDS.values()])
        name, aspect = rng.choice(self._names[lens])
        other, second = rng.choice([pair for pair in self._names[lens] if pair[1] != aspect])
        said = list(zip(KINDS[kind][1], (aspect, second), strict=False))
        text = rng.choice(self._frames[kind]).format(name, other=other, things=things)
        wants, avoids = ([key for sign, key in said if sign == asked] for asked in "+-")
        return Wording(text, wants, avoids, lens, COMPOSED_WEIGHT)


class TaggedWords(NamedTuple):
    """The words of a wording in English, and the index in ``LABELS`` of what each is."""

    words: list[str]
    labels: list[int]


class TermComposer:
    """Wordings with terms, of frames and phrases, among others that have none."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._names = [row for row in rows("names") if row["aspect"] and not row.get("verb")]
        self._frames: dict[str, list[Row]] = {}
        for row in rows("term-frames"):
            self._frames.setdefault(row["language"], []).append(row)
        self._phrases: dict[str, list[str]] = {}
        for row in rows("term-phrases"):
            self._phrases.setdefault(row["language"], []).append(row["text"])
        self._heads: dict[str, set[str]] = {}
        for row in self._names:
            *_, head = words = gloss(row["text"]).casefold().split()
            if len(words) < 3 and head not in stop_words():
                self._heads.setdefault(head, set()).add(row["aspect"])
        self._others = [row["text"] for row in rows("dev")]
        self._composer = Composer(rng)

    def compose(self) -> TaggedWords:
        """One of them; :data:`WITHOUT_TERMS` of them have no terms."""
        rng = self._rng
        if rng.random() < WITHOUT_TERMS:
            composed = rng.random() < 0.4
            other = self._composer.compose().text if composed else rng.choice(self._others)
            words = [word.text for word in glossed_words(as_typed(other, rng))]
            return TaggedWords(words, [0] * len(words))
        (language,) = rng.choices(list(LANGUAGES), list(LANGUAGES.values()))
        frame = rng.choice(self._frames[language])
        # The kind of each character: a digit for its slot, "n" for a name, " " for the rest.
        text, kinds = "", ""
        for part in re.split(r"(\{[^}]*\})", frame["text"]):
            filled, kind = part, " "
            if part[:1] == "{":
                filled, kind = self._filled(part, language)
            elif rng.random() < TYPING_ERRORS:
                filled = as_typed(part, rng)
            text, kinds = text + filled, kinds + kind * len(filled)
        if rng.random() < CHAT_STYLE * 3:
            text = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        meant = {*frame.get("aspects", {}).values()}
        return _tagged(
            text, kinds, {h for h, aspects in self._heads.items() if not aspects & meant}
        )

    def _filled(self, slot: str, language: str) -> tuple[str, str]:
        """What stands in a slot, and the kind of its characters."""
        rng = self._rng
        if slot == "{things}":
            return rng.choice(THINGS[language]), " "
        if slot[1] in "+-":
            english = rng.random() < ENGLISH_TERMS
            phrases = self._phrases["en" if english else language]
            phrase = rng.choice(phrases)
            if language == "en" and rng.random() < JOINED:
                phrase = f"{phrase} {rng.choice(JOINS)} {rng.choice(phrases)}"
            if phrase[1:].islower() and rng.random() < 0.15:
                phrase = phrase.title() if rng.random() < 0.5 else phrase.capitalize()
            number = int(slot[2:-1] or 1)
            return phrase, str(2 * number + (slot[1] == "-"))
        name = rng.choice(self._names)["text"].removeprefix("the ")
        return (as_typed(name, rng) if rng.random() < 0.5 else name), "n"


def _tagged(text: str, kinds: str, heads: Container[str]) -> TaggedWords:
    """Words with their labels, by the kind of the character where each begins.

    `heads`: words that name an aspect where a frame has them.
    """
    found = glossed_words(text)
    of_word = [kinds[word.span[0]] for word in found]
    before = ["", *(word.text.casefold() for word in found)]
    of_word = [
        "n"
        if kind == " "
        and (word.text.casefold() in heads or (last in LIKENESS and word.text.isalpha()))
        else kind
        for kind, word, last in zip(of_word, found, before, strict=False)
    ]
    words = [word.text for word in found]
    labels = [
        2 + int(kind) % 2 if kind.isdigit() else int(kind == " " and _leads(of_word, words, at))
        for at, kind in enumerate(of_word)
    ]
    return TaggedWords(words, labels)


def _leads(kinds: Sequence[str], words: Sequence[str], at: int) -> bool:
    """Whether a word of a frame leads to a term rather than to the name of an aspect."""
    after = next((i for i in range(at, len(kinds)) if kinds[i] != " "), len(kinds))
    before = next((i for i in range(at, -1, -1) if kinds[i] != " "), -1)
    follows, preceded = "".join(kinds[after : after + 1]), kinds[before] if before >= 0 else ""
    if follows.isdigit():
        turns = [i for i in range(before + 1, after) if words[i] in TURNS]
        return preceded != "n" or not turns or at >= turns[0]
    if follows == "n" and preceded.isdigit():
        turns = [i for i in range(before + 1, after) if words[i] in TURNS]
        return bool(turns) and at < turns[-1]
    return preceded.isdigit()


def as_typed(text: str, rng: random.Random) -> str:
    """A wording as somebody in a hurry may type it."""
    chance = rng.random()
    if chance < TYPING_ERRORS and len(text) > 8:
        letters = list(text)
        for _ in range(rng.choice((1, 1, 2))):
            _mistype(letters, rng)
        return "".join(letters)
    if chance < TYPING_ERRORS + CHAT_STYLE:
        return text.lower().replace("'", "").rstrip(".")
    return text


def _mistype(letters: list[str], rng: random.Random) -> None:
    at, kind = rng.randrange(1, len(letters) - 1), rng.random()
    if kind < 0.35:
        letters[at - 1 : at + 1] = reversed(letters[at - 1 : at + 1])
    elif kind < 0.7:
        del letters[at]
    elif kind < 0.85:
        letters.insert(at, letters[at])
    else:
        letters[at] = rng.choice(string.ascii_lowercase)


def described(aspect: Aspect, rng: random.Random) -> Aspect:
    """The aspect with some of its phrases in any order: others will choose other ones."""
    count = min(len(aspect.phrases), rng.randint(3, 6))
    return _aspect(aspect.key, aspect.name, aspect.definition, rng.sample(aspect.phrases, count))
