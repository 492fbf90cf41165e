"""Pairs of documents that a connected model grades by aspect: which ones, what it is asked, and the
task that asks it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic import BaseModel, Field

from engine.config import Settings
from engine.corpora.contracts import Request, Seed, VectorPart, passage_direction
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.schema import aspect_column
from engine.errors import BadInputError
from engine.llm.judges import CANDIDATE_TOKENS, Criterion, document_text, halved, make_criterion
from engine.llm.messages import Prompt, json_prompt
from engine.llm.tasks import Estimator, ModelTask, TaskRun, TaskRunner
from engine.llm.texts import cut_text, fenced
from engine.permissions import limited, operator_only
from engine.types.models import Estimate, TaskReport
from engine.types.scenarios import AspectGroup, PairRequest
from storage.ledger import Ledger

PAIRS = "aspect-pairs/1"
"""Version of the wording below; another one is another question."""
FEWEST_DOCUMENTS = 20  # A smaller corpus has no candidates that tell aspect and topic apart
SERVED = 0.5
"""Sum of an aspect's probabilities over the sentences from which a document has that aspect."""
GRADES = (0, 1, 2, 3)
SYSTEM = """\
You compare documents in one aspect. You are shown a starting document, the aspect, and numbered \
candidates, and grade each candidate by how alike it and the starting document are in that aspect:
3 the same in it, 2 alike in what matters of it, 1 loosely related in it, 0 not alike in it.
Likeness in topic or in any other aspect counts for nothing: a candidate on another topic can be a \
3, one on the same topic a 0. Between two grades give the lower one."""


@dataclass(frozen=True, slots=True)
class Question:
    """A seed, one of its aspects, and the documents that it is compared with."""

    seed: str
    aspect: int
    candidates: tuple[str, ...]


class GradedCandidate(BaseModel):
    """One candidate."""

    candidate: int = Field(description="its number")
    grade: int = Field(json_schema_extra={"enum": list(GRADES)})


class GradedCandidates(BaseModel):
    """A grade for every candidate, in their order."""

    grades: list[GradedCandidate]


def questions_for(corpus: OpenCorpus, request: PairRequest) -> list[Question]:
    """What is to be asked, seed by seed; a larger request begins with a smaller one's seeds."""
    if len(corpus) < FEWEST_DOCUMENTS:
        raise BadInputError(
            f"The corpus '{corpus.name}' holds {len(corpus)} documents; at least "
            f"{FEWEST_DOCUMENTS} are needed to compare them by aspect.",
            "Add documents to it: seedlens import",
        )
    seeds = sorted(corpus.doc_ids, key=_draw)[: request.documents]
    found = [q for seed in corpus.seeds(seeds) for q in _of_seed(corpus, seed, request.candidates)]
    if not found:
        raise BadInputError(
            f"None of the {len(seeds)} sampled documents of '{corpus.name}' has a sentence that "
            f"serves an aspect of its lens, '{corpus.lens.name}'.",
            "Choose another lens on the corpus's page in Library, or more documents: --documents.",
        )
    return found


def _draw(*parts: str) -> bytes:
    return hashlib.sha256("\n".join(parts).encode()).digest()


def _of_seed(corpus: OpenCorpus, seed: Seed, count: int) -> Iterator[Question]:
    doc_id, roles = seed.document.doc_id, seed.roles(len(corpus.lens.aspects))
    scope = corpus.scope(without=doc_id)
    for number, key in enumerate(corpus.aspects):
        weights = roles[:, number]
        if weights.sum() < SERVED:
            continue
        by_aspect = passage_direction(weights, seed.sentences, seed.vector)
        parts = [VectorPart(aspect_column(key), by_aspect, 1.0)]
        parts.append(VectorPart("vector", seed.vector, 1.0))
        nearest = [
            corpus.by_vectors([part], Request(seed, None, scope, depth=count)).doc_ids
            for part in parts
        ]
        chosen = list(dict.fromkeys(d for pair in zip(*nearest, strict=True) for d in pair))[:count]
        # The order that a model reads says nothing of how near they are.
        yield Question(doc_id, number, tuple(sorted(chosen, key=lambda d: _draw(doc_id, key, d))))


