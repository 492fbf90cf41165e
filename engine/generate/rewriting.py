"""Documents written by a model, and checked by having it recover the tuple (A.4).

The first pass is given the fact in our own words and leaves the arithmetic alone. The second
sees the document only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Any

from pydantic import BaseModel, Field

from engine.generate.implicit_records import DateTuple, Example, PlaceTuple, PriceTuple, Scene
from engine.generate.leaks import leaked
from engine.generate.templates import UTTERANCES, fact_sentences, in_chat, in_post
from engine.generate.tuple_sets import randomness
from engine.generate.word_lists import BY_CODE
from engine.llm.client import Client
from engine.llm.messages import Prompt, json_prompt
from engine.llm.texts import fenced

SENTENCES = 5  # Of a post, as in the paper (A.4.2)
WRITING, RECOVERING = "implicit-writing/1", "implicit-recovering/1"
_WRITER = "You write short, natural texts as people exchange them in forums and chats."
_READER = "You read a text closely and work out what follows from it."
_Line = Annotated[str, Field(min_length=1, max_length=600)]


class Written(BaseModel):
    """A document as a model writes it, without names and times."""

    lines: list[_Line] = Field(description="the sentences or messages, in order")


class PriceFound(BaseModel):
    """What a second pass makes of a document about prices."""

    bought: str = Field(description="make, and line if there is one, of what was bought")
    stated: float = Field(description="the one amount that the text states")
    price: float = Field(description="what the thing that was bought costs")


class PlaceFound(BaseModel):
    """What a second pass makes of a document about a place."""

    place: str = Field(description="the town or district")
    country: str = Field(description="the country that it lies in, in English")


class DaysFound(BaseModel):
    """What a second pass makes of a document about days."""

    written: date = Field(description="the day on which the text was written")
    days: list[date] = Field(description="every day on which the activity takes place")


Found = PriceFound | PlaceFound | DaysFound


def writing(seed: int, scene: Scene, attempt: int) -> Prompt[Written]:
    """Write the document; another attempt is another question."""
    fact = fact_sentences(randomness(seed, "told", scene.doc_id), scene)
    if scene.style == "multi":
        count, form = SENTENCES, f"a reply in a forum thread, of exactly {SENTENCES} sentences"
    else:
        count = UTTERANCES
        form = (
            f"a chat of exactly {UTTERANCES} messages in which two people take turns; "
            f"{scene.other} writes first, then {scene.speaker}, a {scene.job}, and so on"
        )
    user = f"""\
