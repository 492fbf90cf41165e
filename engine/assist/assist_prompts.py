"""The questions that explain a result and search on from it: explanations, wordings, notes.

Like those of :mod:`engine.llm.judging_prompts`, another wording is another version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.llm.judging_prompts import RULES, Criterion, halved
from engine.llm.messages import Message, Prompt, Reply, read_object
from engine.llm.texts import Quoted, cut_text, fenced
from engine.types.documents import Span

EXPLAINING, REWORDING, NOTING = "explaining/1", "rewording/1", "noting/1"
DOCUMENT_TOKENS, QUESTION_TOKENS = 600, 400
NOTED_TOKENS, NOTE_TOKENS = 300, 100
"""Of a document that notes are taken of, and of what is noted about it."""
MOST_CHARS = 1200
MOST_QUOTES, MOST_NOTES = 24, 2
"""Of an explanation for each text, which is asked for three, and of a document; an answer may have
thousands, and each is looked up in a text that may be long."""
_ONLY_JSON = "Answer with one JSON object and nothing else."
_STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that stand in a text: ``span`` are character offsets into it as it was given."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a document is similar, or that it is not.

    Attributes:
        similar: what the model thinks.
        text: in one or two sentences.
        seed_quotes, document_quotes: the evidence, found in the texts.
        unfounded: quotes that were claimed but occur nowhere.
    """

    similar: bool
    text: str
    seed_quotes: tuple[Quote, ...]
    document_quotes: tuple[Quote, ...]
    unfounded: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """What one document contributes to an answer, and the words that say so."""

    doc_id: str
    text: str
    quote: Quote


@dataclass(frozen=True, slots=True)
class Notes:
    """What a hop found.

    Attributes:
        missing: what is still to be found out, "" when nothing is.
        next_query: what to search for next, "" to stop.
        unfounded: notes whose quote does not occur; they are left out.
    """

    notes: tuple[Note, ...]
    missing: str = ""
    next_query: str = ""
    unfounded: int = 0


def explaining(
    criterion: Criterion, seed: str, document: str, tokens: int = DOCUMENT_TOKENS
) -> Prompt[Explanation]:
    """Why is this document similar in the aspect? Only with evidence from both texts.

    Args:
        seed, document: whole texts, title first; quotes are looked up in them.
        tokens: room for each of the two.
    """
    request = f"""\
Say in one or two sentences why the candidate is similar to the starting document in what the \
person asks for, or that it is not. Copy the evidence word for word from the two texts: one to \
three short passages of each.
{_ONLY_JSON} Its form: {{"similar": true or false, "explanation": "...", \
"from_start": ["..."], "from_candidate": ["..."]}}"""
    parts = (
        criterion.text,
        fenced("whole starting document", cut_text(seed, tokens).text),
        fenced("candidate", cut_text(document, tokens).text),
        request,
    )

    def read(reply: Reply, _: bool) -> Explanation | None:
        return _explanation(read_object(reply.text), seed, document)

    return Prompt(
        name=EXPLAINING,
        messages=(Message("system", RULES), Message("user", "\n\n".join(parts))),
        read=read,
        nudge=f"Copy the passages exactly as they stand in the texts. {_ONLY_JSON}",
        most_tokens=500,
        schema=_object(
            similar={"type": "boolean"},
            explanation={"type": "string"},
            from_start=_STRINGS,
            from_candidate=_STRINGS,
        ),
        shorter=halved(tokens, lambda less: explaining(criterion, seed, document, less)),
    )


def rewording(question: str, count: int) -> Prompt[list[str]]:
    """Other wordings of a query that may find what it finds not: 1 to ``count`` of them."""
    request = f"""\
The person searches a collection with the wording above. Documents may say the same in quite \
other words, or only imply it. Write {count} other wordings that such documents would match, each \
different from the others, none adding a condition.
{_ONLY_JSON} Its form: {{"wordings": ["..."]}}"""
    words = fenced("wording", cut_text(question, QUESTION_TOKENS).text)

    def read(reply: Reply, _: bool) -> list[str] | None:
        wordings = _strings(read_object(reply.text), "wordings")
        return list(dict.fromkeys(wordings))[:count] or None

    return Prompt(
        name=REWORDING,
        messages=(Message("system", RULES), Message("user", f"{words}\n\n{request}")),
        read=read,
        nudge=_ONLY_JSON,
        most_tokens=60 * count + 40,
        schema=_object(wordings=_STRINGS),
    )


