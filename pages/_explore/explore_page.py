"""The controls and results of the Explore page. Controls write the view into the URL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.explorer import Explorer
from engine.types.documents import Document
from engine.types.lenses import Lens
from engine.types.reranking import Move
from engine.types.searches import PAGE_SIZE, WHOLE, Result, SearchResults, Term
from pages._annotate.annotate_url import may_lead
from pages._common import document_view
from pages._common.components import Event, component, inbox, listen, listeners
from pages._common.document_view import seed_finder as find_seed
from pages._common.filter_panel import PageFilters, without
from pages._common.kit import Html, button, dim, el, empty, fold, html, line
from pages._common.shared import attempt, escape_label, system_label
from pages._common.state import control, join, weight_slider
from pages._common.tasks import change, change_sentence
from pages._common.visit_memory import memory
from pages._explore import explore_model
from pages._explore.explore_model import Found
from pages._explore.explore_state import ANEW, DEFAULT, LAYOUTS, RANK, ExplorePage, View
from pages._login import login
from pages._model.model_settings import endpoint
from pages._model.wording_reading import (
    ModelReading,
    is_on,
    question,
    read_wordings,
    reading_switch,
    taken_over,
    use_again,
)

FINDER = "explore_finder"
EDIT = "explore_edit"  # key of the session: the document whose record is to be edited
SYSTEMS = {
    "aspect": "document and aspect vectors, weighted by the aspect weight.",
    "transport": "sentences matched to sentences.",
    "instructed": "instruction-conditioned encoder.",
    "dense": "single vector.",
    "late-interaction": "late interaction.",
    "bm25": "words.",
    "bm25-aspect": "word match on the aspect's sentences.",
    "hybrid": "bm25 and dense, fused by rank.",
    "facts": "filters by dates, amounts and places, stated or implied; with +facts, they raise "
    "another system's results.",
    "scenario": "dense, and the scenarios of each document (see Library).",
    "rewrite": "a model rewrites the query for dense.",
    "multi-hop": "iterative search: the model reads 25 documents per round and refines the query, "
    "four rounds.",
}
"""What each system goes by, a line each."""
MOST_OF_A_KIND = 10  # Liked, or rejected, documents that a ranking learns from, the latest ones
_TOUR = "explore_tour"
READING = "explore_read_as"
_SEED, _SKIP, _CHIPS = component("seed"), component("skip"), component("reading")
_RESULTS = component("results", "keys")
_HELP = component("help", "keys")


def _reseed(doc_id: str = "", text_id: str = "") -> None:
    """Start from another document or pasted text, keeping how to rank."""
    View.change(lambda now: replace(now, seed=doc_id, text_id=text_id, **ANEW))


def seed_finder(page: ExplorePage) -> None:
    """Ways to another seed: words, the corpus page by page, or a text of one's own."""
    text = partial(_reseed, "")
    find_seed(page.explorer, page.corpus, on_document=_reseed, on_text=text, key=FINDER)


def search_controls(page: ExplorePage) -> DeltaGenerator:
    """Aspect, instruction and aspect weight; returns the place for how they are interpreted."""
    explorer, view = page.explorer, page.view
    presets = {aspect.key: aspect.instruction for aspect in page.lens.aspects}
    with st.container(key="explore_asked"):
        control(
            *(view, "aspect", st.selectbox, "Similar in", presets),
            shown=view.aspect or None,
            read=lambda key: key or "",
            also={"reading": (), **ANEW},
            index=None,
            placeholder="Choose an aspect or describe it",
        )
        control(
            *(view, "instruction", st.text_input, "Instruction"),
            read=str.strip,
            also={"reading": ()},  # a correction of other words says nothing of these
            placeholder="similar evaluation set-up, ignore the topic",
            help="Refines the aspect, or replaces it if none is selected. You can correct the "
            "interpretation below.",
        )
        place = st.container()
    own = explorer.library.corpus(page.corpus).systems
    steered = [name for name in own if explorer.reads_steer(name)]
    weight_slider(
        *(view, view.steer),
        disabled=view.system not in steered,
        help=f"0 %: whole document. 100 %: aspect only. Used by {' and '.join(steered)}.",
    )
    return place


