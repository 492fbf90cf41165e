"""One annotator's queue under the keys: what the browser is sent, and what it sends back.

What is judged arrives in messages with numbers, each with all that is not stored yet; an answer
names what is settled. Events have ids of their own, so a message that comes twice, or a rerun
that was cut off, changes nothing twice.
"""

from __future__ import annotations

import functools
import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import streamlit as st
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from engine.errors import BadInputError, SeedLensError, StorageError
from engine.explorer import Explorer
from engine.types.annotating import Item, Judgment, Project, Source
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from engine.types.limits import LONGEST_NOTE
from engine.types.searches import Query, Term
from pages._annotate.annotate_url import is_lead, step_button
from pages._common import document_view
from pages._common.components import component
from pages._common.document_view import shortened
from pages._common.shared import error_boundary

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TABLE = ("table", "thead", "tbody", "tr", "th", "td")
_OTHERS = ("p", "ul", "ol", "li", "blockquote", "strong", "em", "code", "pre", "hr", "br", "a")
ELEMENTS = frozenset((*_HEADINGS, *_TABLE, *_OTHERS))
"""What a node may be; ``assets/components/annotate.js`` makes no others."""
Node = dict[str, Any]
"""``tag`` and ``children`` (nodes and texts); ``href`` of a link, ``start`` of a numbered list."""
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
_PARSER.validateLink = lambda url: url.lower().startswith(("http://", "https://"))  # type: ignore[method-assign]


@functools.lru_cache(maxsize=64)  # asked for with every key that is pressed
def nodes(markdown: str) -> list[Node | str]:
    """CommonMark as a tree of a few elements and texts, with tables, links to http and https only
    and no images; no HTML is ever made of it."""
    return _parts(SyntaxTreeNode(_PARSER.parse(markdown)))


def _parts(node: SyntaxTreeNode) -> list[Node | str]:
    inside = [part for child in node.children for part in _parts(child)]
    if node.type == "root":
        return inside
    if node.type == "softbreak":
        return [" "]
    if node.type in ("fence", "code_block"):
        return [{"tag": "pre", "children": [node.content]}]
    inside = inside or [node.content] * bool(node.content)
    if node.hidden or node.tag not in ELEMENTS:  # hidden: a paragraph of a tight list
        return inside
    made: Node = {"tag": node.tag, "children": inside}
    if node.tag == "a":
        made["href"] = str(node.attrs.get("href", ""))
    if node.tag == "ol":
        made["start"] = int(node.attrs.get("start", 1))
    return [made]


def to_key(item: Item) -> str:
    """An item as one string.

    >>> to_key(("10_method", "d1"))
    '["10_method", "d1"]'
    """
    return json.dumps(item, ensure_ascii=False)


def from_key(key: object) -> Item | None:
    """What :func:`to_key` made; None for anything else."""
    try:
        query_id, doc_id = json.loads(key)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return (query_id, doc_id) if isinstance(query_id, str) and isinstance(doc_id, str) else None


def item_data(
    item: Item, document: Document, lens: Lens, said: Judgment | None, sources: Sequence[Source]
) -> dict[str, Any]:
    """A candidate with what its annotator said of it; marks are indices of sentences."""
    sent = None
    if said is not None:
        sent = {name: getattr(said, name) for name in ("verdict", "relevance", "note")}
        sent["marks"] = [i for i, s in enumerate(document.sentences) if s.span in said.marks]
    return {
        "key": to_key(item),
        "query_id": item[0],
        "doc_id": item[1],
        "title": document_view.title_of(document),
        "meta": document_view.meta(document),
        "sentences": document_view.sentences(document, lens),
        "said": sent,
        "sources": [{"name": s.name, "rank": s.rank} for s in sources],
    }


def spans_of(marks: object, document: Document) -> tuple[tuple[int, int], ...]:
    """Indices of sentences as spans of the text; BadInputError for what is no index."""
    if not isinstance(marks, list):
        raise BadInputError("Invalid marks.", "Reload the page.")
    count = len(document.sentences)
    if any(not isinstance(i, int) or not 0 <= i < count for i in marks):
        raise BadInputError("A marked sentence is not in the document.", "Mark it again.")
    return tuple(document.sentences[i].span for i in sorted(set(marks)))