Write {form}. Author of what matters: {scene.speaker}, a {scene.job}.
It goes on from this beginning, which you do not repeat: {" ".join(scene.opening)}
Somewhere in it {scene.speaker} says the following in other words. Keep the names, the amounts \
and the words for days exactly as they are, and work nothing out: no other amount, no date, no \
country or nationality.
{fenced("what is said", " ".join(fact))}
No other day, amount or place occurs in it. Names and times before the messages are added later.
This is version {attempt + 1}: word it unlike the versions before."""
    return json_prompt(
        WRITING,
        _WRITER,
        user,
        Written,
        most_tokens=900,
        check=lambda written: written if len(written.lines) == count else None,
    )


def recovering(scene: Scene, document: str) -> Prompt[Any]:
    """Recover the tuple from the document alone: a prompt for a :data:`Found`."""
    what = fenced("text", document)
    if isinstance(scene.implicit, PriceTuple):
        asked = "What was bought, which amount does the text state, and what does it cost then?"
        return json_prompt(RECOVERING, _READER, f"{what}\n{asked}", PriceFound)
    if isinstance(scene.implicit, PlaceTuple):
        asked = "Where did the activity take place, and in which country is that?"
        return json_prompt(RECOVERING, _READER, f"{what}\n{asked}", PlaceFound)
    asked = "When was it written, and on which days did or will the activity take place?"
    return json_prompt(RECOVERING, _READER, f"{what}\n{asked}", DaysFound)


def keeps_names(scene: Scene, document: str) -> bool:
    """Whether the names are there that the query, or the tuple, cannot do without."""
    needed = [scene.topic, scene.item, scene.reference, scene.bought]
    if isinstance(scene.implicit, PlaceTuple):
        needed.append(scene.implicit.place)
    folded = " ".join(document.casefold().split())
    return all(name.casefold() in folded for name in needed)


def recovered(scene: Scene, reading: Found) -> bool:
    """Whether a second pass read the tuple that the document was made from."""
    implicit = scene.implicit
    if isinstance(reading, PriceFound) and isinstance(implicit, PriceTuple):
        same = scene.bought.casefold() in reading.bought.casefold()
        return same and reading.stated == implicit.base and reading.price == implicit.queried
    if isinstance(reading, PlaceFound) and isinstance(implicit, PlaceTuple):
        country = BY_CODE[implicit.code]
        named = reading.country.casefold().removeprefix("the ").strip()
        known = {country.name.casefold(), country.code.casefold()}
        known |= {word.casefold() for word in country.also}
        return implicit.place.casefold() in reading.place.casefold() and named in known
    if isinstance(reading, DaysFound) and isinstance(implicit, DateTuple):
        return reading.written == implicit.base and set(reading.days) == set(implicit.targets)
    return False


TRIES = 3  # Documents asked for per tuple at most


@dataclass(slots=True)
class Verification:
    """How the documents of a collection came about."""

    by_model: int = 0  # by_model, by_templates: documents; those of the model are all verified
    by_templates: int = 0
    unanswered: int = 0  # attempts without a document that could be read
    nameless: int = 0  # attempts that dropped a name
    literal: int = 0  # attempts that said the queried value in so many words
    unverified: int = 0  # attempts whose second pass gave no answer
    not_recovered: int = 0  # attempts from which the second pass read another tuple

    @property
    def rejected(self) -> dict[str, int]:
        """Attempts that gave no document, by the reason."""
        return {
            "unanswered": self.unanswered,
            "name_missing": self.nameless,
            "value_literal": self.literal,
            "unverified": self.unverified,
            "not_recovered": self.not_recovered,
        }


async def rewrite(
    client: Client, examples: Sequence[Example], seed: int, tries: int, model: str
) -> tuple[list[Example], Verification]:
    """The examples with documents by the model where it wrote a verified one.

    Every attempt is two rounds: all documents that are still missing, then their verification.
    """
    done: dict[str, Example] = {}
    counts = Verification()
    for attempt in range(tries):
        pending = [e for e in examples if e.scene.doc_id not in done]
        if not pending or client.stopped:
            break
        accepted = await _attempt(client, pending, seed, attempt, counts)
        done |= {e.scene.doc_id: replace(e, realised_by=model) for e in accepted}
    counts.by_model, counts.by_templates = len(done), len(examples) - len(done)
    return [done.get(example.scene.doc_id, example) for example in examples], counts


async def _attempt(
    client: Client, pending: Sequence[Example], seed: int, attempt: int, counts: Verification
) -> list[Example]:
    """The examples with a document that was verified; the others are counted."""
    prompts = [writing(seed, example.scene, attempt) for example in pending]
    answers = await client.ask(prompts)
    drafts = []
    for example, written in zip(pending, answers, strict=True):
        if written is None:
            counts.unanswered += 1
            continue
        document = _document(example, written.lines, seed)
        if not keeps_names(example.scene, document):
            counts.nameless += 1
        elif leaked(document, example.scene.implicit) is not None:
            counts.literal += 1
        else:
            drafts.append(replace(example, document=document))
    readings = await client.ask([recovering(d.scene, d.document) for d in drafts])
    accepted = []
    for draft, reading in zip(drafts, readings, strict=True):
        if reading is None:
            counts.unverified += 1
        elif recovered(draft.scene, reading):
            accepted.append(draft)
        else:
            counts.not_recovered += 1
    return accepted


def _document(example: Example, lines: Sequence[str], seed: int) -> str:
    """The lines with the beginning, dates and names: never left to the model."""
    scene = example.scene
    plain = [" ".join(line.split()) for line in lines]
    rng = randomness(seed, "frame", scene.doc_id)
    if scene.style == "multi":
        return in_post(rng, scene, [*scene.opening, *plain])
    return in_chat(rng, scene, [f"{' '.join(scene.opening)} {plain[0]}", *plain[1:]])
