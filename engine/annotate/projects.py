"""Projects: their settings, queries, pools and judgments, checked and kept in the ledger."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import get_args

from pydantic import TypeAdapter

from engine.annotate.pool import Pool, first_items, shared_out
from engine.config import ASSETS
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError, UnknownNameError, check_between, check_known, check_length
from engine.lenses.definitions import find_aspect
from engine.permissions import check_sees, leads_only
from engine.queries import check_query, query_from_json, query_id, query_to_json
from engine.text import counted
from engine.types.annotating import (
    ADJUDICATED,
    MODEL_PREFIX,
    MOST_FIRST,
    Item,
    JudgingOrder,
    Judgment,
    Origin,
    PoolItem,
    Project,
    Scale,
    Source,
    Verdict,
)
from engine.types.lenses import Aspect, Lens
from engine.types.limits import LONGEST_ANNOTATOR, LONGEST_EVENT, LONGEST_GUIDELINES, LONGEST_NOTE
from engine.types.people import ForPerson
from engine.types.searches import Query
from storage.documents import Stored
from storage.judgment_events import Judging
from storage.ledger import Ledger
from storage.projects import PoolRow, ProjectQueryRow
from storage.records import new_event

PROJECTS = TypeAdapter(Project)  # projects as JSON has them
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
HIGHEST = 9
"""The highest grade: one key is one grade."""
ORDERS: tuple[str, ...] = get_args(JudgingOrder)


def is_model(name: str) -> bool:
    """Whether this is the name of a language model."""
    return name.strip().casefold().startswith(MODEL_PREFIX)


def model_annotator(model: str) -> str:
    """The name by which a model grades: ``model:`` and its own; long ones are cut."""
    room = LONGEST_ANNOTATOR - len(MODEL_PREFIX)
    name = one_line(model)
    name = (name[len(MODEL_PREFIX) :].lstrip() if is_model(name) else name) or "unnamed"
    if len(name) > room:
        name = f"{name[: room - 9]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"{MODEL_PREFIX}{name}"


def own_name(annotator: str) -> str:
    """An annotator's name without the prefix of models, normalised for comparison."""
    name = annotator.strip().casefold()
    return name.removeprefix(MODEL_PREFIX).strip()


def check_annotator(name: str, origin: Origin = "person") -> str:
    """The stripped name; only a model's ``origin`` may use the name of a model."""
    name = name.strip()
    if not name:
        raise BadInputError("The annotator has no name.", "Say who is judging.")
    check_length("annotator's name", name, LONGEST_ANNOTATOR)
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name):
        raise BadInputError(
            "The annotator's name holds control characters or broken ones.", "Leave them out."
        )
    if name.casefold() == ADJUDICATED or (is_model(name) and origin != "model"):
        whose = "a language model" if is_model(name) else "adjudicated grades"
        raise BadInputError(f"'{name}' is the name of {whose}.", "Judge under a name of your own.")
    return name


def check_project(project: Project) -> Project:
    """The project with its names cleaned up."""
    if project.name and not _NAME.fullmatch(project.name):
        raise BadInputError(
            f"'{project.name}' cannot be a project's name.",
            "Use 1 to 64 letters, digits, - and _, a letter or digit first.",
        )
    check_between("The number of annotators of an item", project.per_item, 1)
    check_known("order", project.order, ORDERS)
    check_between("The number of first items", project.first, 0, MOST_FIRST)
    check_length("text of the guidelines", "".join(project.guidelines.values()), LONGEST_GUIDELINES)
    return replace(
        project,
        guidelines={k: printable(text) for k, text in project.guidelines.items() if text.strip()},
        scale=check_scale(project.scale),
        annotators=tuple(dict.fromkeys(map(check_annotator, project.annotators))),
        leads=tuple(dict.fromkeys(map(check_annotator, project.leads))),
        assigned={
            query_id: own
            for query_id, people in project.assigned.items()
            if (own := tuple(who for who in people if is_member(project, who)))
        },
    )


