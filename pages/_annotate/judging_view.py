"""One annotator's queue under the keys: what the browser is sent, and what it sends back.

What is judged arrives in messages with numbers, each with all that is not stored yet; an answer
names what is settled. Events have ids of their own, so a message that comes twice, or a rerun
that was cut off, changes nothing twice.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import streamlit as st

from engine.errors import BadInputError, SeedLensError, StorageError
from engine.explorer import Explorer
from engine.types.annotating import Item, Judgment, Project, Source
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from engine.types.limits import LONGEST_NOTE
from engine.types.searches import Query, Term
from pages._annotate.guidelines import nodes
from pages._common import document_view
from pages._common.components import component, dark
from pages._common.shared import error_boundary

MOST_HELD, HELD_CHARS = 2_000, 10_000_000
"""Documents kept ready for one visit, and the characters of their texts together: some 50 MB."""


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


@dataclass
class DocumentCache:
    """Documents of one corpus, kept for a visit: the same ones are shown again and again.

    Attributes:
        version: of the corpus that they are from; "" before the first.
    """

    corpus: str
    held: dict[str, Document] = field(default_factory=dict)
    version: str = ""

    def is_old(self, explorer: Explorer) -> bool:
        """Whether the corpus was changed since: what is kept may be said otherwise there."""
        return self.version not in ("", explorer.library.open(self.corpus).identity)

    def renew(self, explorer: Explorer) -> bool:
        """Forget documents of another version; returns whether there was one."""
        old = self.is_old(explorer)
        if old:
            self.held.clear()
        self.version = explorer.library.open(self.corpus).identity
        return old

    def get(self, explorer: Explorer, doc_ids: Iterable[str]) -> dict[str, Document]:
        """doc_id -> document; UnknownNameError for one that the corpus does not hold."""
        wanted = list(dict.fromkeys(doc_ids))
        missing = [doc_id for doc_id in wanted if doc_id not in self.held]
        if missing:
            chars = sum(len(document.text) for document in self.held.values())
            if len(self.held) + len(missing) > MOST_HELD or chars > HELD_CHARS:
                self.held.clear()
                missing = wanted
            opened = explorer.library.open(self.corpus)
            for doc_id in missing:
                if doc_id not in opened.row_of:
                    opened.document(doc_id)  # says that it is not there
            self.held.update((d.doc_id, d) for d in opened.documents(missing))
        return {doc_id: self.held[doc_id] for doc_id in wanted}


def item_data(
    item: Item,
    document: Document,
    lens: Lens,
    said: Judgment | None,
    sources: Sequence[Source],
) -> dict[str, Any]:
    """A candidate with what its annotator said of it."""
    return {
        "key": to_key(item),
        "query_id": item[0],
        "doc_id": item[1],
        "title": document.title or document_view.shortened(document.text),
        "meta": document_view.meta(document),
        "sentences": document_view.sentences(document, lens),
        "said": None if said is None else said_data(said, document),
        "sources": [{"name": s.name, "rank": s.rank} for s in sources],
    }


def said_data(said: Judgment, document: Document) -> dict[str, Any]:
    """A judgment as the view shows it; marks are indices of sentences."""
    at = {sentence.span: index for index, sentence in enumerate(document.sentences)}
    return {
        "verdict": said.verdict,
        "relevance": said.relevance,
        "note": said.note,
        "marks": [at[span] for span in said.marks if span in at],
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
        "aspect_key": key,
        "aspect": "" if aspect is None else aspect.name,
        "letter": "" if aspect is None else aspect.letter,
        "role": index,
        "asked": "" if plain else _asked(query, lens, aspect),
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


def seeds_of(
    explorer: Explorer, documents: DocumentCache, queries: Mapping[str, Query]
) -> dict[str, Document]:
    """query_id -> its seed; a pasted text is split into sentences as one."""
    stored = documents.get(explorer, [q.seed for q in queries.values() if q.seed is not None])
    seeds = {}
    for query_id, query in queries.items():
        if query.seed is not None:
            seeds[query_id] = stored[query.seed]
        else:
            key = f"\x00{query_id}"  # no doc_id begins so
            if key not in documents.held:
                text = explorer.searcher(documents.corpus).encode_text(query.text or "")
                documents.held[key] = text.document
            seeds[query_id] = documents.held[key]
    return seeds


def evidence_data(explorer: Explorer, query: Query, doc_id: str, lens: Lens) -> list[Any]:
    """The passages of seed and document that are alike, the best first."""
    searcher = explorer.searcher(query.corpus)
    stage = searcher.first_stage(replace(query, offset=0, k=1, filters=()))
    if not stage.ranking:
        return []
    only = stage.ranking[0]._replace(doc_id=doc_id)
    results = searcher.page(stage, [only]).results
    return [document_view.evidence(pair, lens) for result in results for pair in result.evidence]


BEHIND = 3
MOST_PAST = 40
KEY = "annotate_session"
_ANSWER, _LAST = "annotate_answer", "annotate_last"


_COMPONENT = component("annotate", "keys", "annotate_words", "annotate_outbox", "annotate_session")

# Outside the fragment, so that what it sends runs the whole page.
_RUN_PAGE = st.components.v2.component(
    "seedlens_annotate_run",
    html="<span></span>",
    js="export default ({ setTriggerValue }) => "
    "{ globalThis.seedlensRunPage = () => setTriggerValue('run', Date.now()) }",
)


@dataclass
class JudgingSession:
    """One annotator judging in one project, on one visit.

    Attributes:
        at: the item shown.
        evidence: the item for which evidence was asked.
        done: events that were stored or refused.
        held: items whose documents the browser has already, as it said last.
        only: the items to be judged to check a model; None for all of the queue.
        visit: names this place where items are judged, among all there are.
        shown: items that the browser may show before it has the next answer.
        unstored: items of which it said something that could not be stored yet.
        leased: items are leased to it, or it waits for some.
    """

    project: Project
    who: str
    documents: DocumentCache
    at: Item | None = None
    evidence: Item | None = None
    done: set[str] = field(default_factory=set)
    held: frozenset[Item] = frozenset()
    only: frozenset[Item] | None = None
    visit: str = field(default_factory=lambda: secrets.token_hex(8))
    shown: frozenset[Item] = frozenset()
    unstored: frozenset[Item] = frozenset()
    leased: bool = False

    @property
    def id(self) -> str:
        """Names the view, here and in the browser."""
        return session_id(self.project, self.who, self.only)


@dataclass(frozen=True)
class Answer:
    """What a message from the browser came to.

    Attributes:
        session: id of the session whose message it was, which may be one left since.
        turn: its number.
        settled: events that need not come again.
        refused: items of which nothing could be stored.
        undone: by event, the item that it was taken back of ("" for none).
        retry: the events that are not settled shall come again, later.
    """

    session: str = ""
    turn: int = 0
    settled: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    undone: tuple[tuple[str, str], ...] = ()
    message: str = ""
    retry: bool = False


def session_id(project: Project, who: str, only: frozenset[Item] | None = None) -> str:
    """Names a session; one for some items only is another one."""
    items = () if only is None else sorted(map(to_key, only))
    some = () if only is None else (hashlib.sha256("".join(items).encode()).hexdigest()[:12],)
    return "\x1f".join((project.corpus, project.name, who, *some))


def session_of(
    project: Project,
    who: str,
    start: Item | None = None,
    only: frozenset[Item] | None = None,
) -> JudgingSession:
    """Where somebody is in a project; the first time, at the item of the link."""
    held = _sessions()
    session = held.get(session_id(project, who, only))
    if session is None:
        session = JudgingSession(project, who, DocumentCache(project.corpus), at=start, only=only)
        held[session.id] = session
    session.project = project  # its settings may have changed
    return session


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
    session = session_of(project, who, start, only)
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
    with error_boundary():
        _draw(explorer, session)


def _draw(explorer: Explorer, session: JudgingSession) -> None:
    held = _sessions()

    def arrived() -> None:
        sent = st.session_state[KEY].get("sent")
        # A message is stored for the session that it comes from, if it is one of this visit.
        sender = held.get(str(sent.get("session"))) if isinstance(sent, Mapping) else None
        if sender is not None:
            st.session_state[_ANSWER] = receive(explorer, sender, sent)

    answer = st.session_state.get(_ANSWER, Answer())
    try:
        data = view_data(explorer, session)
    except StorageError as error:
        if st.session_state.get(_LAST, {}).get("id") != session.id:
            raise
        # What is shown stays; the next answer brings what comes after it.
        data = st.session_state[_LAST]
        answer = replace(answer, message=str(error), retry=True)
    st.session_state[_LAST] = data
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
            known = isinstance(error, SeedLensError)
            message = str(error) if known else "Invalid judgment."
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
    if event["marks"] and session.documents.is_old(explorer):
        raise BadInputError(
            f"Document '{doc_id}' was marked before its corpus was imported again.",
            "Reload it, then mark again.",
        )
    document = session.documents.get(explorer, [doc_id])[doc_id]
    judgment = Judgment(
        query_id,
        doc_id,
        session.who,
        event["relevance"],
        event["verdict"],
        str(event["note"]),
        tuple(spans_of(event["marks"], document)),
        origin="person" if session.only is None else "audit",
        seconds=float(event["seconds"]),
        event=name,
    )
    explorer.annotation.judge(session.project, judgment)


def view_data(explorer: Explorer, session: JudgingSession) -> dict[str, Any]:
    """All that is shown: the item at hand, what comes, what was before."""
    annotation, project, who = explorer.annotation, session.project, session.who
    if session.documents.renew(explorer):
        session.held = frozenset()  # of before
    lens = explorer.library.lens(project.corpus)
    share = annotation.share(
        project, who, session.visit, session.at, session.shown | session.unstored, session.only
    )
    queue, due, queries = share.queue, list(share.next), annotation.queries(project)
    session.shown, session.leased = frozenset(due), True
    pool = queue.pool
    past = [item for item in queue.said if item in pool]
    later = {
        name: [item for item in past if not due and queue.said[item].verdict == name]
        for name in ("skip", "unsure")
    }
    at = session.at if session.at in pool else None
    wanted = _wanted(at, [i for i in due if i not in session.held], past, later.values())
    documents = session.documents.get(explorer, [doc_id for _, doc_id in wanted])
    asked = {query_id: queries[query_id] for query_id, _ in wanted}
    seeds = seeds_of(explorer, session.documents, asked)
    return {
        "id": session.id,
        "version": session.documents.version,
        "annotator": who,
        "scale": [
            {"value": g.value, "name": g.name, "meaning": g.meaning} for g in project.scale.grades
        ],
        "guidelines": {key: nodes(text) for key, text in project.guidelines.items()},
        "longest_note": LONGEST_NOTE,
        "items": [
            item_data(
                i,
                documents[i[1]],
                lens,
                queue.said.get(i),
                () if project.blind else pool[i].sources,
            )
            for i in wanted
        ],
        "seeds": [seed_data(name, query, seeds[name], lens) for name, query in asked.items()],
        "start": None if at is None else to_key(at),
        "next": [to_key(item) for item in due],
        "past": [to_key(item) for item in past[-MOST_PAST:]],
        "later": {name: [to_key(item) for item in items] for name, items in later.items()},
        "progress": asdict(share.progress),
        "people": share.people,
        "waiting": waiting_words(share.elsewhere, share.minutes) if not due else None,
        "beyond": to_key(at) if at is not None and share.beyond else None,
        "evidence": _evidence(explorer, queries, session),
        "dark": dark(),
    }


def waiting_words(elsewhere: int, minutes: float) -> dict[str, str] | None:
    """What is said to an annotator while others have all that is left; None when nothing is.

    >>> waiting_words(2, 5.0)["title"]
    'The last 2 items are with other annotators'
    """
    if not elsewhere:
        return None
    last = "The last item is" if elsewhere == 1 else f"The last {elsewhere:,} items are"
    return {
        "title": f"{last} with other annotators",
        "words": f"Released after {minutes:g} minutes of inactivity.",
    }


def _wanted(
    at: Item | None, due: list[Item], past: list[Item], later: Iterable[list[Item]]
) -> list[Item]:
    """Items whose documents the browser may need before its next message."""
    around = past.index(at) if at in past else len(past)
    before = past[max(0, around - BEHIND) : around]
    again = [item for items in later for item in items[:BEHIND]]
    return list(dict.fromkeys([*([at] if at else []), *due, *before, *again]))


def _evidence(
    explorer: Explorer, queries: Mapping[str, Query], session: JudgingSession
) -> dict[str, Any] | None:
    """The evidence that was asked for last; it is sent once."""
    item, session.evidence = session.evidence, None
    if item is None or item[0] not in queries:
        return None
    lens = explorer.library.lens(session.documents.corpus)
    try:
        pairs = evidence_data(explorer, queries[item[0]], item[1], lens)
    except SeedLensError as error:  # judging goes on without it
        return {"key": to_key(item), "pairs": [], "message": str(error)}
    return {"key": to_key(item), "pairs": pairs, "message": ""}
