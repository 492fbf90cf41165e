"""What comes in with a file, checked line by line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.annotate.judgments import IMPORTED, checked, checked_note
from engine.annotate.projects import (
    HIGHEST,
    is_free,
    is_model,
    model_annotator,
    own_name,
    read_query_id,
)
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError
from engine.search.queries import check_query
from engine.types.annotating import GradeMeaning, Item, Judgment, Project, Scale, Verdict
from engine.types.plurals import counted
from engine.types.searches import Query

ANY_SCALE = Scale("any", tuple(GradeMeaning(v, str(v)) for v in range(HIGHEST + 1)))
"""Of projects that nobody knows any more."""
MOST_LISTED = 20
"""Broken lines that are listed one by one."""
ASKED = ("seed", "text", "aspect", "instruction")
"""What files say of a query; what one leaves out is as it is here."""
Key = tuple[str, str, str, bool]
"""(query_id, doc_id, annotator, whether it is an adjudication): of these the last event counts."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A checked event, and the line that it stands in.

    Attributes:
        is_named: the file says which event it is; otherwise it is known by what it says.
    """

    line: int
    judgment: Judgment
    is_named: bool = True


@dataclass
class Intake:
    """Collects the judgments of one file, and everything that is wrong with it.

    Attributes:
        queries: those of the project.
        offered: queries that the file describes itself, by id.
        new_queries: those that its judgments need and the project does not have yet.
        stored: event -> the project's judgments, all there ever were.
        models: bare names of models that graded in the project; no person's grades come in by
            one of these.
        model: the model that all of the file is said to be by; "" for what the file says.
        as_it_was: events were said in this project before, when it may have had another scale
            and other people, and are taken as they were.
    """

    file: str
    project: Project
    corpus: OpenCorpus
    queries: Mapping[str, Query]
    stored: Mapping[str, Judgment]
    offered: dict[str, Query] = field(default_factory=dict)
    new_queries: dict[str, Query] = field(default_factory=dict)
    rows: list[Incoming] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    models: frozenset[str] = frozenset()
    model: str = ""
    as_it_was: bool = False
    _events: dict[str, tuple[int, Judgment]] = field(default_factory=dict)
    _seen: dict[Key, tuple[int, Verdict, int | None]] = field(default_factory=dict)
    _repeats: list[int] = field(default_factory=list)
    _seeds: list[int] = field(default_factory=list)
    _broken: int = 0

    def add(self, line: int, given: Judgment) -> None:
        """Take in one judgment, or note what is wrong with it.

        What stands by a model's name is that model's, also in files that say only names. A
        query's own seed is no answer to it, and left out.

        Args:
            line: where it stands, from 1; 0 where the file has no lines.
            given: as the file says it; its ``event`` is "" where the file does not name it.
        """
        given = self._attributed(given)
        try:
            self._check_names(given)
            self._check_attributed(given)
            judgment = self._checked(given)
            if self._is_seed(given):
                self._seeds.append(line)
                return
            is_again = self._is_sent_twice if given.event else self._is_repeated
            if is_again(line, judgment):
                return
        except BadInputError as error:
            self.broken(line, error)
        else:
            self.rows.append(Incoming(line, judgment, is_named=bool(given.event)))

    def broken(self, line: int, error: BadInputError | str) -> None:
        """Note that a line cannot be used."""
        self._broken += 1
        if len(self.problems) < MOST_LISTED:
            self.problems.append(f"line {line:,}: {error}" if line else str(error))

    def finished(self) -> list[Incoming]:
        """Everything that came in."""
        self._check_undos()
        if self.problems:
            listed = " ".join(self.problems)
            more = self._broken - len(self.problems)
            count = counted(self._broken, "line is", "lines are")
            raise BadInputError(
                f"{self.file}: {count} broken and nothing was imported. {listed}"
                + (f" And {more:,} more." if more > 0 else ""),
                "Correct them and import the file again.",
            )
        if not self.rows:
            raise BadInputError(f"{self.file} has no judgments.", "Choose another file.")
        self._warn()
        return self.rows

    def _warn(self) -> None:
        if lines := self._repeats:
            which = counted(len(lines), "line repeats", "lines repeat")
            self.warnings.append(f"{which} a judgment (first: line {lines[0]:,}).")
        if lines := self._seeds:
            which = counted(len(lines), "judgment is", "judgments are")
            where = f" (first: line {lines[0]:,})" if lines[0] else ""
            self.warnings.append(f"{which} of the query's own seed, and left out{where}.")
        values = self.project.scale.values
        foreign = sum(item.judgment.relevance not in (None, *values) for item in self.rows)
        if foreign:
            which = counted(foreign, "grade is", "grades are")
            self.warnings.append(
                f"{which} not in the project's scale ({', '.join(map(str, values))}): kept as "
                "they were, and in no qrels."
            )

    # -- inside ----------------------------------------------------------------------------

    def _attributed(self, given: Judgment) -> Judgment:
        """The same, as a model's where it is one's."""
        named = is_model(given.annotator)
        if not given.event and given.annotator.strip() and (named or self.model):
            named = True
            given = replace(given, annotator=model_annotator(given.annotator))
        return replace(given, origin="model") if named and given.origin == "import" else given

    def _check_attributed(self, given: Judgment) -> None:
        """Nobody's grades come in as a person's where they are a model's, or the other way."""
        is_one = given.origin == "model"
        if is_one and not is_model(given.annotator) and not self.as_it_was:
            raise BadInputError(
                f"It is a model's, by '{given.annotator}', which names none; write 'model:' before "
                "the name."
            )
        if self.model and (not is_one or given.annotator != self.model):
            raise BadInputError(f"The file says that it is by '{given.annotator}'.")
        if not given.event and given.origin != "model":
            check_no_model(given.annotator, self.models)

    def _check_names(self, given: Judgment) -> None:
        if not self._has_query(given.query_id):
            raise BadInputError(
                f"Query '{given.query_id}' names no seed and aspect of this corpus."
            )
        if given.doc_id not in self.corpus.row_of:
            raise BadInputError(f"There is no document '{given.doc_id[:80]}' in this corpus.")

    def _has_query(self, query_id: str) -> bool:
        if query_id in self.queries:
            self._check_same(query_id)
            return True
        if query_id in self.new_queries:
            return True
        query = self._offered(query_id) or self._named(query_id)
        if query is not None:
            self.new_queries[query_id] = query
            return True
        # Wordings of one's own are judged while exploring: their ids say only that.
        return not self.project.name and is_free(query_id)

    def _offered(self, query_id: str) -> Query | None:
        query = self.offered.get(query_id)
        if query is not None:
            check_query(query, self.corpus.lens)
            if query.seed is not None and query.seed not in self.corpus.row_of:
                raise BadInputError(f"There is no document '{query.seed[:80]}' in this corpus.")
        return query

    def _check_same(self, query_id: str) -> None:
        """Raise BadInputError where the project asks something else by this id than the file does.

        An id that names seed and aspect, or a hash, says itself what is asked.
        """
        said = self.offered.get(query_id)
        if said is None or is_free(query_id) or self._named(query_id):
            return
        here = self.queries[query_id]
        for name in ASKED:
            if (own := _words(getattr(said, name))) and own != _words(getattr(here, name)):
                raise BadInputError(
                    f"Query '{query_id}' asks for something else here than in the file.",
                    "Import the file into a project of its own.",
                )

    def _named(self, query_id: str) -> Query | None:
        named = read_query_id(query_id, self.corpus.row_of, self.corpus.aspects)
        return named and Query(self.corpus.name, seed=named.seed, aspect=named.aspect)

    def _is_seed(self, given: Judgment) -> bool:
        query = self.queries.get(given.query_id) or self.new_queries.get(given.query_id)
        return query is not None and query.seed == given.doc_id

    def _checked(self, given: Judgment) -> Judgment:
        project = self.project
        if given.verdict == "undo":
            return replace(
                given,
                corpus=project.corpus,
                project=project.name,
                note=checked_note(given.note),
                marks=(),
                relevance=None,
            )
        if self.as_it_was and given.event:
            project = replace(project, scale=ANY_SCALE, annotators=(), leads=())
        judgment = checked(project, given)
        if given.origin == "adjudication":
            _check_lead(project, judgment.annotator)
        # What was shown is what the file says, however the project is judged today.
        judgment = replace(judgment, rank=given.rank, system=given.system, blind=given.blind)
        return judgment if given.event else replace(judgment, event=event_of(judgment))

    def _check_undos(self) -> None:
        """Nobody takes back what another said, or what is not there."""
        said = {**{item.judgment.event: item.judgment for item in self.rows}, **self.stored}
        for item in self.rows:
            undo = item.judgment
            target = said.get(undo.undoes)
            if undo.undoes and (target is None or key_of(target)[:3] != key_of(undo)[:3]):
                self.broken(item.line, "It takes back a judgment that is not this annotator's own.")

    def _is_sent_twice(self, line: int, row: Judgment) -> bool:
        """Whether a line before says the same by the same event."""
        first, before = self._events.setdefault(row.event, (line, row))
        if first == line:
            return False
        if replace(row, time=before.time) != before:
            raise BadInputError(
                f"Line {first:,} says something else by the same event; clear its 'event' where "
                "it is another judgment."
            )
        self._repeats.append(line)
        return True

    def _is_repeated(self, line: int, row: Judgment) -> bool:
        said = (row.verdict, row.relevance)
        first, *before = self._seen.setdefault(key_of(row), (line, *said))
        if first == line:
            return False
        if tuple(before) != said:
            raise BadInputError(
                f"What it says of '{row.doc_id}' for '{row.query_id}' differs from what is said in "
                f"line {first:,}."
            )
        self._repeats.append(line)
        return True


