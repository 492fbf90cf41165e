"""What each person may do, checked where it is done.

The app acts as whoever is logged in (:meth:`engine.explorer.Explorer.acting_as`); commands,
programs and an app without login act as :data:`OPERATOR`, who may do everything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from engine.errors import NotAllowedError
from engine.types.people import OPERATOR, Person


class ForPerson:
    """Something that acts for a person, and refuses what they may not do.

    Attributes:
        person: for whom; see :func:`acting_as`.
    """

    person: Person = OPERATOR


Part = TypeVar("Part", bound=ForPerson)
P = ParamSpec("P")
R = TypeVar("R")


def acting_as(whole: Part, person: Person) -> Part:
    """The same object for a person: it shares all state with ``whole``, and so do the parts of it
    that are for a person too."""
    copies: dict[int, ForPerson] = {}

    def copied(part: ForPerson) -> ForPerson:
        if id(part) not in copies:
            own = copies[id(part)] = copy(part)
            own.person = person
            for name, value in vars(part).items():
                if isinstance(value, ForPerson):
                    setattr(own, name, copied(value))
        return copies[id(part)]

    own: Part = copied(whole)  # type: ignore[assignment]  # a copy is of the same class
    return own


def leads_only(
    method: Callable[Concatenate[Part, P], R],
) -> Callable[Concatenate[Part, P], R]:
    """A method of something :class:`ForPerson` that raises NotAllowedError unless for a lead."""

    @functools.wraps(method)
    def checked(self: Part, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_lead(self.person)
        return method(self, *args, **kwargs)

    return checked


def check_lead(person: Person) -> None:
    """Raise NotAllowedError for an annotator."""
    if not person.is_lead:
        raise NotAllowedError("This is for leads.", "Ask one of them.")


def check_ends(person: Person, owner: str) -> None:
    """Raise NotAllowedError unless a person may end a job that ``owner`` started."""
    if not person.may_end(owner):
        by = f"{owner} started it, and" if owner else "It was started by somebody else;"
        raise NotAllowedError(f"{by} only they and leads can end it.", "Ask one of them.")


def check_own(person: Person, name: str) -> None:
    """Raise NotAllowedError where a person would speak under another name."""
    if not person.is_operator and name != person.name:
        raise NotAllowedError(
            f"You are logged in as {person.name}, and cannot judge as {name}.", "Log in as them."
        )


def check_source(person: Person, path: Path, roots: tuple[Path, ...]) -> Path:
    """A path that a person may import from, without the links in it.

    The operator may read what they can read anyway. Who logged in may read what lies in one of the
    folders ``roots``; a folder with links that lead out of it is refused whole.

    Raises:
        NotAllowedError: it lies elsewhere, or leads elsewhere; it may not be there at all.
    """
    if person.is_operator:
        return path
    real = path.resolve()
    inside = [root.resolve() for root in roots]

    def lies_inside(one: Path) -> bool:
        return any(one.is_relative_to(root) for root in inside)

    if not lies_inside(real):
        raise NotAllowedError(
            "With login, documents are imported from an upload, or from the folders that "
            "SEEDLENS_IMPORT_ROOTS names; this path is in none of them.",
            "Upload the file, or ask whoever runs SeedLens.",
        )
    if real.is_dir():
        for file in real.rglob("*"):
            if file.is_symlink() and not lies_inside(file.resolve()):
                raise NotAllowedError(
                    f"The folder holds a link that leads elsewhere: {file.relative_to(real)}.",
                    "Put a copy of the file there.",
                )
    return real
