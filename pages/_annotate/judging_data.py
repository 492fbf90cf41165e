"""What the browser is sent to judge: items, seeds, evidence and guidelines as plain data."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from engine.errors import BadInputError, SeedLensError
from engine.explorer import Explorer
from engine.types.annotating import Item, Judgment, Source
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from engine.types.searches import Query, Term
from pages._common import document_view
from pages._common.document_view import shortened

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TABLE = ("table", "thead", "tbody", "tr", "th", "td")
_OTHERS = ("p", "ul", "ol", "li", "blockquote", "strong", "em", "code", "pre", "hr", "br", "a")
ELEMENTS = frozenset((*_HEADINGS, *_TABLE, *_OTHERS))
"""What a node may be; ``assets/components/annotate_words.js`` makes no others."""
Node = dict[str, Any]
"""``tag`` and ``children`` (nodes and texts); ``href`` of a link, ``start`` of a numbered list."""
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
_PARSER.validateLink = lambda url: url.lower().startswith(("http://", "https://"))  # type: ignore[method-assign]


@functools.lru_cache(maxsize=64)  # asked for with every key that is pressed
def nodes(markdown: str) -> list[Node | str]:
    """CommonMark as a tree of a few elements and texts, with tables, links to http and https only
    and no images; no HTML is ever made of it.

    >>> nodes("*Same* <b>")
    [{'tag': 'p', 'children': [{'tag': 'em', 'children': ['Same']}, ' <b>']}]
    """
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
    """Documents of one corpus, kept for a visit: the same ones are shown again and again."""

    corpus: str
    held: dict[str, Document] = field(default_factory=dict)
    version: str = ""  # of the corpus that they are from; "" before the first

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
    item: Item, document: Document, lens: Lens, said: Judgment | None, sources: Sequence[Source]
) -> dict[str, Any]:
    """A candidate with what its annotator said of it; marks are indices of sentences."""
    at, sent = {sentence.span: i for i, sentence in enumerate(document.sentences)}, None
    if said is not None:
        sent = {name: getattr(said, name) for name in ("verdict", "relevance", "note")}
        sent["marks"] = [at[span] for span in said.marks if span in at]
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


def evidence_data(
    explorer: Explorer, item: Item, queries: Mapping[str, Query], lens: Lens
) -> dict[str, Any] | None:
    """The passages of seed and candidate that are alike, the best first; None without a query."""
    if item[0] not in queries:
        return None
    sent: dict[str, Any] = {"key": to_key(item), "pairs": [], "message": ""}
    query = queries[item[0]]
    searcher = explorer.searcher(query.corpus)
    try:
        stage = searcher.first_stage(replace(query, offset=0, k=1, filters=()))
        only = [ranked._replace(doc_id=item[1]) for ranked in stage.ranking[:1]]
        results = searcher.page(stage, only).results if only else ()
    except SeedLensError as error:  # judging goes on without it
        return {**sent, "message": str(error)}
    pairs = (pair for result in results for pair in result.evidence)
    return {**sent, "pairs": [document_view.evidence(pair, lens) for pair in pairs]}
