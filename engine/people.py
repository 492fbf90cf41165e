"""Who may open SeedLens when it is served: the people and providers of ``secrets.toml``.

``[auth]`` is read by Streamlit, which logs people in by OpenID Connect; ``[people]`` is ours. What
is wrong is said by key and place, never by value: the file holds secrets.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

from engine.config import ROOT, Settings
from engine.errors import BadInputError, LoginSetupError, NotLoggedInError, RefusedError
from engine.types.annotating import Role
from engine.types.people import CALLBACK, Login, Person, Provider, plain_address
from storage.home import PRIVATE_UMASK, Home, keep_files_private

if TYPE_CHECKING:
    from storage.people import EndedLogins

__all__ = [
    "admit",
    "ended_logins",
    "exposed",
    "is_login_installed",
    "keep_files_private",
    "read_login",
    "secrets_files",
]

SHORTEST_COOKIE_SECRET = 32
_ROLES: tuple[str, ...] = get_args(Role)
_FIELDS = ("name", "role")
_PROVIDER_KEYS = ("client_id", "client_secret", "server_metadata_url")
_MENTIONS_LOGIN = re.compile(rb"^\W*(auth|people)\b", re.MULTILINE)


def secrets_files() -> tuple[Path, ...]:
    """Where ``seedlens app`` looks for ``secrets.toml``; what a later one says goes first."""
    return tuple(folder / ".streamlit" / "secrets.toml" for folder in (Path.home(), ROOT))


def exposed(files: Iterable[Path]) -> list[Path]:
    """Those of these files that others on this machine can read, or could write."""
    return [file for file in files if file.is_file() and file.stat().st_mode & PRIVATE_UMASK]


@functools.cache
def ended_logins() -> EndedLogins:
    """The logins that were ended, as the ledger has them."""
    from storage.ledger import Ledger  # takes long to load

    settings = Settings()
    url = settings.ledger_url.get_secret_value()
    return Ledger(Home(settings.home).ledger, settings.ledger_wait_seconds, url).ended_logins


@functools.cache
def is_login_installed() -> bool:
    """Whether the libraries are there that Streamlit logs people in with."""
    return all(map(importlib.util.find_spec, ("authlib", "httpx")))


def read_login(files: Iterable[Path]) -> Login | None:
    """The login that files ask for; None where none does.

    Raises:
        LoginSetupError: a file cannot be read and may ask for login; something is missing or
            unsafe in ``[auth]``; ``[people]`` is empty, malformed, or names somebody twice; the
            libraries are not installed.
    """
    merged: dict[str, Any] = {}
    for file in files:
        merged.update(_read(file))
    if "auth" not in merged:
        if "people" in merged:
            raise LoginSetupError(
                "secrets.toml has [people], but no [auth] by which they could log in.",
                "Add [auth], or take [people] out.",
            )
        return None
    providers, people = _providers(merged["auth"]), _people(merged.get("people"))
    https = urlsplit(merged["auth"]["redirect_uri"]).scheme == "https"
    login = Login(providers, people, https)
    if not is_login_installed():
        raise LoginSetupError(
            "secrets.toml asks for login, and the libraries for it (Authlib, httpx) are missing.",
            "Run: pip install 'streamlit[auth]'.",
        )
    return login


def _read(file: Path) -> dict[str, Any]:
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise LoginSetupError(
            f"{file} cannot be opened ({error.strerror}), and it may ask for login.",
            "Let the user that runs SeedLens read it, or remove it.",
        ) from None
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        # Without NULs: a file in UTF-16 cannot be read, but asks for login all the same.
        if not _MENTIONS_LOGIN.search(content.replace(b"\0", b"")):
            return {}  # the pages say that it is left aside
        place = re.search(r"at line \d+", str(error))  # its other words may quote a secret
        raise LoginSetupError(
            f"{file} cannot be read{f' ({place[0]})' if place else ''}, and it asks for login.",
            "Write it as TOML in UTF-8; text needs quotes.",
        ) from None


def _providers(auth: object) -> tuple[Provider, ...]:
    if not isinstance(auth, Mapping):
        raise LoginSetupError("'auth' in secrets.toml is no table.", "Write [auth].")
    _check_shared(auth)
    named = {name: part for name, part in auth.items() if _is_provider(name, part)}
    if any(key in auth for key in _PROVIDER_KEYS):
        named = {"default": auth, **named}
    if not named:
        raise LoginSetupError(
            "[auth] in secrets.toml names no provider.", f"It needs {', '.join(_PROVIDER_KEYS)}."
        )
    return tuple(_provider(name, section) for name, section in named.items())


def _check_shared(auth: Mapping[str, Any]) -> None:
    redirect, secret = auth.get("redirect_uri"), auth.get("cookie_secret")
    address = urlsplit(redirect) if isinstance(redirect, str) else None
    if address is None or address.scheme not in ("http", "https") or address.path != CALLBACK:
        raise LoginSetupError(
            "redirect_uri in [auth] of secrets.toml is not the address that people come back to.",
            f"Write the address of SeedLens with {CALLBACK}: https://seedlens.example.org"
            f"{CALLBACK}.",
        )
    if not isinstance(secret, str) or len(secret) < SHORTEST_COOKIE_SECRET:
        raise LoginSetupError(
            "cookie_secret in [auth] of secrets.toml is missing, or shorter than "
            f"{SHORTEST_COOKIE_SECRET} characters: whoever guesses it is whom they like.",
            "Make one: python -c 'import secrets; print(secrets.token_hex(32))'.",
        )


def _is_provider(name: str, part: object) -> bool:
    return isinstance(part, Mapping) and name != "client_kwargs"


def _provider(name: str, section: Mapping[str, Any]) -> Provider:
    where = "[auth]" if name == "default" else f"[auth.{name}]"
    if "_" in name:
        raise LoginSetupError(f"{where} of secrets.toml has a _ in its name.", "Leave it out.")
    missing = [key for key in _PROVIDER_KEYS if not isinstance(section.get(key), str)]
    if missing:
        raise LoginSetupError(
            f"{where} of secrets.toml lacks {', '.join(missing)}.", "Your provider names them."
        )
    trusts = section.get("trust_emails", False)
    if not isinstance(trusts, bool):
        raise LoginSetupError(
            f"trust_emails in {where} of secrets.toml is neither true nor false.",
            "Write one of them, without quotes.",
        )
    return Provider(name, trusts)


def _people(table: object) -> dict[str, Person]:
    if not isinstance(table, Mapping) or not table:
        raise LoginSetupError(
            "secrets.toml has [auth], but no [people] who may log in.",
            'List them: "ada@example.org" = { name = "Ada", role = "lead" }.',
        )
    people: dict[str, Person] = {}
    names: dict[str, str] = {}
    for address, entry in table.items():
        person = _person(address, entry)
        if person.address in people:
            raise LoginSetupError(
                f"'{address}' stands twice in [people] of secrets.toml.", "Case does not matter."
            )
        other = names.setdefault(person.name.casefold(), address)
        if other != address:
            raise LoginSetupError(
                f"'{other}' and '{address}' in [people] of secrets.toml have the same name.",
                "Judgments are told apart by name: give each their own.",
            )
        people[person.address] = person
    return people


def _person(address: str, entry: object) -> Person:
    local, sign, domain = plain_address(address).partition("@")
    if not (local and sign and domain) or "@" in domain or any(map(str.isspace, local + domain)):
        raise LoginSetupError(
            f"'{address}' in [people] of secrets.toml is no e-mail address.",
            'Put it in quotes: "ada@example.org" = { name = "Ada", role = "lead" }.',
        )
    if not isinstance(entry, Mapping) or set(entry) != set(_FIELDS):
        raise LoginSetupError(
            f"'{address}' in [people] of secrets.toml needs a name and a role, and nothing else.",
            'Write { name = "Ada", role = "annotator" }.',
        )
    from engine.annotate.projects import check_annotator

    name, role = entry["name"], entry["role"]
    try:
        name = check_annotator(name if isinstance(name, str) else "")
    except BadInputError as error:
        raise LoginSetupError(
            f"The name of '{address}' in [people] of secrets.toml cannot be used: {error.message}",
            error.remedy,
        ) from None
    if role not in _ROLES:
        raise LoginSetupError(
            f"The role of '{address}' in [people] of secrets.toml is none.",
            f"Use {' or '.join(_ROLES)}.",
        )
    return Person(plain_address(address), name, role)


def admit(login: Login, claims: Mapping[str, Any]) -> Person:
    """The person of a provider's claims, as Streamlit hands them on.

    An address counts only if the provider says that it was verified. ``email_verified`` is
    optional, and some leave it out: theirs count where ``trust_emails`` says so.

    Raises:
        NotLoggedInError: nobody is logged in, or by a provider that is not there any more.
        RefusedError: without an address, with one that is not verified, or not on the list.
    """
    known = {provider.name: provider for provider in login.providers}
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
    person = login.find(address)
    if person is None:
        raise RefusedError(
            address,
            "This address is not on the list of people who may enter.",
            "Ask whoever runs SeedLens, or use another account.",
        )
    return person