def check_scale(scale: Scale) -> Scale:
    """The scale, grades ascending."""
    values = [grade.value for grade in scale.grades]
    are_digits = all(type(value) is int and 0 <= value <= HIGHEST for value in values)
    if not are_digits or len(set(values)) < max(2, len(values)):
        raise BadInputError(
            f"The scale '{scale.name}' has the grades {', '.join(map(str, values)) or 'none'}.",
            f"Give at least two different grades, single digits from 0 to {HIGHEST}.",
        )
    if any(not grade.name.strip() for grade in scale.grades):
        raise BadInputError(f"A grade of the scale '{scale.name}' has no name.", "Name them all.")
    if scale.relevant_from not in (None, *values):
        raise BadInputError(f"The scale has no grade {scale.relevant_from}.", "Use one of its own.")
    return replace(scale, grades=tuple(sorted(scale.grades, key=lambda grade: grade.value)))


def printable(text: str) -> str:
    """The text without control characters, but with its lines and tabs."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))


def one_line(text: str) -> str:
    """Foreign text on one line, without invisible characters.

    >>> one_line(" a  <b>label</b>\\x00 \\n of two lines ")
    'a <b>label</b> of two lines'
    """
    return " ".join(printable(text).split())


def read_query_id(query_id: str, corpus: OpenCorpus) -> Query | None:
    """The query of an id ``<seed>_<aspect>`` or ``<seed>_any``; None without a known seed."""
    # The longest key first: aspects may be called "use" and "intended_use".
    for aspect in (*sorted(corpus.aspects, key=len, reverse=True), None):
        seed = query_id.removesuffix(f"_{(aspect or 'any').lower()}")
        if seed != query_id and seed in corpus.row_of:
            return Query(corpus.name, seed=seed, aspect=aspect)
    return None


def read_queries(text: str, file: str, corpus: OpenCorpus) -> dict[str, Query]:
    """query_id -> query, of a file with one id on each line; empty lines are skipped."""
    queries, broken = {}, []
    for number, name in enumerate(map(str.strip, text.splitlines()), start=1):
        if (query := read_query_id(name, corpus)) is not None:
            queries[name] = query
        elif name:
            broken.append(f"line {number:,} ('{name[:60]}')")
    if broken or not queries:
        which = f"no seed and aspect in {', '.join(broken[:20])}" if broken else "no queries"
        remedy = f"Write one id a line, like <seed>_{corpus.aspects[0]}."
        raise BadInputError(f"{file}: {which}.", remedy)
    return queries


def is_free(query_id: str) -> bool:
    """Whether a query is named by a hash: a pasted text, picked sentences or an own wording.

    >>> is_free("text-0f1e2d3c4b5a_any"), is_free("7_method~0a1b2c3d"), is_free("7_method")
    (True, True, False)
    """
    name, _, digest = query_id.rpartition("~")
    is_text = query_id.startswith("text-") and "_" in query_id
    return is_text or bool(name and len(digest) == 8)


def guideline_template(scale: Scale, lens: Lens, aspect: Aspect | None = None) -> str:
    """Guidelines to complete, in Markdown: for one aspect, or for all with a table of grades."""
    names = [other.name for other in lens.aspects if aspect is None or other.key != aspect.key]
    if aspect is None:
        cells = (
            (f"{grade.value} {grade.name}", grade.meaning or "…", "…") for grade in scale.grades
        )
        escaped = ([" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in cells)
        rows = "\n".join(f"| {' | '.join(row)} |" for row in escaped)
        aspects = f" ({', '.join(names)})" if names else ""
        return _GUIDELINES["all"].format(aspects=aspects, grades=rows)
    return _GUIDELINES["aspect"].format(
        name=aspect.name,
        definition=aspect.definition,
        others=f"- Likeness in {' or '.join(names)} alone.\n" if names else "",
        best=scale.grades[-1].value,
        least=scale.grades[0].value,
    )


_GUIDELINES = {
    name: (ASSETS / "guidelines" / f"{name}.md").read_text("utf-8") for name in ("all", "aspect")
}


# -- judgments ---------------------------------------------------------------------------------

BY_MODEL, BUILT = MADE = ("grading-", "build-")
"""First words of the ids of judgments by a model that grades, and of a build."""


def is_unread(judgment: Judgment) -> bool:
    """Whether a build wrote a model's grade that comes from a label, not from reading."""
    return judgment.origin == "model" and judgment.event.startswith(BUILT)


