"""Who may open SeedLens when it is served, and who somebody is by a provider's claims."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import NotLoggedInError, RefusedError
from engine.types.annotating import Role

CALLBACK = "/oauth2callback"
"""Where Streamlit expects people back from a provider."""
CLAIMS = ("is_logged_in", "provider", "email", "email_verified")
"""What is read of what Streamlit says of somebody."""
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody on the list.

    Attributes:
        address: e-mail address, ASCII letters in lower case.
        name: what their judgments are stored under.
    """

    address: str
    name: str
    role: Role

    @property
    def is_lead(self) -> bool:
        return self.role == "lead"


@dataclass(frozen=True, slots=True)
class Provider:
    """One OpenID Connect provider.

    Attributes:
        name: as in ``[auth.NAME]``; "default" where ``[auth]`` itself names one.
        trusts_emails: addresses of this provider count although it does not say that they
            were verified (``trust_emails = true``).
    """

    name: str
    trusts_emails: bool = False


@dataclass(frozen=True)
class Login:
    """How people log in, and who may: ``people`` by address, at least one provider."""

    providers: tuple[Provider, ...]
    people: Mapping[str, Person]

    def find(self, address: str) -> Person | None:
        """The person of an address; case does not matter."""
        return self.people.get(plain_address(address))

    def admit(self, claims: Mapping[str, Any]) -> Person:
        """The person of a provider's claims, as Streamlit hands them on.

        An address counts only if the provider says that it was verified. ``email_verified`` is
        optional, and some leave it out: theirs count where ``trust_emails`` says so.

        Raises:
            NotLoggedInError: nobody is logged in, or by a provider that is not there any more.
            RefusedError: without an address, with one that is not verified, or not on the list.
        """
        known = {provider.name: provider for provider in self.providers}
        provider = known.get(str(claims.get("provider")))
        if claims.get("is_logged_in") is not True or provider is None:
            raise NotLoggedInError("Nobody is logged in.", "Log in first.")
        address, verified = claims.get("email"), claims.get("email_verified")
        if not isinstance(address, str) or not address.strip():
            raise RefusedError(
                "", "Your provider did not say your e-mail address.", "Use another account."
            )
        if verified is None and not provider.trusts_emails:
            raise RefusedError(
                address,
                "Your provider does not say whether this address was verified.",
                "Whoever runs SeedLens can decide to trust its addresses.",
            )
        if verified not in (None, True, "true"):
            raise RefusedError(
                address,
                "Your provider says that this address was never verified.",
                "Verify it there, then log in again.",
            )
        person = self.find(address)
        if person is None:
            raise RefusedError(
                address,
                "This address is not on the list of people who may enter.",
                "Ask whoever runs SeedLens, or use another account.",
            )
        return person


def plain_address(address: str) -> str:
    """An address as it is compared.

    Only ASCII letters are folded: wider foldings make one address of two ("K", the Kelvin
    sign, becomes "k").

    >>> plain_address(" Ada@Example.ORG ")
    'ada@example.org'
    """
    return address.strip().translate(_LOWER)