def _words(text: str | None) -> list[str]:
    """A text as texts are compared."""
    return (text or "").casefold().split()


def check_no_model(annotator: str, models: Container[str]) -> None:
    """Raise BadInputError for a person's name by which a model graded.

    Args:
        models: their bare names, see :func:`engine.annotate.projects.own_name`.
    """
    if not is_model(annotator) and own_name(annotator) in models:
        raise BadInputError(
            f"By the name '{annotator.strip()}' a model graded in this project.",
            "If these are its grades, import them as a model's (--by-model; on the page, 'A "
            "language model gave them'). If they are a person's, by another name.",
        )


def _check_lead(project: Project, annotator: str) -> None:
    if project.leads and annotator not in project.leads:
        raise BadInputError(f"'{annotator}' is no lead of project '{project.name}'.")


def key_of(row: Judgment) -> Key:
    """Of what only the last event counts."""
    return (row.query_id, row.doc_id, row.annotator, row.origin == "adjudication")


def event_of(row: Judgment) -> str:
    """The id of an event that came without one: the same grade imported again is the same."""
    said = "" if row.relevance is None else str(row.relevance)
    parts = (row.corpus, row.project, row.query_id, row.doc_id, row.annotator, row.origin)
    return IMPORTED + digest(*parts, row.verdict, said)


