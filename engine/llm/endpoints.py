"""Which endpoint is asked, and with which key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit, urlunsplit

import httpx2
from pydantic import SecretStr

from engine.config import Settings
from engine.errors import NotAllowedError
from engine.llm.budget import Account, Budget
from engine.llm.endpoint_errors import NoEndpointError
from engine.permissions import check_lead
from engine.types.models import Estimate
from engine.types.people import OPERATOR, Person

DEFAULT_ADDRESS = "https://api.openai.com/v1"
ADDRESS, KEY, MODEL = "OPENAI_BASE_URL", "OPENAI_API_KEY", "SEEDLENS_LLM_MODEL"
"""What the settings are called, in the environment, in secrets.toml and in a page's session."""
CONCURRENCY = 8  # Requests under way at once, where nothing else is set
RETRIES = 4  # Of a request that failed, likewise


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at an OpenAI-compatible endpoint."""

    address: str  # base URL with ``/v1``, without user, password, query and last slash
    model: str
    key: SecretStr = field(default=SecretStr(""))  # sent to ``address`` only; shown nowhere
    # the environment's own, where OPENAI_CUSTOM_HEADERS, organization and project are sent
    ambient: bool = False
    person: Person = field(default=OPERATOR, compare=False)  # on whose behalf it is asked

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", _checked(self.address))
        object.__setattr__(self, "model", self.model.strip())
        key = self.key.get_secret_value().strip()
        object.__setattr__(self, "key", SecretStr(key))
        if not self.model:
            raise NoEndpointError(
                f"No model is named for {self.address}.", f"Set {MODEL}, or enter it on the page."
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise NoEndpointError(
                f"The key for {self.address} holds blanks or characters that no key has.",
                "Copy it again, without quotes or line breaks.",
            )


def find_endpoint(
    settings: Settings,
    secrets: Mapping[str, str] | None = None,
    session: Mapping[str, str] | None = None,
    person: Person = OPERATOR,
) -> Endpoint | None:
    """The endpoint that was set, or None: by the session, ``secrets.toml`` or the environment, in
    that order.

    A key goes to an address from its own or a weaker source only: an address entered on the page
    never gets the server's key. A logged-in person enters an address as a lead only, and no other
    model for the operator's address and key.
    """
    environment = {
        ADDRESS: settings.openai_base_url,
        KEY: settings.openai_api_key.get_secret_value(),
        MODEL: settings.llm_model,
    }
    sources = [session or {}, secrets or {}, environment]
    place, address = _first(sources, ADDRESS)
    if address:
        sources_of_key = sources[: place + 1]
    elif _first(sources, KEY)[1]:
        sources_of_key, address = sources, DEFAULT_ADDRESS
    else:
        return None
    model, key = _first(sources, MODEL)[1], _first(sources_of_key, KEY)[1]
    own = address if place == 0 else _first(sources[:1], KEY)[1] if place < 0 else ""
    if not person.is_operator and _first(sources[:1], MODEL)[1] and not own:
        raise NotAllowedError(
            "The operator chose the model of this endpoint.",
            "Enter an address and a key of your own, or disconnect.",
        )
    if place == 0:
        check_lead(person)
    found = Endpoint(address, model, SecretStr(key), person=person)
    if own and not person.is_operator:
        return found
    with suppress(NoEndpointError):  # of an address for other programs
        usual = Endpoint(settings.openai_base_url or DEFAULT_ADDRESS, model).address
        return replace(found, ambient=found.address == usual)
    return found


def _first(sources: Sequence[Mapping[str, str]], name: str) -> tuple[int, str]:
    for place, source in enumerate(sources):
        value = str(source.get(name) or "").strip()
        if value:
            return place, value
    return -1, ""


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address.strip())
        shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx2.URL(shown)  # which refuses hosts that only look like names: 0177.0.0.1
    except (ValueError, httpx2.InvalidURL):
        usable = False
    if not usable:
        # Not quoted: somebody may have pasted the key into the wrong field.
        raise NoEndpointError(
            "The endpoint's address is not a web address.",
            "Write it like http://localhost:8000/v1 or https://api.openai.com/v1.",
        )
    return shown.rstrip("/")


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a model and how much to ask of it."""

    endpoint: Endpoint
    budget: Budget = field(default_factory=Budget)
    concurrency: int = CONCURRENCY  # requests under way at once
    timeout: float = 60.0  # seconds of silence until a request counts as lost
    retries: int = RETRIES  # of a failed request
    account: Account | None = None  # what the person may spend today; None for no limit

    def within(self, announced: Estimate) -> Connection:
        """The same for a run of no more requests than announced; any number where none were."""
        own, most = self.budget.calls, announced.most_calls
        if not most:
            return self
        calls = most if own is None else min(own, most)
        return replace(self, budget=replace(self.budget, calls=calls))
