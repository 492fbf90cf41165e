"""Documents and evidence as plain data, which components insert as text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.documents import Document, FactMatch, Sentence, Span, paper_link
from engine.types.lenses import Lens
from engine.types.scenarios import ScenarioMatch
from engine.types.searches import Evidence, FoundDocument, TermPassage
from pages._common.components import Event, component, listeners
from pages._common.kit import Html, el, html
from pages._common.kit import document as card
from pages._common.shared import error_boundary, remembered

NAME_CHARS = 200
"""Of a name or a venue, in a line; a file may have megabytes there, for each result of a page."""
LISTED_CHARS, LISTED_SENTENCES = 100_000, 4_000
"""Of each document of a page of results, whose message the browser takes up to 50 MB of."""


def letter(role: int | None, lens: Lens) -> str:
    return "·" if role is None else lens.aspects[role].letter


def title_of(document: Document) -> str:
    """Its title, or the beginning of its text."""
    return document.title or shortened(document.text)


def meta(document: Document) -> str:
    """Year, authors and venue in one line."""
    people = document.authors
    names = ", ".join(shortened(name, NAME_CHARS) for name in people[:3])
    names += f" and {len(people) - 3} more" if len(people) > 3 else ""
    return " · ".join(p for p in (str(document.year or ""), names, venue(document)) if p)


def venue(document: Document) -> str:
    return shortened(str(document.metadata.get("venue") or ""), NAME_CHARS)


def sentences(document: Document, lens: Lens) -> list[dict[str, Any]]:
    return [
        {"text": s.text, "role": s.role, "letter": letter(s.role, lens)} for s in document.sentences
    ]


def beginning(document: Document) -> Document:
    """A document as lists show it: of a very long one the beginning, and a line on the rest."""
    ends = list(accumulate(len(sentence.text) for sentence in document.sentences))
    kept = min(bisect_right(ends, LISTED_CHARS), LISTED_SENTENCES)
    if kept == len(ends):
        return document
    shown = document.sentences[:kept]
    if not shown:
        first = document.sentences[0]
        shown = (replace(first, text=f"{first.text[:LISTED_CHARS]} …"),)
    left = len(ends) - len(shown)
    rest = counted(left, "more sentence") if left else "the rest of the sentence"
    more = f"Not shown: {rest}. Use the document as the seed to read it all."
    end = shown[-1].span[1]
    return replace(document, sentences=(*shown, Sentence((end, end), more, ())))


def described(document: Document, lens: Lens) -> dict[str, Any]:
    """What is shown of any document: title, year and so on in a line, the link, its sentences."""
    return {
        "title": title_of(document),
        "meta": meta(document),
        "link": paper_link(document),
        "sentences": sentences(document, lens),
    }


def by_role(
    kicker: str,
    document: Document,
    lens: Lens,
    on: Container[int] = (),
    marked: Mapping[int, Sequence[str]] | None = None,
) -> Html:
    """A document as a card with its sentences by role; ``on`` stand out, ``marked`` names who."""
    rows = []
    for number, sentence in enumerate(document.sentences):
        role = "none" if sentence.role is None else sentence.role
        who = ", ".join((marked or {}).get(number, ()))
        by = who and html(" ", el("span.by", f"marked by {who}"))
        text = el("span.text", sentence.text, by)
        mark = el("span.letter", letter(sentence.role, lens))
        style = f"--role: var(--role-{role})"
        rows.append(el("li.on" if number in on else "li", mark, text, style=style))
    return card(kicker, title_of(document), meta(document), el("ul", rows))


def evidence(evidence: Evidence, lens: Lens) -> dict[str, Any]:
    return {
        "seed_text": evidence.seed_text,
        "doc_text": evidence.doc_text,
        "seed_marks": _within(evidence.seed_marks, evidence.seed_span),
        "doc_marks": _within(evidence.doc_marks, evidence.doc_span),
        "seed_role": evidence.seed_role,
        "role": evidence.role,
        "seed_letter": letter(evidence.seed_role, lens),
        "letter": letter(evidence.role, lens),
        "score": round(evidence.score, 3),
    }


def term(found: TermPassage, document: Document, lens: Lens) -> dict[str, Any]:
    """Whether a document has a term, and the passage that has it."""
    sentence = document.sentences[found.sentence] if found.sentence >= 0 else None
    return {
        "name": found.term.text,
        "has": found.has,
        "sure": round(found.probability, 2),
        "by_meaning": found.means == "meaning",
        "text": sentence.text if sentence else "",
        "marks": _within(found.marks, sentence.span) if sentence else [],
        "role": sentence.role if sentence else None,
        "letter": letter(sentence.role, lens) if sentence else "",
    }


def fact(match: FactMatch) -> dict[str, Any]:
    """What answers a fact of the query, and how it was got."""
    fact = match.found
    return {
        "asked": match.asked.text,
        "text": fact.text,
        "how": f"from {fact.derivation}" if fact.derivation else "stated",
        "kind": fact.kind,
        "generated": fact.generated,
        "sure": round(fact.confidence, 2),
    }


def fact_marks(document: Document, facts: Iterable[FactMatch]) -> list[list[list[int]]]:
    """Per sentence, the spans in it that facts follow from."""
    return marks(document, [s for m in facts for s in (m.found.span, m.found.anchor) if s])


def marks(document: Document, spans: Iterable[Span]) -> list[list[list[int]]]:
    """Per sentence, what of these spans of the text lies in it, counted from its beginning."""
    spans = sorted(spans)
    return [
        [[max(x, a) - a, min(y, b) - a] for x, y in spans if x < b and y > a]
        for a, b in (s.span for s in document.sentences)
    ]


def scenario(match: ScenarioMatch) -> dict[str, Any]:
    """The scenario that made a document be found."""
    return {
        "need": match.scenario.need,
        "why": match.scenario.explanation,
        "source": match.scenario.source,
        "model": match.scenario.model,
        "score": round(match.score, 3),
    }


def _within(marks: tuple[Span, ...], passage: Span) -> list[list[int]]:
    return [[a - passage[0], b - passage[0]] for a, b in marks]


def shortened(text: str, length: int = 110) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def excerpt(text: str, spans: Sequence[Span], length: int = 300) -> tuple[str, list[Span]]:
    """A text, or of a longer one what stands about its first span; and the spans in it."""
    if len(text) <= length:
        return text, list(spans)
    start = max(0, spans[0][0] - length // 3) if spans else 0
    cut, more = "… " * (start > 0), " …" * (start + length < len(text))
    shift = len(cut) - start
    return (
        cut + text[start : start + length] + more,
        [(a + shift, b + shift) for a, b in spans if b <= start + length],
    )


BROWSE_PAGE = 10
MOST_FOUND = 12
_FINDER = component("finder")


def seed_finder(
    explorer: Explorer,
    corpus: str,
    *,
    on_document: Callable[[str], None],
    on_text: Callable[[str], None],
    key: str,
    label: str = "Choose another seed",
    stays: bool = False,
) -> None:
    """A button that opens three ways to a seed: ``on_document`` gets the doc_id that was picked,
    ``on_text`` the id of the text that was pasted; it closes then unless it ``stays``."""

    def chosen(use: Callable[[str], None], value: str) -> None:
        # Before it is used: should that fail, the page has to run too, to say why.
        st.session_state[f"{key}_chosen"] = True
        if not stays:
            st.session_state[f"{key}_asked"] = _NOTHING
        use(value)

    on: dict[str, Event] = {
        "search": lambda e: st.session_state.update({f"{key}_asked": (e["words"], e["page"])}),
        "pick": lambda e: chosen(on_document, e["doc_id"]),
        "paste": lambda e: chosen(on_text, explorer.notebook.put_text(e["text"])),
    }
    with st.popover(label, width="stretch", key=key):
        st.fragment(_finder)(explorer, corpus, on, key, stays)


_NOTHING = ("", 0)


def _finder(
    explorer: Explorer, corpus: str, on: Mapping[str, Event], key: str, stays: bool
) -> None:
    if st.session_state.pop(f"{key}_chosen", False):
        st.rerun()
    with error_boundary():
        words, page = st.session_state.get(f"{key}_asked", _NOTHING)
        asked = (corpus, explorer.library.state(corpus), words, page)
        data = remembered(f"{key}_found", asked, lambda: _found(explorer, corpus, words, page))
        _FINDER(
            key=f"{key}_words",
            data={**data, "words": words, "stays": stays},
            **listeners(f"{key}_words", on, "search", "pick", "paste"),
        )


def _found(explorer: Explorer, corpus: str, words: str, page: int) -> dict[str, Any]:
    """What the finder shows: documents for words, or a page of the corpus."""
    if words.strip():
        found = explorer.find_documents(corpus, words, MOST_FOUND)
        return {"found": list(map(_row, found)), "status": _status(found), "page": 0, "pages": 1}
    total = explorer.library.corpus(corpus).documents
    documents = explorer.browse(corpus, page * BROWSE_PAGE, BROWSE_PAGE)
    return {
        "found": [_row(FoundDocument(document, "title"), browsed=True) for document in documents],
        "status": f"All {counted(total, 'document')} of {corpus}, in source order.",
        "page": page,
        "pages": max(1, -(-total // BROWSE_PAGE)),
    }


def _status(found: Sequence[FoundDocument]) -> str:
    if not found:
        return "No documents contain these words."
    if all(one.where == "meaning" for one in found):
        return "No exact matches. Showing semantically similar documents."
    return f"{counted(len(found), 'document')}, best first."


def _row(found: FoundDocument, *, browsed: bool = False) -> dict[str, Any]:
    document = found.document
    snippet, marks = excerpt(found.snippet, found.marks)
    return {
        "doc_id": document.doc_id,
        "title": title_of(document),
        "title_marks": found.title_marks,
        "year": document.year,
        "where": "" if browsed else found.where,
        "snippet": snippet,
        "marks": marks,
    }