def noting(
    question: str, known: Sequence[str], documents: Mapping[str, str], tokens: int = NOTED_TOKENS
) -> Prompt[Notes]:
    """What documents contribute to a question that no single one answers, and what to ask next.

    Args:
        known: notes of earlier hops.
        documents: whole texts by ``doc_id``, in the order in which they are shown.
        tokens: room for one document; question, earlier notes and answer shrink along.
    """
    request = f"""\
Which of these documents help with the question, and how? Copy from each that does the words that \
say so. Then say what is still missing, and what to search for next ("" when nothing is).
{_ONLY_JSON} Its form: {{"notes": [{{"document": 1, "note": "...", "quote": "..."}}], \
"missing": "...", "next_query": "..."}}"""
    known_text = "\n".join(f"- {note}" for note in known) or "(nothing yet)"
    doc_ids = list(documents)
    shown = [cut_text(text, tokens).text for text in documents.values()]
    words = min(QUESTION_TOKENS, 2 * tokens)
    parts = [
        fenced("question", cut_text(question, words).text),
        fenced("known so far", cut_text(known_text, words).text),
        *(fenced(f"document {number}", text) for number, text in enumerate(shown, start=1)),
        request,
    ]

    def read(reply: Reply, _: bool) -> Notes | None:
        return _notes(read_object(reply.text), doc_ids, documents)

    return Prompt(
        name=NOTING,
        messages=(Message("system", RULES), Message("user", "\n\n".join(parts))),
        read=read,
        nudge=f"Copy the quotes exactly as they stand in the documents. {_ONLY_JSON}",
        most_tokens=200 + len(doc_ids) * NOTE_TOKENS * min(tokens, NOTED_TOKENS) // NOTED_TOKENS,
        schema=_object(
            notes={
                "type": "array",
                "items": _object(
                    document={"type": "integer"},
                    note={"type": "string"},
                    quote={"type": "string"},
                ),
            },
            missing={"type": "string"},
            next_query={"type": "string"},
        ),
        shorter=halved(tokens, lambda less: noting(question, known, documents, less)),
    )


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _explanation(value: dict[str, Any] | None, seed: str, document: str) -> Explanation | None:
    if value is None or not isinstance(value.get("similar"), bool):
        return None
    text = _string(value, "explanation")
    from_start = _strings(value, "from_start")[:MOST_QUOTES]
    from_candidate = _strings(value, "from_candidate")[:MOST_QUOTES]
    of_seed, of_document = _quotes(seed, from_start), _quotes(document, from_candidate)
    if not text or (value["similar"] and not (of_seed and of_document)):
        return None  # likeness without evidence from both sides is only an assertion
    unfounded = len(from_start) + len(from_candidate) - len(of_seed) - len(of_document)
    return Explanation(value["similar"], text, of_seed, of_document, unfounded)


def _notes(
    value: dict[str, Any] | None, doc_ids: Sequence[str], documents: Mapping[str, str]
) -> Notes | None:
    if value is None or not isinstance(value.get("notes"), list):
        return None
    notes, unfounded = [], 0
    for item in value["notes"][: MOST_NOTES * len(doc_ids)]:
        note = _note(item, doc_ids, documents)
        if note is None:
            unfounded += 1
        else:
            notes.append(note)
    if unfounded and not notes:
        return None
    missing, next_query = _string(value, "missing"), _string(value, "next_query")
    return Notes(tuple(notes), missing, next_query, unfounded)


def _note(item: Any, doc_ids: Sequence[str], documents: Mapping[str, str]) -> Note | None:
    if not isinstance(item, dict) or not isinstance(item.get("document"), int):
        return None
    number = item["document"] - 1
    if not 0 <= number < len(doc_ids):
        return None
    doc_id, text = doc_ids[number], _string(item, "note")
    quotes = _quotes(documents[doc_id], [_string(item, "quote")])
    return Note(doc_id, text, quotes[0]) if text and quotes else None


def _quotes(text: str, claimed: Sequence[str]) -> tuple[Quote, ...]:
    spans = map(Quoted(text).find, claimed)
    return tuple(Quote(span, text[slice(*span)]) for span in spans if span is not None)


def _string(value: Mapping[str, Any], name: str) -> str:
    entry = value.get(name)
    return " ".join(entry.split())[:MOST_CHARS] if isinstance(entry, str) else ""


def _strings(value: Mapping[str, Any] | None, name: str) -> list[str]:
    entry = (value or {}).get(name)
    if not isinstance(entry, list):
        return []
    cleaned = (" ".join(item.split())[:MOST_CHARS] for item in entry if isinstance(item, str))
    return [item for item in cleaned if item]
