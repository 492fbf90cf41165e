"""The desk: one annotator's queue under the keys.

What the desk says arrives in messages with numbers, each with all that is not stored yet; an
answer names what is settled. Events have ids of their own, so a message that comes twice, or a
rerun that was cut off, changes nothing twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import streamlit as st

from engine.errors import SeedLensError, StorageError
from engine.explorer import Explorer
from engine.types.annotating import Judgment, PoolItem, Project, QueueProgress
from engine.types.searches import Query
from pages._annotate.items import (
    Item,
    Papers,
    evidence_data,
    from_key,
    item_data,
    seed_data,
    seeds_of,
    spans_of,
    to_key,
)
from pages._common.components import dark
from pages._common.shared import ASSETS, error_boundary

AHEAD = 60
"""Items sent before they are asked for: at ten keys a second, six seconds of them."""
BEHIND = 3
MOST_PAST = 40
LONGEST_NOTE = 10_000
KEY = "annotate_desk"
_ANSWER, _LAST = "annotate_answer", "annotate_last"


def _assets(*names: str) -> str:
    return "".join((ASSETS / "components" / name).read_text("utf-8") for name in names)


_DESK = st.components.v2.component(
    "seedlens_annotate",
    html='<div class="root"></div>',
    css=_assets("common.css", "annotate.css"),
    js=_assets(
        "common.js", "annotate_words.js", "annotate_outbox.js", "annotate_desk.js", "annotate.js"
    ),
)

# Outside the fragment, so that what it sends runs the whole page.
_RUN_PAGE = st.components.v2.component(
    "seedlens_annotate_run",
    html="<span></span>",
    js="export default ({ setTriggerValue }) => "
    "{ globalThis.seedlensRunPage = () => setTriggerValue('run', Date.now()) }",
)


@dataclass
class Sitting:
    """One annotator at one project, on one visit.

    Attributes:
        at: what lies on the desk.
        evidence: the item for which evidence was asked.
        done: events that were stored or refused.
        held: items whose documents the desk has already, as it said last.
        only: the items to be judged; None for all of the queue.
    """

    project: Project
    who: str
    papers: Papers
    at: Item | None = None
    evidence: Item | None = None
    done: set[str] = field(default_factory=set)
    held: frozenset[Item] = frozenset()
    only: frozenset[Item] | None = None

    @property
    def id(self) -> str:
        """Names the desk, here and in the browser."""
        return sitting_id(self.project, self.who, self.only)


@dataclass(frozen=True)
class Answer:
    """What a message from a desk came to.

    Attributes:
        desk: whose message it was; a message that lingered may be that of a desk left since.
        turn: its number.
        settled: events that need not come again.
        refused: items of which nothing could be stored.
        undone: by event, the item that it was taken back of ("" for none).
        retry: the events that are not settled shall come again, later.
    """

    desk: str = ""
    turn: int = 0
    settled: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    undone: tuple[tuple[str, str], ...] = ()
    message: str = ""
    retry: bool = False


def sitting_id(project: Project, who: str, only: frozenset[Item] | None = None) -> str:
    """Names a desk; one for some items only is another one."""
    items = () if only is None else sorted(map(to_key, only))
    some = () if only is None else (hashlib.sha256("".join(items).encode()).hexdigest()[:12],)
    return "\x1f".join((project.corpus, project.name, who, *some))


def sitting(
    project: Project,
    who: str,
    start: Item | None = None,
    only: frozenset[Item] | None = None,
) -> Sitting:
    """Where somebody is in a project; the first time, at the item of the link."""
    held = _sittings()
    found = held.get(sitting_id(project, who, only))
    if found is None:
        found = Sitting(project, who, Papers(project.corpus), at=start, only=only)
        held[found.id] = found
    found.project = project  # its settings may have changed
    return found


def _sittings() -> dict[str, Sitting]:
    found: dict[str, Sitting] = st.session_state.setdefault("annotate_sittings", {})
    return found


def desk(
    explorer: Explorer,
    project: Project,
    who: str,
    start: Item | None,
    only: frozenset[Item] | None = None,
) -> None:
    """The desk, and what a desk that gets no answer runs the page with."""
    _RUN_PAGE(key="annotate_run_page", on_run_change=lambda: None)
    _desk(explorer, sitting(project, who, start, only))


@st.fragment
def _desk(explorer: Explorer, place: Sitting) -> None:
    """Only this much is drawn anew after a key."""
    with error_boundary():
        _draw(explorer, place)


def _draw(explorer: Explorer, place: Sitting) -> None:
    held = _sittings()

    def arrived() -> None:
        sent = st.session_state[KEY].get("sent")
        # A message is stored for the desk that it comes from, and only if this visit sat there.
        sender = held.get(str(sent.get("desk"))) if isinstance(sent, Mapping) else None
        if sender is not None:
            st.session_state[_ANSWER] = take_in(explorer, sender, sent)

    answer = st.session_state.get(_ANSWER, Answer())
    try:
        data = desk_data(explorer, place)
    except StorageError as error:
        if st.session_state.get(_LAST, {}).get("id") != place.id:
            raise
        # What lies on the desk stays there; the next answer brings what comes after it.
        data = st.session_state[_LAST]
        answer = replace(answer, message=str(error), retry=True)
    st.session_state[_LAST] = data
    _DESK(key=KEY, data={**data, "answer": asdict(answer)}, on_sent_change=arrived)


def take_in(explorer: Explorer, place: Sitting, sent: Mapping[str, Any]) -> Answer:
    """Store what a message says, in its order.

    An event that cannot be stored now (a busy ledger) and those behind it stay with the desk
    and come again; one that cannot be stored at all is refused, with the reason.
    """
    settled, refused, undone, message, retry = [], [], [], "", False
    place.evidence = from_key(sent.get("evidence")) or place.evidence
    if "at" in sent:
        place.at = from_key(sent["at"])
    place.held = frozenset(filter(None, map(from_key, sent.get("held") or ())))
    events = list(sent.get("events") or ())
    for number, event in enumerate(events):
        name = str(event.get("event"))
        try:
            if name in place.done:
                pass  # an answer that got lost: it comes again
            elif event["kind"] == "undo":
                undone.append((name, _undo(explorer, place, name, events[number + 1 :])))
            else:
                _judge(explorer, place, name, event)
        except StorageError as error:
            message, retry = f"Not stored yet: {error}", True
            break
        except (SeedLensError, KeyError, TypeError, ValueError) as error:
            known = isinstance(error, SeedLensError)
            message = str(error) if known else "What was said could not be read."
            refused.append(str(event.get("key", "")))
        place.done.add(name)
        settled.append(name)
    turn = int(sent.get("turn") or 0)
    return Answer(place.id, turn, tuple(settled), tuple(refused), tuple(undone), message, retry)


def _undo(
    explorer: Explorer, place: Sitting, name: str, behind: Iterable[Mapping[str, Any]]
) -> str:
    annotation = explorer.annotation
    later = {str(event.get("event")) for event in behind}
    known = annotation.known({name, *later})
    if name not in known and known:
        return ""  # what came after it is stored: it was here before, and found nothing
    taken = annotation.undo(place.project, place.who, place.only, name)
    if taken is None:
        return ""
    place.at = (taken.query_id, taken.doc_id)
    return to_key(place.at)


def _judge(explorer: Explorer, place: Sitting, name: str, event: Mapping[str, Any]) -> None:
    query_id, doc_id = str(event["query_id"]), str(event["doc_id"])
    document = place.papers.get(explorer, [doc_id])[doc_id]
    judgment = Judgment(
        query_id,
        doc_id,
        place.who,
        event["relevance"],
        event["verdict"],
        str(event["note"]),
        tuple(spans_of(event["marks"], document)),
        seconds=float(event["seconds"]),
        event=name,
    )
    explorer.annotation.judge(place.project, judgment)


def desk_data(explorer: Explorer, place: Sitting) -> dict[str, Any]:
    """Everything that the desk shows: what is on it, what comes, what was before."""
    annotation, project, who = explorer.annotation, place.project, place.who
    lens = explorer.library.lens(project.corpus)
    queue, queries = annotation.queue(project, who, place.only), annotation.queries(project)
    known = explorer.library.open(project.corpus).row_of  # an import may have dropped some
    pool = {(i.query_id, i.doc_id): i for i in queue.items if i.doc_id in known}
    order = list(pool)
    start = order.index(place.at) if place.at in pool else 0
    due = [item for item in (*order[start:], *order[:start]) if queue.is_due(pool[item])][:AHEAD]
    past = [item for item in queue.said if item in pool]
    later = {
        name: [item for item in past if not due and queue.said[item].verdict == name]
        for name in ("skip", "unsure")
    }
    at = place.at if place.at in pool else None
    wanted = _wanted(at, [i for i in due if i not in place.held], past, later.values())
    documents = place.papers.get(explorer, [doc_id for _, doc_id in wanted])
    asked = {query_id: queries[query_id] for query_id, _ in wanted}
    seeds = seeds_of(explorer, place.papers, asked)
    return {
        "id": place.id,
        "annotator": who,
        "scale": [
            {"value": g.value, "name": g.name, "meaning": g.meaning} for g in project.scale.grades
        ],
        "guidelines": dict(project.guidelines),
        "longest_note": LONGEST_NOTE,
        "items": [
            item_data(i, documents[i[1]], lens, queue.said.get(i), _sources(project, pool[i]))
            for i in wanted
        ],
        "seeds": [seed_data(name, query, seeds[name], lens) for name, query in asked.items()],
        "start": None if at is None else to_key(at),
        "next": [to_key(item) for item in due],
        "past": [to_key(item) for item in past[-MOST_PAST:]],
        "later": {name: [to_key(item) for item in items] for name, items in later.items()},
        "progress": _progress(queue.progress()),
        "evidence": _evidence(explorer, queries, place),
        "dark": dark(),
    }


def _wanted(
    at: Item | None, due: list[Item], past: list[Item], later: Iterable[list[Item]]
) -> list[Item]:
    """Items whose documents the desk may need before its next message."""
    around = past.index(at) if at in past else len(past)
    before = past[max(0, around - BEHIND) : around]
    again = [item for items in later for item in items[:BEHIND]]
    return list(dict.fromkeys([*([at] if at else []), *due, *before, *again]))


def _sources(project: Project, item: PoolItem) -> tuple[Any, ...]:
    return () if project.blind else item.sources


def _progress(found: QueueProgress) -> dict[str, Any]:
    return {
        "done": found.done,
        "total": found.total,
        "skipped": found.skipped,
        "unsure": found.unsure,
        "per_minute": found.per_minute,
    }


def _evidence(
    explorer: Explorer, queries: Mapping[str, Query], place: Sitting
) -> dict[str, Any] | None:
    """The evidence that was asked for last; it is sent once."""
    item, place.evidence = place.evidence, None
    if item is None or item[0] not in queries:
        return None
    lens = explorer.library.lens(place.papers.corpus)
    try:
        pairs = evidence_data(explorer, queries[item[0]], item[1], lens)
    except SeedLensError as error:  # judging goes on without it
        return {"key": to_key(item), "pairs": [], "message": str(error)}
    return {"key": to_key(item), "pairs": pairs, "message": ""}
