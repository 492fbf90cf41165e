"""Documents written by a model, each verified by a second pass; templates where that fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.generate.implicit_records import Example
from engine.generate.leaks import leaked
from engine.generate.rewriting_prompts import keeps_names, recovered, recovering, writing
from engine.generate.solving import randomness
from engine.generate.templates import in_chat, in_post
from engine.llm.client import Client

TRIES = 3
"""Documents asked for per tuple at most."""


@dataclass(frozen=True, slots=True)
class Verification:
    """How the documents of a collection came about.

    Attributes:
        by_model, by_templates: documents; those of the model are all verified.
        unanswered: attempts without a document that could be read.
        nameless: attempts that dropped a name.
        literal: attempts that said the queried value in so many words.
        unverified: attempts whose second pass gave no answer.
        not_recovered: attempts from which the second pass read another tuple.
    """

    by_model: int = 0
    by_templates: int = 0
    unanswered: int = 0
    nameless: int = 0
    literal: int = 0
    unverified: int = 0
    not_recovered: int = 0


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
        accepted, counts = await _attempt(client, pending, seed, attempt, counts)
        done |= {e.scene.doc_id: replace(e, realised_by=model) for e in accepted}
    counts = replace(counts, by_model=len(done), by_templates=len(examples) - len(done))
    return [done.get(example.scene.doc_id, example) for example in examples], counts


async def _attempt(
    client: Client, pending: Sequence[Example], seed: int, attempt: int, counts: Verification
) -> tuple[list[Example], Verification]:
    prompts = [writing(seed, example.scene, attempt) for example in pending]
    answers = await client.ask(prompts)
    drafts = []
    for example, written in zip(pending, answers, strict=True):
        if written is None:
            counts = replace(counts, unanswered=counts.unanswered + 1)
            continue
        document = _document(example, written.lines, seed)
        if not keeps_names(example.scene, document):
            counts = replace(counts, nameless=counts.nameless + 1)
        elif leaked(document, example.scene.implicit) is not None:
            counts = replace(counts, literal=counts.literal + 1)
        else:
            drafts.append(replace(example, document=document))
    readings = await client.ask([recovering(d.scene, d.document) for d in drafts])
    accepted = []
    for draft, found in zip(drafts, readings, strict=True):
        if found is None:
            counts = replace(counts, unverified=counts.unverified + 1)
        elif recovered(draft.scene, found):
            accepted.append(draft)
        else:
            counts = replace(counts, not_recovered=counts.not_recovered + 1)
    return accepted, counts


def _document(example: Example, lines: Sequence[str], seed: int) -> str:
    """The lines with the beginning, dates and names: never left to the model."""
    scene = example.scene
    plain = [" ".join(line.split()) for line in lines]
    rng = randomness(seed, "frame", scene.doc_id)
    if scene.style == "multi":
        return in_post(rng, scene, [*scene.opening, *plain])
    return in_chat(rng, scene, [f"{' '.join(scene.opening)} {plain[0]}", *plain[1:]])
