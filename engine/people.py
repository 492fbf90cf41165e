"""Who may open SeedLens when it is served: the people and providers of ``secrets.toml``.

``[auth]`` is read by Streamlit, which logs people in by OpenID Connect; ``[people]`` is ours.
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
from storage.home import PRIVATE_UMASK, Home
from storage.home import keep_files_private as keep_files_private  # for the app

if TYPE_CHECKING:
    from storage.people import EndedLogins

SHORTEST_COOKIE_SECRET = 32
_ROLES: tuple[str, ...] = get_args(Role)
_ENTRY = '{ name = "Ada", role = "lead" }'
_PROVIDER_KEYS = ("client_id", "client_secret", "server_metadata_url")
_MENTIONS_LOGIN = re.compile(rb"^\W*(auth|people)\b", re.MULTILINE)


def secrets_files() -> tuple[Path, ...]:
    """Where ``seedlens app`` looks for ``secrets.toml``; later ones override."""
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

    LoginSetupError says what is missing or unsafe, by key and place, never by value.
    """
    merged: dict[str, Any] = {}
    for file in files:
        merged.update(_read(file))
    if "auth" not in merged:
        _refuse(
            "people" in merged,
            "secrets.toml has [people], but no [auth] by which they could log in.",
            "Add [auth], or remove [people].",
        )
        return None
    providers, people = _providers(merged["auth"]), _people(merged.get("people"))
    _refuse(
        not is_login_installed(),
        "secrets.toml asks for login, and the libraries for it (Authlib, httpx) are missing.",
        "Run: pip install 'streamlit[auth]'.",
    )
    return Login(providers, people, urlsplit(merged["auth"]["redirect_uri"]).scheme == "https")


def _refuse(fault: object, message: str, remedy: str) -> None:
    """Raise LoginSetupError where there is a fault."""
    if fault:
        raise LoginSetupError(message, remedy)


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
        # Without NULs: a file in UTF-16 cannot be read, and may ask for login.
        if not _MENTIONS_LOGIN.search(content.replace(b"\0", b"")):
            return {}  # the pages show a warning
        place = re.search(r"at line \d+", str(error))  # its other words may quote a secret
        raise LoginSetupError(
            f"{file} cannot be read{f' ({place[0]})' if place else ''}, and it asks for login.",
            "Write it as TOML in UTF-8; text needs quotes.",
        ) from None


def _providers(auth: Any) -> tuple[Provider, ...]:
    _refuse(not isinstance(auth, Mapping), "'auth' in secrets.toml is no table.", "Write [auth].")
    redirect, secret = auth.get("redirect_uri"), auth.get("cookie_secret")
    address = urlsplit(redirect if isinstance(redirect, str) else "")
    _refuse(
        address.scheme not in ("http", "https") or address.path != CALLBACK,
        "redirect_uri in [auth] of secrets.toml is not the address of this app.",
        f"Write the address of SeedLens with {CALLBACK}: https://seedlens.example.org{CALLBACK}.",
    )
    _refuse(
        not isinstance(secret, str) or len(secret) < SHORTEST_COOKIE_SECRET,
        "cookie_secret in [auth] of secrets.toml is missing, or shorter than "
        f"{SHORTEST_COOKIE_SECRET} characters, and could be guessed.",
        "Make one: python -c 'import secrets; print(secrets.token_hex(32))'.",
    )
    sections = {
        name: part
        for name, part in auth.items()
        if isinstance(part, Mapping) and name != "client_kwargs"
    }
    if any(key in auth for key in _PROVIDER_KEYS):
        sections = {"default": auth, **sections}
    keys = ", ".join(_PROVIDER_KEYS)
    _refuse(not sections, "[auth] in secrets.toml names no provider.", f"It needs {keys}.")
    return tuple(_provider(name, section) for name, section in sections.items())