def advanced(page: ExplorePage) -> Any:
    """The system and its settings, and the place for the model; open where either was chosen."""
    explorer, view = page.explorer, page.view
    chosen = [system_label(view.system)] if view.system != DEFAULT.system else []
    chosen += ["reranked"] if view.rerank else []
    label = f"Advanced: {', '.join(chosen) or 'system, model'}"
    place = fold(escape_label(label), "explore_advanced", opened=bool(chosen))
    systems = [*explorer.library.corpus(page.corpus).systems, *explorer.model_systems]
    with place:
        # A link may name a system that is not available here: any other can be chosen then.
        control(
            *(view, "system", st.selectbox, "System", systems),
            shown=view.system if view.system in systems else None,
            read=lambda name: name or DEFAULT.system,
            index=0 if view.system in systems else None,
            placeholder="Choose a system",
            help="\n".join(f"- {name}: {SYSTEMS[name]}" for name in SYSTEMS if name in systems),
            format_func=partial(system_label, model=explorer.model_systems),
        )
        if view.system == "late-interaction":
            words = "Average of seed→document and document→seed."
            control(view, "symmetric", st.toggle, "Symmetric scoring", help=words)
    return place


# -- the reading -----------------------------------------------------------------------------


WAITS = "explore_read_as_waits"
"""Key of the session: a correction that was clicked before a new wording was read, and of what."""
ASKED = ("corpus", "seed", "text_id", "aspect", "focus", "instruction", "reading")


def open_reading(explorer: Explorer, view: View) -> tuple[View, ModelReading]:
    """The view with the model's reading of its wording, once that is there."""
    lens = explorer.library.lens(view.corpus)
    [found] = read_wordings(explorer, lens, [question(view.corpus, view)])
    [reading] = taken_over("explore", [found])
    if reading != view.reading:
        view = replace(view, reading=reading, page=1)
        view.write()
    return view, replace(found, query=question(view.corpus, view))


def reading_control(page: ExplorePage, found: ModelReading) -> None:
    """The switch under the chips, and what the model says beyond them."""

    def switched(on: bool) -> None:
        def change(now: View) -> View:
            ends = on or replace(found, query=question(now.corpus, now)).in_use
            return replace(now, reading=(), page=1) if ends else now

        View.change(change)

    if not (is_on() or page.view.instruction.strip()):
        return
    with st.container(gap="xsmall"):
        label, corpus = "Interpret with a model", page.corpus
        reading_switch(page.explorer, "explore", label, [found], corpus, switched)
        content = found.said.content if found.said else ""
        words = ""
        if content and found.in_use:
            words = f"Interpreted as content: “{content}”."
        elif content and not found.terms:
            words = f"{found.model} found no aspect. Using the built-in interpretation."
        if words:
            dim(words)


def other_reading(lens: Lens, found: ModelReading) -> dict[str, str] | None:
    """For a button, the model's reading where another is in use, and the other way round: label,
    tip and reading as a link has it; None where the model has none."""
    if found.in_use:
        tip = "Discard the model's interpretation"
        return {"label": "Built-in interpretation", "tip": tip, "reading": ""}
    if not found.terms:
        return None
    names = {aspect.key: aspect.name for aspect in lens.aspects}
    words = [
        f"{'+' if part[0] == '+' else '−'} {f'“{term.text}”' if term else names.get(part[1:], '')}"
        for part, term in ((part, Term.parse(part)) for part in found.terms)
    ]
    return {
        "label": "Model's interpretation",
        "tip": f"{found.model} interprets it as {', '.join(words)}",
        "reading": join(found.terms),
    }


def reading_chips(page: ExplorePage, results: SearchResults, by_model: ModelReading) -> None:
    """The reading of what is shown, and a model's of the wording; a click changes the view's."""
    view, lens = page.view, page.lens

    def change(event: Mapping[str, Any]) -> None:
        if event.get("by_words"):
            use_again("explore")

        def changed(now: View) -> View:
            if _asked(now) != _asked(view):  # what was read is another reading by now
                st.session_state[WAITS] = (_asked(now), event)
                return now
            return correct(now, results.reading, results.sentences, event)

        View.change(changed)

    asked, waiting = st.session_state.pop(WAITS, (None, {}))
    if asked == _asked(view) and fits(results.reading, results.sentences, waiting):
        change(waiting)
        st.rerun()

    corrected = view.reading and not by_model.in_use
    counts = {str(u.term): f"{'' if u.exact else 'over '}{u.documents:,}" for u in results.terms}
    terms = [(part, term) for part in results.reading if (term := Term.parse(part))]
    _CHIPS(
        key=READING,
        data={
            "reading": list(results.reading),
            "terms": [
                {"part": p, "text": t.text, "aspect": t.aspect, "documents": counts.get(p)}
                for p, t in terms
            ],
            "sentences": list(results.sentences),
            "aspects": [
                {"key": a.key, "name": a.name, "letter": a.letter, "role": role}
                for role, a in enumerate(lens.aspects)
            ],
            "texts": [sentence.text for sentence in results.seed.sentences],
            "by_words": bool(view.instruction and (view.aspect or corrected or view.focus)),
            "model": by_model.model if by_model.in_use else "",
            "other": other_reading(lens, by_model),
        },
        on_change_change=listen(READING, "change", change),
    )


