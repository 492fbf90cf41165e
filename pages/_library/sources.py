"""Adding documents of others, from a service or a data set; the name of a corpus, and its start."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.corpora import (
    DEFAULT_DOCUMENTS,
    CorpusInfo,
    DatasetInfo,
    Found,
    NamedDataset,
    ServiceInfo,
    ServiceQueries,
    ServiceQuery,
)
from engine.types.lenses import Lens
from engine.types.limits import PASTED_CHARS, SERVICE_DOCUMENTS
from pages._common.kit import Html, button, el, facts, fold, line, segments, select
from pages._common.shared import (
    as_drawn,
    escape_label,
    forget_problem,
    note,
    remembered,
    show_error,
)
from pages._library.lens import choose_lens
from pages._login import login

_KEYS = ("library_way", "library_into", "library_name_", "library_new_lens", "library_new_field_")
"""Keys of what each import goes by; see :func:`as_drawn`."""


def cut(text: str, most: int) -> str:
    """The beginning of a long text, with a sign that there is more."""
    return text if len(text) <= most else text[:most] + " …"


INTO, NEW = "library_into", ""
"""Key of the box with the corpus that documents are added to, and its choice of a new one."""


@dataclass(frozen=True)
class Naming:
    """What the name of a corpus depends on; ``running``: names of those that are being indexed."""

    explorer: Explorer
    corpora: Mapping[str, CorpusInfo]
    running: Container[str]

    def start(
        self,
        suggested: str,
        source: str,
        key: str,
        start: Callable[[str, Lens], object],
        chosen: tuple[str, ...],
        *,
        label: str = "Import",
        ready: bool = True,
    ) -> None:
        """The corpus that documents go to, the button that starts an import, and the lens of a new
        corpus.

        Args:
            source: what is typed holds for that.
            start: gets name and lens.
            chosen: keys of the other widgets that it goes by; see :func:`as_drawn`.
            ready: whether there is something to import.
        """
        library = self.explorer.library
        names = {NEW: "New corpus", **{name: info.title for name, info in self.corpora.items()}}
        if st.session_state.get(INTO) not in names:  # it was deleted
            st.session_state[INTO] = NEW
        with line(align="bottom"):
            name = select("Add to", names, INTO, persist_state="session", width=240)
            if name == NEW:
                typed = st.text_input(
                    "Corpus name",
                    library.suggest_name(suggested),
                    key=f"library_name_{source}",
                    live="300ms",
                    persist_state="session",
                    width=300,
                )
                name = library.stored_name(" ".join(typed.split()))
            place = st.empty()
        lens = None
        if self._fits(name):
            if name in self.corpora:  # it keeps its own
                lens = self.corpora[name].lens
            else:
                with fold("Lens", "library_new_fold", opened=False):
                    lens = choose_lens(self.explorer, "library_new")

        def do() -> None:
            if lens is not None:
                start(name, lens)
                st.session_state[INTO] = NEW

        look: Any = {"type": "primary", "disabled": lens is None or not ready}
        with place:
            button(label, key, as_drawn((*_KEYS, *chosen), do), place="imports", **look)

    def _fits(self, name: str) -> bool:
        """Whether a corpus can have this name; what becomes of one that has it is said."""
        library = self.explorer.library
        try:
            library.check_name(name)
        except SeedLensError as error:
            show_error(error)
            return False
        if name in self.running:
            note("This corpus is being indexed.", "Wait or cancel it below.")
            return False
        if known := self.corpora.get(name):
            facts(
                f"Adds to {known.title} ({counted(known.documents, 'document')}). Documents with "
                "the same ID are updated and keep fields that the source lacks."
            )
        elif name in library.deleted():
            note(f"A corpus {name} was deleted.", "This permanently replaces the deleted corpus.")
        return True


_DATASET = "library_dataset"
_FOUND, _ASKED = "library_service_found", "library_service_asked"
_CHOSEN = (
    *(_ASKED, "library_service", "library_service_limit", "library_service_abstract"),
    "library_service_text_",
)
"""Keys of what an import goes by; see :func:`as_drawn`."""
IDS = 10
"""Ids that are named where they do not exist."""


def from_services(naming: Naming) -> None:
    """The form, as far as it is filled in."""
    explorer = naming.explorer
    services = {service.key: service for service in explorer.library.services}
    names = {key: service.name for key, service in services.items()}
    service = services[segments("Service", names, "library_service")]
    field = f"library_service_text_{service.key}"
    text, limit, with_abstract = _ask(service, field)

    def look() -> None:
        """Ask for what stands in the field now, which a click may be the first to tell."""
        forget_problem()
        st.session_state.pop(_FOUND, None)  # asking again is asking anew
        st.session_state[_ASKED] = (service.key, st.session_state.get(field) or "")

    st.button(f"Search {service.name}", key="library_service_look", on_click=look)
    if st.session_state.get(_ASKED) != (service.key, text):
        return

    def look_up() -> Found | SeedLensError:
        """Ask once for each click, also where the service does not answer."""
        with st.spinner(f"Searching {escape_label(service.name)}"):
            try:
                return explorer.library.look_up(explorer.library.service_query(service.key, text))
            except SeedLensError as error:
                return error

    found = remembered(_FOUND, (service.key, text), look_up)
    if isinstance(found, SeedLensError):
        show_error(found)
        return
    # Ids are wanted all; a limit is for what is searched.
    limit = found.query.limit if found.query.ids else limit
    query = replace(found.query, limit=limit, with_abstract=with_abstract)
    st.html(found_card(found, query, service.name))
    if found.total == 0 or not (found.looked_at or found.total):
        return

    def start(name: str, lens: Lens) -> None:
        queries = ServiceQueries((query,))
        explorer.library.start_import(queries, name, lens=lens, owner=login.owner())
        # An empty form says that this one is under way.
        st.session_state[field] = ""
        st.session_state.pop(_ASKED, None)

    naming.start(str(query), query.digest, "library_service_start", start, _CHOSEN)


def _ask(service: ServiceInfo, field: str) -> tuple[str, int, bool]:
    """What is asked for, how many documents of a search at most, and whether only those with an
    abstract."""
    st.html(el("div.lib-card.sl-dim", service.help))
    text = st.text_area(
        "Search words or ids" if service.searches else "Ids",
        key=field,
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
                *("Max documents", 1, SERVICE_DOCUMENTS, DEFAULT_DOCUMENTS),
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


def found_card(found: Found, query: ServiceQuery, name: str) -> Html:
    """How much there is, the first titles, and what will be left out."""
    if not found.looked_at and not found.missing:
        return el("div.sl-empty", f"No results at {name}.", role="status")
    many = "documents" if found.total is None else counted(found.total, "document")
    head = f"{counted(len(query.ids), 'id')}." if query.ids else f"{many} from {name}"
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
    first = len(found.titles)
    above = el("div.sl-dim", f"The first {first}") if first > 1 else None
    titles = el("ul", (el("li", cut(title, 200) or "(no title)") for title in found.titles))
    said = (el("div", line) for line in lines)
    return el("div.lib-card", el("strong", head), above, titles, said, role="status")


# -- data sets -------------------------------------------------------------------------------


def from_datasets(naming: Naming) -> None:
    """The form, as far as it is filled in."""
    explorer = naming.explorer
    chosen = st.selectbox(
        "Data set",
        explorer.library.datasets(),
        index=None,
        key=_DATASET,
        persist_state="session",
        placeholder="Name, such as beir/scifact",
        help="Data sets of ir_datasets (see ir-datasets.com). Nothing is downloaded before you "
        "start.",
        width=720,
        on_change=forget_problem,
    )
    if chosen is None:
        return
    info = explorer.library.describe_dataset(chosen)
    st.html(dataset_card(info))

    def start(name: str, lens: Lens) -> None:
        dataset = NamedDataset(info.name)
        explorer.library.start_import(dataset, name, lens=lens, owner=login.owner())
        st.session_state[_DATASET] = None  # an empty form says that this one is under way

    label = "Import" if info.is_there else "Download and import"
    naming.start(info.name, info.name, "library_dataset_start", start, (_DATASET,), label=label)


def dataset_card(info: DatasetInfo) -> Html:
    """What a data set brings, in a few lines."""
    head = "documents" if info.documents is None else counted(info.documents, "document")
    brings = "No queries with judgments: cannot be evaluated."
    if info.judged:
        queries = "Queries" if info.queries is None else counted(info.queries, "query", "queries")
        judged = "judgments"
        if info.judgments is not None:
            judged = counted(info.judgments, "judgment")
        part = "" if info.judged == info.name else f", those of {info.judged}"
        brings = f"{queries} and {judged}{part}, available on Evaluate once indexed."
    there = "Already downloaded."
    if not info.is_there:
        there = "Downloaded from the publisher; its terms apply."
    head = el("strong", f"{info.name}: {head}")
    return el("div.lib-card", head, el("div", brings), el("div", there), role="status")