def _provider(name: str, section: Mapping[str, Any]) -> Provider:
    where = "[auth]" if name == "default" else f"[auth.{name}]"
    _refuse("_" in name, f"{where} of secrets.toml has a _ in its name.", "Leave it out.")
    missing = [key for key in _PROVIDER_KEYS if not isinstance(section.get(key), str)]
    lacks = f"{where} of secrets.toml lacks {', '.join(missing)}."
    _refuse(missing, lacks, "Your provider has them.")
    trusts = section.get("trust_emails", False)
    _refuse(
        not isinstance(trusts, bool),
        f"trust_emails in {where} of secrets.toml is neither true nor false.",
        "Write one of them, without quotes.",
    )
    return Provider(name, trusts)


def _people(table: Any) -> dict[str, Person]:
    _refuse(
        not isinstance(table, Mapping) or not table,
        "secrets.toml has [auth], but no [people] who may log in.",
        f'List them: "ada@example.org" = {_ENTRY}.',
    )
    people: dict[str, Person] = {}
    names: dict[str, str] = {}
    for address, entry in table.items():
        person = _person(address, entry)
        twice = f"'{address}' is listed twice in [people] of secrets.toml."
        _refuse(person.address in people, twice, "Case does not matter.")
        other = names.setdefault(person.name.casefold(), address)
        _refuse(
            other != address,
            f"'{other}' and '{address}' in [people] of secrets.toml have the same name.",
            "Judgments are stored by name: give each a different one.",
        )
        people[person.address] = person
    return people


def _person(address: str, entry: Any) -> Person:
    from engine.annotate.projects import check_annotator

    where = "in [people] of secrets.toml"
    local, sign, domain = plain_address(address).partition("@")
    spaces = any(map(str.isspace, local + domain))
    _refuse(
        not (local and sign and domain) or "@" in domain or spaces,
        f"'{address}' {where} is not an e-mail address.",
        f'Put it in quotes: "ada@example.org" = {_ENTRY}.',
    )
    _refuse(
        not isinstance(entry, Mapping) or set(entry) != {"name", "role"},
        f"'{address}' {where} needs a name and a role, and nothing else.",
        f"Write {_ENTRY}.",
    )
    name, role = entry["name"], entry["role"]
    try:
        name = check_annotator(name if isinstance(name, str) else "")
    except BadInputError as error:
        raise LoginSetupError(
            f"The name of '{address}' {where} cannot be used: {error.message}", error.remedy
        ) from None
    unknown = f"The role of '{address}' {where} does not exist."
    _refuse(role not in _ROLES, unknown, f"Use {' or '.join(_ROLES)}.")
    return Person(plain_address(address), name, role)


def admit(login: Login, claims: Mapping[str, Any]) -> Person:
    """The person of a provider's claims, as Streamlit hands them on.

    NotLoggedInError: nobody is logged in by a known provider. RefusedError: the address is missing,
    not verified, or not on the list. ``email_verified`` is optional: addresses of providers without
    it count where ``trust_emails`` is set.
    """
    known = {provider.name: provider for provider in login.providers}
    provider = known.get(str(claims.get("provider")))
    if claims.get("is_logged_in") is not True or provider is None:
        raise NotLoggedInError("Nobody is logged in.", "Log in first.")
    address, verified = claims.get("email"), claims.get("email_verified")
    if not isinstance(address, str) or not address.strip():
        address, fault = "", "Your provider did not say your e-mail address."
        remedy = "Use another account."
    elif verified is None and not provider.trusts_emails:
        fault = "Your provider does not say whether this address was verified."
        remedy = "The operator of SeedLens can decide to trust its addresses."
    elif verified not in (None, True, "true"):
        fault = "Your provider says that this address was never verified."
        remedy = "Verify it there, then log in again."
    elif person := login.find(address):
        return person
    else:
        fault = "This address is not on the list of people who may enter."
        remedy = "Ask the operator of SeedLens, or use another account."
    raise RefusedError(address, fault, remedy)
