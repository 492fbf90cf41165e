"""What is installed, what loads, and what has to be fixed."""

from __future__ import annotations

import http.client
import importlib.metadata
import importlib.util
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

from engine.config import Settings
from engine.errors import SeedLensError, StorageError

PACKAGES = (
    *("streamlit", "lancedb", "duckdb", "sentence-transformers", "pylate", "torch"),
    *("transformers", "openai", "plotly", "scikit-learn"),
)

_REMEDY = "Delete it on Library and import its source again, or restore a backup from before."


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error, as for the client: it would send the key to another address."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


@dataclass(frozen=True)
class Check:
    """One finding; ``optional`` ones do not make the doctor unhappy."""

    name: str
    ok: bool
    detail: str
    optional: bool = False


def examine(settings: Settings) -> list[Check]:
    """All checks, cheap ones first."""
    checks = [*map(_package, PACKAGES), *([_store(settings)] if settings.store else [])]
    return [
        *checks,
        _home(settings),
        *_corpora(settings),
        _encoder(settings),
        _openvino(),
        _endpoint(),
        _login(),
    ]


def rebuild_corpora() -> list[str]:
    """List corpora again that the ledger lost; a line of what became of each."""
    from engine.explorer import Explorer

    found, unknown = Explorer(Settings()).library.rebuild()
    return [
        *(f"Listed again: {name}" for name in found),
        *(f"Not listed: {name}. Import its documents again under this name." for name in unknown),
        *(["Every corpus in the home is listed."] if not found and not unknown else []),
    ]


def _package(name: str) -> Check:
    try:
        return Check(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name, False, "not installed; run: pip install -e .")


def _home(settings: Settings) -> Check:
    from engine.explorer import Explorer

    try:
        explorer = Explorer(settings)
        names = [info.name for info in explorer.library.corpora()]
        explorer.home.create()
    except SeedLensError as error:
        return Check("home", False, str(error))
    held = ", ".join(names) if names else "no corpus yet"
    ledger = explorer.ledger.name
    apart = "" if ledger == str(explorer.home.ledger) else f"; its ledger is {ledger}"
    return Check("home", True, f"{settings.home} ({held}){apart}")


def _corpora(settings: Settings) -> list[Check]:
    """Can the documents of all corpora in the home be read, and are they all there?"""
    from engine.corpora.folders import store_of
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


def _store(settings: Settings) -> Check:
    """Can the store be read and written to? What did not get there yet does now. No credentials
    are shown."""
    from engine.explorer import Explorer

    try:
        explorer = Explorer(settings)
        mirror = explorer.home.mirror
        if mirror is None:
            return Check("store", False, "none")
        mirror.store.check()
        explorer.library.note_corpora()
        return Check("store", True, f"{mirror.store.place} can be read and written to")
    except SeedLensError as error:
        return Check("store", False, str(error))


def _encoder(settings: Settings) -> Check:
    from engine.encode.loaders import load_encoder

    started = time.perf_counter()
    try:
        encoder = load_encoder(threads=settings.threads)
    except SeedLensError as error:
        return Check("embedded model", False, str(error))
    seconds = time.perf_counter() - started
    spec = encoder.spec
    detail = (
        f"{spec.source} ({spec.fingerprint[:12]}) on {encoder.backend}, loaded in {seconds:.1f} s"
    )
    return Check("embedded model", True, detail)


def _openvino() -> Check:
    present = importlib.util.find_spec("openvino") is not None
    detail = "installed: indexing uses it" if present else (
        "not installed; pip install 'seedlens[openvino]' indexes faster"
    )  # fmt: skip
    return Check("openvino", present, detail, optional=True)


def _endpoint() -> Check:
    """Is the language model endpoint reachable? The key is never shown."""
    url = os.environ.get("OPENAI_BASE_URL", "")
    if not url:
        return Check("LLM endpoint", False, "none (set OPENAI_BASE_URL to use one)", optional=True)
    if (shown := _shown(url)) is None:
        detail = f"OPENAI_BASE_URL is not a web address: {url} (write http://host:port/v1)"
        return Check("LLM endpoint", False, detail, optional=True)
    request = urllib.request.Request(url.rstrip("/") + "/models")  # noqa: S310 - checked above
    if key := os.environ.get("OPENAI_API_KEY"):
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=5) as answer:
            return Check("LLM endpoint", True, f"{shown} answers ({answer.status})", optional=True)
    except urllib.error.HTTPError as error:
        detail = f"{shown} answers {error.code} ({error.reason})"
        if error.code in (401, 403):
            detail += "; check OPENAI_API_KEY"
        elif 300 <= error.code < 400:
            detail += "; redirects are not followed: set OPENAI_BASE_URL to the address itself"
    except (OSError, ValueError, http.client.HTTPException) as error:
        detail = f"{shown} does not answer: {getattr(error, 'reason', error)}"
    return Check("LLM endpoint", False, detail, optional=True)


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


def _shown(url: str) -> str | None:
    """A web address without user and password; None when it is none."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