def digest(*parts: str) -> str:
    """Names an event by what it is."""
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:24]


_MAKER = re.compile(r"[a-z]+-")


@dataclass(frozen=True, slots=True)
class Merged:
    """What an import comes to.

    Attributes:
        rows: events to be added, in order.
        known: how many are stored already, or were overtaken by one that is.
        conflicts: where the file says otherwise than what stands.
    """

    rows: tuple[Judgment, ...]
    known: int
    conflicts: tuple[str, ...] = ()


def merge(
    incoming: Sequence[Incoming],
    stored: Mapping[str, Judgment],
    standing: Collection[Judgment],
    *,
    overwrite: bool = False,
) -> Merged:
    """Events that are new, without those that would change what somebody said here.

    Where an annotator's standing judgment, or that they took it back, differs from what the file
    says last, and the file does not know of it, what is here stays (``overwrite``: the file's
    counts from now on). Both are reported. A judgment that came without an event says what
    stands, or differs. A decision counts for the item, whoever makes it: it differs from the one of
    another, too. What the file itself changed before something that is here is left out: behind it,
    it would count again.

    Args:
        stored: event -> row, all that the project ever had, in order of arrival.
        standing: what of it counts.
    """
    merging = _Merging(
        stored,
        {key_of(row): row for row in standing},
        {key_of(row): row for row in stored.values()},
        {row.item: row for row in standing if row.origin == "adjudication"},
        overwrite,
    )
    of_item: dict[Key, list[Incoming]] = {}
    for item in incoming:
        if item.is_named:
            of_item.setdefault(key_of(item.judgment), []).append(item)
    left = {event for items in of_item.values() for event in merging.left_out(items)}
    rows = []
    for item in incoming:
        if not item.is_named:
            rows += merging.unnamed(item)
        elif item.judgment.event not in stored and item.judgment.event not in left:
            rows.append(item.judgment)
    return Merged(tuple(rows), merging.known, _listed(merging.conflicts))


