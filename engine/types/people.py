"""People who may open SeedLens, and how they log in."""

from __future__ import annotations

import string
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

from engine.types.annotating import Role

CALLBACK = "/oauth2callback"  # Where Streamlit expects people back from a provider
CLAIMS = ("is_logged_in", "provider", "email", "email_verified")
"""Claims of a provider that are read."""
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody on the list."""

    address: str  # e-mail address, ASCII letters in lower case
    name: str  # what their judgments are stored under
    role: Role

    @property
    def is_lead(self) -> bool:
        return self.role == "lead"

    @property
    def is_operator(self) -> bool:
        """Whether this is the operator, who does not log in."""
        return not self.address

    def may_end(self, owner: str) -> bool:
        """Whether they may end a job that somebody of this name started."""
        return self.is_lead or owner == self.name


OPERATOR = Person("", "", "lead")
"""Whoever runs SeedLens: commands, programs, and the app where nobody logs in."""


class ForPerson:
    """Something that acts for a person, and refuses what they may not do."""

    person: Person = OPERATOR  # for whom; see `acting_as`

    def _own(self, name: str) -> str:
        """Whose it is: theirs who logged in, whatever name comes along; else ``name``."""
        return self.person.name or name


Part = TypeVar("Part", bound=ForPerson)


def acting_as(whole: Part, person: Person) -> Part:
    """The same object for a person, sharing all state, and so its parts that are for a person."""
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


@dataclass(frozen=True, slots=True)
class Provider:
    """One OpenID Connect provider."""

    name: str  # as in `[auth.NAME]`; "default" where `[auth]` itself names one
    trusts_emails: bool = False  # unverified addresses count (`trust_emails = true`)


@dataclass(frozen=True)
class Login:
    """How people log in, and who may."""

    providers: tuple[Provider, ...]  # at least one
    people: Mapping[str, Person]  # by address
    is_https: bool = False  # browsers come by https, as `redirect_uri` says

    def find(self, address: str) -> Person | None:
        """The person of an address; case does not matter."""
        return self.people.get(plain_address(address))


def plain_address(address: str) -> str:
    """An address as it is compared.

    Only ASCII letters are folded: wider foldings make one address of two ("K", the Kelvin
    sign, becomes "k").

    >>> plain_address(" Ada@Example.ORG ")
    'ada@example.org'
    """
    return address.strip().translate(_LOWER)
