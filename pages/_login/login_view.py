"""What the gate shows: logging in, being refused, and who is here."""

from __future__ import annotations

import logging

import streamlit as st

from engine.errors import LoginSetupError, NotLoggedInError, RefusedError
from engine.types.people import Person, Provider
from pages._common.outside_text import escape
from pages._common.shared import ASSETS, note
from pages._common.visit_memory import forget_visit
from pages._login import login as _login

log = logging.getLogger("seedlens")


def gate() -> Person | None:
    """Who is here, once they may be; None where no login is asked for. Nobody else gets further."""
    try:
        person = _login.admit()
    except (NotLoggedInError, RefusedError, LoginSetupError) as error:
        with st.container(key="login_page", horizontal_alignment="center"):
            if isinstance(error, NotLoggedInError):
                _ask_to_log_in()
            elif isinstance(error, RefusedError):
                _refuse(error)
            else:
                _closed(error)
        st.stop()
    return person


def corner(person: Person | None) -> None:
    """The name of who is here, and the way out, at the top right."""
    if person is None:
        return
    st.html(ASSETS / "components" / "login_page.css")
    with st.container(key="login_corner"), st.popover(person.name, type="tertiary"):
        role = "Lead" if person.is_lead else "Annotator"
        st.html(
            f'<div class="lg-who"><strong>{escape(person.name)}</strong><br>'
            f"{escape(person.address)}<br>{role}</div>"
        )
        if st.button("Log out", key="login_out", width="stretch"):
            forget_visit()
            _login.log_out()


def for_leads(title: str) -> None:
    """What an annotator sees of a page for leads."""
    note(f"{title} is for leads.", "Ask a lead, or choose another page.")


def _frame(heading: str, words: str, kind: str = "") -> None:
    """Our name, and what there is to say, in the middle of the page."""
    st.html(ASSETS / "components" / "login_page.css")
    st.image(ASSETS / "logo.png", width=64)
    role = f' role="{kind}"' if kind else ""
    st.html(f'<div class="lg-words"{role}><h1>{escape(heading)}</h1><p>{words}</p></div>')


def _ask_to_log_in() -> None:
    _frame(
        "SeedLens",
        "Explore a corpus from one document through one aspect of it, and judge what you find.",
    )
    login = _login.login()
    for provider in login.providers if login else ():
        if st.button(_label(provider), key=f"login_with_{provider.name}", type="primary"):
            st.login(None if provider.name == "default" else provider.name)


def _label(provider: Provider) -> str:
    return "Log in" if provider.name == "default" else f"Log in with {provider.name.title()}"


def _refuse(error: RefusedError) -> None:
    _log_once(logging.WARNING, f"Refused {error.address!r}: {error.message}")
    who = f"You logged in as <b>{escape(error.address)}</b>. " if error.address else ""
    _frame("You cannot enter", who + escape(f"{error.message} {error.remedy}"), "alert")
    if st.button("Log out", key="login_out", type="primary"):
        _login.log_out()


def _log_once(level: int, words: str) -> None:
    """Log what a visit is told, not every time that it is told again."""
    if st.session_state.get("login_logged") != words:
        st.session_state["login_logged"] = words
        log.log(level, "%s", words)


def _closed(error: LoginSetupError) -> None:
    _log_once(logging.ERROR, f"Nobody can open SeedLens: {error}")
    _frame(
        "SeedLens is closed",
        "Its login is not set up as it should be. Whoever runs it finds the reason in the log in "
        "the terminal.",
        "alert",
    )