def seed_data(query_id: str, query: Query, seed: Document, lens: Lens) -> dict[str, Any]:
    """A seed with what is asked of it; the sentences that serve the aspect are told apart."""
    aspects = {aspect.key: (index, aspect) for index, aspect in enumerate(lens.aspects)}
    key = "" if query.reading else query.aspect or ""  # a reading takes the place of the aspect
    index, aspect = aspects.get(key, (None, None))
    wanted = {i for name, (i, _) in aspects.items() if name == key or f"+{name}" in query.reading}
    plain = is_plain(query)
    rows = document_view.sentences(seed, lens)
    for number, row in enumerate(rows):
        row["on"] = number in query.focus if query.focus else row["role"] in wanted
        if plain:
            row.update(role=None, letter="")
    return {
        "query_id": query_id,
        "kicker": "Query" if plain else "Seed" if query.text is None else "Seed · pasted text",
        "title": seed.title,
        "meta": document_view.meta(seed),
        "sentences": rows,
        "wanted": sorted(wanted),
        "aspect_key": key,
        "aspect": "" if aspect is None else aspect.name,
        "letter": "" if aspect is None else aspect.letter,
        "role": index,
        "asked": shortened(query.text or "") if plain else _asked(query, lens, aspect),
    }


def is_plain(query: Query) -> bool:
    """Whether a query is its own words: a text, and nothing said about it."""
    said = query.aspect or query.instruction or query.focus or query.reading
    return query.text is not None and not said


def _asked(query: Query, lens: Lens, aspect: Aspect | None) -> str:
    wanted = [a.instruction for a in lens.aspects if f"+{a.key}" in query.reading]
    ruled_out = [a.name for a in lens.aspects if f"-{a.key}" in query.reading]
    words = [*filter(None, [query.instruction]), *wanted]
    usual = lens.generic if aspect is None else aspect.instruction
    without = [f"Similarity in {' and '.join(ruled_out)} does not count."] if ruled_out else []
    terms = filter(None, map(Term.parse, query.reading))
    marks = [f"{'+' if term.wanted else '−'} “{term.text}”." for term in terms]
    return " ".join([*(words or [usual]), *without, *marks])


def seed_of(explorer: Explorer, query: Query, texts: dict[str, Document]) -> Document:
    """The seed of a query; a pasted text is split into sentences once, and kept in ``texts``."""
    if query.seed is not None:
        return explorer.document(query.corpus, query.seed)
    text = query.text or ""
    if text not in texts:
        texts[text] = explorer.searcher(query.corpus).encode_text(text).document
    return texts[text]


def evidence_data(
    explorer: Explorer, item: Item, queries: Mapping[str, Query], lens: Lens
) -> dict[str, Any] | None:
    """The passages of seed and candidate that are alike, the best first; None without a query."""
    if item[0] not in queries:
        return None
    query, pairs, message = queries[item[0]], list[dict[str, Any]](), ""
    searcher = explorer.searcher(query.corpus)
    try:
        stage = searcher.first_stage(replace(query, offset=0, k=1, filters=()))
        only = [ranked._replace(doc_id=item[1]) for ranked in stage.ranking[:1]]
        for result in searcher.page(stage, only).results if only else ():
            pairs += [document_view.evidence(pair, lens) for pair in result.evidence]
    except SeedLensError as error:  # judging goes on without it
        message = str(error)
    return {"key": to_key(item), "pairs": pairs, "message": message}


BEHIND = 3
MOST_PAST = 40
KEY = "annotate_session"
_ANSWER, _LAST = "annotate_answer", "annotate_last"


_COMPONENT = component("annotate", "keys")
# Outside the fragment, so that what it sends runs the whole page.
_RUN_PAGE = st.components.v2.component(
    "seedlens_annotate_run",
    html="<span></span>",
    js="export default ({ setTriggerValue }) => "
    "{ globalThis.seedlensRunPage = () => setTriggerValue('run', Date.now()) }",
)


@dataclass
class JudgingSession:
    """One annotator judging in one project, on one visit."""

    project: Project
    who: str
    at: Item | None = None  # the item shown
    evidence: Item | None = None  # the item for which evidence was asked
    done: set[str] = field(default_factory=set)  # events that were stored or refused
    held: frozenset[Item] = frozenset()  # whose documents the browser has, as it said last
    only: frozenset[Item] | None = None  # to be judged to check a model; None for the whole queue
    visit: str = field(default_factory=lambda: secrets.token_hex(8))  # names this place of all
    shown: frozenset[Item] = frozenset()  # that the browser may show before the next answer
    unstored: frozenset[Item] = frozenset()  # of which it said what could not be stored yet
    leased: bool = False  # items are leased to it, or it waits for some
    version: str = ""  # of the corpus as shown; "" before the first item
    texts: dict[str, Document] = field(default_factory=dict)  # pasted ones that are seeds

    @property
    def id(self) -> str:
        """Names the view, here and in the browser; one for some items only is another one."""
        items = "".join(sorted(map(to_key, self.only or ())))
        some = () if self.only is None else (hashlib.sha256(items.encode()).hexdigest()[:12],)
        return "\x1f".join((*self.project.key, self.who, *some))


