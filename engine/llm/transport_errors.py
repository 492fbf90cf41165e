"""What goes wrong between here and an endpoint, as errors of ours, free of the key."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping

import openai

from engine.llm.endpoint_errors import (
    EndpointError,
    RefusedError,
    TooLongError,
    TransientError,
    UnsupportedError,
    WithheldError,
    scrub,
)
from engine.llm.endpoints import KEY, MODEL, Endpoint

TIMEOUT, CONCURRENCY = "SEEDLENS_LLM_TIMEOUT_SECONDS", "SEEDLENS_LLM_CONCURRENCY"
_TOO_LONG = re.compile(
    r"context[ _]?(?:length|window|size)|maximum (?:context|.{0,20}tokens)|too (?:long|many tokens)"
    r"|prompt is too|exceeds? the (?:model|context|maximum)|longer than the (?:model|maximum)"
    r"|max_model_len|(?:less|fewer) than \d[\d,]* tokens|max_new_tokens`? must be"
    r"|reduce the length of",
    re.IGNORECASE,
)
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_PERSISTENT = (
    f"Check the address (it usually ends in /v1), {KEY} and {MODEL}; "
    "`seedlens doctor` tries them out."
)


def explained(error: Exception, endpoint: Endpoint) -> EndpointError:
    """The client's error as one of ours, free of the key."""
    where = endpoint.address
    if isinstance(error, openai.APIStatusError):
        return _status(error, endpoint)
    if isinstance(error, (openai.APIConnectionError, OSError)):
        return TransientError(
            f"{where} cannot be reached, or broke off.", "Check that it runs, and its address."
        )
    said = scrub(str(error), endpoint.key.get_secret_value())
    if type(error) is openai.APIError:  # within a stream
        return broken_off(endpoint, said)
    return RefusedError(f"{where} could not be asked: {said}", _PERSISTENT)


def timed_out(endpoint: Endpoint, timeout: float, *, responsive: bool) -> EndpointError:
    """Nothing came for so many seconds; where nothing came before, asking again is no use."""
    remedy = (
        f"If the model is slow, set {TIMEOUT} to more seconds, or {CONCURRENCY} to fewer requests "
        "at once."
    )
    if responsive:
        return TransientError(f"{endpoint.address} sent nothing for {timeout:g} s.", remedy)
    return RefusedError(
        f"{endpoint.address} answered nothing within {timeout:g} s; the run ends here.", remedy
    )


def broken_off(endpoint: Endpoint, said: str = "") -> TransientError:
    """A streamed answer ended before its end."""
    quoted = f" ({said})" if said else ""
    return TransientError(
        f"{endpoint.address} broke off in the middle of an answer{quoted}.", "Ask again."
    )


def garbled(endpoint: Endpoint) -> TransientError:
    """The answer was no chat completion."""
    return TransientError(
        f"{endpoint.address} sent an answer that is no chat completion.",
        "If this happens every time, the address is not that of an OpenAI-compatible endpoint; "
        "it usually ends in /v1.",
    )


def _status(error: openai.APIStatusError, endpoint: Endpoint) -> EndpointError:
    status, where = error.status_code, endpoint.address
    said = scrub(_server_message(error), endpoint.key.get_secret_value())
    quoted = f" ({said})" if said else ""
    code = str(error.code or "")
    if status == 429 and (code in _NO_CREDIT or str(error.type) in _NO_CREDIT):
        return RefusedError(
            f"The account at {where} has no credit left{quoted}.", "Top it up, or use another."
        )
    if status in (408, 409, 425, 429) or status >= 500:
        busy = "is busy" if status == 429 else f"failed with status {status}"
        return TransientError(
            f"{where} {busy}{quoted}.",
            "Run again later: answers that are there are not asked for twice.",
            retry_after(error.response.headers),
        )
    if status in (400, 413, 422):
        return _bad_request(error, status, where, said)
    return RefusedError(*_refusal(status, endpoint, quoted, error))


def _bad_request(error: openai.APIStatusError, status: int, where: str, said: str) -> EndpointError:
    code = str(error.code or "")
    quoted = f" ({said})" if said else ""
    if status == 413 or code == "context_length_exceeded" or _TOO_LONG.search(said):
        return TooLongError(f"A question was too long for the model at {where}{quoted}.")
    if code in ("content_filter", "content_policy_violation"):
        return WithheldError(f"{where} withheld an answer{quoted}.")
    return UnsupportedError(
        f"{where} does not accept the request{quoted}.",
        "If the message names a setting, change it; otherwise another model may do.",
        hint=f"{error.param or ''} {said}".lower(),
    )


def _refusal(
    status: int, endpoint: Endpoint, quoted: str, error: openai.APIStatusError
) -> tuple[str, str]:
    where = endpoint.address
    if status == 401:
        if not endpoint.key.get_secret_value():
            return f"{where} needs a key{quoted}.", f"Set one ({KEY})."
        return f"{where} does not accept the key{quoted}.", f"Enter the right key ({KEY})."
    if status == 403:
        return (
            f"{where} forbids the use of '{endpoint.model}' with this key{quoted}.",
            "Ask its owner for access, or choose another model.",
        )
    if status == 404:
        return (
            f"{where} has no model '{endpoint.model}', or is not the address of an endpoint"
            f"{quoted}.",
            f"Check {MODEL} and the address (it usually ends in /v1).",
        )
    if 300 <= status < 400:
        target = scrub(error.response.headers.get("location", ""), endpoint.key.get_secret_value())
        return (
            f"{where} points to another address: {target}.",
            "Enter that address, if you trust it.",
        )
    return f"{where} refused with status {status}{quoted}.", _PERSISTENT


def _server_message(error: openai.APIStatusError) -> str:
    """The server's own words, where it has some that are meant for people."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, Mapping) else inner
        detail = message or body.get("message") or body.get("detail") or ""
        return str(detail)
    text = str(body or "")
    return "" if text.lstrip().startswith("<") else text  # a page of HTML explains nothing


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait, from ``Retry-After`` (seconds or a date)."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    when = email.utils.parsedate_tz(headers.get("retry-after", ""))
    if when is None:
        return None
    try:
        return max(0.0, email.utils.mktime_tz(when) - time.time())
    except (OverflowError, ValueError):
        return None
