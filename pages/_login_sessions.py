"""Logins as the gate let them in, and those that were ended.

They are known by a digest of Streamlit's signed cookies, which holds nothing that proves a login.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.types.people import CLAIMS, Person

USER_COOKIE = "_streamlit_user"
"""Begins the names of Streamlit's signed cookies, which may be cut into several."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Whom the gate let in, by which of their provider's claims, and when (monotonic seconds)."""

    person: Person
    claims: Mapping[str, Any]
    at: float


_admitted: dict[str, Admitted] = {}
_ended: set[str] = set()


def login_name(cookies: Mapping[str, str]) -> str:
    """Names a login without holding what proves it; "" for none."""
    own = sorted(f"{k}={v}" for k, v in dict(cookies).items() if k.startswith(USER_COOKIE))
    return hashlib.sha256("\0".join(own).encode()).hexdigest() if own else ""


def begin(cookies: Mapping[str, str], person: Person, claims: Mapping[str, Any]) -> None:
    """The gate let somebody in."""
    if name := login_name(cookies):
        kept = {claim: claims[claim] for claim in CLAIMS if claim in claims}
        _admitted[name] = Admitted(person, kept, time.monotonic())


def end(cookies: Mapping[str, str]) -> None:
    """Somebody logged out: these cookies count no longer, wherever copies of them are."""
    if name := login_name(cookies):
        _ended.add(name)


def has_ended(cookies: Mapping[str, str]) -> bool:
    """Whether the login of these cookies was ended."""
    return login_name(cookies) in _ended


def admitted_as(name: str) -> Admitted | None:
    """How the gate let in the login of this name; None when it did not."""
    return _admitted.get(name)


def is_over(name: str) -> bool:
    """Whether the login of this name was ended."""
    return name in _ended
