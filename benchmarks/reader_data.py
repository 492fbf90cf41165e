"""Wordings that the reader is fitted on: written ones, and ones composed of written parts."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.config import ASSETS
from engine.lenses.definitions import SHIPPED
from engine.lenses.glossary import gloss
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
STATED = ("{}", "{}", "{things} about {}", "{things}: {}")
KINDS = {
    "named": (0.20, "+"), "kept": (0.12, "+"), "against": (0.14, "-"), "neither": (0.08, "--"),
    "contrasted": (0.30, "+-"), "corrected": (0.06, "+ "), "both": (0.10, "++"),
}  # fmt: skip
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
    return Aspect(
        aspect.key, aspect.name, "", aspect.definition, "",
        phrases=tuple(rng.sample(aspect.phrases, count)),
    )  # fmt: skip