def _asked(view: View) -> tuple[object, ...]:
    return tuple(getattr(view, name) for name in ASKED)


def fits(reading: tuple[str, ...], sentences: tuple[int, ...], event: Mapping[str, Any]) -> bool:
    """Whether a correction of a former reading applies to this one too."""
    if event.get("by_words"):
        return True
    if "sentence" in event:
        return int(event["sentence"]) not in sentences
    old, new = str(event.get("old", "")), str(event.get("term", ""))
    if old:
        return old in reading
    signed = {f"{sign}{part[1:]}" for part in reading for sign in "+-"}
    return bool(new) and new not in (reading if Term.parse(new) else signed)


def correct(
    now: View, reading: tuple[str, ...], sentences: tuple[int, ...], event: Mapping[str, Any]
) -> View:
    """The view after one correction of the reading and sentences that were shown: a ``term``
    instead of ``old`` (either may be empty) and of the same term with another sign, a ``sentence``
    to add or to remove, ``by_words`` to take back everything, or another ``reading``."""
    if "reading" in event:
        return replace(now, reading=Explorer.parse_reading(str(event["reading"])), page=1)
    if event.get("by_words"):
        return replace(now, aspect="", reading=(), **ANEW)
    if "sentence" in event:
        focus = toggled(sentences, event["sentence"])
        if not focus:  # sentences that the wording quotes are ruled out; picked ones let go
            return _settled(now, now.reading if now.focus else WHOLE, ())
        return _settled(now, now.reading or reading, focus)
    old, new = str(event.get("old", "")), str(event.get("term", ""))
    terms = [new if term == old else term for term in reading]
    terms += [] if old else [new]
    once = {term[1:].casefold(): term for term in filter(None, terms)}
    return _settled(now, tuple(once.values()) or WHOLE, sentences)


def toggled(sentences: Sequence[int], one: int) -> tuple[int, ...]:
    return tuple(sorted({*sentences} ^ {int(one)}))


def _settled(now: View, reading: tuple[str, ...], focus: tuple[int, ...]) -> View:
    """The simplest view with this reading: where an aspect says the same, it does."""
    wanted = [part[1:] for part in reading if part[0] == "+" and Term.parse(part) is None]
    aspect = now.aspect if not reading else wanted[0] if len(wanted) == 1 else ""
    plain = reading == WHOLE or (reading == (f"+{aspect}",) and not focus)
    if plain and not now.instruction:
        reading = ()
    return replace(now, aspect=aspect, reading=reading, focus=focus, page=1)


# -- results ---------------------------------------------------------------------------------


CHANGED_BY_WORDING = (
    "Share of the top 20 that is new compared with the search without an aspect and instruction. "
    "A measure of change, not of quality."
)
CHANGED = (
    "Share of the top 20 that is new compared with the ranking before the model. A measure of "
    "change, not of quality."
)


def skip_link(*, key: str) -> None:
    """A button to the first result: for the keyboard, unseen until focused, and on phones."""
    _SKIP(key=key, data={})


def seed_card(results: SearchResults, lens: Lens, *, on: Mapping[str, Event]) -> None:
    """The seed with its sentences by role; ``on`` a click on a role ("aspect") or a sentence
    ("focus")."""
    query, key = results.query, "explore_seed"
    names = ("key", "name", "letter", "definition")
    _SEED(
        key=key,
        data={
            **_seed(results.seed, lens),
            "pasted": query.text is not None,
            "aspect": "" if query.focus else query.aspect or "",
            "aspects": [{name: getattr(a, name) for name in names} for a in lens.aspects],
            "weights": [round(w, 3) for w in results.weights],
            "focus": list(query.focus),
        },
        **listeners(key, on, "aspect", "focus"),
    )


