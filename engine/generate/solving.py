"""Choosing one option per slot so that all fit together: depth first, with backtracking."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from engine.errors import BadInputError

Slot = TypeVar("Slot")
Choice = TypeVar("Choice")
MOST_STEPS = 200_000
"""Options tried until a search counts as hopeless; a solvable request takes some thousands."""


class UnsatisfiableError(BadInputError):
    """No tuple set of the size that was asked for meets all constraints."""


def randomness(*parts: object) -> random.Random:
    """A source of its own for every purpose, so that one more draw here changes nothing there.

    >>> randomness(7, "prices").random() == randomness(7, "prices").random()
    True
    """
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - no secret, to be repeated


def solve(
    slots: Sequence[Slot],
    options: Callable[[Slot], Iterable[Choice]],
    fits: Callable[[Slot, Choice, Sequence[Choice]], bool],
    what: str,
) -> list[Choice]:
    """One choice per slot; each fits those before it. The options' order decides among answers.

    Args:
        options: what a slot can be filled with, the preferred first. Called anew after every
            step back.
        fits: whether a choice may follow the choices made for the slots before.
        what: names the things in the error: "30 prices from 200 to 3,200".

    Raises:
        UnsatisfiableError: there is no answer, or none within :data:`MOST_STEPS` options.

    >>> solve([1, 2], lambda slot: (2, 1), lambda slot, n, before: n not in before, "numbers")
    [2, 1]
    """
    chosen: list[Choice] = []
    open_options: list[Iterator[Choice]] = []
    steps = deepest = 0
    while len(chosen) < len(slots):
        if len(open_options) == len(chosen):
            open_options.append(iter(options(slots[len(chosen)])))
        for choice in open_options[-1]:
            steps += 1
            if steps > MOST_STEPS:
                raise _unsatisfiable(what, deepest, len(slots))
            if fits(slots[len(chosen)], choice, chosen):
                chosen.append(choice)
                deepest = max(deepest, len(chosen))
                break
        else:
            open_options.pop()
            if not chosen:
                raise _unsatisfiable(what, deepest, len(slots))
            chosen.pop()
    return chosen


def _unsatisfiable(what: str, reached: int, wanted: int) -> UnsatisfiableError:
    return UnsatisfiableError(
        f"No choice of {what} meets every constraint ({reached} of {wanted} could be placed).",
        "Ask for fewer documents per set.",
    )