GIVEN: tuple[Verdict, ...] = ("grade", "skip", "unsure", "withdrawn")
"""Verdicts that a person can give; an undo is separate."""


def checked(project: Project, judgment: Judgment) -> Judgment:
    """The judgment for its project, cleaned; without ``rank`` and ``system`` in a blind one."""
    annotator = check_annotator(judgment.annotator, judgment.origin)
    check_length("event", judgment.event, LONGEST_EVENT)
    verdict, relevance, values = judgment.verdict, judgment.relevance, project.scale.values
    if verdict not in GIVEN:
        raise BadInputError(f"'{verdict}' is no verdict.", f"Use {', '.join(GIVEN)}.")
    if verdict != "grade" and relevance is not None:
        raise BadInputError(f"A '{verdict}' has the grade {relevance}.", "Leave the grade out.")
    # 2.0 and True are equal to some
    if verdict == "grade" and not (type(relevance) is int and relevance in values):
        known = f"Grades are {', '.join(map(str, values))}."
        raise BadInputError(f"The grade is {relevance}.", known)
    if judgment.origin in ("person", "audit"):
        _check_member(project, annotator)
    blind = project.blind and bool(project.name)
    return replace(
        judgment,
        corpus=project.corpus,
        project=project.key[1],
        annotator=annotator,
        note=checked_note(judgment.note),
        instruction=printable(judgment.instruction),
        marks=tuple(judgment.marks),
        rank=None if blind else judgment.rank,
        system="" if blind else judgment.system,
        blind=blind,
        event=judgment.event or new_event(),
    )


def checked_note(note: str) -> str:
    """The note without control characters; BadInputError when it is too long."""
    check_length("note", note, LONGEST_NOTE)
    return printable(note)


def is_member(project: Project, annotator: str) -> bool:
    """Whether a person judges in a project: one without a list of people is for all."""
    return not project.annotators or annotator in {*project.annotators, *project.leads}


def _check_member(project: Project, annotator: str) -> None:
    if not is_member(project, annotator):
        people = sorted({*project.annotators, *project.leads})
        raise BadInputError(
            f"'{annotator}' is not among the annotators of project '{project.name}'.",
            f"They are {', '.join(people)}; a lead can add others.",
        )


def check_decision(
    judging: Judging, project: Project, judgment: Judgment, seen: str | None = None
) -> None:
    """Refuse a decision by a person who is no lead, without a reason, after one by somebody else
    that was not ``seen`` (None for any), or that takes back nothing of its annotator's."""
    by, query_id, doc_id = judgment.annotator.strip(), *judgment.item
    if project.leads and by not in project.leads:
        raise BadInputError(
            f"'{by}' cannot adjudicate in project '{project.name}'.",
            f"Its leads are {', '.join(sorted(project.leads))}.",
        )
    if judgment.relevance is not None and not judgment.note.strip():
        raise BadInputError("The decision has no reason.", "Say in a few words why.")
    of_query = judging.latest(*project.key, query_id)
    decided = [j for j in of_query if j.doc_id == doc_id and j.origin == "adjudication"]
    last = decided[-1] if decided else None
    if last and seen not in (None, last.event) and last.annotator != by:
        raise BadInputError(
            f"{last.annotator} decided about document '{doc_id}' for '{query_id}' in the meantime.",
            "Look at that decision, among those that are decided, and then change it. Nothing was "
            "changed.",
        )
    people = sorted({j.annotator for j in decided})
    is_new = judgment.verdict == "withdrawn" and by not in people
    if is_new and judging.find(judgment.event) is None:
        who = (
            f"It was decided by {', '.join(people)}."
            if people
            else "There is nothing to take back."
        )
        what = f"'{by}' decided nothing about document '{doc_id}' for '{query_id}'."
        raise BadInputError(what, who)