def result_list(page: ExplorePage, found: Found, list_id: str, on: Mapping[str, Event]) -> None:
    """Ranked documents with evidence; ``list_id`` names the reading list that they are kept in."""
    view, results, lens = page.view, found.results, page.lens
    moves = None if found.reranking is None else found.reranking.moves
    seed = document_view.beginning(results.seed)
    grades = page.explorer.notebook.grades(page.query, login.name())
    kept = page.explorer.reading_lists.ids(list_id, view.corpus)
    with st.container():
        doc_ids = [one.doc_id for one in results.results]
        generated = explore_model.explanations(page.explorer, page.query, doc_ids)
    received, receives = inbox("explore_results", on)
    _RESULTS(
        key="explore_results",
        data={
            # What is unfolded stays so while the search is the same.
            "search": replace(view, layout=LAYOUTS[0], sort=RANK).link(),
            "layout": view.layout,
            "sort": view.sort,
            "total": results.total,
            "seed": _seed(seed, lens),
            "aspects": [{"name": a.name, "letter": a.letter} for a in lens.aspects],
            "reads_aspect": bool(found.reads_aspect or results.terms)
            and results.instruction_following is not None,
            "grades": [[grade.value, grade.name] for grade in page.scale.grades],
            # Pairs: an object of JavaScript has names of its own, such as "constructor".
            "graded": [[r.doc_id, grades[r.doc_id]] for r in results.results if r.doc_id in grades],
            "kept": [r.doc_id for r in results.results if r.doc_id in kept],
            "results": [_result(r, seed, lens, moves) for r in results.results],
            "explains": endpoint(page.explorer).set_up,
            "edits": may_lead(),
            "generated": generated,
            **received,
        },
        **receives,
    )


def _seed(seed: Document, lens: Lens) -> dict[str, Any]:
    """A pasted text has no title: its first words are right below."""
    return {**document_view.described(seed, lens), "title": seed.title}


def _result(
    result: Result, seed: Document, lens: Lens, moves: Mapping[str, Move] | None
) -> dict[str, Any]:
    document = document_view.beginning(result.document)
    move = None if moves is None else moves.get(result.doc_id)
    evidence, marks = result.evidence, document_view.marks
    terms = [term for term in result.terms if term.term.wanted or term.has]
    return {
        **document_view.described(document, lens),
        "rank": result.rank,
        "doc_id": document.doc_id,
        "year": document.year,
        "venue": document_view.venue(document),
        "score": result.score,
        "rank_change": result.rank_change,
        "by_model": moves is not None,
        "move": move and _move(move),
        "evidence": [document_view.evidence(e, lens) for e in evidence],
        "explanation": result.explanation,
        "seed_marks": marks(seed, {span for e in evidence for span in e.seed_marks}),
        "own_marks": marks(document, {span for e in evidence for span in e.doc_marks}),
        "terms": [document_view.term(term, document, lens) for term in terms],
        "facts": [document_view.fact(match) for match in result.facts],
        "fact_marks": document_view.fact_marks(document, result.facts),
        "scenario": None if result.scenario is None else document_view.scenario(result.scenario),
    }


def _move(move: Move) -> dict[str, Any]:
    by, sure = move.moved, move.confidence
    return {"by": by, "from": move.first_rank, "read": move.reranked, "sure": sure}


# -- above the list ------------------------------------------------------------------------


def header(page: ExplorePage, found: Found) -> None:
    """What is shown, by which system, how fast, and how far aspect or model changed it."""
    results, reranking = found.results, found.reranking
    query = results.query
    parts: list[object] = ["No results"]
    if results.results:
        more = " (ranked to this depth)" if results.truncated else ""
        last = query.offset + len(results.results)
        shown = el("strong", f"{query.offset + 1}–{last}")
        parts = [[shown, f" of {results.total:,}{more}"]]
    if reranking is None:  # else the seconds that count are in the model's report
        details = [query.system, f"{results.seconds * 1000:.0f} ms"]
    else:
        depth = f", top {reranking.report.depth} reranked" if reranking.report.depth else ""
        details = [f"{query.system}{depth} by {reranking.report.model}"]
    if query.instruction and results.understood:
        wanted = " and ".join(f"{name} {weight:.0%}" for name, weight in results.understood)
        avoided = f", excluding {' and '.join(results.avoided)}" if results.avoided else ""
        details.append(f"interpreted as {wanted}{avoided}".replace(" 100%", ""))
    parts += [el("span.sl-dim", detail) for detail in details]
    line = el("div.sl-head", [el("span", part) for part in parts])
    strengths = Counter(result.strength for result in results.results)
    st.html(html(line, results.results and _changed(found, strengths)))
    is_weak = found.reads_aspect and 2 * strengths["weak"] > len(results.results)
    if is_weak and page.view.steer < 1 and page.explorer.reads_steer(page.view.system):

        def weigh(now: View) -> View:
            return replace(now, steer=min(1.0, now.steer + 0.25), page=1)

        button("Weigh the aspect more", "explore_weigh", View.change, weigh, type="tertiary")


