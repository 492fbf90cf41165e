"""What each person may do, checked where it is done.

The app acts as the person who logged in (:meth:`engine.explorer.Explorer.acting_as`); commands,
programs and an app without login act as the operator (:data:`engine.types.people.OPERATOR`), who
may do everything. For ending jobs, see :func:`engine.jobs.runner.check_ends`.
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


def _checked(
    check: Callable[[Person], None], method: Callable[Concatenate[Part, P], R]
) -> Callable[Concatenate[Part, P], R]:
    @functools.wraps(method)
    def checked(self: Part, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check(self.person)
        return method(self, *args, **kwargs)

    return checked


def leads_only(method: Callable[Concatenate[Part, P], R]) -> Callable[Concatenate[Part, P], R]:
    """A method of something :class:`ForPerson` that raises NotAllowedError unless for a lead."""
    return _checked(check_lead, method)


def operator_only(method: Callable[Concatenate[Part, P], R]) -> Callable[Concatenate[Part, P], R]:
    """A method for commands, programs and the app itself: NotAllowedError for who logged in."""
    return _checked(check_operator, method)


def all_for_leads(part: type[Part]) -> type[Part]:
    """A part of the facade whose public methods are all :func:`leads_only`, inherited ones too."""
    public = [name for name in dir(part) if not name.startswith("_")]
    methods = [n for n in public if inspect.isfunction(inspect.getattr_static(part, n))]
    return limited(leads_only, *methods)(part)


def limited(limit: Callable[[Any], Any], *names: str) -> Callable[[type[Part]], type[Part]]:
    """A part of the facade with inherited methods that are ``leads_only`` or ``operator_only``."""

    def decorate(part: type[Part]) -> type[Part]:
        for name in names:
            setattr(part, name, limit(getattr(part, name)))
        return part

    return decorate


def check_operator(person: Person) -> None:
    """Raise NotAllowedError for a person who logged in."""
    if not person.is_operator:
        raise NotAllowedError(
            "This is for the operator of SeedLens.", "Ask them: it is done by a command."
        )


def check_lead(person: Person) -> None:
    """Raise NotAllowedError for an annotator."""
    if not person.is_lead:
        raise NotAllowedError("This is for leads.", "Ask one of them.")


def check_own(person: Person, name: str) -> None:
    """Raise NotAllowedError where a person would judge under another name."""
    if not person.is_operator and name != person.name:
        raise NotAllowedError(
            f"You are logged in as {person.name}, and cannot judge as {name}.", "Log in as them."
        )


def check_sees(person: Person, name: str | None) -> None:
    """Raise NotAllowedError where an annotator would see judgments of ``name`` (None: of all)."""
    if not person.is_lead and name != person.name:
        raise NotAllowedError(
            "Judgments of others are for leads.", "Annotators see their own judgments only."
        )


def check_source(person: Person, path: Path, roots: tuple[Path, ...]) -> Path:
    """A path that a person may import from, made absolute; without links for who logged in.

    They may import from the folders ``roots``, and no folder with links that lead out of these.
    """
    if person.is_operator:
        return absolute(path)
    real = path if "\0" in str(path) else Path(os.path.realpath(path))
    inside = [root.resolve() for root in roots]

    def lies_inside(one: Path) -> bool:
        return any(one.is_relative_to(root) for root in inside)

    if not lies_inside(real):
        raise NotAllowedError(
            "With login, documents are imported from an upload, or from the folders that "
            "SEEDLENS_IMPORT_ROOTS names; this path is in none of them.",
            "Upload the file, or ask the operator of SeedLens.",
        )
    if real.is_dir():
        for file in real.rglob("*"):
            if file.is_symlink() and not lies_inside(Path(os.path.realpath(file))):
                raise NotAllowedError(
                    f"The folder holds a link that leads elsewhere: {file.relative_to(real)}.",
                    "Put a copy of the file there.",
                )
    return real
