"""Documents and evidence as plain data, which components insert as text."""

from __future__ import annotations

from typing import Any

from engine.types import Document, Evidence, Lens, Span


def letter(role: int | None, lens: Lens) -> str:
    return "·" if role is None else lens.aspects[role].letter


def meta(document: Document) -> str:
    """Year, authors and venue in one line."""
    people = document.authors
    names = ", ".join(people[:3]) + (f" and {len(people) - 3} more" if len(people) > 3 else "")
    venue = str(document.metadata.get("venue") or "")
    return " · ".join(p for p in (str(document.year or ""), names, venue) if p)


def sentences(document: Document, lens: Lens) -> list[dict[str, Any]]:
    return [
        {"text": s.text, "role": s.role, "letter": letter(s.role, lens)} for s in document.sentences
    ]


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


def _within(marks: tuple[Span, ...], passage: Span) -> list[list[int]]:
    return [[a - passage[0], b - passage[0]] for a, b in marks]


def shortened(text: str, length: int = 110) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