def store(judging: Judging, judgment: Judgment) -> None:
    """Keep a judgment; one that was sent before is there already."""
    if judging.add([judgment]):
        return
    stored = judging.find(judgment.event)
    if stored is None or _content(stored) != _content(judgment):
        raise BadInputError(
            f"The event '{judgment.event}' is stored already with another content.",
            "Send it with another event id. Nothing was changed.",
        )


_content = attrgetter(
    *("corpus", "project", "item", "annotator", "origin"),
    *("verdict", "relevance", "note", "marks"),
)


# -- projects ----------------------------------------------------------------------------------


def _named(project: Project) -> Project:
    """The project, unless it is a corpus's own."""
    if not project.name:
        raise BadInputError("The project has no name.", "Enter a short one, like methods-2024.")
    return project


def _check_unchanged(before: Project, current: Project) -> None:
    """Refuse a version of a project that is not the current one."""
    how = "was changed by somebody else"
    if current.deleted and not before.deleted:
        how = "was deleted"
    elif current.name != before.name:
        how = f"was renamed to '{current.name}'"
    if current != before:
        raise BadInputError(
            f"Project '{before.name}' {how} in the meantime.",
            "Look at it again, and then change it.",
        )


class ProjectStore(ForPerson):
    """The projects of one home: settings, queries, pools and judgments; thread-safe."""

    def __init__(self, ledger: Ledger, library: Library) -> None:
        self._ledger, self._library = ledger, library
        self._stored = ledger.documents("project", Project)
        self._first = ledger.documents("first items", tuple[Item, ...])
        self._pools_lock = threading.Lock()

    def projects(self, corpus: str | None = None) -> list[Project]:
        """Projects that were saved, by corpus and name; a corpus's own only once it was."""
        stored = (one.value for one in self._stored.all(corpus) if not one.value.deleted)
        return sorted(stored, key=attrgetter("corpus", "name"))

    @leads_only
    def deleted(self, corpus: str) -> list[Project]:
        """Projects that :meth:`restore` can bring back, the last deleted first."""
        gone = [one for one in self._stored.all(corpus) if one.value.deleted]
        return [one.value for one in sorted(gone, key=attrgetter("time"), reverse=True)]

    def at(self, corpus: str, place: str) -> Project:
        """The project of a :attr:`Project.key`; UnknownNameError while it is deleted."""
        corpus = self._library.corpus(corpus).name
        stored: Project = self._stored.value(place, corpus) or self.project(corpus, place)
        if stored.deleted:
            raise UnknownNameError(
                f"The project '{stored.name}' of corpus '{corpus}' was deleted.",
                "A lead can restore it.",
            )
        return stored

    def project(self, corpus: str, name: str = "") -> Project:
        """A project by its present or a former name; a corpus always has its own, called ""."""
        corpus = self._library.corpus(corpus).name
        projects = self.projects(corpus)
        named = {former: p for p in projects for former in (*p.former, p.key[1])}
        named |= {p.name: p for p in projects}
        if name and name not in named:
            known = ", ".join(project.name for project in projects if project.name)
            remedy = f"It has {known}." if known else "Make it first."
            raise UnknownNameError(f"Corpus '{corpus}' has no project '{name}'.", remedy)
        return named.get(name, Project(corpus))

    @leads_only
    def create(self, project: Project, author: str) -> Project:
        """Store a new project under a name that is free."""
        self._check_free(project.corpus, _named(project).name)
        return self.save(project, author)

    @leads_only
    def copy(self, project: Project, name: str, author: str) -> Project:
        """A new project with the settings, queries and pool of one, without its judgments."""
        self._check_free(project.corpus, name)
        new = _named(replace(_named(project), name=name, place="", former=()))
        made = self.put(new, check_annotator(author))
        rows, (corpus, place) = self._ledger.projects, made.key
        rows.add_queries(replace(row, project=place) for row in rows.queries(*project.key))
        rows.set_asked(corpus, place, self.retired(project), asked=False, author=author)
        rows.add_to_pool(replace(row, project=place) for row in rows.every_pool(*project.key))
        return made

    @leads_only
    def rename(self, project: Project, name: str, author: str) -> Project:
        """Rename a project; it is found by its former names too."""
        former = tuple(dict.fromkeys((*_named(project).former, project.name)))
        renamed = replace(project, name=name, place=project.key[1], former=former)
        return self.put(_named(renamed), author, project)

    @leads_only
    def delete(self, project: Project, author: str) -> None:
        """Delete a project; :meth:`restore` brings it back, with all that was judged."""
        self.put(replace(_named(project), deleted=True, place=project.key[1]), author, project)

    @leads_only
    def restore(self, gone: Project, author: str, name: str = "") -> Project:
        """Undo the :meth:`delete` of a project; ``name`` is another one for it, "" for its own."""
        return self.put(replace(gone, deleted=False, name=name or gone.name), author, gone)

    def _check_free(self, corpus: str, name: str, place: str | None = None) -> None:
        """Refuse a name that a project at another place has, or had before it was renamed."""
        for other in self.projects(corpus):
            if other.key[1] != place and name in (other.name, other.key[1], *other.former):
                now = "" if other.name == name else f", now called '{other.name}'"
                what = f"Corpus '{corpus}' has a project '{name}' already{now}."
                raise BadInputError(what, "Choose another name.")

    def placed(self, project: Project) -> Project:
        """The project with its place; a new one gets one away from what a deleted one has."""
        named = {other.name: other for other in self.projects(project.corpus)}
        if project.place or project.name in named:
            return replace(project, place=project.place or named[project.name].place)
        if self._stored.get(project.name, project.corpus) is None:
            return project
        return replace(project, place=f"{project.name}~{new_event()[:8]}")

    @leads_only
    def assign(
        self, project: Project, assigned: Mapping[str, Sequence[str]], author: str
    ) -> Project:
        """Assign queries to annotators; one without any is everybody's."""
        asked, after = self._every_query(project), dict(_named(project).assigned)
        for name, people in assigned.items():
            check_known("query", name, asked)
            after[name] = tuple(map(check_annotator, people))
            for who in after[name]:
                _check_member(project, who)
        return self.save(replace(project, assigned=after), author, project)

    @leads_only
    def share_out(self, project: Project, author: str) -> Project:
        """Assign all queries to the project's annotators; see :func:`shared_out`."""
        if len(project.annotators) < project.per_item:
            raise BadInputError(
                f"Project '{project.name}' has {counted(len(project.annotators), 'annotator')}, "
                f"and asks {project.per_item} for each item.",
                "Name its annotators first.",
            )
        sizes = Counter(dict.fromkeys(self.queries(project), 0))
        sizes.update(item.query_id for item in self.pool(project))
        return self.assign(project, shared_out(project, sizes), author)

    def first_items(self, project: Project, pool: Pool, *, keep: bool = False) -> tuple[Item, ...]:
        """The items of the pool that everybody judges first; with ``keep`` they stay so."""
        if not project.first:
            return ()
        corpus, place = project.key
        before = self._first.value(place, corpus) or ()
        first = tuple(first_items(pool, before, project.first))

        def extended(stored: Stored[tuple[Item, ...]] | None) -> tuple[Item, ...]:
            kept = () if stored is None else stored.value
            return (*kept, *(item for item in first if item not in kept))

        if keep and not {*first} <= {*before} and not self._ledger.is_protected:
            self._first.change(place, extended, scope=corpus)
        return first

    @leads_only
    def save(self, project: Project, author: str, before: Project | None = None) -> Project:
        """Store a project. ``before`` is the version that was edited, None for any."""
        lens = self._library.lens(project.corpus)
        stored = self._stored.value(project.key[1], project.corpus)
        known = {"", *(stored.guidelines if stored is not None else ())}
        for aspect in project.guidelines.keys() - known:
            find_aspect(lens, aspect)
        project = replace(project, corpus=self._library.stored_name(project.corpus))
        return self.put(project, check_annotator(author), before)

    @leads_only
    def put(self, project: Project, author: str, before: Project | None = None) -> Project:
        """As :meth:`save`, for a project from a file: any author, any aspects."""
        checked = check_project(self.placed(project))
        corpus, place = checked.key
        stored = self._stored.get(place, corpus)
        current = Project(corpus, place) if stored is None else stored.value
        if before is not None:
            latest = current
            if before.key != checked.key:  # a name that another project has by now
                latest = self._stored.value(before.key[1], corpus) or Project(*before.key)
            _check_unchanged(before, latest)
        is_here = stored is not None and not current.deleted and current.name == checked.name
        if not checked.deleted and not is_here:
            self._check_free(corpus, checked.name, place)
        if current.leads and author not in current.leads:
            raise BadInputError(
                f"'{author}' cannot change project '{project.name}'.",
                f"Its leads are {', '.join(sorted(current.leads))}.",
            )
        self._check_grades(current, checked.scale)

        def change(latest: Stored[Project] | None) -> Project:
            before = Project(corpus, place) if latest is None else latest.value
            _check_unchanged(current, before)
            return checked

        self._stored.change(place, change, author, corpus)
        return checked

    def _check_grades(self, current: Project, scale: Scale) -> None:
        """Refuse a scale that lacks a current grade."""
        gone = set(current.scale.values) - set(scale.values)
        judgments = self.judgments(current) if gone else ()
        if lacking := Counter(j.relevance for j in judgments if j.relevance in gone):
            which = counted(lacking.total(), "grade stands", "grades stand")
            grades = ", ".join(f"{grade} ({count:,})" for grade, count in sorted(lacking.items()))
            raise BadInputError(
                f"{which} that the scale '{scale.name}' does not have: {grades}.",
                "Keep these grades in the scale, or judge by another one in a new project.",
            )

    def queries(self, project: Project, *, retired: bool = False) -> dict[str, Query]:
        """query_id -> query, in order of addition; with ``retired`` also those. Of the corpus's own
        project, an annotator sees those that they judged or that are pooled."""
        queries, out = self._every_query(project), () if retired else self.retired(project)
        own: Container[str] = queries
        if not project.name and not self.person.is_lead:
            said = self._ledger.judging.latest(*project.key, None, self.person.name)
            own = {j.query_id for j in said} | {i.query_id for i in self.pool(project)}
        return {i: query for i, query in queries.items() if i in own and i not in out}

    def _every_query(self, project: Project) -> Mapping[str, Query]:
        """Retired ones included; the same object while nothing changes."""
        queries: Mapping[str, Query] = self._ledger.projects.queries(*project.key, _queries)
        return queries

    def query(self, project: Project, query_id: str) -> Query:
        """A query of the project. A corpus's own takes in every seed and aspect there is."""
        known = self._every_query(project)
        if query_id in known:
            return known[query_id]
        if not project.name:
            query = read_query_id(query_id, self._library.open(project.corpus))
            if query is not None:
                self._keep_query(project, query_id, query)
                return query
        raise UnknownNameError(
            f"The query '{query_id}' is not in project '{project.name or project.corpus}'.",
            f"{'Add it first; its' if project.name else 'An'} id is SEED_ASPECT.",
        )

    @leads_only
    def add_queries(
        self, project: Project, queries: Iterable[Query] | Mapping[str, Query]
    ) -> list[str]:
        """Add queries, by their ids or named by :func:`engine.queries.query_id`, and return
        the ids; known ones stay as they are, retired ones become active."""
        new = self.checked_queries(project, queries)
        self._store(project, new)
        rows = self._ledger.projects
        if rows.retired(*project.key).intersection(new):
            rows.set_asked(*project.key, new, asked=True, author="")
        return [*new]

    @leads_only
    def checked_queries(
        self, project: Project, queries: Iterable[Query] | Mapping[str, Query]
    ) -> dict[str, Query]:
        """The queries as :meth:`add_queries` stores them, by id; refuses what it refuses."""
        given = queries.values() if isinstance(queries, Mapping) else queries
        plain = {"corpus": project.corpus, "offset": 0, "like": (), "unlike": ()}
        asked = [replace(query, **plain) for query in given]
        ids = [*queries] if isinstance(queries, Mapping) else [*map(query_id, asked)]
        lens = self._library.lens(project.corpus)
        opened = self._library.open(project.corpus)
        for query in asked:
            check_query(query, lens, self._library.every_system)
            if query.seed is not None:
                opened.document(query.seed)
        new, here = dict(zip(ids, asked, strict=True)), self._every_query(project)
        taken = [
            i for i, query in new.items() if i in here and query_id(query) != query_id(here[i])
        ]
        if taken and isinstance(queries, Mapping):  # numbered ids collide
            which = counted(len(taken), "query asks", "queries ask")
            raise BadInputError(
                f"{which} for something else here by the same id (first: '{taken[0]}').",
                "Use a project of its own for them. Nothing was added.",
            )
        return new

    def _keep_query(self, project: Project, query_id: str, query: Query) -> None:
        """Store the query if its id is new: own words and sentences are not in an id."""
        if query_id not in self._every_query(project):
            plain = replace(query, offset=0, filters=(), like=(), unlike=())
            self._store(project, {query_id: plain})

    def _store(self, project: Project, queries: Mapping[str, Query]) -> None:
        now = datetime.now(UTC)
        self._ledger.projects.add_queries(
            ProjectQueryRow(*project.key, query_id, query_to_json(query), now)
            for query_id, query in queries.items()
        )

    @leads_only
    def retire(self, project: Project, query_ids: Iterable[str], author: str) -> int:
        """Retire queries from queues, pools and adjudicated grades until added again; judgments
        stay. Returns how many were active."""
        put = self._ledger.projects.set_asked
        return put(*project.key, query_ids, asked=False, author=check_annotator(author))

    def retired(self, project: Project) -> frozenset[str]:
        """The retired queries of a project, by id."""
        return self._ledger.projects.retired(*project.key)

    def pool(self, project: Project) -> list[PoolItem]:
        """The items to judge with their sources, in order of arrival."""
        return [*self.pooled(project).items]

    def pooled(self, project: Project) -> Pool:
        """:meth:`pool` as queues are made of it; the same object while nothing changes."""
        with self._pools_lock:  # it takes long, and many may ask at once
            pool: Pool = self._ledger.projects.pool(*project.key, _pool)
            return pool

    def judgments(
        self, project: Project, query_id: str | None = None, annotator: str | None = None
    ) -> list[Judgment]:
        """The current judgments, adjudications included, in order of arrival."""
        check_sees(self.person, annotator)
        return self._ledger.judging.latest(*project.key, query_id, annotator)

    def last_event(self, project: Project) -> int:
        """The number of the last event that changed a judgment; 0 before the first."""
        return self._ledger.judging.current(*project.key).last

    @leads_only
    def history(self, project: Project) -> list[Judgment]:
        """Every event there ever was, undos included."""
        return self._ledger.judging.history(*project.key)


def _pool(rows: Iterable[PoolRow]) -> Pool:
    sources: dict[Item, list[Source]] = {}
    for row in rows:
        sources.setdefault((row.query_id, row.doc_id), []).append(Source(row.source, row.rank))
    return Pool(PoolItem(*item, tuple(of_item)) for item, of_item in sources.items())


_query = lru_cache(maxsize=4096)(query_from_json)


def _queries(rows: Iterable[ProjectQueryRow]) -> dict[str, Query]:
    return {row.query_id: _query(row.query) for row in rows}
