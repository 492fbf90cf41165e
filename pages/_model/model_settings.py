"""Where the pages take the language model's endpoint from: this visit, and ``secrets.toml``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.reranking import EndpointInfo
from pages._common.visit_memory import memory
from pages._login import login

ADDRESS, KEY, MODEL = "OPENAI_BASE_URL", "OPENAI_API_KEY", "SEEDLENS_LLM_MODEL"
NAMES = (ADDRESS, KEY, MODEL)
_CONNECTION = "model_connection"
log = logging.getLogger("seedlens")


def session_values() -> dict[str, str]:
    """What a lead entered on a page: for this visit only, in the server's memory only. Nothing
    where they are none any more."""
    return dict(memory().get(_CONNECTION, {})) if login.acting().is_lead else {}


def remember_for_session(values: Mapping[str, str]) -> None:
    """Keep what was entered on a page for the visit; nothing of it goes elsewhere."""
    memory()[_CONNECTION] = {n: values[n].strip() for n in NAMES if values.get(n, "").strip()}


def forget_session() -> None:
    """Forget what was entered on a page."""
    memory().pop(_CONNECTION, None)


def secrets_values() -> dict[str, str]:
    """What ``secrets.toml`` says at its top level; empty where there is none that can be read."""
    return _read_secrets()[0]


def secrets_problem() -> str:
    """What is wrong with ``secrets.toml``; "" when nothing is, or when there is none."""
    return _read_secrets()[1]


def chosen(explorer: Explorer) -> Any:
    """The endpoint of this visit, for what asks a model; None for the environment's.

    Raises:
        SeedLensError: what was entered, or stands in ``secrets.toml``, cannot be used.
    """
    return explorer.verifier.find_endpoint(session_values(), secrets_values())


def usable(explorer: Explorer) -> Any:
    """The endpoint of this visit, for an estimate; None where none can be used."""
    return chosen(explorer) if endpoint(explorer).set_up else None


def endpoint(explorer: Explorer) -> EndpointInfo:
    """The endpoint that this visitor's questions would go to; nothing is asked."""
    try:
        return explorer.verifier.endpoint(chosen(explorer))
    except SeedLensError as error:
        return EndpointInfo("", "", set_up=False, problem=str(error), how=explorer.verifier.how)


def _read_secrets() -> tuple[dict[str, str], str]:
    try:
        values: Mapping[str, Any] = st.secrets.to_dict()
    except Exception as error:  # whatever stands in it: the page must open all the same
        paths = [Path(path) for path in st.get_option("secrets.files")]
        broken = next((path for path in paths if path.exists()), None)
        if broken is None:
            return {}, ""
        # Not the error's words: they may quote a line of the file.
        log.warning("%s cannot be read (%s).", broken, type(error).__name__)
        return {}, f"Ignoring {broken}: invalid TOML (strings need quotes)."
    return {n: str(values[n]).strip() for n in NAMES if isinstance(values.get(n), str)}, ""
