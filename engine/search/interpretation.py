"""What a query asks of its seed: aspect, picked sentences and wording, read together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.corpora.contracts import Focus, Seed
from engine.errors import BadInputError
from engine.lenses.definitions import find_aspect
from engine.lenses.embedded_texts import EmbeddedTexts
from engine.lenses.glossary import gloss
from engine.lenses.instructions import TAGGER, WEIGHTS, LensWords, Reading, description
from engine.numeric import FloatArray
from engine.types.lenses import Aspect, Lens
from engine.types.searches import WHOLE, Query, Term

if TYPE_CHECKING:
    from engine.encode.wording_network import WordingNetwork

SHARPNESS = 12.0
"""How strongly wording separates sentences: weights go with ``exp(SHARPNESS * cosine)``; over a
seed's sentences cosines spread over about 0.2."""
QUOTED = 0.35
"""Cosine from which a wording that names no aspect is taken to speak of a sentence's content.

``tools/fit/thresholds.py``: of words from a sentence of the seed 67 (CSFCube) and 70 %
(demo) are found, of another document's 7 and 1 %; at 0.45, 54 and 44 % against 3 and 1 %. Not
lower: a wording that is missed is reported, one that is misread is not.
"""
VERBATIM = 0.8
"""Cosine from which a statement repeats a sentence of the seed: then that sentence counts, not
what kind of statement it is. Words taken out of a sentence mostly stay below it."""


def focus_on_aspect(seed: Seed, lens: Lens, aspect: Aspect) -> Focus | None:
    """The sentences that serve ``aspect``; None when the seed has none."""
    index = lens.index(aspect.key)
    weights = seed.roles(len(lens.aspects))[:, index]
    aspects = np.zeros(len(lens.aspects), dtype=np.float32)
    aspects[index] = 1.0
    return _focus(weights, aspects)


def focus_on_sentences(seed: Seed, lens: Lens, sentences: Sequence[int]) -> Focus | None:
    """Exactly these sentences of the seed; the aspects are the roles that they serve."""
    count = len(seed.document.sentences)
    beyond = [i for i in sentences if not 0 <= i < count]
    if beyond:
        raise BadInputError(
            f"The seed has {count} sentences; there is no sentence {beyond[0] + 1}.",
            "Count from 1; only Query.focus counts from 0.",
        )
    weights = np.zeros(count, dtype=np.float32)
    weights[list(sentences)] = 1.0
    return _focus_by_roles(weights, seed, lens)


def focus_on_reading(
    seed: Seed, lens: Lens, reading: Reading, subject: FloatArray | None
) -> Focus | None:
    """The focus of a free wording: sentences of its aspects, weighted by closeness to ``subject``
    (d,; None when it only rules out), else sentences that it describes; None without either."""
    if reading.strength > 0:
        roles = seed.roles(len(lens.aspects))
        weights = (roles @ reading.wants) * (1.0 - np.clip(roles @ reading.avoids, 0, 1))
        found = _focus(weights, reading.wants, reading.avoids, reading.strength)
        if found is None or subject is None:
            return found
        return reweigh_by_words(found, seed, subject)
    if subject is None:
        return None
    closeness = seed.sentences @ subject
    if not len(closeness) or float(closeness.max()) < QUOTED:
        return None
    return _focus_by_roles(np.exp(SHARPNESS * (closeness - closeness.max())), seed, lens)


def reweigh_by_words(focus: Focus, seed: Seed, subject: FloatArray) -> Focus:
    """Shift weight among the sentences in focus by a wording; ``subject`` is its vector (d,)."""
    closeness = np.exp(SHARPNESS * (seed.sentences @ subject))
    weights = focus.sentence_weights * closeness
    return _focus(weights, focus.aspect_weights, focus.avoided, focus.strength) or focus