@dataclass(slots=True)
class _Merging:
    """What is here, and what is found out about a file.

    Attributes:
        here: what stands of each item.
        last: the last event of each, also where it was taken back.
        decided: the decision that counts, of each (query_id, doc_id) that has one.
    """

    stored: Mapping[str, Judgment]
    here: Mapping[Key, Judgment]
    last: Mapping[Key, Judgment]
    decided: Mapping[Item, Judgment]
    overwrite: bool
    known: int = 0
    conflicts: list[str] = field(default_factory=list)

    def left_out(self, items: Sequence[Incoming]) -> set[str]:
        """The events of one item that are not to be added, whether or not they are new."""
        left = self._overtaken(items)
        new = [i for i in items if i.judgment.event not in self.stored]
        new = [i for i in new if i.judgment.event not in left]
        self.known += len(items) - len(new)
        changes = (_changed(i, self.stored.get(i.judgment.event)) for i in items)
        self.conflicts += [change for change in changes if change]
        if new and self._changes(items) and not self.overwrite:
            return {i.judgment.event for i in items}
        return left

    def _overtaken(self, items: Sequence[Incoming]) -> set[str]:
        """What the file itself has before something that is here: it would come after it now."""
        undone = {i.judgment.undoes for i in items}
        said = [i.judgment.event for i in items if i.judgment.verdict != "undo"]
        said = [event for event in said if event not in undone]
        at = max((n for n, event in enumerate(said) if event in self.stored), default=0)
        return {*said[:at]}

    def _changes(self, items: Sequence[Incoming]) -> bool:
        """Whether to add what is new would change what was said here; notes it where it does."""
        key, told = key_of(items[0].judgment), {i.judgment.event for i in items}
        stands, here, last = self.here.get(key), self.last.get(key), _last(items)
        if here is None or (stands or here).event in told:
            return last is not None and self._decides_anew(last)
        # Where nothing stands, it was taken back here.
        if _said_at_last(stands) == _said_at_last(None if last is None else last.judgment):
            return False
        self._differs(stands, here, last or items[-1])
        return True

    def _decides_anew(self, item: Incoming) -> bool:
        """Whether it would take the place of somebody else's decision; notes it where it would."""
        row = item.judgment
        here = self.decided.get(row.item) if row.origin == "adjudication" else None
        if here is None or here.annotator == row.annotator:
            return False
        if row.relevance is None or _said(here) == _said(row):
            return False
        self._differs(here, here, item)
        return True

    def unnamed(self, item: Incoming) -> list[Judgment]:
        """The event that a judgment without one is to be; none where it says what stands."""
        key = key_of(item.judgment)
        last, stands = self.last.get(key), self.here.get(key)
        if last is None:
            return [] if self._decides_anew(item) and not self.overwrite else [item.judgment]
        if stands is None and item.judgment.verdict == "withdrawn":
            self.known += 1
            return []
        if stands is not None and _repeats(item.judgment, stands):
            self.known += 1
            return []
        self._differs(stands, last, item)
        # The same grade may be given, changed and given again: each time it is another event.
        event = IMPORTED + digest(item.judgment.event, last.event)
        return [replace(item.judgment, event=event)] if self.overwrite else []

    def _differs(self, stands: Judgment | None, last: Judgment, item: Incoming) -> None:
        outcome = "the file's counts now" if self.overwrite else "what is here stays"
        here = "took back what was said" if stands is None else f"said {_shown(stands)}"
        said = _shown(item.judgment)
        if stands is not None and _said(stands) == _said(item.judgment):
            said = "the same with another note or other marks"
        self.conflicts.append(
            f"{_where(item)}: {last.annotator} {here} of '{last.doc_id}' for "
            f"'{last.query_id}' here, and {said} in the file; {outcome}."
        )


def named_here(
    incoming: Sequence[Incoming], project: Project, elsewhere: Container[str]
) -> list[Incoming]:
    """The same events; those that another project has as well get ids of their own.

    The word that an id begins with stays: it says what made the event, see
    :data:`engine.annotate.judgments.MADE`.
    """

    def own(event: str) -> str:
        if event not in elsewhere:
            return event
        maker = _MAKER.match(event)
        return (maker[0] if maker else "") + digest(project.corpus, project.name, event)

    def renamed(judgment: Judgment) -> Judgment:
        return replace(judgment, event=own(judgment.event), undoes=own(judgment.undoes))

    return [replace(i, judgment=renamed(i.judgment)) for i in incoming]


def _repeats(row: Judgment, stands: Judgment) -> bool:
    """Whether a file says what stands; where it has no note or no marks it says nothing of them."""
    return (
        _said(row) == _said(stands)
        and row.note in ("", stands.note)
        and row.marks in ((), stands.marks)
    )


def _last(items: Sequence[Incoming]) -> Incoming | None:
    """What stands of an item in the file itself."""
    undone = {i.judgment.undoes for i in items}
    left = [i for i in items if i.judgment.verdict != "undo" and i.judgment.event not in undone]
    return left[-1] if left else None


def _said_at_last(row: Judgment | None) -> tuple[str, int | None]:
    return ("withdrawn", None) if row is None else _said(row)


def _said(row: Judgment) -> tuple[str, int | None]:
    return (row.verdict, row.relevance)


def _changed(item: Incoming, stored: Judgment | None) -> str:
    """What to say of an event that is stored with another content."""
    row = item.judgment
    if stored is None or (key_of(stored), _said(stored), stored.note) == (
        key_of(row), _said(row), row.note,
    ):  # fmt: skip
        return ""
    return (
        f"{_where(item)}: this event is stored as {_shown(stored)}, and events never change; "
        "clear its 'event' to import it as another judgment."
    )


def _where(item: Incoming) -> str:
    return f"Line {item.line:,}" if item.line else f"'{item.judgment.query_id}'"


def _shown(row: Judgment) -> str:
    return str(row.relevance) if row.relevance is not None else row.verdict


def _listed(conflicts: Sequence[str]) -> tuple[str, ...]:
    more = len(conflicts) - MOST_LISTED
    return (*conflicts[:MOST_LISTED], *([f"And {more:,} more."] if more > 0 else []))
