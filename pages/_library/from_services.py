"""Adding documents from a service on the internet: ask, see what is there, name it, start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.corpora import (
    DEFAULT_DOCUMENTS,
    Found,
    ImportJob,
    ServiceInfo,
    ServiceQueries,
    ServiceQuery,
)
from engine.types.lenses import Lens
from engine.types.limits import PASTED_CHARS, SERVICE_DOCUMENTS
from pages._common.outside_text import escape
from pages._common.shared import (
    escape_label,
    forget_problem,
    remembered,
    show_error,
)
from pages._library.corpus_list import cut
from pages._library.naming import ask_name, start_button
from pages._login import login

_FOUND = "library_service_found"
_ASKED = "library_service_asked"
_CHOSEN = (
    _ASKED, "library_service", "library_service_limit", "library_service_abstract",
    "library_service_text_",
)  # fmt: skip
"""Keys of what an import goes by; see :func:`as_drawn`."""
TITLE_CHARACTERS = 200
IDS = 10
"""Ids that are named where they do not exist."""


def from_services(explorer: Explorer, documents: Mapping[str, int], running: set[str]) -> None:
    """The form, as far as it is filled in; arguments as :func:`ask_name`."""
    services = {service.key: service for service in explorer.library.services}
    chosen = st.segmented_control(
        "Service",
        list(services),
        default=next(iter(services)),
        format_func=lambda key: services[key].name,
        required=True,
        key="library_service",
        persist_state="session",
    )
    service = services[chosen or next(iter(services))]
    text, limit, with_abstract = _ask(service)
    st.button(
        f"Search {service.name}",
        key="library_service_look",
        on_click=_remember_asked,
        args=(service.key,),
    )
    if st.session_state.get(_ASKED) != (service.key, text):
        return
    found = _found(explorer, service, text)
    if isinstance(found, SeedLensError):
        show_error(found)
        return
    # Ids are wanted all; a limit is for what is searched.
    limit = found.query.limit if found.query.ids else limit
    query = replace(found.query, limit=limit, with_abstract=with_abstract)
    st.html(found_card(found, query, service.name))
    if found.total == 0 or not (found.looked_at or found.total):
        return
    name, lens = ask_name(explorer, str(query), query.digest, documents, running)
    start = partial(_start, explorer, query, name, lens)
    start_button("Import", "library_service_start", start, _CHOSEN, disabled=lens is None)


def _ask(service: ServiceInfo) -> tuple[str, int, bool]:
    """What is asked for, how many documents of a search at most, and whether only those with an
    abstract."""
    st.html(f'<div class="lib-card lib-dim">{escape(service.help)}</div>')
    text = st.text_area(
        "Search words or ids" if service.searches else "Ids",
        key=_text_key(service.key),
        placeholder=f"For example: {service.example}",
        max_chars=PASTED_CHARS,
        height=68,
        width=720,
        persist_state="session",
        on_change=forget_problem,
    )
    limit = DEFAULT_DOCUMENTS
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        if service.searches:
            limit = st.number_input(
                "Max documents",
                1,
                SERVICE_DOCUMENTS,
                DEFAULT_DOCUMENTS,
                key="library_service_limit",
                persist_state="session",
                width=180,
                help="For searches. All IDs are requested.",
            )
        with_abstract = st.checkbox(
            "Skip documents without an abstract",
            key="library_service_abstract",
            persist_state="session",
            help="Otherwise the title is used as text.",
        )
    return str(text or ""), int(limit), with_abstract


def _remember_asked(service: str) -> None:
    """Ask for what stands in the field now, which a click may be the first to tell."""
    forget_problem()
    st.session_state.pop(_FOUND, None)  # asking again is asking anew
    st.session_state[_ASKED] = (service, st.session_state.get(_text_key(service)) or "")


def _text_key(service: str) -> str:
    return f"library_service_text_{service}"


def _found(explorer: Explorer, service: ServiceInfo, text: str) -> Found | SeedLensError:
    """What a service has; it is asked once for each click, also where it did not answer."""

    def look_up() -> Found | SeedLensError:
        library = explorer.library
        with st.spinner(f"Searching {escape_label(service.name)}"):
            try:
                return library.look_up(library.service_query(service.key, text))
            except SeedLensError as error:
                return error

    return remembered(_FOUND, (service.key, text), look_up)


def found_card(found: Found, query: ServiceQuery, name: str) -> str:
    """How much there is, the first titles, and what will be left out; all of it escaped."""
    if not found.looked_at and not found.missing:
        return f'<div class="sl-empty" role="status">No results at {escape(name)}.</div>'
    many = "documents" if found.total is None else counted(found.total, "document")
    first = len(found.titles)
    head = f"{many} from {name}"
    if query.ids:
        head = f"{len(query.ids):,} ids." if len(query.ids) > 1 else "1 id."
    titles = "".join(
        f"<li>{escape(cut(title, TITLE_CHARACTERS)) or '(no title)'}</li>" for title in found.titles
    )
    lines = []
    if found.total is not None and found.total > query.limit:
        lines.append(f"Importing the first {query.limit:,}.")
    if found.without_abstract:
        then = "skipped" if query.with_abstract else "indexed by title"
        lines.append(
            f"{found.without_abstract:,} of the first {found.looked_at:,} have no abstract and "
            f"will be {then}."
        )
    if found.missing:
        ids = ", ".join(cut(id_, 80) for id_ in found.missing[:IDS])
        more = f" and {len(found.missing) - IDS:,} more" if len(found.missing) > IDS else ""
        lines.append(f"Unknown IDs among the first: {ids}{more}.")
    said = "".join(f"<div>{escape(line)}</div>" for line in lines)
    list_head = f'<div class="lib-dim">The first {first}</div>' if first > 1 else ""
    return (
        f'<div class="lib-card" role="status"><strong>{escape(head)}</strong>'
        f"{list_head}<ul>{titles}</ul>{said}</div>"
    )


def _start(explorer: Explorer, query: ServiceQuery, name: str, lens: Lens | None) -> ImportJob:
    queries = ServiceQueries((query,))
    job = explorer.library.start_import(queries, name, lens=lens, owner=login.owner())
    # An empty form says that this one is under way.
    st.session_state[_text_key(query.service)] = ""
    st.session_state.pop(_ASKED, None)
    return job