@dataclass(frozen=True)
class Answer:
    """What a message from the browser came to."""

    session: str = ""  # whose message it was, which may be one left since
    turn: int = 0  # its number
    settled: tuple[str, ...] = ()  # events that need not come again
    refused: tuple[str, ...] = ()  # items of which nothing could be stored
    undone: tuple[tuple[str, str], ...] = ()  # by event, the item it was taken back of, or ""
    message: str = ""
    retry: bool = False  # the events that are not settled shall come again, later


def _sessions() -> dict[str, JudgingSession]:
    sessions: dict[str, JudgingSession] = st.session_state.setdefault("annotate_sessions", {})
    return sessions


def judging_view(
    explorer: Explorer,
    project: Project,
    who: str,
    start: Item | None,
    only: frozenset[Item] | None = None,
) -> None:
    """The queue under the keys, and what runs the page where the browser gets no answer."""
    _RUN_PAGE(key="annotate_run_page", on_run_change=lambda: None)
    # Where somebody is in a project; the first time, at the item of the link.
    new = JudgingSession(project, who, at=start, only=only)
    session = _sessions().setdefault(new.id, new)
    leave(explorer, but=session)
    _judging_view(explorer, session)


def leave(explorer: Explorer, but: JudgingSession | None = None) -> None:
    """What was to be judged on this visit is for others now, except in one session."""
    for session in _sessions().values():
        if session is not but and session.leased:
            explorer.annotation.leave(session.project, session.who, session.visit)
            session.leased = False


@st.fragment
def _judging_view(explorer: Explorer, session: JudgingSession) -> None:
    """Only this much is drawn anew after a key."""
    held = _sessions()

    def arrived() -> None:
        sent = st.session_state[KEY].get("sent")
        # A message is stored for the session that it comes from, if it is one of this visit.
        sender = held.get(str(sent.get("session"))) if isinstance(sent, Mapping) else None
        if sender is not None:
            st.session_state[_ANSWER] = receive(explorer, sender, sent)

    answer = st.session_state.get(_ANSWER, Answer())
    with error_boundary():
        # Leads may change it at any time.
        session.project = explorer.annotation.at(*session.project.key)
        try:
            st.session_state[_LAST] = view_data(explorer, session)
        except StorageError as error:
            if st.session_state.get(_LAST, {}).get("id") != session.id:
                raise
            # What is shown stays; the next answer brings what comes after it.
            answer = replace(answer, message=str(error), retry=True)
        data = st.session_state[_LAST]
        is_over = not data["next"] and data["waiting"] is None and session.only is None
        leads = is_over and is_lead(session.project, session.who)
        with st.container():  # always there: the queue below it keeps its place
            if leads and step_button(explorer, session.project, "judge"):
                st.rerun()
        _COMPONENT(key=KEY, data={**data, "answer": asdict(answer)}, on_sent_change=arrived)


def receive(explorer: Explorer, session: JudgingSession, sent: Mapping[str, Any]) -> Answer:
    """Store what a message says, in its order.

    An event that cannot be stored now (a busy ledger) and those behind it stay with the browser
    and come again; one that cannot be stored at all is refused, with the reason.
    """
    settled, refused, undone, message, retry = [], [], [], "", False
    session.evidence = from_key(sent.get("evidence")) or session.evidence
    if "at" in sent:
        session.at = from_key(sent["at"])
    events = list(sent.get("events") or ())
    session.held = frozenset(filter(None, map(from_key, sent.get("held") or ())))
    session.shown |= session.held
    for number, event in enumerate(events):
        name = str(event.get("event"))
        try:
            if name in session.done:
                pass  # an answer that got lost: it comes again
            elif event["kind"] == "undo":
                undone.append((name, _undo(explorer, session, name, events[number + 1 :])))
            else:
                _judge(explorer, session, name, event)
        except StorageError as error:
            message, retry = f"Not saved yet: {error}", True
            break
        except (SeedLensError, KeyError, TypeError, ValueError) as error:
            message = str(error) if isinstance(error, SeedLensError) else "Invalid judgment."
            refused.append(str(event.get("key", "")))
        session.done.add(name)
        settled.append(name)
    session.unstored = frozenset(
        (str(event.get("query_id")), str(event.get("doc_id"))) for event in events[len(settled) :]
    )
    turn = int(sent.get("turn") or 0)
    return Answer(session.id, turn, tuple(settled), tuple(refused), tuple(undone), message, retry)


