"""What each person may do, checked where it is done.

The app acts as whoever is logged in (:meth:`engine.explorer.Explorer.acting_as`); commands,
programs and an app without login act as the operator (:data:`engine.types.people.OPERATOR`), who
may do everything. Who may end a job, :func:`engine.jobs.runner.check_ends` knows.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from engine.errors import NotAllowedError
from engine.types.corpora import absolute
from engine.types.people import ForPerson, Person

Part = TypeVar("Part", bound=ForPerson)
P = ParamSpec("P")
R = TypeVar("R")


def leads_only(
    method: Callable[Concatenate[Part, P], R],
) -> Callable[Concatenate[Part, P], R]:
    """A method of something :class:`ForPerson` that raises NotAllowedError unless for a lead."""

    @functools.wraps(method)
    def checked(self: Part, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_lead(self.person)
        return method(self, *args, **kwargs)

    return checked


def operator_only(
    method: Callable[Concatenate[Part, P], R],
) -> Callable[Concatenate[Part, P], R]:
    """A method that raises NotAllowedError for whoever logged in: for commands and programs, which
    name paths of this machine, and for what the app does by itself."""

    @functools.wraps(method)
    def checked(self: Part, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_operator(self.person)
        return method(self, *args, **kwargs)

    return checked


def all_for_leads(part: type[Part]) -> type[Part]:
    """A part of the facade whose public methods are all :func:`leads_only`, inherited ones too."""
    public = [name for name in dir(part) if not name.startswith("_")]
    methods = [n for n in public if inspect.isfunction(inspect.getattr_static(part, n))]
    return limited(leads_only, *methods)(part)


def limited(limit: Callable[[Any], Any], *names: str) -> Callable[[type[Part]], type[Part]]:
    """A part of the facade whose methods of these names are ``leads_only``, or ``operator_only``,
    although it inherits them."""

    def decorate(part: type[Part]) -> type[Part]:
        for name in names:
            setattr(part, name, limit(getattr(part, name)))
        return part

    return decorate


def check_operator(person: Person) -> None:
    """Raise NotAllowedError for whoever logged in."""
    if not person.is_operator:
        raise NotAllowedError(
            "This is for whoever runs SeedLens.", "Ask them for it: it is done by a command."
        )


def check_lead(person: Person) -> None:
    """Raise NotAllowedError for an annotator."""
    if not person.is_lead:
        raise NotAllowedError("This is for leads.", "Ask one of them.")


def check_own(person: Person, name: str) -> None:
    """Raise NotAllowedError where a person would speak under another name."""
    if not person.is_operator and name != person.name:
        raise NotAllowedError(
            f"You are logged in as {person.name}, and cannot judge as {name}.", "Log in as them."
        )


def check_sees(person: Person, name: str | None) -> None:
    """Raise NotAllowedError where an annotator would see what others said.

    Args:
        name: of whoever said it; None for everybody.
    """
    if not person.is_lead and name != person.name:
        raise NotAllowedError(
            "What others said is for leads.", "Annotators see their own judgments alone."
        )


def check_source(person: Person, path: Path, roots: tuple[Path, ...]) -> Path:
    """A path that a person may import from, made absolute; of who logged in without its links.

    The operator may read what they can read anyway. Who logged in may read what lies in one of the
    folders ``roots``; a folder with links that lead out of it is refused whole.

    Raises:
        NotAllowedError: it lies elsewhere, or leads elsewhere; it may not be there at all.
    """
    if person.is_operator:
        return absolute(path)
    # A path with a NUL leads nowhere.
    real = path if "\0" in str(path) else Path(os.path.realpath(path))
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
            if file.is_symlink() and not lies_inside(Path(os.path.realpath(file))):
                raise NotAllowedError(
                    f"The folder holds a link that leads elsewhere: {file.relative_to(real)}.",
                    "Put a copy of the file there.",
                )
    return real
