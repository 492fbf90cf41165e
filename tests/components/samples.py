"""What the page gives each component, with texts that try to be more than text."""

from __future__ import annotations

from typing import Any

HOSTILE = "<img src=x onerror=alert(1)> \u202eabc"
SHOWN = "<img src=x onerror=alert(1)> \u25caabc"
ASPECTS = [
    {"key": "background", "name": "Background", "letter": "B", "definition": "Why", "role": 0},
    {"key": "method", "name": "Method", "letter": "M", "definition": "How", "role": 1},
]


def sentences(count: int = 2) -> list[dict[str, Any]]:
    return [{"text": f"{HOSTILE} {i}.", "role": i % 2, "letter": "BM"[i % 2]} for i in range(count)]


def seed(**more: Any) -> dict[str, Any]:
    return {
        "title": HOSTILE,
        "meta": HOSTILE,
        "link": "javascript:alert(1)",
        "pasted": False,
        "aspect": "method",
        "aspects": ASPECTS,
        "weights": [0.0, 0.4],
        "focus": [],
        "sentences": sentences(14),
        **more,
    }


def reading(**more: Any) -> dict[str, Any]:
    return {
        "reading": ["+method"],
        "terms": [{"part": "-term:graphs", "text": "graphs", "aspect": "", "documents": "7"}],
        "sentences": [0],
        "aspects": ASPECTS,
        "texts": [HOSTILE, "Second."],
        "by_words": True,
        "model": HOSTILE,
        "other": None,
        **more,
    }


PAIR = {
    "seed_letter": "M",
    "seed_role": 1,
    "seed_text": HOSTILE,
    "seed_marks": [[0, 4]],
    "letter": "M",
    "role": 1,
    "doc_text": HOSTILE,
    "doc_marks": [],
    "score": 0.5,
}
SCENARIO = {"source": "generated", "model": HOSTILE, "need": HOSTILE, "why": HOSTILE, "score": 0.4}
TERM = {"name": HOSTILE, "has": False, "sure": 0.9, "by_meaning": False}
FACT = {"kind": "date", "asked": HOSTILE, "sure": 0.9, "text": HOSTILE, "how": HOSTILE}
EXPLAINED = {
    "state": "done",
    "title": HOSTILE,
    "text": HOSTILE,
    "similar": False,
    "seed_quotes": [HOSTILE],
    "document_quotes": [],
    "checked": HOSTILE,
}


def result(rank: int, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": f"doc-{rank}",
        "rank": rank,
        "title": f"Title {rank}",
        "year": 2000 + rank % 3,
        "venue": "",
        "score": 1 / rank,
        "meta": HOSTILE,
        "link": "https://example.org/a?b",
        "by_model": False,
        "rank_change": 3,
        "terms": [],
        "facts": [],
        "scenario": None,
        "evidence": [PAIR, PAIR],
        "explanation": HOSTILE,
        "sentences": sentences(),
        "fact_marks": [[], []],
        "seed_marks": [[[0, 1]], []],
        "own_marks": [[], []],
        **more,
    }


def results(**more: Any) -> dict[str, Any]:
    first = result(1, title=HOSTILE, terms=[TERM], facts=[FACT], scenario=SCENARIO)
    return {
        "received": 0,
        "search": "s",
        "layout": "cards",
        "sort": "rank",
        "total": 3,
        "seed": {"title": HOSTILE, "meta": "", "link": "", "sentences": sentences()},
        "aspects": ASPECTS,
        "reads_aspect": True,
        "grades": [[0, "Not similar"], [1, HOSTILE], [2, "Similar"]],
        "graded": [],
        "kept": [],
        "results": [first, result(2), result(3)],
        "explains": True,
        "generated": [["doc-1", EXPLAINED]],
        **more,
    }


def trail() -> dict[str, Any]:
    return {"steps": [HOSTILE, *"bcde", HOSTILE], "current": 5}


def finder(**more: Any) -> dict[str, Any]:
    found = {
        "doc_id": "a",
        "title": HOSTILE,
        "title_marks": [[0, 2]],
        "year": 2000,
        "where": "text",
        "snippet": HOSTILE,
        "marks": [],
    }
    other = {**found, "doc_id": "b", "title": "B"}
    base = {"words": "", "page": 0, "pages": 3, "status": "All", "found": [found, other]}
    return {**base, **more}


def variants(**more: Any) -> dict[str, Any]:
    row = {
        "name": HOSTILE,
        "wording": "the method",
        "system": "aspect",
        "steer": 0.5,
        "subset": False,
        "aspect": "",
        "sentences": "0",
        "reading": "+method",
    }
    return {
        "rows": [row, {**row, "name": "b", "system": "dense", "reading": "", "sentences": ""}],
        "read": [HOSTILE, ""],
        "models": ["", ""],
        "systems": ["aspect", "dense"],
        "names": {"aspect": "Aspect-aware", "dense": HOSTILE},
        "steered": ["aspect"],
        "readers": ["aspect"],
        "aspects": ASPECTS,
        "most": 3,
        **more,
    }


INK = {
    "text": "#23211c",
    "accent": "#7a2e3a",
    "paper": "#ffffff",
    "faint": "#dddddd",
    "unjudged": "#888888",
    "grades": {"3": {"colour": "#111111", "width": 4, "dash": ""}},
}