def _changed(found: Found, strengths: Mapping[str, int]) -> Html:
    """How much the list changed, and whether each part of the wording is obeyed."""
    results, reranking = found.results, found.reranking
    if reranking is None:
        meter = _changed_by_wording(found)
    else:
        meter = _meter("Changed", change(reranking), change_sentence(reranking), CHANGED)
    parts = [use.sentence(results.corpus_size) for use in results.terms]
    if results.understood and found.reads_aspect:
        names = " and ".join(name for name, _ in results.understood)
        counts = ", ".join(f"{strengths[word]} {word}" for word in ("strong", "moderate", "weak"))
        parts.append(f"Similar in {names}: {counts} of these {len(results.results)}")
    return html(meter, [el("div.sl-head.sl-changed", part) for part in parts])


def _changed_by_wording(found: Found) -> Html:
    """How much the wording, or the aspect, changed the list."""
    results = found.results
    share, query = results.instruction_following, results.query
    if share is None:
        return Html()
    by = "the instruction" if query.instruction or query.reading else "the aspect"
    top = min(20, results.total)
    count = round(share * top)
    words = f"{count} of {top}"
    if not (found.reads_aspect or results.terms):
        words = "This system ignores the aspect."
    elif count == 0:
        moved = any(r.rank_change for r in results.results)
        words = f"Same top {top} without {by}{', in another order' if moved else ''}."
    return _meter(f"Changed by {by}", share, words, CHANGED_BY_WORDING)


def _meter(name: str, share: float, words: str, meaning: str) -> Html:
    meter = el(
        "span.sl-meter",
        el("span", style=f"width:{share:.0%}"),
        role="meter",
        aria_label=f"{name}: {meaning}",
        aria_valuemin=0,
        aria_valuemax=100,
        aria_valuenow=f"{share * 100:.0f}",
        aria_valuetext=f"{share:.0%}",
    )
    line = html(el("span", f"{name} ", meter), el("span", words))
    return el("div.sl-head.sl-changed", line, title=meaning)


def events(page: ExplorePage, results: SearchResults, list_id: str) -> dict[str, Event]:
    """What the clicks on seed and results do: grades and keeping (in the list ``list_id``) are
    about what was shown when it was clicked, all else about what the URL says now."""
    view, query, notebook = page.view, page.query, page.explorer.notebook
    lists, evidence = page.explorer.reading_lists, {r.doc_id: r.evidence for r in results.results}

    def focus(event: Mapping[str, Any]) -> None:
        def pick(now: View) -> View:
            if (now.corpus, now.seed, now.text_id) != (view.corpus, view.seed, view.text_id):
                return now  # another seed by now: its sentences are others
            return replace(now, focus=toggled(now.focus, event["index"]), page=1)

        View.change(pick)

    def keep(event: Mapping[str, Any]) -> None:
        doc_id = event["doc_id"]
        if not event["kept"]:
            lists.remove(list_id, view.corpus, doc_id)
            return
        pair = next(iter(evidence.get(doc_id, ())), None)
        lists.keep(
            *(list_id, view.corpus, doc_id),
            trail=view.trail,
            query=replace(query, k=PAGE_SIZE, offset=0),
            evidence=None if pair is None else (pair.seed_text, pair.doc_text),
        )

    return {
        "aspect": lambda e: View.change(
            lambda now: replace(now, aspect=e["key"], reading=(), **ANEW)
        ),
        "focus": focus,
        "seed": lambda e: _reseed(e["doc_id"]),
        "keep": keep,
        "grade": lambda e: notebook.judge(
            query, e["doc_id"], e["relevance"], rank=e["rank"], annotator=login.name()
        ),
        "explain": partial(explore_model.ask, page.explorer, query),
        "edit": lambda e: st.session_state.update({EDIT: e["doc_id"]}),
        "layout": lambda e: View.change(lambda now: now.shown_as(e["layout"])),
        "sort": lambda e: View.change(lambda now: replace(now, sort=e["sort"])),
    }