def avoid(focus: Focus, aspects: FloatArray) -> Focus:
    """Rule out ``aspects`` (a,), 0 to 1, except where likeness was asked for."""
    ruled_out = np.where(focus.aspect_weights > 0, 0.0, aspects).astype(np.float32)
    found = _focus(focus.sentence_weights, focus.aspect_weights, ruled_out, focus.strength)
    return found or focus


def _focus_by_roles(weights: FloatArray, seed: Seed, lens: Lens) -> Focus | None:
    aspects = weights @ seed.roles(len(lens.aspects))
    if aspects.sum() <= 0:
        aspects = np.ones_like(aspects)
    return _focus(weights, aspects)


def _focus(
    sentences: FloatArray,
    aspects: FloatArray,
    avoided: FloatArray | None = None,
    strength: float = 1.0,
) -> Focus | None:
    total = float(sentences.sum())
    if total <= 0:
        return None
    return Focus(
        np.asarray(sentences / total, dtype=np.float32),
        np.asarray(aspects / aspects.sum(), dtype=np.float32),
        np.zeros(len(aspects), dtype=np.float32) if avoided is None else avoided,
        strength,
    )


Notes = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a query asks for, before its wording is read."""

    # wanted, ruled_out: chosen or corrected aspects; without any, the wording decides
    wanted: tuple[Aspect, ...]
    ruled_out: tuple[Aspect, ...]
    words: str  # the wording, "" for none
    terms: tuple[Term, ...] = ()  # of a corrected reading; without one, the wording decides


def find_wish(query: Query, lens: Lens) -> Wish:
    """The aspects and words of a query. An aspect's built-in wording means the aspect; a corrected
    reading replaces it."""
    words = (query.instruction or "").strip()
    aspect = find_aspect(lens, query.aspect) if query.aspect else None
    built_in = next((a for a in lens.aspects if a.instruction == words), None)
    if built_in is not None and aspect in (None, built_in):
        aspect, words = built_in, ""
    if not query.reading:
        return Wish(() if aspect is None else (aspect,), (), words)
    parts = [(part, Term.parse(part)) for part in query.reading if query.reading != WHOLE]
    signed = [(part[0], find_aspect(lens, part[1:])) for part, term in parts if term is None]
    return Wish(
        tuple(a for sign, a in signed if sign == "+"),
        tuple(a for sign, a in signed if sign == "-"),
        words,
        tuple(term for _, term in parts if term is not None),
    )


def in_words(wish: Wish, query: Query, lens: Lens) -> str:
    """The query for a model that reads words: the person's or the aspects' built-in ones, and any
    correction; "" for none."""
    own = " ".join(aspect.instruction for aspect in wish.wanted)
    parts = [wish.words, own] if query.reading else [wish.words or own]
    if not any(parts) and (wish.ruled_out or wish.terms):
        parts = [lens.generic]
    if wish.ruled_out:
        names = " and ".join(aspect.name for aspect in wish.ruled_out)
        parts.append(f"Likeness in {names} does not count.")
    for wanted, say in ((True, "They have to mention"), (False, "They must not be about")):
        if texts := [f'"{term.text}"' for term in wish.terms if term.wanted == wanted]:
            parts.append(f"{say} {', '.join(texts)}.")
    return " ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What a query was read to ask of its seed."""

    focus: Focus | None  # None where the whole text counts
    reading: tuple[str, ...] = ()  # aspects asked for and ruled out, as in :attr:`Query.reading`
    sentences: tuple[int, ...] = ()  # indices of picked or quoted ones
    notes: Notes = ()  # for the reader
    terms: tuple[Term, ...] = ()  # content words that documents should have, or should not
    unused: tuple[str, ...] = ()  # words of the wording without effect on the ranking


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Reads queries."""

    lens: Lens
    # the lens for comparison with wordings; loaded only for these
    lens_words: Callable[[], LensWords]
    encode: Callable[[str], FloatArray]  # a wording as a vector (d,) of the corpus's model

    def interpret(self, query: Query, seed: Seed) -> Interpretation:
        """Read a query by its picked sentences, correction, aspect, or words. Words shift weight
        among the sentences in focus and rule out, unless a correction says otherwise."""
        wish = find_wish(query, self.lens)
        said = self.read(wish.words)
        subject = self.encode(said.subject) if said.subject else None
        close = np.zeros(0) if subject is None else seed.sentences @ subject
        if len(close) and float(close.max()) >= VERBATIM and not said.avoids.any():
            nothing = np.zeros_like(said.wants)
            said = replace(said, wants=nothing, avoids=nothing, strength=0.0)
        asked = self._asked(query, wish, said)
        terms = wish.terms if query.reading else said.terms
        if query.focus:
            focus = focus_on_sentences(seed, self.lens, query.focus)
            focus = focus and _as_asked(focus, asked, bool(query.reading))
            if focus is not None and subject is not None:
                focus = reweigh_by_words(focus, seed, subject)
        else:
            # A correction that asks for no aspect means the whole text, whatever is quoted.
            quoted = subject if asked.strength > 0 or not query.reading else None
            focus = focus_on_reading(seed, self.lens, asked, quoted)
        sentences = query.focus or _quoted(focus, asked)
        return Interpretation(
            focus,
            (*self._parts(query, wish, asked, focus), *map(str, terms)),
            sentences,
            self._notes(query, wish, said, asked, focus),
            terms,
            () if sentences or wish.wanted or query.reading else said.unused,
        )

    def read(self, words: str) -> Reading:
        """What a wording asks for by itself."""
        if words:
            return self.lens_words().read(words)
        nothing = np.zeros(len(self.lens.aspects), dtype=np.float32)
        return Reading(nothing, nothing, 0.0, "")

    def _asked(self, query: Query, wish: Wish, said: Reading) -> Reading:
        """Aspects asked for and ruled out; chosen ones replace those of the words."""
        if not query.reading and (query.focus or not wish.wanted):
            return said
        wants = self._weights(wish.wanted)
        avoids = self._weights(wish.ruled_out) if query.reading else said.avoids
        avoids = np.where(wants > 0, 0.0, avoids).astype(np.float32)
        if wish.ruled_out and not wish.wanted:  # all the others alike
            wants = np.where(avoids > 0, 0.0, 0.0 if query.focus else 1.0).astype(np.float32)
        total = float(wants.sum())
        return Reading(
            wants / total if total else wants, avoids, 1.0 if total else 0.0, said.subject
        )

    def _weights(self, aspects: Sequence[Aspect]) -> FloatArray:
        return np.array([float(a in aspects) for a in self.lens.aspects], dtype=np.float32)

    def _parts(
        self, query: Query, wish: Wish, asked: Reading, focus: Focus | None
    ) -> tuple[str, ...]:
        """Aspects asked for and ruled out, as in :attr:`Query.reading`."""
        if query.reading:
            signed = (("+", wish.wanted), ("-", wish.ruled_out))
            return tuple(sign + aspect.key for sign, aspects in signed for aspect in aspects)
        # What a wording only rules out leaves the others: it does not name them.
        named = bool(wish.wanted or asked.subject) and not query.focus
        avoids = focus.avoided if focus is not None else asked.avoids
        keys = [aspect.key for aspect in self.lens.aspects]
        wanted = [f"+{keys[i]}" for i in np.flatnonzero(asked.wants)] if named else []
        return (*wanted, *(f"-{keys[i]}" for i in np.flatnonzero(avoids)))

    def _notes(
        self, query: Query, wish: Wish, said: Reading, asked: Reading, focus: Focus | None
    ) -> Notes:
        if said.contradicted and not query.reading:
            words = ", ".join(f"“{word}”" for word in said.contradicted)
            return (f"{words} is both asked for and ruled out, so it does not count.",)
        if focus is not None:
            chosen = wish.wanted and not query.reading and not query.focus
            return self._contradicts(said, wish.wanted[0]) if chosen else ()
        if asked.strength > 0:
            names = [self.lens.aspects[i].name for i in np.flatnonzero(asked.wants)]
            lacks = " or ".join(names)
            return (f"The seed has no {lacks} sentence, so the ranking follows the whole text.",)
        if wish.ruled_out:
            return ("Every aspect is ruled out, so the ranking follows the whole text.",)
        if query.reading or not wish.words or said.terms:
            return ()
        known = ", ".join(aspect.name for aspect in self.lens.aspects)
        unused = f" Not used: {', '.join(said.unused)}." if said.unused else ""
        return (
            f"The wording asks for none of the aspects of this corpus ({known}) and quotes no "
            f"sentence of the seed, so the ranking follows the whole text.{unused}",
        )

    def _contradicts(self, said: Reading, chosen: Aspect) -> Notes:
        if said.strength < 1.0 or said.wants[self.lens.index(chosen.key)] > 0:
            return ()
        name = self.lens.aspects[int(said.wants.argmax())].name
        return (
            f"The wording seems to ask for {name}, but the aspect chosen is {chosen.name}: the "
            "aspect decides, the wording only weighs its sentences. Choose no aspect to let the "
            "wording decide.",
        )


def _as_asked(focus: Focus, asked: Reading, corrected: bool) -> Focus:
    """Picked sentences under the aspects that were asked for or ruled out."""
    if corrected:
        left = np.where(asked.avoids > 0, 0.0, focus.aspect_weights)
        aspects = next((w for w in (asked.wants, left) if w.sum() > 0), focus.aspect_weights)
        focus = replace(focus, aspect_weights=(aspects / aspects.sum()).astype(np.float32))
    return avoid(focus, asked.avoids)


def _quoted(focus: Focus | None, asked: Reading) -> tuple[int, ...]:
    """Sentences that a wording describes, where it names no aspect."""
    if focus is None or asked.strength > 0:
        return ()
    weights = focus.sentence_weights
    return tuple(map(int, np.flatnonzero(weights >= 0.5 * weights.max())))


def understood(focus: Focus | None, lens: Lens) -> tuple[tuple[str, float], ...]:
    """(aspect name, weight) of what a focus asks for; empty without one."""
    if focus is None:
        return ()
    pairs = zip(lens.aspects, focus.aspect_weights, strict=True)
    return tuple((aspect.name, float(weight)) for aspect, weight in pairs if weight > 0)


def avoided(focus: Focus | None, lens: Lens) -> tuple[str, ...]:
    """Names of the aspects that a focus rules out."""
    if focus is None:
        return ()
    pairs = zip(lens.aspects, focus.avoided, strict=True)
    return tuple(aspect.name for aspect, weight in pairs if weight > 0)


def load_network() -> WordingNetwork:
    """The networks that read wordings, loaded once per process."""
    from engine.encode.wording_network import wording_network

    return wording_network(WEIGHTS, TAGGER)


def lens_words(lens: Lens, folder: Path) -> LensWords:
    """Reads wordings for a lens; ``folder`` of the home keeps embeddings, see
    :class:`EmbeddedTexts`."""
    texts = [gloss(description(aspect)) for aspect in lens.aspects]

    @cache
    def aspects() -> FloatArray:
        return load_network().aspects(texts)

    def score(parts: Sequence[str]) -> FloatArray:
        return load_network().scores(parts, aspects())

    def tag(words: Sequence[str]) -> FloatArray:
        return load_network().tags(words)

    reader, tagger = (hashlib.sha256(f.read_bytes()).hexdigest() for f in (WEIGHTS, TAGGER))
    return LensWords(
        lens,
        EmbeddedTexts(folder, f"{reader} {texts}", score),
        EmbeddedTexts(folder, f"{reader} {tagger}", tag),
    )
