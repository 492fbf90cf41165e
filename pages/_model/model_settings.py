"""Where the pages take the language model's endpoint from: this visit, and ``secrets.toml``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.reranking import EndpointInfo
from pages._common.kit import Html, button, el, line, submit
from pages._common.shared import as_ours, engine, escape, escape_label, note
from pages._common.visit_memory import memory
from pages._common.waiting import beside, renew_when
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


def chosen(explorer: Explorer) -> Any:
    """The endpoint of this visit, None for the environment's; SeedLensError where what was entered,
    or stands in ``secrets.toml``, cannot be used."""
    return explorer.verifier.find_endpoint(session_values(), read_secrets()[0])


def usable(explorer: Explorer) -> Any:
    """The endpoint of this visit, for an estimate; None where none can be used."""
    return chosen(explorer) if endpoint(explorer).set_up else None


def endpoint(explorer: Explorer) -> EndpointInfo:
    """The endpoint that this visitor's questions would go to; nothing is asked."""
    try:
        return explorer.verifier.endpoint(chosen(explorer))
    except SeedLensError as error:
        return EndpointInfo("", "", set_up=False, problem=str(error), how=explorer.verifier.how)


def read_secrets() -> tuple[dict[str, str], str]:
    """What ``secrets.toml`` says at its top level, and what is wrong with it, "" for nothing."""
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


_CHECK, _PROBLEM, _OFFERED = "model_check", "model_problem", "model_offered_names"


def endpoint_panel(explorer: Explorer) -> EndpointInfo:
    """What is connected and what it can do; a form to connect another. At most once per page."""
    info = endpoint(explorer)
    st.html(_status(info))
    if problem := read_secrets()[1]:
        note(problem)
    problem = st.session_state.get(_PROBLEM, "")
    if problem and not _checking():
        note(f"{info.model or 'The model'} did not respond.", problem, kind="error")
    if not login.acting().is_lead:
        note("Only leads can connect a model.", "Ask a lead or your administrator.")
        return info
    if not info.set_up:
        words = "Works with any OpenAI-compatible endpoint. Enter it here for this session, or "
        ways = el("ul", (el("li", _code(way)) for way in info.how))
        st.html(el("div.md-how", f"{words}configure it on the server.", ways))
    _form(info)
    if _checking():
        renew_when(lambda: not _checking(), _take_answer, every=0.3)
    return info


def folded_panel(explorer: Explorer, page: str, *, needed: bool = True) -> None:
    """:func:`endpoint_panel` in an expander, open where what the page shows needs a model."""
    info = endpoint(explorer)
    label = f"Language model: {info.model}" if info.set_up else "Language model: none connected"
    opened = is_panel_busy() or (needed and not info.set_up)
    # The key says whether it should be open: as it is, a person may close it.
    with st.expander(escape_label(label), expanded=opened, key=f"{page}_panel_{opened}"):
        endpoint_panel(explorer)


def calls_box(explorer: Explorer, key: str) -> None:
    """A limit of requests, for this visit; that of the settings holds all the same."""
    limit = explorer.settings.llm_max_calls
    st.number_input(
        "Max requests",
        min_value=1,
        max_value=limit or None,
        value=None,
        step=100,
        key=key,
        placeholder="no limit" if limit is None else f"{limit:,}",
        width=170,
        persist_state="session",
        help="Maximum number of requests, including retries. Partial results are kept.",
    )


def most_calls(key: str) -> int | None:
    """The limit that was entered; None for that of the settings."""
    value = st.session_state.get(key)
    return None if value is None else int(value)


def is_panel_busy() -> bool:
    """Whether a trial of the endpoint is under way or has found a problem: worth an open panel."""
    return _checking() or bool(st.session_state.get(_PROBLEM))


def _status(info: EndpointInfo) -> Html:
    if not info.set_up:
        return el("div.md-endpoint", el("strong", info.problem))
    parts = ["not tested yet"]
    if info.tried:
        known = {None: "", True: "token probabilities", False: "no token probabilities"}
        context = f"context window: {info.context:,} tokens" if info.context else ""
        slow = "reasoning model: slower, more tokens" if info.reasons else ""
        parts = [known[info.logprobs], slow, context]
    parts.append("entered here" if session_values().get(ADDRESS) else "configured on the server")
    address = el("span", f"at {info.address}")
    can = el("div.sl-dim", " · ".join(filter(None, parts)))
    return el("div.md-endpoint", el("strong", info.model), " ", address, can)


