"""What the tests' model says when it names clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.grading_answers import fenced_texts

ASKED = "groups called?"
"""Words that stand in every such question."""


def names(change: Callable[[int], Any] = "Group {}".format) -> Callable[..., Any]:
    """A handler: names every group of the question, or leaves out those that become None."""

    def handler(prompt: str, _: Mapping[str, Any]) -> Any:
        if ASKED not in prompt:
            return None
        [groups] = fenced_texts(prompt, "groups")
        numbers = [int(line.split()[0].strip(":")) for line in groups.splitlines()]
        given = [(number, change(number)) for number in numbers]
        return {"names": [{"number": n, "name": name} for n, name in given if name is not None]}

    return handler