def flow(**more: Any) -> dict[str, Any]:
    lines = [
        {"doc_id": f"d{i}", "title": HOSTILE, "ranks": [i + 1, 6 - i], "grade": None, "moved": 0.1}
        for i in range(6)
    ]
    lines[0]["grade"] = 3
    named = {"system": HOSTILE, "wording": HOSTILE}
    names = [{"name": name, "label": name, **named} for name in ("base", HOSTILE)]
    file = {"name": "rank flow", "title": "Rank flow", "caption": "Six.", "csv": "a,b\n1,2\n"}
    base = {"columns": names, "lines": lines, "depth": 5, "selected": "", "inks": [INK, INK]}
    return {**base, **file, "file_ink": INK, **more}


def papers() -> dict[str, Any]:
    block = {"name": HOSTILE, "rank": 2, "same": False, "pairs": [{**PAIR, "gained": True}]}
    papers = [{"doc_id": "a", "title": HOSTILE, "ranks": [1, None]}]
    opened = {"doc_id": "a", "meta": HOSTILE, "blocks": [block], "sentences": sentences()}
    return {"columns": [HOSTILE, "b"], "papers": papers, "opened": opened}


def ask(**more: Any) -> dict[str, Any]:
    passage = {
        "number": 1,
        "doc_id": "a",
        "title": HOSTILE,
        "meta": HOSTILE,
        "text": HOSTILE,
        "passage": [0, 20],
        "marks": [[0, 4]],
        "before": True,
        "after": False,
        "cited": False,
        "scenarios": [HOSTILE],
    }
    citation = {"number": 1, "title": HOSTILE, "marks": [[5, 8]]}
    doubt = {"unfounded": "[9]", "mark": "far", "why": HOSTILE, "label": "unsupported"}
    part = {"text": f" {HOSTILE} [9]", **doubt, "citations": [citation]}
    return {
        "id": "q",
        "bare": False,
        "state": "done",
        "model": HOSTILE,
        "parts": [part],
        "remarks": [HOSTILE],
        "passages": [passage],
        **more,
    }


def steps() -> dict[str, Any]:
    step = {"key": "a", "kind": "next", "number": 1, "name": HOSTILE, "words": HOSTILE}
    return {"steps": [{**step, "open": True, "current": True}]}


def facets() -> dict[str, Any]:
    value = {"value": "a", "name": HOSTILE, "count": 3, "on": False, "at": [10, 20]}
    values = [value, *({**value, "value": f"v{i}", "name": f"v{i}"} for i in range(11))]
    field = {"open": True, "set": True, "note": HOSTILE, "title": HOSTILE}
    years = {"kind": "range", "field": "year", "low": "", "high": "", "title": "Year"}
    unit = {"unit": HOSTILE, "field": "m", "count": 2, "quantiles": [1, 2, 3, 4, 5], "set": True}
    of = {"of": 10, "every": True, "typed": True}
    places = {"kind": "values", "field": "place", "values": values, "land": "M0 0h9v9z", **of}
    units = {"kind": "amounts", "field": "amount", "units": [{**unit, "low": "", "high": ""}]}
    bars = [[2000, 3], [2001, 5], [2002, 1], [2003, 2]]
    sections = [{**field, **years, "bars": bars}, {**field, **places}, {**field, **units}]
    return {"documents": 4, "total": 9, "sections": sections}


def judging(**more: Any) -> dict[str, Any]:
    item = {
        "query_id": "q",
        "title": HOSTILE,
        "meta": HOSTILE,
        "sources": [{"name": HOSTILE, "rank": 1}],
        "sentences": sentences(),
        "said": None,
    }
    keys = ["a", "b", "c"]
    items = [{**item, "key": key, "doc_id": key} for key in keys]
    words = {"kicker": "Seed", "title": HOSTILE, "meta": HOSTILE, "asked": HOSTILE}
    looks = {"role": 1, "letter": "M", "aspect": HOSTILE, "aspect_key": "method", "wanted": [1]}
    on = [{**one, "on": True} for one in sentences()]
    link = {"tag": "a", "href": "javascript:alert(1)", "children": [HOSTILE]}
    return {
        "id": "s",
        "version": 1,
        "annotator": HOSTILE,
        "scale": [{"value": i, "name": f"grade {i}", "meaning": HOSTILE} for i in range(3)],
        "guidelines": {"": [{"tag": "p", "children": [HOSTILE, link]}]},
        "longest_note": 100,
        "items": items,
        "seeds": [{"query_id": "q", **words, **looks, "sentences": on}],
        "start": None,
        "next": keys,
        "past": [],
        "later": {"skip": [], "unsure": []},
        "progress": {"total": 3, "done": 0, "skipped": 0, "unsure": 0, "per_minute": None},
        "people": 1,
        "waiting": None,
        "beyond": None,
        "evidence": {"key": "a", "pairs": [PAIR], "message": ""},
        "answer": answer(),
        **more,
    }


def answer(**more: Any) -> dict[str, Any]:
    none = {"session": "", "turn": 0, "settled": [], "refused": [], "undone": []}
    return {**none, "message": "", "retry": False, **more}


def help_(**more: Any) -> dict[str, Any]:
    return {"finder": "finder", "grades": ["0", "1"], "tour": False, **more}


EVERY: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "seed": ((), seed()),
    "reading": ((), reading()),
    "results": (("keys",), results()),
    "trail": ((), trail()),
    "finder": ((), finder()),
    "compare_variants": ((), variants()),
    "compare_flow": (("figure",), flow()),
    "compare_papers": ((), papers()),
    "ask": ((), ask()),
    "build_steps": ((), steps()),
    "facets": ((), facets()),
    "annotate": (("keys",), judging()),
}
"""By component: its further style sheets, and data."""
