"""Documents and queries of a tuple set, written without a model."""

from __future__ import annotations

from engine.build.implicit import questions, templates
from engine.build.implicit.constraints import broken
from engine.build.implicit.leaks import leaked
from engine.build.implicit.records import Example, ImplicitRequest, Scene
from engine.build.implicit.scenes import bind, tuple_set
from engine.build.implicit.solving import UnsatisfiableError, randomness

REWRITES = 50
"""Other choices of phrases, until a document that gives its value away is given up."""


def examples_of(request: ImplicitRequest, number: int) -> list[Example]:
    """The documents and queries of set ``number``, whatever ``request.sets`` is.

    Raises:
        UnsatisfiableError: no set of that size meets all constraints, or no choice of phrases
            keeps a value implicit.
    """
    found = tuple_set(request, number)
    if unmet := broken(found):
        raise UnsatisfiableError(
            f"Set {number} breaks: {', '.join(unmet)}.", "Ask for fewer documents per set."
        )
    scenes = bind(request, found)
    rng = randomness(request.seed, "thread", request.category, request.style, number)
    post = templates.opening_post(scenes[0], rng) if request.style == "multi" else ""
    return [_example(request.seed, scene, post) for scene in scenes]


def _example(seed: int, scene: Scene, post: str) -> Example:
    return Example(
        scene=scene,
        document=_implicit(seed, scene),
        question=questions.ask(randomness(seed, "question", scene.doc_id), scene),
        answer=questions.answer(scene),
        hint=questions.hint(scene),
        opening_post=post,
    )


def _implicit(seed: int, scene: Scene) -> str:
    for attempt in range(REWRITES):
        document = templates.write(scene, randomness(seed, "document", scene.doc_id, attempt))
        if leaked(document, scene.implicit) is None:
            return document
    raise UnsatisfiableError(
        f"{scene.doc_id} cannot be written without giving its value away.", "Try another seed."
    )
