"""Adding documents: from a file that is shown as it would be read, a service or a data set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted, size
from engine.types.corpora import (
    DEFAULT_DOCUMENTS,
    CheckReport,
    Fault,
    FaultKind,
    Found,
    ImportRequest,
    NamedDataset,
    PdfParts,
    Preview,
    Repairs,
    ServiceQueries,
    ServiceQuery,
)
from engine.types.documents import SourceDocument
from engine.types.limits import PASTED_CHARS, SERVICE_DOCUMENTS
from pages._common.kit import (
    Html,
    button,
    document,
    el,
    facts,
    fold,
    grid,
    html,
    line,
    segments,
    select,
)
from pages._common.shared import (
    as_drawn,
    attempt_at,
    error_boundary,
    escape_label,
    forget_problem,
    note,
    remembered,
    show_error,
    show_problem,
)
from pages._login import login

_KEYS = ("library_way", "library_into", "library_name_", "library_new_lens")
"""Keys of what each import goes by; see :func:`as_drawn`."""


def cut(text: str, most: int) -> str:
    """The beginning of a long text, with a sign that there is more."""
    return text if len(text) <= most else text[:most] + " …"


INTO, NEW = "library_into", ""
"""Key of the box with the corpus that documents are added to, and its choice of a new one."""


def _import_box(
    explorer: Explorer,
    request: ImportRequest,
    key: str,
    chosen: tuple[str, ...],
    emptied: Mapping[str, object],
    typed_for: str,
    *,
    label: str = "Import",
    ready: bool = True,
) -> None:
    """The corpus that documents go to, the button that starts an import, and the lens of a new
    corpus.

    Args:
        request: with the name that is suggested for a new corpus.
        chosen: keys of the widgets that it goes by; see :func:`as_drawn`.
        emptied: state of the form afterwards, which says that this import is under way.
        typed_for: what a name that is typed holds for.
        ready: whether there is something to import.
    """
    library = explorer.library
    corpora = {info.name: info for info in library.corpora()}
    names = {NEW: "New corpus", **{name: info.title for name, info in corpora.items()}}
    if st.session_state.get(INTO) not in names:  # it was deleted
        st.session_state[INTO] = NEW
    with line(align="bottom"):
        name = select("Add to", names, INTO, persist_state="session", width=240)
        if name == NEW:
            typed = st.text_input(
                "Corpus name",
                library.suggest_name(request.name),
                key=f"library_name_{typed_for}",
                live="300ms",
                persist_state="session",
                width=300,
            )
            name = library.stored_name(" ".join(typed.split()))
        place = st.empty()
    if known := corpora.get(name):  # it keeps its own
        lens = known.lens
        facts(
            f"Adds to {known.title} ({counted(known.documents, 'document')}). Documents with "
            "the same ID are updated and keep fields that the source lacks."
        )
    else:
        try:
            library.check_name(name)
        except SeedLensError as error:
            show_error(error)
            ready = False
        if name in library.deleted():
            was = library.titles()[name]
            note(f"A corpus {was} was deleted.", "This permanently replaces it.")
        with fold("Lens", "library_new_fold", opened=False):
            words = "Aspects that documents can be similar in. Can be changed and edited later."
            look: Any = {"persist_state": "session", "help": words, "width": 420}
            lenses = {lens.key: lens for lens in library.lenses}
            called = {key: lens.name for key, lens in lenses.items()}
            lens = lenses[select("Lens", called, "library_new_lens", **look)]
            for aspect in lens.aspects:
                st.text(f"{aspect.letter} · {aspect.name}: {aspect.definition}")

    def start() -> None:
        library.start_import(replace(request, name=name, lens=lens), login.owner())
        st.session_state.update({INTO: NEW, **emptied})

    look = {"type": "primary", "disabled": not ready}
    with place:
        button(label, key, as_drawn((*_KEYS, *chosen), start), place="imports", **look)


_DATASET = "library_dataset"
_FOUND, _ASKED = "library_service_found", "library_service_asked"
_OF_SERVICE = (
    *(_ASKED, "library_service", "library_service_limit", "library_service_abstract"),
    "library_service_text_",
)
"""Keys of what an import goes by; see :func:`as_drawn`."""
IDS = 10
"""Ids that are named where they do not exist."""


def from_services(explorer: Explorer) -> None:
    """The form, as far as it is filled in."""
    services = {service.key: service for service in explorer.library.services}
    names = {key: service.name for key, service in services.items()}
    service = services[segments("Service", names, "library_service")]
    field = f"library_service_text_{service.key}"
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

    def look() -> None:
        """Ask for what stands in the field now, which a click may be the first to tell."""
        forget_problem()
        st.session_state.pop(_FOUND, None)  # asking again is asking anew
        st.session_state[_ASKED] = (service.key, st.session_state.get(field))

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
    request = ImportRequest(ServiceQueries((query,)), str(query))
    emptied = {field: "", _ASKED: None}
    of = (_OF_SERVICE, emptied, query.digest)
    _import_box(explorer, request, "library_service_start", *of)


def found_card(found: Found, query: ServiceQuery, name: str) -> Html:
    """How much there is, the first titles, and what will be left out."""
    if not found.looked_at and not found.missing:
        return el("div.sl-empty", f"No results at {name}.", role="status")
    many = "documents" if found.total is None else counted(found.total, "document")
    head = f"{counted(len(query.ids), 'id')}." if query.ids else f"{many} from {name}"
    then = "skipped" if query.with_abstract else "indexed by title"
    lacking = f"{found.without_abstract:,} of the first {found.looked_at:,} have no abstract"
    ids = ", ".join(cut(id_, 80) for id_ in found.missing[:IDS])
    more = f" and {len(found.missing) - IDS:,} more" if len(found.missing) > IDS else ""
    lines = {
        f"Importing the first {query.limit:,}.": (found.total or 0) > query.limit,
        f"{lacking} and will be {then}.": found.without_abstract,
        f"Unknown IDs among the first: {ids}{more}.": found.missing,
    }
    above = len(found.titles) > 1 and el("div.sl-dim", f"The first {len(found.titles)}")
    titles = el("ul", (el("li", cut(title, 200) or "(no title)") for title in found.titles))
    notes = (el("div", words) for words, holds in lines.items() if holds)
    return el("div.lib-card", el("strong", head), above, titles, notes, role="status")


def from_datasets(explorer: Explorer) -> None:
    """The form, as far as it is filled in."""
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

    def many(number: int | None, one: str, more: str) -> str:
        return more if number is None else counted(number, one, more)

    brings = "No queries with judgments: cannot be evaluated."
    if info.judged:
        queries = many(info.queries, "query", "queries")
        part = "" if info.judged == info.name else f", those of {info.judged}"
        judged = many(info.judgments, "judgment", "judgments")
        brings = f"{queries} and {judged}{part}, available on Evaluate once indexed."
    terms = "Downloaded from the publisher; its terms apply."
    there = "Already downloaded." if info.is_there else terms
    head = el("strong", f"{info.name}: {many(info.documents, 'document', 'documents')}")
    card = el("div.lib-card", head, el("div", brings), el("div", there), role="status")
    st.html(card)
    label = "Import" if info.is_there else "Download and import"
    request = ImportRequest(NamedDataset(info.name), info.name)
    of = ((_DATASET,), {_DATASET: None}, info.name)
    _import_box(explorer, request, "library_dataset_start", *of, label=label)


SENTENCES, SENTENCE_CHARACTERS = 12, 400


def first_card(first: SourceDocument, sentences: list[str]) -> Html:
    """The first document as it will be read."""
    people = ", ".join(first.authors[:5]) + (" …" if len(first.authors) > 5 else "")
    about = [str(first.year or ""), people, first.url or "", f"id {first.doc_id}"]
    lines = (el("li", cut(s, SENTENCE_CHARACTERS)) for s in sentences[:SENTENCES])
    more = len(sentences) - SENTENCES
    return document(
        "Preview of the first document",
        cut(first.title, 300) or "(no title)",
        " · ".join(cut(fact, 200) for fact in about if fact),
        el("ol", lines),
        more > 0 and el("div.sl-dim", f"and {more:,} more sentences"),
        kind="lib-card",
    )


# -- rows that cannot be used as they are --------------------------------------------------------


_Answer = tuple[str, str, dict[str, Any]]
"""Label, caption ("{left}": rows without a substitute, "{prefix}": what begins numbered ids), and
the fields of ``Repairs`` that it sets."""
_QUESTIONS: dict[FaultKind, tuple[str, dict[str, _Answer]]] = {
    "broken": ("unreadable or too long", {"skip": ("Skip", "", {"skip_broken": True})}),
    "empty": (
        "without an abstract",
        {
            "title": (
                *("Use the title as text", "{left} without a title are skipped."),
                {"title_as_text": True, "skip_empty": True},
            ),
            "skip": ("Skip", "", {"skip_empty": True}),
        },
    ),
    "id": (
        "without an ID",
        {
            "doi": (
                *("Use the DOI", "{left} without a DOI are numbered."),
                {"ids_from_doi": True, "number_ids": True},
            ),
            "number": ("Number by row", "{prefix}-1, {prefix}-2 …", {"number_ids": True}),
        },
    ),
    "duplicate": (
        "with the ID of an earlier row, but other content",
        {
            "keep": ("Keep the first", "Later ones are skipped.", {"duplicates": "keep-first"}),
            "merge": ("Merge", "Merge fields; keep the longest text.", {"duplicates": "merge"}),
            "rename": ("Rename later ones", "ID-2, ID-3 …", {"duplicates": "rename"}),
        },
    ),
}
"""What is wrong with rows, and the answers to it; the first one holds until another is given, but
for repeated ids, and for ids of BibTeX, which has keys of its own."""


def _repairs(read_as: Repairs, source_format: str, key: str) -> Repairs:
    """How a file is read, with the answers so far."""
    fields: dict[str, Any] = {}
    for kind, (_, answers) in _QUESTIONS.items():
        if kind != "duplicate" and (source_format, kind) != ("bibtex", "id"):
            st.session_state.setdefault(f"library_choice_{kind}_{key}", next(iter(answers)))
        answer = answers.get(st.session_state.get(f"library_choice_{kind}_{key}") or "")
        fields |= answer[2] if answer else {}
    return replace(read_as, **fields)


def _ask(fault: Fault, key: str, prefix: str) -> None:
    what, offered = _QUESTIONS[fault.kind]
    if fault.kind in ("empty", "id") and not fault.substitutes:  # the second answer is all there is
        offered = {next(iter(offered)): [*offered.values()][1]}
    label, name = f"{counted(fault.rows, 'row')} {what}", f"library_choice_{fault.kind}_{key}"
    left = fault.rows - fault.substitutes
    values = {"left": f"{left:,}", "prefix": escape_label(prefix)}
    st.radio(
        label,
        list(offered),
        index=None,
        format_func=lambda answer: offered[answer][0],
        captions=[
            caption.format(**values) if left or "{left}" not in caption else ""
            for _, caption, _ in offered.values()
        ],
        key=name,
        persist_state="session",
    )
    with st.expander("Affected rows", key=f"{name}_rows", type="compact"):
        more = fault.rows - len(fault.places)
        places = el("ul.lib-places", (el("li", place) for place in fault.places))
        st.html(html(places, more > 0 and el("div", f"and {more:,} more")))


ENDINGS = [
    *("jsonl", "ndjson", "json", "csv", "tsv", "txt", "xlsx", "parquet", "bib", "ris", "nbib"),
    *("ciw", "enw", "xml", "gz", "pdf", "zip"),
]
WAYS = ("Upload", "Folder or file", "Online service", "Test collection")
UPLOAD, PLACE, SERVICE, DATASET = WAYS
FIELDS = {
    **{"title": "Title", "text": "Abstract", "authors": "Authors", "year": "Year"},
    **{"venue": "Journal", "doi": "DOI", "url": "Link", "keywords": "Keywords", "doc_id": "ID"},
}
PDF = "pdf"
PARTS = {"papers": "Paper (abstract)", "sections": "Abstract and sections"}
NO_COLUMN = ""
AUTOMATIC = "Detect"
_OF_FILE = tuple(
    f"library_{one}"
    for one in (
        *("path", "uploaded", "format_", "encoding_", "delimiter_", "pdf_", "map_", "roles_"),
        *("choice_", "fill_"),
    )
)
"""Keys of what an import goes by; see :func:`as_drawn`."""


def add_documents(explorer: Explorer) -> None:
    """The whole form."""
    show_problem("imports", keep=True)
    way = segments("Source", dict(zip(WAYS, WAYS, strict=True)), "library_way")
    if way in (SERVICE, DATASET):
        with error_boundary():
            (from_services if way == SERVICE else from_datasets)(explorer)
        return
    if way == UPLOAD:
        path = _upload(explorer)
    else:
        path = st.text_input(
            "Path of a file or folder (PDFs, BEIR, CSFCube)",
            key="library_path",
            persist_state="session",
            placeholder="/home/me/papers.jsonl",
            on_change=forget_problem,
        ).strip()
    if path:
        _from_file(explorer, Path(path))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


def _upload(explorer: Explorer) -> str:
    """The path of what was uploaded; the uploader forgets its file when the page is left."""
    widget = f"library_file_{st.session_state.get('library_uploads', 0)}"

    def are_papers(files: Sequence[Any]) -> bool:
        return len(files) > 1 and all(file.name.lower().endswith(".pdf") for file in files)

    def store() -> None:
        st.session_state["library_uploaded"] = ""
        library, files = explorer.library, st.session_state[widget]
        if given := [(file.name, file.getvalue()) for file in files]:
            papers = are_papers(files)
            path = library.save_papers(given) if papers else library.save_upload(*given[-1])
            st.session_state["library_uploaded"] = str(path)

    label = (
        "PDFs (or a zip of them), or one file: JSON, CSV, Excel, Parquet, or references (RIS, "
        "BibTeX, PubMed, Web of Science, EndNote)"
    )
    chosen = st.file_uploader(
        label,
        type=ENDINGS,
        accept_multiple_files=True,
        key=widget,
        on_change=attempt_at,
        args=("imports", store),
    )
    if len(chosen) > 1 and not are_papers(chosen):
        note(f"Only {chosen[-1].name} will be imported.", "Upload several files as PDFs only.")
    stored = str(st.session_state.get("library_uploaded", ""))
    if stored and not chosen:
        st.text(f"Uploaded earlier: {Path(stored).name}")
    return stored


def _from_file(explorer: Explorer, path: Path) -> None:
    """What a file or folder holds, the button that imports it, and below how it is read."""
    library = explorer.library
    # Choices belong to the file's name: they hold when a corrected file of that name is chosen.
    uploaded = explorer.home.uploads in path.parents
    key = _digest(path.name if uploaded else str(path))

    def chosen(part: str) -> str:
        return st.session_state.get(f"library_{part}_{key}") or ""

    guess = None
    parts: PdfParts = "sections" if chosen("pdf") == "sections" else "papers"
    read_as = Repairs(chosen("encoding"), chosen("delimiter"), pdf=parts)
    request = ImportRequest(path, "", chosen("format") or "auto", repairs=read_as)
    with error_boundary():
        guess = library.preview(request)
    if guess is None:
        _ask_format(explorer, None, key)
        return
    columns_key = _digest(f"{guess.columns}{guess.source_format}")
    mapping = _mapping(guess, columns_key)
    columns = dict(mapping)
    if st.session_state.get(f"library_roles_{key}") is False:
        columns["roles"] = NO_COLUMN
    top, report, keep = st.container(), None, dict[str, Any]()
    repairs = _repairs(read_as, guess.source_format, key)
    request = replace(request, mapping=columns, repairs=repairs)
    with top, error_boundary():
        report = _check(explorer, path, request)
    if report is not None:
        _rows_and_notes(report, guess.source_format, key, path.stem)
    unread = report is None or not report.abstracts
    with fold("Columns and format", f"library_options_{key}", opened=unread), error_boundary():
        _ask_format(explorer, guess, key)
        found = [NO_COLUMN, *dict.fromkeys([*guess.columns, *guess.mapping.values()])]
        with st.container(horizontal=True, gap="small"):
            for field, label in FIELDS.items() if guess.source_format != PDF else ():
                select(
                    label,
                    {column: column or "(none)" for column in found},
                    f"library_map_{field}_{columns_key}",
                    index=found.index(guess.mapping.get(field, NO_COLUMN)),
                    persist_state="session",
                    width=170,
                )
        shown = library.preview(replace(request, mapping=mapping))
        if shown.mapping.get("roles"):
            keep = {"key": f"library_roles_{key}", "persist_state": "session", "value": True}
            words = "Use the source's sentence roles"
            st.checkbox(words, help="Otherwise roles are predicted.", **keep)
        if shown.rows:
            alt = "The first rows of the source"
            grid(shown.rows, "library_rows", alt, height="content")
        for document in shown.documents[:1]:
            st.html(first_card(document, library.sentences_of(document)))
    if report is None:
        return
    # Last, when the button can know the values of all boxes.
    with top, error_boundary():
        _summary(report, guess.source_format)
        if report.fillable:
            which = counted(report.fillable, "document has", "documents have")
            words = f"Look up missing abstracts: {which} a DOI but no text"
            keep = {"key": f"library_fill_{key}", "persist_state": "session"}
            fill = st.checkbox(words, help="Sends DOIs to OpenAlex and Crossref.", **keep)
            request = replace(request, repairs=replace(repairs, fill_abstracts=fill))
        folder = path.resolve()
        request = replace(request, name=folder.name if folder.is_dir() else folder.stem)
        ready = report.documents > 0 and not report.refused
        # The uploader only forgets under a new key.
        uploads = st.session_state.get("library_uploads", 0) + 1
        emptied = {"library_uploads": uploads, "library_uploaded": "", "library_path": ""}
        _import_box(explorer, request, "library_index", _OF_FILE, emptied, key, ready=ready)


def _rows_and_notes(report: CheckReport, source_format: str, key: str, prefix: str) -> None:
    """Rows that lack something, what becomes of them, and notes on the file."""
    # PDFs that cannot be read are left out in any case, and named in the notes.
    faults = [one for one in report.faults if (source_format, one.kind) != (PDF, "broken")]
    if not faults and not report.warnings:
        return
    broken = sum(fault.rows for fault in faults if fault.kind == "broken")
    ask = bool(report.refused) or broken > report.documents
    with fold("Rows and notes", f"library_rows_{key}", opened=ask):
        for fault in sorted(faults, key=lambda one: [*_QUESTIONS].index(one.kind)):
            _ask(fault, key, prefix)
        st.html(el("ul.lib-sum", (el("li", line) for line in report.warnings)))


def _summary(report: CheckReport, source_format: str) -> None:
    """What is going to be imported, in a line."""
    head = f"{counted(report.documents, 'record')}, {report.abstracts:,} with abstracts"
    skipped = sum(fault.rows for fault in report.faults if fault.kind == "broken")
    undecided = sum(fault.refused for fault in report.faults)
    files = "file" if source_format == PDF else "row"
    about = [
        f"{counted(skipped, f'unreadable {files}')} skipped" if skipped else "",
        f"up to {size(report.disk)} of disk",
    ]
    words = el("span.sl-dim", " · " + " · ".join(filter(None, about)))
    st.html(el("div.lib-sum", el("strong", head), words, role="status"))
    if undecided:
        note(f"{counted(undecided, 'row')} undecided.", "Answer under Rows and notes.")
    if not report.abstracts:
        note("No abstracts found.", "Choose their column below, or import titles only.")


def _ask_format(explorer: Explorer, guess: Preview | None, key: str) -> None:
    """Format, encoding and delimiter, and what is in use."""
    library = explorer.library
    boxes = {"format": ("Format", {"auto": AUTOMATIC, **{name: name for name in library.formats}})}
    if guess is None or guess.encoding:
        boxes["encoding"] = ("Encoding", {"": AUTOMATIC, **library.encodings})
    if guess is not None and guess.delimiter:
        boxes["delimiter"] = ("Delimiter", {"": AUTOMATIC, **library.delimiters})
    if guess is not None and guess.source_format == PDF:
        boxes["pdf"] = ("Document unit", PARTS)
    with st.container(horizontal=True, gap="small"):
        for part, (label, names) in boxes.items():
            # Labels stay as they are: a browser sends the label that it was shown.
            select(label, names, f"library_{part}_{key}", persist_state="session", width=260)
    if guess is not None:
        encoding = library.encodings.get(guess.encoding, guess.encoding.upper())
        mark = library.delimiters.get(guess.delimiter, guess.delimiter)
        used = [guess.source_format, encoding, mark and f"delimiter: {mark}"]
        st.text(f"Using {', '.join(filter(None, used))}.")


def _mapping(guess: Preview, key: str) -> dict[str, str]:
    """What the person chose; empty while everything is as guessed."""
    guessed = {field: guess.mapping.get(field, NO_COLUMN) for field in FIELDS}
    state = st.session_state
    chosen = {field: state.get(f"library_map_{field}_{key}", one) for field, one in guessed.items()}
    if guess.source_format == PDF or chosen == guessed:
        return {}
    # All of them: a choice for one field must not move the guess for another behind one's back.
    known = {NO_COLUMN, *guess.columns}
    return {field: column for field, column in chosen.items() if column in known}


def _check(explorer: Explorer, path: Path, request: ImportRequest) -> CheckReport:
    """What importing the whole file would meet; read again when something changed."""
    there = path.stat()

    def read() -> CheckReport:
        with st.spinner("Validating"):
            return explorer.library.examine(request)

    return remembered("library_check", (request, there.st_mtime_ns, there.st_size), read)
