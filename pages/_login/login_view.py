"""What the gate shows: logging in, being refused, and who is here."""

from __future__ import annotations

import logging

import streamlit as st

from engine.errors import LoginSetupError, NotLoggedInError, RefusedError
from engine.types.people import Person
from pages._common.kit import el, html
from pages._common.shared import ASSETS
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
                _log_once(logging.ERROR, f"Nobody can open SeedLens: {error}")
                words = "Login is misconfigured. See the server log."
                _frame("SeedLens is closed", words, "alert")
        st.stop()
    return person


def corner(person: Person | None) -> None:
    """The name of who is here, and the way out, at the top right."""
    if person is None:
        return
    st.html(ASSETS / "components" / "login_page.css")
    with st.container(key="login_corner"), st.popover(person.name, type="tertiary"):
        role = "Lead" if person.is_lead else "Annotator"
        lines = (el("strong", person.name), person.address, role)
        st.html(el("div.lg-who", (el("div", words) for words in lines)))
        if st.button("Log out", key="login_out", width="stretch"):
            forget_visit()
            _login.log_out()


def _frame(heading: str, words: object, role: str = "") -> None:
    """Our name, and what there is to say, in the middle of the page."""
    st.html(ASSETS / "components" / "login_page.css")
    st.image(ASSETS / "logo.png", width=64)
    st.html(el("div.lg-words", el("h1", heading), el("p", words), role=role))


def _ask_to_log_in() -> None:
    _frame("SeedLens", "Find documents similar in one aspect, and annotate them.")
    login = _login.login()
    for provider in login.providers if login else ():
        named = "" if provider.name == "default" else provider.name
        label = f"Log in with {named.title()}" if named else "Log in"
        if st.button(label, key=f"login_with_{provider.name}", type="primary"):
            st.login(named or None)


def _refuse(error: RefusedError) -> None:
    _log_once(logging.WARNING, f"Refused {error.address!r}: {error.message}")
    who = error.address and html("You logged in as ", el("b", error.address), ". ")
    _frame("Access denied", (who, f"{error.message} {error.remedy}"), "alert")
    if st.button("Log out", key="login_out", type="primary"):
        _login.log_out()


def _log_once(level: int, words: str) -> None:
    """Log what a visit is told, not every time that it is told again."""
    if st.session_state.get("login_logged") != words:
        st.session_state["login_logged"] = words
        log.log(level, "%s", words)
