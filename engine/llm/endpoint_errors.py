"""What can go wrong between SeedLens and a language model endpoint.

Texts of servers go through :func:`scrub` first: some repeat the key that they were sent.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from engine.errors import SeedLensError

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