def _form(info: EndpointInfo) -> None:
    own, checking = session_values(), _checking()
    for key, value in (("model_address", own.get(ADDRESS)), ("model_name", own.get(MODEL))):
        st.session_state.setdefault(key, value or "")
    with st.form("model_form", border=False):
        shown = info.address or "http://localhost:8000/v1"
        st.text_input("Address", key="model_address", placeholder=shown, autocomplete="off")
        left, right = st.columns(2)
        shown = info.model or "model name"
        left.text_input("Model", key="model_name", placeholder=shown, autocomplete="off")
        words = "Sent only to this address. Kept in server memory until you disconnect or after 12 "
        words += "hours of inactivity. Never stored."
        shown = "kept" if own.get(KEY) else "optional"
        right.text_input(
            "Key",
            key="model_key",
            type="password",
            help=words,
            autocomplete="new-password",
            placeholder=shown,
        )
        with line():
            submit("Connect", "model_connect", _connect, type="primary", disabled=checking)
    if offered := st.session_state.get(_OFFERED):
        key = "model_offered"
        st.pills("Available models", offered, key=key, format_func=escape_label, on_change=_take)
    with line():
        if info.set_up:
            words = "Sends a short test request and detects what the model supports."
            button("Check", "model_check_button", _check, help=words, disabled=checking)
        if own:
            words = "Forgets the address, model and key entered here."
            button("Disconnect", "model_forget", _forget, help=words, disabled=checking)


def _connect() -> None:
    """Take over what can be used of what was entered; a key stays with its address."""
    state, own = st.session_state, session_values()
    address = state["model_address"].strip()
    same = address == own.get(ADDRESS, "")
    values = {
        ADDRESS: address,
        MODEL: state["model_name"].strip(),
        KEY: state["model_key"].strip() or (own.get(KEY, "") if same else ""),
    }
    verifier, secrets = engine().verifier, read_secrets()[0]
    state.pop(_OFFERED, None)
    try:
        verifier.find_endpoint(values, secrets)
    except SeedLensError as error:
        state[_PROBLEM] = str(error)
        if address and not values[MODEL]:
            unnamed, problem = values | {MODEL: "unnamed"}, f"{error.message} Enter its name below."
            state[_CHECK] = beside(
                lambda: (problem, verifier.offered(verifier.find_endpoint(unnamed, secrets)))
            )
        return
    state["model_key"] = ""
    remember_for_session(values)
    _check()


def _take() -> None:
    st.session_state["model_name"] = st.session_state["model_offered"] or ""
    _connect()


def _forget() -> None:
    memory().pop(_CONNECTION, None)
    for key in ("model_address", "model_name", "model_key"):
        st.session_state[key] = ""
    st.session_state.pop(_PROBLEM, None)
    st.session_state.pop(_CHECK, None)


# -- trying the endpoint -------------------------------------------------------------------


def _check() -> None:
    """Try the endpoint beside the page: one that does not answer takes its time to say so."""
    st.session_state.pop(_PROBLEM, None)
    verifier, session, secrets = engine().verifier, session_values(), read_secrets()[0]
    st.session_state[_CHECK] = beside(
        lambda: (verifier.check(verifier.find_endpoint(session, secrets)).problem, [])
    )


def _checking() -> bool:
    return _CHECK in st.session_state


def _take_answer() -> None:
    """Say that the endpoint is asked; once it has answered, nothing: a run of the page that the
    fragment asks for can lose its end, and would leave the words."""
    trial: Future[tuple[str, list[str]]] | None = st.session_state.get(_CHECK)
    if trial is None:
        return
    if not trial.done():
        st.html(el("span.sl-dim", "Testing the endpoint…", role="status"))
        return
    del st.session_state[_CHECK]
    try:
        st.session_state[_PROBLEM], st.session_state[_OFFERED] = trial.result()
    except Exception as error:
        st.session_state[_PROBLEM] = str(as_ours(error, "Connection test failed."))


def _code(words: str) -> Html:
    """A line of instructions: what stands in backticks is code."""
    parts = words.split("`")
    return Html("".join(el("code", p) if i % 2 else escape(p) for i, p in enumerate(parts)))
