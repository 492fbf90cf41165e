"""What tests of collections built from a lens share: a corpus, a lens, and a model on loopback."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from engine.types.builds import BuildSpec, BuildStep, StepRequest
from engine.types.models import TaskReport
from tests.fakes.build_answers import builds_collections, small_methods
from tests.fakes.model_server import ModelServer, serving
from tests.fakes.model_sessions import knowledge, session

if TYPE_CHECKING:
    from engine.build.collection_builds import CollectionBuilds

NAME = "methods"
LENS = BuildSpec("small", NAME, "how the evidence was gathered", aspect="method", depth=8)
SMALL = small_methods()
AUTHOR = "Ada"


def run_step(
    builds: CollectionBuilds,
    server: ModelServer,
    step: BuildStep,
    corpus: str = "small",
    **more: Any,
) -> TaskReport[int]:
    """One step of the build, now."""
    return builds.run(StepRequest(corpus, NAME, step, AUTHOR), endpoint=session(server), **more)


def run_all(builds: CollectionBuilds, server: ModelServer) -> list[TaskReport[int]]:
    """All four steps."""
    return [run_step(builds, server, step) for step in builds.steps]


def knows_methods() -> AbstractContextManager[ModelServer]:
    """A model that labels, names and words by the small corpus's methods, on loopback."""
    return serving(knowledge(), handlers=[builds_collections(SMALL)])


def questions(server: ModelServer, words: str) -> int:
    """How often a question with these words came in."""
    return sum(words in prompt for prompt in server.seen.prompts)


LABELLING, WORDING, GRADING = "show the attribute?", "Write the query of", "is the candidate's?"
"""Words of the questions of three steps."""
