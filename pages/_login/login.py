"""Who is here: the gate before all pages, on every run, and logins as it let them in.

Logins are known by digests of what Streamlit's cookies say, without the signatures that prove it.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st

from engine import people
from engine.errors import LoginSetupError, NotLoggedInError, RefusedError, StorageError
from engine.people import ended_logins, read_login
from engine.types.people import CLAIMS, OPERATOR, Login, Person
from pages._login.streamlit_private import USER_COOKIE, signed_login

log = logging.getLogger("seedlens")
_wanted = threading.Event()  # once login was asked for: a lost file opens nothing
_Stamp = tuple[str, int, int, int]
_PIECES = re.compile(rb'"chunks-(\d{1,4})')


def login() -> Login | None:
    """The login that ``secrets.toml`` asks for; LoginSetupError where it is wrong or gone."""
    try:
        wanted = _read(_stamps())
    except LoginSetupError:
        _wanted.set()
        raise
    if wanted is not None:
        _wanted.set()
    elif _wanted.is_set():
        raise LoginSetupError(
            "secrets.toml no longer configures login.",
            "Put [auth] back, or restart SeedLens without login.",
        )
    return wanted


def _stamps() -> tuple[_Stamp, ...]:
    """Each file as it is now: reading it again would give the same."""
    stamps = []
    for path in st.get_option("secrets.files"):
        stamp = (0, 0, 0)
        with suppress(OSError):
            stat = Path(path).stat()
            stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        stamps.append((path, *stamp))
    return tuple(stamps)


@functools.lru_cache(maxsize=4)
def _read(stamps: tuple[_Stamp, ...]) -> Login | None:
    return read_login(Path(path) for path, *_ in stamps if path.endswith(".toml"))


def person() -> Person | None:
    """Who is here, None without login; LoginSetupError, NotLoggedInError or RefusedError."""
    wanted = login()
    if wanted is None:
        if "is_logged_in" in st.user:  # Streamlit found an [auth] that we did not
            words = "Write [auth] and [people] into .streamlit/secrets.toml."
            raise LoginSetupError("Login must be configured in secrets.toml.", words)
        return None
    try:
        ended = has_ended(st.context.cookies)
    except StorageError as error:
        raise LoginSetupError(error.message, error.remedy) from error
    if ended:
        raise NotLoggedInError("You are logged out.", "Log in again.")
    return people.admit(wanted, st.user.to_dict())


def acting() -> Person:
    """For whom the engine acts: who is here, or the operator where no login is asked for."""
    return person() or OPERATOR


def name() -> str | None:
    """The name that what is judged is stored under; None where no login decides it."""
    who = person()
    return None if who is None else who.name


def owner() -> str:
    """The name that a job is started under; "" where nobody logs in."""
    return name() or ""


def admit() -> Person | None:
    """As :func:`person`; from then on their session ends when they are off the list."""
    who = person()
    if who is not None:
        let_in(st.context.cookies, who, st.user.to_dict())
    return who


def would_admit(claims: Mapping[str, Any]) -> Person | None:
    """Whom the gate would let in by these claims of a provider now; None for nobody."""
    try:
        wanted = login()
        return None if wanted is None else people.admit(wanted, claims)
    except (LoginSetupError, NotLoggedInError, RefusedError):
        return None


def is_proven(cookies: Mapping[str, str]) -> bool:
    """Whether cookies hold a login that the gate would let in, as after a restart of the server."""
    said = signed_login(cookies)
    try:
        proven = said is not None and would_admit(json.loads(said)) is not None
        return proven and not has_ended(cookies)
    except (StorageError, ValueError):
        return False


def is_wanted() -> bool:
    """Whether people have to log in, set up well or not."""
    try:
        return login() is not None
    except LoginSetupError:
        return True


def is_https() -> bool:
    """Whether people log in over https; False where they do not log in, or cannot."""
    try:
        wanted = login()
    except LoginSetupError:
        return False
    return wanted is not None and wanted.is_https


def log_out() -> NoReturn:
    """End this login in all tabs of the browser, and leave for the provider's own log-out."""
    try:
        end_login(st.context.cookies)
    except StorageError as error:
        log.error("A login was ended, and until the next start only: %s", error)
    st.logout()
    st.stop()


def log_setup() -> None:
    """Say at the start how people log in, or why nobody can, and who else reads the secrets."""
    for file in people.exposed(Path(path) for path in st.get_option("secrets.files")):
        log.warning("Others can read %s: run chmod 600 on it.", file)
    try:
        wanted = login()
    except LoginSetupError as error:
        log.error("Nobody can open SeedLens: %s", error)
        return
    if wanted is not None:
        leads = sum(p.is_lead for p in wanted.people.values())
        log.info("Login: %d people may enter, %d of them leads.", len(wanted.people), leads)


# -- logins --------------------------------------------------------------------------------


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


def let_in(cookies: Mapping[str, str], person: Person, claims: Mapping[str, Any]) -> None:
    """The gate let somebody in."""
    if digests := _digests(cookies):
        name = _digest(*digests)
        kept = {claim: claims[claim] for claim in CLAIMS if claim in claims}
        other = None
        if (before := _admitted.get(name)) is not None:
            other = before.other_until if before.person == person else before.at
        _admitted[name] = Admitted(person, kept, time.monotonic(), tuple(digests), other)


def end_login(cookies: Mapping[str, str]) -> None:
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
