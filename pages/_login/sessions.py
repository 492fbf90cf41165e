"""Logins as the gate let them in, and those that were ended.

They are known by digests of what Streamlit's cookies say, without the signatures that prove it.
"""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import StorageError
from engine.people import ended_logins
from engine.types.people import CLAIMS, Person
from pages._login.streamlit_private import USER_COOKIE

_PIECES = re.compile(rb'"chunks-(\d{1,4})')


@dataclass(frozen=True, slots=True)
class Admitted:
    """Whom the gate let in, by which of their provider's claims, and when (monotonic seconds)."""

    person: Person
    claims: Mapping[str, Any]
    at: float
    digests: tuple[str, ...] = ()  # of their cookies; the login is over when one was ended
    # when it was last let in by another name or role, for which its pages held what they did
    other_until: float | None = None


_admitted: dict[str, Admitted] = {}


def login_name(cookies: Mapping[str, str]) -> str:
    """Names a login without holding what proves it; "" for none."""
    digests = _digests(cookies)
    return _digest(*digests) if digests else ""


def begin(cookies: Mapping[str, str], person: Person, claims: Mapping[str, Any]) -> None:
    """The gate let somebody in."""
    if digests := _digests(cookies):
        name = _digest(*digests)
        kept = {claim: claims[claim] for claim in CLAIMS if claim in claims}
        other = None
        if (before := _admitted.get(name)) is not None:
            other = before.other_until if before.person == person else before.at
        _admitted[name] = Admitted(person, kept, time.monotonic(), tuple(digests), other)


def end(cookies: Mapping[str, str]) -> None:
    """Somebody logged out: copies of these cookies count no longer; StorageError where that could
    not be stored."""
    if digests := _digests(cookies):
        ended_logins().add(digests)


def has_ended(cookies: Mapping[str, str]) -> bool:
    """Whether the login of these cookies was ended; StorageError where nobody knows."""
    return ended_logins().has_any(_digests(cookies))


def admitted_as(name: str) -> Admitted | None:
    """How the gate let in the login of this name; None when it did not."""
    return _admitted.get(name)


def is_over(admitted: Admitted) -> bool:
    """Whether this login was ended, or nobody knows."""
    try:
        return ended_logins().has_any(admitted.digests)
    except StorageError:
        return True


def _digests(cookies: Mapping[str, str]) -> list[str]:
    """One of each cookie that Streamlit reads a login from, which is over when any of them is."""
    cookies = dict(cookies)
    whole = cookies.get(USER_COOKIE)
    if not whole:
        return []
    pieces = _PIECES.match(_content(whole))
    if pieces is None:
        return [_digest(USER_COOKIE, _said(whole))]
    names = [f"{USER_COOKIE}_{number}" for number in range(1, int(pieces[1]) + 1)]
    if not all(name in cookies for name in names):
        return []
    return [_digest(name, _said(cookies[name])) for name in names]


def _said(cookie: str) -> str:
    """What is signed: content and time. The signature itself can be written in many ways."""
    return cookie.rpartition(".")[0]


def _content(cookie: str) -> bytes:
    """The JSON of a cookie that is short enough not to be packed; b"" of others."""
    text = _said(cookie).rpartition(".")[0]
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