def prompts_of(corpus: OpenCorpus, questions: Sequence[Question]) -> list[Prompt[GradedCandidates]]:
    """The questions as a model reads them, in their order."""
    wanted = dict.fromkeys(d for q in questions for d in (q.seed, *q.candidates))
    documents = {d.doc_id: d for d in corpus.documents(list(wanted))}

    def prompt(question: Question) -> Prompt[GradedCandidates]:
        seed, number = documents[question.seed], question.aspect
        weights = [sentence.roles[number] for sentence in seed.sentences]
        criterion = make_criterion(seed, corpus.lens.aspects[number], weights=weights)
        return comparing(criterion, [document_text(documents[d]) for d in question.candidates])

    return list(map(prompt, questions))


def comparing(
    criterion: Criterion, candidates: Sequence[str], tokens: int = CANDIDATE_TOKENS
) -> Prompt[GradedCandidates]:
    """How alike are these candidates in the aspect?"""
    numbers = list(range(1, len(candidates) + 1))
    shown = [
        f"Candidate {number}:\n{fenced('candidate', cut_text(text, tokens).text)}"
        for number, text in zip(numbers, candidates, strict=True)
    ]
    task = f"Grade each of the candidates 1 to {len(numbers)} in this aspect, 0 to 3."

    def checked(answer: GradedCandidates) -> GradedCandidates | None:
        known = sorted(g.candidate for g in answer.grades) == numbers
        return answer if known and all(g.grade in GRADES for g in answer.grades) else None

    return json_prompt(
        PAIRS,
        SYSTEM,
        "\n\n".join([criterion.text, *shown, task]),
        GradedCandidates,
        most_tokens=60 + 20 * len(candidates),
        check=checked,
        shorter=halved(tokens, lambda less: comparing(criterion, candidates, less)),
    )


BATCH = 32  # Questions that go out together
SAMPLE = 50  # Questions whose lengths an estimate is made from
Groups = tuple[AspectGroup, ...]  # In the order in which they were asked about


@limited(operator_only, "estimate", "run", "start")
class PairGrading(TaskRunner[PairRequest, Groups]):
    """A model grades pairs of documents by aspect. Answers are kept in the ledger: what was asked
    before is not asked again. Safe to share between threads.

    ``items`` of an estimate are questions, one for each aspect of a seed; ``counts["documents"]``
    are the seeds.
    """

    def __init__(self, ledger: Ledger, settings: Settings, library: Library) -> None:
        super().__init__(settings, ledger.answers)
        self._library = library

    def _task(self, request: PairRequest) -> _GradePairs:
        corpus = self._library.open(request.corpus)
        return _GradePairs(corpus, questions_for(corpus, request))


@dataclass(frozen=True, slots=True)
class _GradePairs(ModelTask[Groups]):
    corpus: OpenCorpus
    questions: Sequence[Question]

    def estimate(self, known: Estimator) -> Estimate:
        total = len(self.questions)
        cost = Estimate(calls=total, items=total)
        if known.model:  # else no text need be read
            cost = known.of_items(self.questions, partial(prompts_of, self.corpus), SAMPLE)
        seeds = {question.seed for question in self.questions}
        return replace(cost, counts={"documents": len(seeds)})

    async def run(self, run: TaskRun) -> TaskReport[Groups]:
        groups: list[AspectGroup] = []
        failed, total = 0, len(self.questions)
        for start in range(0, total, BATCH):
            if run.stopped:
                break
            batch = self.questions[start : start + BATCH]
            prompts = await asyncio.to_thread(prompts_of, self.corpus, batch)
            answers = await run.ask(prompts, len(batch))
            found = [(q, a) for q, a in zip(batch, answers, strict=True) if a is not None]
            for question, answer in found:
                grades = {question.candidates[g.candidate - 1]: g.grade for g in answer.grades}
                aspect = self.corpus.aspects[question.aspect]
                groups.append(AspectGroup(question.seed, aspect, grades))
            if not run.stopped:  # else some were not asked
                failed += len(batch) - len(found)
            run.progress(len(groups) + failed, total, failed=failed)
        left = total - len(groups) - failed
        return TaskReport(result=tuple(groups), failed=failed, left=left)
