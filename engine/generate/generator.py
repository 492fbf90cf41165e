"""Generating a collection of the ImpliRet kind, by templates or a model, and writing its files.

A model's documents are checked by having it recover the tuple (A.4): the first pass is given the
fact in our own words and leaves the arithmetic alone, the second sees the document only."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from engine.collections.folders import OwnFolder
from engine.config import __version__
from engine.errors import check_between
from engine.generate.implicit_records import (
    DateTuple,
    Example,
    ImplicitRequest,
    PlaceTuple,
    PriceTuple,
    Scene,
)
from engine.generate.scenes import constraints_for, examples_of, leaked, randomness
from engine.generate.wording import BY_CODE, UTTERANCES, fact_sentences, in_chat, in_post
from engine.llm.messages import Prompt, json_prompt
from engine.llm.tasks import Estimator, ModelTask, TaskRun
from engine.llm.texts import fenced
from engine.types.models import Estimate, TaskReport

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
_QUESTIONS: dict[type, tuple[type[BaseModel], str]] = {
    PriceTuple: (
        PriceFound,
        "What was bought, which amount does the text state, and what does it cost then?",
    ),
    PlaceTuple: (PlaceFound, "Where did the activity take place, and in which country is that?"),
    DateTuple: (
        DaysFound,
        "When was it written, and on which days did or will the activity take place?",
    ),
}


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
    model, asked = _QUESTIONS[type(scene.implicit)]
    return json_prompt(RECOVERING, _READER, f"{fenced('text', document)}\n{asked}", model)


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


TRIES, MOST_TRIES = 3, 10  # Documents asked for per tuple at most, and the most that may be set
REASONS = ("unanswered", "name_missing", "value_literal", "unverified", "not_recovered")
"""Why an attempt gave no document: it could not be read, dropped a name, or said the queried value
in so many words; its second pass gave no answer, or read another tuple."""


@dataclass(slots=True)
class Verification:
    """How the documents of a collection came about."""

    by_model: int = 0  # by_model, by_templates: documents; those of the model are all verified
    by_templates: int = 0
    rejected: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(REASONS, 0)))


async def rewrite(
    run: TaskRun, examples: Sequence[Example], seed: int, tries: int
) -> tuple[list[Example], Verification]:
    """The examples with documents by the model where it wrote a verified one. Every attempt is two
    rounds: all documents that are still missing, then their verification."""
    done: dict[str, Example] = {}
    counts = Verification()
    for attempt in range(tries):
        run.progress(len(done), len(examples), made=len(done), phase="writing")
        pending = [e for e in examples if e.scene.doc_id not in done]
        if not pending or run.stopped:
            break
        accepted = await _attempt(run, pending, seed, attempt, counts.rejected)
        done |= {e.scene.doc_id: replace(e, realised_by=run.model) for e in accepted}
    run.progress(len(done), len(examples), made=len(done), phase="writing")
    counts.by_model, counts.by_templates = len(done), len(examples) - len(done)
    return [done.get(example.scene.doc_id, example) for example in examples], counts


async def _attempt(
    run: TaskRun, pending: Sequence[Example], seed: int, attempt: int, rejected: Counter[str]
) -> list[Example]:
    """The examples with a document that was verified; the others are counted."""
    answers = await run.ask([writing(seed, example.scene, attempt) for example in pending])
    drafts = []
    for example, written in zip(pending, answers, strict=True):
        document = "" if written is None else _written(example, written.lines, seed)
        if written is None:
            rejected["unanswered"] += 1
        elif not keeps_names(example.scene, document):
            rejected["name_missing"] += 1
        elif leaked(document, example.scene.implicit) is not None:
            rejected["value_literal"] += 1
        else:
            drafts.append(replace(example, document=document))
    readings = await run.ask([recovering(d.scene, d.document) for d in drafts])
    accepted = []
    for draft, reading in zip(drafts, readings, strict=True):
        if reading is not None and recovered(draft.scene, reading):
            accepted.append(draft)
        else:
            rejected["unverified" if reading is None else "not_recovered"] += 1
    return accepted


def _written(example: Example, lines: Sequence[str], seed: int) -> str:
    """The lines with the beginning, dates and names: never left to the model."""
    scene = example.scene
    plain = [" ".join(line.split()) for line in lines]
    rng = randomness(seed, "frame", scene.doc_id)
    if scene.style == "multi":
        return in_post(rng, scene, [*scene.opening, *plain])
    return in_chat(rng, scene, [f"{' '.join(scene.opening)} {plain[0]}", *plain[1:]])


ABOUT = "about.json"
GENERATOR = "seedlens generate implicit"
_NAMES = "id tuple_set_id forum_question pos_document question answer explicit_hint"
COLUMNS = tuple(_NAMES.split())


def collection_files(
    request: ImplicitRequest, examples: Sequence[Example], verification: Verification
) -> dict[str, bytes]:
    """File name -> content. The collection's name carries a digest of its rows, so that a corpus
    that was indexed under it is never taken for another one."""
    table = _table(examples)
    documents = [
        {"doc_id": e.scene.doc_id, "text": e.document, "tuple_set_id": e.scene.set_number}
        for e in examples
    ]
    topics = [
        {"query_id": e.scene.doc_id, "text": e.question, "answer": e.answer, "hint": e.hint}
        for e in examples
    ]
    digest = hashlib.sha256(table).hexdigest()[:8]
    name = f"implicit-{request.category}-{request.style}-{digest}"
    files = {
        f"{name}.csv": table,
        "corpus.jsonl": _lines(documents),
        "topics.jsonl": _lines(topics),
        "qrels.txt": "".join(f"{e.scene.doc_id} 0 {e.scene.doc_id} 1\n" for e in examples).encode(),
        "collection.json": _json({"name": name, "synthetic": True, "complete": True}),
    }
    about = _about(request, examples, verification, name)
    about["files"] = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    return {ABOUT: _json(about), **files}


def _about(
    request: ImplicitRequest, examples: Sequence[Example], counts: Verification, name: str
) -> dict[str, Any]:
    writers = sorted({example.realised_by for example in examples})
    return {
        "name": name,
        "synthetic": True,
        "description": "Documents that imply what their queries ask for, by the construction of "
        "ImpliRet (Taghavi et al. 2025, section 2 and appendix A). People, makes, groups and "
        "events are invented; places are real (GeoNames, CC BY 4.0).",
        "generator": GENERATOR,
        "version": __version__,
        "category": request.category,
        "style": request.style,
        "sets": request.sets,
        "documents_per_set": request.documents,
        "documents": len(examples),
        "queries": len(examples),
        "seed": request.seed,
        "written_by": {w: sum(e.realised_by == w for e in examples) for w in writers},
        "verification": {"verified_by_second_pass": counts.by_model, "rejected": counts.rejected},
        "constraints": {
            name: {"source": source, "sets": request.sets}
            for name, source in constraints_for(request.category, request.style).items()
        },
    }


def _table(examples: Sequence[Example]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for e in examples:
        ids = (e.scene.doc_id, e.scene.set_number)
        writer.writerow((*ids, e.opening_post, e.document, e.question, e.answer, e.hint))
    return text.getvalue().encode()


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """A collection to generate, and where it is written."""

    implicit: ImplicitRequest
    folder: Path
    overwrite: bool = False  # what was generated there before
    with_model: bool = False  # writes the documents; else, and where it fails, templates do
    tries: int = TRIES


@dataclass(frozen=True, slots=True)
class BuiltCollection:
    """A collection that was generated, or what there was of it when it was cancelled."""

    request: ImplicitRequest
    verification: Verification
    # what `evaluate` and `import` read; None when it was cancelled: then nothing was written
    folder: Path | None = None
    table: Path | None = None  # the same as a CSV with ImpliRet's columns
    documents: int = 0

    @property
    def name(self) -> str:
        """Of the collection, and of the corpus that ``evaluate`` indexes it under."""
        return self.table.stem if self.table else ""

    @property
    def constraints(self) -> tuple[str, ...]:
        """Those that every set meets by construction."""
        return tuple(constraints_for(self.request.category, self.request.style))


class GenerateCollection(ModelTask[BuiltCollection]):
    """Generates a collection of documents that imply what their queries ask for: draws the tuples,
    has their documents written, and writes the files."""

    phase = "generating"

    def __init__(self, request: GenerationRequest) -> None:
        self.request: GenerationRequest = request
        self.asks = request.with_model
        check_between("tries", request.tries, 1, MOST_TRIES)
        self._folder = OwnFolder(request.folder, ABOUT, GENERATOR, "generated here")
        self._folder.check(overwrite=request.overwrite)

    def estimate(self, known: Estimator) -> Estimate:
        implicit, tries = self.request.implicit, self.request.tries
        items = implicit.sets * implicit.documents
        if not self.asks:
            return Estimate(items=items)
        sample = examples_of(implicit, 0)
        prompts: list[Prompt[Any]] = [writing(implicit.seed, e.scene, 0) for e in sample]
        prompts += [recovering(e.scene, e.document) for e in sample]
        cost = known.estimate(prompts, 2 * tries * items)
        return replace(cost, items=items, rounds=2 * tries, exact=False)

    async def run(self, run: TaskRun) -> TaskReport[BuiltCollection]:
        implicit = self.request.implicit
        examples: list[Example] = []
        run.progress(0, implicit.sets * implicit.documents, phase=self.phase)
        for number in range(implicit.sets):
            if run.stopped:
                break
            examples += examples_of(implicit, number)
            run.progress(len(examples), implicit.sets * implicit.documents, phase=self.phase)
        counts = Verification(by_templates=len(examples))
        if self.asks and not run.stopped:
            examples, counts = await rewrite(run, examples, implicit.seed, self.request.tries)
        if run.stopped == "cancelled":
            return TaskReport(result=BuiltCollection(implicit, counts), left=len(examples) or 1)
        if run.client is not None:
            run.client.raise_if_nothing_came()
        folder, files = self.request.folder, collection_files(implicit, examples, counts)
        self._folder.write(files, overwrite=self.request.overwrite)
        table = next(folder / name for name in files if name.endswith(".csv"))
        made = BuiltCollection(implicit, counts, folder, table, len(examples))
        return TaskReport(result=made, failed=run.usage.failed)
