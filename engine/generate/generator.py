"""The facade over collections that are made here: what a page and the command line call."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadInputError
from engine.generate.collection_files import check_folder, collection_files, write_files
from engine.generate.constraints import constraints_for
from engine.generate.examples import examples_of
from engine.generate.implicit_records import (
    CATEGORIES,
    DOCUMENTS,
    MOST_DOCUMENTS,
    MOST_SETS,
    STYLES,
    Example,
    ImplicitRequest,
)
from engine.generate.rewriting_prompts import writing
from engine.generate.verifying import TRIES, Verification, rewrite
from engine.llm.budget import Estimate, RoundProgress, Usage
from engine.llm.cache import AnswerStore
from engine.llm.client import Client
from engine.llm.endpoints import Connection
from engine.llm.estimates import estimator
from engine.llm.run import complete
from engine.types.callbacks import Ask, never, tell_nobody

MOST_TRIES = 10


@dataclass(frozen=True, slots=True)
class BuiltCollection:
    """A collection that was generated, or what there was of it when it was cancelled.

    Attributes:
        usage: of the model; None without one.
        folder: what ``evaluate`` and ``import`` read; None when it was cancelled: then nothing
            was written.
        table: the same as a CSV with ImpliRet's columns.
    """

    request: ImplicitRequest
    verification: Verification
    usage: Usage | None
    seconds: float
    folder: Path | None = None
    table: Path | None = None
    documents: int = 0

    @property
    def name(self) -> str:
        """Of the collection, and of the corpus that ``evaluate`` indexes it under."""
        return self.table.stem if self.table else ""

    @property
    def constraints(self) -> tuple[str, ...]:
        """Those that every set was checked against."""
        checks = constraints_for(self.request.category, self.request.style)
        return tuple(check.name for check in checks)


class Builder:
    """Makes collections. Safe to share between threads.

    Attributes:
        categories, styles: what there is to generate.
        documents, most_documents, most_sets, most_tries: the usual number per set, and limits.
    """

    categories, styles = CATEGORIES, STYLES
    documents, most_documents, most_sets = DOCUMENTS, MOST_DOCUMENTS, MOST_SETS
    tries, most_tries = TRIES, MOST_TRIES

    def __init__(self, answers: AnswerStore) -> None:
        self._answers = answers

    def preview(self, request: ImplicitRequest, count: int = 3) -> tuple[Example, ...]:
        """The first examples of the first set, as templates write them. Writes nothing.

        Raises:
            UnsatisfiableError: the request cannot be met.
        """
        return tuple(examples_of(request, 0)[:count])

    def estimate(self, request: ImplicitRequest, connection: Connection) -> Estimate:
        """What a model would be asked if every first attempt was accepted; nothing is sent."""
        [example, *_] = examples_of(request, 0)
        prompt = writing(request.seed, example.scene, 0)
        calls = 2 * request.sets * request.documents
        return estimator(connection, self._answers).estimate(prompt, calls)

    def implicit(
        self,
        request: ImplicitRequest,
        folder: Path,
        *,
        overwrite: bool = False,
        connection: Connection | None = None,
        tries: int = TRIES,
        on_set: Callable[[int], None] = tell_nobody,
        on_round: Callable[[RoundProgress], None] = tell_nobody,
        cancelled: Ask = never,
    ) -> BuiltCollection:
        """Generate a collection of documents that imply what their queries ask for.

        Args:
            folder: made when it is not there.
            overwrite: replace a collection that was generated there before.
            connection: of the model that writes and verifies; None for templates alone.
            tries: documents asked for per tuple, until a template stands in.
            on_set, on_round: told how many sets are done, and how far the model is.

        Raises:
            UnsatisfiableError: no tuple sets of that size meet the constraints.
            BadInputError: the folder holds something else, or ``tries`` is out of range.
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            StorageError: the folder cannot be written to.
        """
        started = time.perf_counter()
        if not 1 <= tries <= MOST_TRIES:
            raise BadInputError(f"tries is {tries}.", f"Give a whole number up to {MOST_TRIES}.")
        check_folder(folder, overwrite=overwrite)
        examples = _templates(request, on_set, cancelled)
        counts, usage = Verification(by_templates=len(examples)), None
        if connection is not None and not cancelled():
            model = connection.endpoint.model

            async def work(client: Client) -> tuple[list[Example], Verification]:
                return await rewrite(client, examples, request.seed, tries, model)

            done = complete(connection, self._answers, work, on_round, cancelled)
            (examples, counts), usage = done.value, done.usage
        if cancelled() or (usage is not None and usage.stopped == "cancelled"):
            return BuiltCollection(request, counts, usage, time.perf_counter() - started)
        files = collection_files(request, examples, counts)
        write_files(folder, files)
        table = next(folder / name for name in files if name.endswith(".csv"))
        return BuiltCollection(
            request, counts, usage, time.perf_counter() - started, folder, table, len(examples)
        )


def _templates(
    request: ImplicitRequest, on_set: Callable[[int], None], cancelled: Ask
) -> list[Example]:
    examples: list[Example] = []
    for number in range(request.sets):
        if cancelled():
            break
        examples += examples_of(request, number)
        on_set(number + 1)
    return examples
