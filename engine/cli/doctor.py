"""What is installed, what loads, and what has to be fixed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import httpx2

from engine.config import Settings
from engine.errors import SeedLensError, StorageError

PACKAGES = (
    *("streamlit", "lancedb", "sqlalchemy", "sentence-transformers", "pylate", "torch"),
    *("transformers", "openai", "plotly", "scikit-learn"),
)

_REMEDY = "Delete it on Library and import its source again, or restore a backup from before."


@dataclass(frozen=True)
class Check:
    """One finding; ``optional`` ones do not make the doctor unhappy."""

    name: str
    ok: bool
    detail: str
    optional: bool = False


def examine(settings: Settings) -> list[Check]:
    """All checks, cheap ones first."""
    store = [_check("store", partial(_store, settings))] if settings.store else []
    return [
        *(_check(name, partial(_version, name)) for name in PACKAGES),
        *store,
        _check("home", partial(_home, settings)),
        *_corpora(settings),
        _encoder(settings),
        _openvino(),
        _endpoint(),
        _login(),
    ]


def _check(name: str, find: Callable[[], str]) -> Check:
    """A check that is passed where what it finds is no error."""
    try:
        return Check(name, True, find())
    except SeedLensError as error:
        return Check(name, False, str(error))


def rebuild_corpora() -> list[str]:
    """List corpora again that the ledger lost; a line of what became of each."""
    from engine.explorer import Explorer

    found, unknown = Explorer(Settings()).library.rebuild()
    return [
        *(f"Listed again: {name}" for name in found),
        *(f"Not listed: {name}. Import its documents again under this name." for name in unknown),
        *(["Every corpus in the home is listed."] if not found and not unknown else []),
    ]


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
    held = ", ".join(names) if names else "no corpus yet"
    ledger = explorer.ledger.name
    elsewhere = "" if ledger == str(explorer.home.ledger) else f"; its ledger is {ledger}"
    return f"{settings.home} ({held}){elsewhere}"


def _corpora(settings: Settings) -> list[Check]:
    """Can the documents of all corpora in the home be read, and are they all there?"""
    from engine.corpora.registry import store_of
    from engine.explorer import Explorer
    from storage.vectors import DocumentTable

    checks = []
    try:
        explorer = Explorer(settings)
        for row in explorer.ledger.listed_corpora():
            folder = store_of(explorer.home, row)
            if row.state != "ready" or (row.generation and not DocumentTable.is_stored(folder)):
                continue
            try:
                batches = DocumentTable.open(folder).columns(["doc_id"])
                there = sum(batch.num_rows for batch in batches)
            except StorageError as error:
                checks.append(Check("corpora", False, f"{error.message} {_REMEDY}"))
                continue
            if there < row.documents:
                lacks = f"'{row.name}' has {there:,} of {row.documents:,} documents"
                checks.append(Check("corpora", False, f"The corpus {lacks}. {_REMEDY}"))
    except (SeedLensError, OSError) as error:
        return [Check("corpora", False, str(error))]
    return checks or [Check("corpora", True, "all documents can be read")]


def _store(settings: Settings) -> str:
    """Can the store be read and written to? What did not get there yet does now. No credentials
    are shown."""
    from engine.explorer import Explorer

    explorer = Explorer(settings)
    mirror = explorer.home.mirror
    if mirror is None:
        raise SeedLensError("None.", "Set SEEDLENS_STORE.")
    mirror.store.check()
    explorer.library.note_corpora()
    return f"{mirror.store.place} can be read and written to"


def _encoder(settings: Settings) -> Check:
    from engine.encode.loaders import load_encoder

    def load() -> str:
        started = time.perf_counter()
        encoder = load_encoder(threads=settings.threads)
        spec, seconds = encoder.spec, time.perf_counter() - started
        model = f"{spec.source} ({spec.fingerprint[:12]})"
        return f"{model} on {encoder.backend}, loaded in {seconds:.1f} s"

    return _check("embedded model", load)


def _openvino() -> Check:
    present = importlib.util.find_spec("openvino") is not None
    missing = "not installed; pip install 'seedlens[openvino]' indexes faster"
    detail = "installed: indexing uses it" if present else missing
    return Check("openvino", present, detail, optional=True)


def _endpoint() -> Check:
    """Is the language model endpoint reachable? Neither key nor password is shown."""
    ok, detail = False, "none (set OPENAI_BASE_URL to use one)"
    if url := os.environ.get("OPENAI_BASE_URL", ""):
        ok, detail = _reached(url)
    return Check("LLM endpoint", ok, detail, optional=True)


def _reached(url: str) -> tuple[bool, str]:
    """Whether an address answers, and how; redirects are not followed, for the client follows
    none: they would send the key to another address."""
    try:
        address = httpx2.URL(url)
    except httpx2.InvalidURL:
        address = httpx2.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        return False, f"OPENAI_BASE_URL is not a web address: {url} (write http://host:port/v1)"
    shown = address.copy_with(userinfo=b"")
    key = os.environ.get("OPENAI_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        answer = httpx2.get(f"{url.rstrip('/')}/models", headers=headers, timeout=5)
    except (httpx2.HTTPError, ValueError) as error:  # a key that no header can have
        return False, f"{shown} does not answer: {error}"
    if answer.is_success:
        return True, f"{shown} answers ({answer.status_code})"
    detail = f"{shown} answers {answer.status_code} ({answer.reason_phrase})"
    if answer.status_code in (401, 403):
        detail += "; check OPENAI_API_KEY"
    elif answer.is_redirect:
        detail += "; redirects are not followed: set OPENAI_BASE_URL to the address itself"
    return False, detail


def _login() -> Check:
    """Do people log in to the app? Of secrets.toml, only how many and by what is shown."""
    from engine.people import exposed, read_login, secrets_files

    if open_files := exposed(secrets_files()):
        return Check("login", False, f"others can read {open_files[0]}; run: chmod 600 on it")
    try:
        login = read_login(secrets_files())
    except SeedLensError as error:
        return Check("login", False, str(error))
    if login is None:
        return Check("login", False, "none (everybody gives a name of their own)", optional=True)
    leads = sum(person.is_lead for person in login.people.values())
    by = ", ".join(provider.name for provider in login.providers)
    return Check("login", True, f"{len(login.people)} people, {leads} of them leads, by {by}")