def _undo(
    explorer: Explorer, session: JudgingSession, name: str, behind: Iterable[Mapping[str, Any]]
) -> str:
    annotation = explorer.annotation
    later = {str(event.get("event")) for event in behind}
    known = annotation.known({name, *later})
    if name not in known and known:
        return ""  # what came after it is stored: it was here before, and found nothing
    taken = annotation.undo(session.project, session.who, session.only, name)
    if taken is None:
        return ""
    session.at = taken.item
    return to_key(session.at)


def _judge(
    explorer: Explorer, session: JudgingSession, name: str, event: Mapping[str, Any]
) -> None:
    query_id, doc_id = str(event["query_id"]), str(event["doc_id"])
    opened = explorer.library.open(session.project.corpus)
    if event["marks"] and session.version not in ("", opened.identity):
        raise BadInputError(
            f"Document '{doc_id}' was marked before its corpus was imported again.",
            "Reload it, then mark again.",
        )
    marks = spans_of(event["marks"], opened.document(doc_id))
    said = (event["relevance"], event["verdict"], str(event["note"]), marks)
    how: Any = {"origin": "person" if session.only is None else "audit", "event": name}
    how["seconds"] = float(event["seconds"])
    judgment = Judgment(query_id, doc_id, session.who, *said, **how)
    explorer.annotation.judge(session.project, judgment)


def view_data(explorer: Explorer, session: JudgingSession) -> dict[str, Any]:
    """All that is shown: the item at hand, what comes, what was before."""
    annotation, project, who = explorer.annotation, session.project, session.who
    opened = explorer.library.open(project.corpus)
    if session.version not in ("", opened.identity):
        session.held = frozenset()  # of before
        session.texts.clear()
    session.version, lens = opened.identity, opened.lens
    unsettled = session.shown | session.unstored
    share = annotation.share(project, who, session.visit, session.at, unsettled, session.only)
    queue, due, queries = share.queue, list(share.next), annotation.queries(project)
    session.shown, session.leased = frozenset(due), True
    pool = queue.pool
    past = [item for item in queue.said if item in pool]
    later = {
        name: [item for item in past if not due and queue.said[item].verdict == name]
        for name in ("skip", "unsure")
    }
    at = session.at if session.at in pool else None
    # whose documents the browser may need before its next message
    around = past.index(at) if at in past else len(past)
    near = [*past[max(0, around - BEHIND) : around], *later["skip"][:BEHIND]]
    ahead = [*filter(None, [at]), *(item for item in due if item not in session.held)]
    wanted = list(dict.fromkeys([*ahead, *near, *later["unsure"][:BEHIND]]))
    found = opened.documents([opened.known(doc_id) for _, doc_id in wanted])
    documents = {document.doc_id: document for document in found}
    asked = {query_id: queries[query_id] for query_id, _ in wanted}
    seeds = {name: seed_of(explorer, query, session.texts) for name, query in asked.items()}
    evidence, session.evidence = session.evidence, None  # it is sent once

    def sent(item: Item) -> dict[str, Any]:
        sources = () if project.blind else pool[item].sources
        about = item_data(item, documents[item[1]], lens, queue.said.get(item), sources)
        return {**about, "everybody": item in queue.everybody}

    last = "item is" if share.elsewhere == 1 else f"{share.elsewhere:,} items are"
    waiting = {
        "title": f"The last {last} with other annotators",
        "words": f"Released after {share.minutes:g} minutes of inactivity.",
    }
    return {
        "id": session.id,
        "version": session.version,
        "annotator": who,
        "scale": [asdict(grade) for grade in project.scale.grades],
        "guidelines": {key: nodes(text) for key, text in project.guidelines.items()},
        "longest_note": LONGEST_NOTE,
        "items": [*map(sent, wanted)],
        "seeds": [seed_data(name, query, seeds[name], lens) for name, query in asked.items()],
        "start": None if at is None else to_key(at),
        "next": [*map(to_key, due)],
        "past": [*map(to_key, past[-MOST_PAST:])],
        "later": {name: [*map(to_key, items)] for name, items in later.items()},
        "progress": asdict(share.progress),
        "people": share.people,
        "waiting": waiting if share.elsewhere and not due else None,
        "beyond": to_key(at) if at is not None and share.beyond else None,
        "evidence": evidence and evidence_data(explorer, evidence, queries, lens),
    }
