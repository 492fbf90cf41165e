"""Endpoints of language models: which one is asked, with which key, at which cost, and errors.

Texts of servers go through :func:`scrub` first: some repeat the key that they were sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit, urlunsplit

import httpx2
from pydantic import SecretStr

from engine.config import Settings
from engine.errors import BadInputError, NotAllowedError, SeedLensError
from engine.permissions import check_lead
from engine.types.models import Estimate, ModelUsage
from engine.types.people import OPERATOR, Person

if TYPE_CHECKING:
    from storage.people import Spending, Spent

MOST_CHARS = 300
HIDDEN = "***"
_BEARER = re.compile(r"(?i)\b(bearer\s+)\S+")


class EndpointError(SeedLensError):
    """The language model endpoint could not do what it was asked."""

    def __init__(
        self, message: str, remedy: str = "", pause: float | None = None, hint: str = ""
    ) -> None:
        super().__init__(message, remedy)
        self.pause, self.hint = pause, hint


class NoEndpointError(EndpointError):
    """No endpoint is set, or its settings cannot be used."""


class TransientError(EndpointError):
    """Asking again may help."""


class RefusedError(EndpointError):
    """The endpoint will not answer, however often it is asked: the run stops."""


class UnsupportedError(RefusedError):
    """The endpoint refuses the form of a request, most likely a parameter."""


class TooLongError(EndpointError):
    """One request is longer than the model's context."""


class BudgetReachedError(EndpointError):
    """The next call would go beyond the budget that was set."""


def scrub(text: str, key: str) -> str:
    """``text`` in one line of at most 300 characters, without the key.

    >>> scrub("Incorrect API key: sk-12345", "sk-12345")
    'Incorrect API key: ***'
    """
    if len(key) >= 4:  # shorter ones ("x") are no secret and would tear words apart
        for form in (key, quote(key, safe="")):
            text = text.replace(form, HIDDEN)
    return " ".join(_BEARER.sub(rf"\1{HIDDEN}", text).split())[:MOST_CHARS]


# -- what a run may cost ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Price:
    """Price per million tokens, in whatever currency the person counts."""

    input: float = 0.0
    output: float = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """What these tokens cost.

        >>> Price(2.0, 8.0).cost(500_000, 100_000)
        1.8
        """
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one run; None is no limit."""

    calls: int | None = None  # requests sent, repeated ones included
    # input and output together. A model that thinks may exceed it by what the calls under way think
    # beyond the usual.
    tokens: int | None = None
    cost: float | None = None  # in the currency of ``price``, which it needs
    price: Price | None = None

    def __post_init__(self) -> None:
        limits = (self.calls, self.tokens, self.cost)
        if any(limit is not None and not limit >= 0 for limit in limits):
            raise BadInputError("A budget cannot be below zero.", "Give 0 or more, or no limit.")
        if self.cost is not None and self.price is None:
            raise BadInputError(
                "A limit of cost needs the price of the tokens.",
                "Give the price per million input and output tokens too.",
            )

    def reached_by(self, calls: int, tokens_in: int, tokens_out: int) -> str:
        """The limit that these go beyond, in words; "" for none."""
        if self.calls is not None and calls > self.calls:
            return f"{self.calls:,} calls"
        if self.tokens is not None and tokens_in + tokens_out > self.tokens:
            return f"{self.tokens:,} tokens"
        if self.cost is not None and self.price is not None:
            return f"a cost of {self.cost:g}" * (self.price.cost(tokens_in, tokens_out) > self.cost)
        return ""


@dataclass(frozen=True, slots=True)
class Account:
    """What one person, by address, may have asked today, whatever the run."""

    person: str
    limits: Budget
    spending: Spending

    def hold(self, sent: int, answered: int) -> None:
        """Set tokens aside for a call that starts now; BudgetReachedError where today's budget is
        exceeded."""

        def check(spent: Spent) -> None:
            tokens = spent.input_tokens + sent, spent.output_tokens + answered
            if limit := self.limits.reached_by(spent.calls + 1, *tokens):
                raise BudgetReachedError(
                    f"Your budget of {limit} a day is reached; what was answered counts.",
                    "Go on tomorrow: answers that are there are not asked for twice.",
                )

        self.spending.add(self.person, 1, sent, answered, check)

    def settle(self, held: tuple[int, int], used: tuple[int, int]) -> None:
        """End a call that :meth:`hold` began, with the tokens that it took."""
        self.spending.add(self.person, 0, used[0] - held[0], used[1] - held[1])


class Meter:
    """Counts what is used and says when the budget is reached. For one event loop."""

    def __init__(self, budget: Budget, account: Account | None = None) -> None:
        self._budget, self._account = budget, account
        self._calls = self._input = self._output = self._guessed = 0
        self._held_input = self._held_output = 0

    @property
    def usage(self) -> ModelUsage:
        """What was used so far; calls under way count as calls, not yet as tokens."""
        price = self._budget.price
        return ModelUsage(
            calls=self._calls,
            input_tokens=self._input,
            output_tokens=self._output,
            guessed=self._guessed,
            cost=None if price is None else price.cost(self._input, self._output),
        )

    def hold(self, input_tokens: int, output_tokens: int) -> None:
        """Set tokens aside for a call that starts now; BudgetReachedError, with nothing set aside,
        where the budget would be exceeded."""
        tokens_in = self._input + self._held_input + input_tokens
        tokens_out = self._output + self._held_output + output_tokens
        if limit := self._budget.reached_by(self._calls + 1, tokens_in, tokens_out):
            raise BudgetReachedError(
                f"The budget of {limit} is reached; what was answered until then counts.",
                "Raise the budget and run again: answers that are there are not asked for twice.",
            )
        if self._account is not None:
            self._account.hold(input_tokens, output_tokens)
        self._calls += 1
        self._held_input += input_tokens
        self._held_output += output_tokens

    def settle(
        self, held: tuple[int, int], used: tuple[int, int] | None, *, answered: bool
    ) -> None:
        """End a call that :meth:`hold` began; where the endpoint answered, or may have, ``held``
        stands in for a missing report of what was ``used``."""
        self._held_input -= held[0]
        self._held_output -= held[1]
        if used is None and answered:
            self._guessed += 1
            used = held
        if self._account is not None:
            self._account.settle(held, used or (0, 0))
        if used is not None:
            self._input += used[0]
            self._output += used[1]


Stopped = Literal["", "cancelled", "budget", "endpoint"]
"""Why no more questions are asked; empty while they are, or when all were."""


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """How far the current round is: ``done`` of ``total`` questions are settled."""

    done: int
    total: int
    usage: ModelUsage


# -- the endpoint ----------------------------------------------------------------------------------

DEFAULT_ADDRESS = "https://api.openai.com/v1"
ADDRESS, KEY, MODEL = "OPENAI_BASE_URL", "OPENAI_API_KEY", "SEEDLENS_LLM_MODEL"
"""What the settings are called, in the environment, in secrets.toml and in a page's session."""


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
    concurrency: int = 8  # requests under way at once
    timeout: float = 60.0  # seconds of silence until a request counts as lost
    retries: int = 4  # of a failed request
    account: Account | None = None  # what the person may spend today; None for no limit

    def within(self, announced: Estimate) -> Connection:
        """The same for a run of no more requests than announced; any number where none were."""
        own, most = self.budget.calls, announced.most_calls
        if not most:
            return self
        calls = most if own is None else min(own, most)
        return replace(self, budget=replace(self.budget, calls=calls))