def learning(page: ExplorePage, list_id: str) -> None:
    """Buttons to learn from kept documents (from this seed, or graded in the upper half of the
    scale) and rejected ones, and to leave that."""
    view, query, lowest = page.view, page.query, page.scale.values[0]
    grades = page.explorer.notebook.grades(query, login.name())
    kept = page.explorer.reading_lists.found_from(list_id, query)
    unlike = tuple(doc_id for doc_id, grade in grades.items() if grade == lowest)[-MOST_OF_A_KIND:]
    up = (doc_id for doc_id, grade in grades.items() if 2 * grade > page.scale.values[-1])
    there = page.explorer.library.open(page.corpus).row_of
    like = tuple(d for d in dict.fromkeys([*kept, *up]) if d not in unlike and d in there)
    like, unlike = like[-MOST_OF_A_KIND:], tuple(filter(there.__contains__, unlike))

    def learn(like: Sequence[str] = (), unlike: Sequence[str] = ()) -> None:
        View.change(lambda now: replace(now, like=tuple(like), unlike=tuple(unlike), page=1))

    with line("explore_learn"):
        if (like or unlike) and (like, unlike) != (view.like, view.unlike):
            kinds = ((like, "kept"), (unlike, "rejected"))
            words = ", ".join(f"{len(ids)} {kind}" for ids, kind in kinds if ids)
            about = "What you kept or graded high is a further seed; the lowest grade rejects."
            button(f"Learn from {words}", "explore_learn_do", learn, like, unlike, help=about)
        if view.like or view.unlike:
            button("Stop learning", "explore_learn_stop", learn)


def pages_bar(view: View, total: int) -> None:
    """Pages of the ranking."""
    pages = -(-total // view.size)
    if pages < 2:
        return

    # The key names the search and the page, so that the URL decides which page is shown.
    key = f"explore_page_{view.link()}"

    def turn() -> None:
        page = st.session_state[key]
        # Of this ranking: one that was asked for meanwhile begins on its first page.
        View.change(lambda now: replace(now, page=page) if now.link() == view.link() else now)

    st.pagination(pages, default=min(view.page, pages), key=key, on_change=attempt, args=(turn,))


# -- no results ----------------------------------------------------------------------------


def no_results(page: ExplorePage, found: SearchResults, filters: PageFilters) -> None:
    """Why there is no result, and what to do."""
    query = found.query
    if query.offset and found.total:
        number = query.offset // query.k + 1
        words = f"Page {number} does not exist: the ranking has {found.total:,} documents."
    elif query.filters and not found.truncated:
        _which_filter(page, filters)
        return
    else:
        met = " and these filters" if query.filters else ""
        words = f"No results for this seed with this system{met}. Try another system."
    empty(words)


def _which_filter(page: ExplorePage, filters: PageFilters) -> None:
    """What each filter leaves, with a button that drops it where that helps."""
    effects = page.explorer.searcher(page.corpus).filter_effects(page.query)
    st.html(f"<h2>No documents match {'the filter' if len(effects) == 1 else 'all filters'}.</h2>")
    most = max(effects, key=lambda effect: (effect.rest, -effect.alone))
    if len(effects) > 1 and most.rest:
        st.html(el("p", el("strong", most.filter.words), " excludes most."))
    for position, effect in enumerate(effects):
        with line():
            st.html(html(effect, "."))
            if effect.rest:
                label = f"Remove {escape_label(effect.filter.words)}"
                drop = partial(filters.change, partial(without, [effect.filter]))
                button(label, f"explore_drop_{position}", drop)
    if len(effects) > 1:
        clear = partial(filters.change, lambda _: ())
        button("Clear all filters", "explore_drop_all", clear)


# -- help ----------------------------------------------------------------------------------


def tour_is_due() -> bool:
    """Whether the tour begins by itself: on the first visit without a link, until it is left. To be
    asked before the page writes its address."""
    return bool(memory().setdefault(_TOUR, not st.query_params))


def help_button(page: ExplorePage, *, tour: bool) -> None:
    """The button for keys and tour, which may begin at once; with it, keys that need no result."""
    key, leave = "explore_help", lambda _: memory().update({_TOUR: False})
    grades = [str(value) for value in page.scale.values]
    data = {"finder": FINDER, "grades": grades, "tour": tour}
    _HELP(key=key, data=data, width="content", **listeners(key, {"left": leave}, "left"))
