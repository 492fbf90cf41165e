"""Documents and queries of a tuple set, written without a model."""

from __future__ import annotations

from engine.generate import question_templates, templates
from engine.generate.constraints import broken
from engine.generate.implicit_records import Example, ImplicitRequest, Scene
from engine.generate.leaks import leaked
from engine.generate.scenes import bind, tuple_set
from engine.generate.solving import UnsatisfiableError, randomness

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
        question=question_templates.ask(randomness(seed, "question", scene.doc_id), scene),
        answer=question_templates.answer(scene),
        hint=question_templates.hint(scene),
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
