"""``seedlens doctor``: what is installed, what loads, and what has to be fixed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

import click
from pydantic import SecretStr

from engine.cli.common import open_explorer
from engine.cli.options import command
from engine.cli.terminal import show, table, wants_json
from engine.config import Settings
from engine.errors import SeedLensError, StorageError

PACKAGES = (
    *("streamlit", "lancedb", "sqlalchemy", "sentence-transformers", "pylate", "torch"),
    *("transformers", "openai", "plotly", "scikit-learn"),
)
_REMEDY = "Delete it on Library and import its source again, or restore a backup."


class _AbsentError(SeedLensError):
    """Something is not there that nobody needs."""


@dataclass(frozen=True)
class Check:
    """One finding; a failed optional one is no fault."""

    name: str
    ok: bool
    detail: str
    optional: bool = False


@command()
def doctor(*, rebuild: bool = False) -> NoReturn:
    """Check what is installed, which models load, and where the home is.

    Options:
        rebuild: First list corpora again that are in the home and not in its ledger.
    """
    if rebuild:
        found, unknown = open_explorer().library.rebuild()
        lines = [f"Listed again: {name}" for name in found]
        again = "Import its documents again under this name."
        lines += [f"Not listed: {name}. {again}" for name in unknown]
        for line in lines or ["Every corpus in the home is listed."]:
            click.echo(line, err=wants_json())
    checks = list(examine(Settings()))
    rows = [("ok" if c.ok else "none" if c.optional else "BAD", c.name, c.detail) for c in checks]
    show(checks, table(("", "", ""), rows))
    sys.exit(0 if all(check.ok or check.optional for check in checks) else 1)


def examine(settings: Settings) -> Iterator[Check]:
    """All checks, cheap ones first."""
    for package in PACKAGES:
        yield _check(package, _version, package)
    if settings.store:
        yield _check("store", _store, settings)
    yield _check("home", _home, settings)
    yield from _corpora(settings)
    yield _check("embedded model", _encoder, settings)
    yield _check("openvino", _openvino, optional=True)
    yield _check("LLM endpoint", _endpoint, optional=True)
    yield _check("login", _login)


def _check(name: str, find: Callable[..., str], *given: object, optional: bool = False) -> Check:
    """A check that is passed unless it raises an error of ours."""
    try:
        return Check(name, True, find(*given), optional)
    except SeedLensError as error:
        return Check(name, False, str(error), optional or isinstance(error, _AbsentError))


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError as error:
        raise SeedLensError("Not installed.", "Run: pip install -e .") from error


def _home(settings: Settings) -> str:
    from engine.explorer import Explorer

    explorer = Explorer(settings)
    names = [info.name for info in explorer.library.corpora()]
    explorer.home.create()
    ledger = explorer.ledger.name
    elsewhere = "" if ledger == str(explorer.home.ledger) else f"; its ledger is {ledger}"
    return f"{settings.home} ({', '.join(names) or 'no corpus yet'}){elsewhere}"


def _corpora(settings: Settings) -> list[Check]:
    """Whether the documents of all corpora can be read, and are complete."""
    try:
        checks = [Check("corpora", False, f"{fault} {_REMEDY}") for fault in _faults(settings)]
    except (SeedLensError, OSError) as error:
        return [Check("corpora", False, str(error))]
    return checks or [Check("corpora", True, "all documents can be read")]


def _faults(settings: Settings) -> Iterator[str]:
    """A sentence about each corpus that cannot be read, or lacks documents."""
    from engine.corpora.registry import store_of
    from engine.explorer import Explorer
    from storage.vectors import DocumentTable

    explorer = Explorer(settings)
    for row in explorer.ledger.listed_corpora():
        folder = store_of(explorer.home, row)
        if row.state != "ready" or (row.generation and not DocumentTable.is_stored(folder)):
            continue
        try:
            batches = DocumentTable.open(folder).columns(["doc_id"])
            there = sum(batch.num_rows for batch in batches)
        except StorageError as error:
            yield error.message
            continue
        if there < row.documents:
            yield f"The corpus '{row.name}' has {there:,} of {row.documents:,} documents."


def _store(settings: Settings) -> str:
    """Read from and write to the store; what is not there yet is sent."""
    from engine.explorer import Explorer

    explorer = Explorer(settings)
    mirror = explorer.home.mirror
    if mirror is None:
        raise SeedLensError("None.", "Set SEEDLENS_STORE.")
    mirror.store.check()
    explorer.library.note_corpora()
    return f"{mirror.store.place} can be read and written to"


def _encoder(settings: Settings) -> str:
    from engine.encode.loaders import load_encoder

    started = time.perf_counter()
    encoder = load_encoder(threads=settings.threads)
    spec, seconds = encoder.spec, time.perf_counter() - started
    model = f"{spec.source} ({spec.fingerprint[:12]})"
    return f"{model} on {encoder.backend}, loaded in {seconds:.1f} s"


def _openvino() -> str:
    if importlib.util.find_spec("openvino") is None:
        raise _AbsentError("not installed; pip install 'seedlens[openvino]' indexes faster")
    return "used to index"


def _endpoint() -> str:
    """Whether the language model answers. Key and password are not shown; redirects are not
    followed, as the key would go along."""
    import httpx2

    from engine.llm.endpoints import Endpoint

    url, key = os.environ.get("OPENAI_BASE_URL", ""), os.environ.get("OPENAI_API_KEY", "")
    if not url:
        raise _AbsentError("none (set OPENAI_BASE_URL to use one)")
    shown = Endpoint(url, "any", SecretStr(key)).address  # refuses what is no address or no key
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        answer = httpx2.get(f"{shown}/models", headers=headers, timeout=5)
    except httpx2.HTTPError as error:
        raise SeedLensError(f"{shown} does not answer: {error}") from error
    detail = f"{shown} answers {answer.status_code} ({answer.reason_phrase})"
    if answer.is_success:
        return detail
    if answer.status_code in (401, 403):
        detail += "; check OPENAI_API_KEY"
    elif answer.is_redirect:
        detail += "; redirects are not followed: set OPENAI_BASE_URL to the address itself"
    raise SeedLensError(detail)


def _login() -> str:
    """Whether people log in to the app: how many, and by which providers."""
    from engine.people import exposed, read_login, secrets_files

    if open_files := exposed(secrets_files()):
        raise SeedLensError(f"others can read {open_files[0]}; run: chmod 600 on it")
    login = read_login(secrets_files())
    if login is None:
        raise _AbsentError("none (everybody enters a name)")
    leads = sum(person.is_lead for person in login.people.values())
    by = ", ".join(provider.name for provider in login.providers)
    return f"{len(login.people)} people, {leads} of them leads, by {by}"
