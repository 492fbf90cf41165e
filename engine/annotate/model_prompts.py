"""What a model is asked when it grades one candidate of a project, and what of its answer counts.

After OBLIQ-Bench, section 4, step 5: query, known positives as anchors, one candidate. What a
project's leads wrote (scale, guidelines) is an instruction; what documents say never is.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, create_model

from engine.llm.judges import document_text
from engine.llm.messages import Prompt, json_prompt
from engine.llm.prompts import SEED_TOKENS
from engine.llm.texts import cut_text, fenced, harmless
from engine.types.annotating import Project, Scale
from engine.types.documents import Document

GRADING = "annotating/1"
CANDIDATE_TOKENS = 1600
"""Of the candidate; longer documents are cut."""
ANCHOR_SHARE = 4
"""An anchor gets so many times less room than the candidate."""
GUIDE_TOKENS = 1500
"""Of the guidelines for all aspects, and of those for the query's own."""
FEWEST_TOKENS = 100
"""A candidate is never cut below this."""
MOST_TOKENS = 250
"""Of an answer."""
MOST_REASON = 600
"""Characters of a reason that are kept."""
SYSTEM = """\
You are one of the annotators of a test collection. You are shown a query and one document, the \
candidate, and say how relevant the candidate is, on the scale of the project and by its \
guidelines. People check what you say.
Grade what the candidate itself says or surely implies. Examples, where there are any, were found \
relevant before: they show what is meant, but a candidate may be relevant in quite another way, \
and likeness to an example in some other respect counts for nothing. Between two grades give the \
lower one."""


def _one_line(value: Any) -> Any:
    return " ".join(harmless(value).split()) if isinstance(value, str) else value


class Graded(BaseModel):
    """The grade of the candidate."""

    # Models read this docstring. The reason comes first: they should think before they grade.

    reason: Annotated[str, BeforeValidator(_one_line), StringConstraints(min_length=1)] = Field(
        description="why, in one sentence: what of the candidate decides it"
    )
    grade: int


@functools.lru_cache(maxsize=64)
def graded_on(scale: Scale) -> type[Graded]:
    """The form of an answer on this scale."""
    names = "; ".join(f"{g.value} = {_one_line(g.name)}" for g in scale.grades)
    allowed = Field(description=names, json_schema_extra={"enum": list(scale.values)})
    return create_model("Graded", __base__=Graded, grade=(int, allowed))


@dataclass(frozen=True, slots=True)
class Asked:
    """One query of a project, as it stands in every question about its candidates.

    Attributes:
        query: its seed and wish, foreign texts fenced.
        guidelines: those for all aspects and for its own, "" for none.
    """

    scale: Scale
    query: str
    guidelines: str = ""

    @property
    def text(self) -> str:
        """The part that all questions share; it comes first, so that a server can reuse it."""
        lines = [f"{g.value} {_named(g.name, g.meaning)}" for g in self.scale.grades]
        parts = ["The scale of the project:\n" + "\n".join(lines)]
        if self.guidelines:
            parts.append(f"The guidelines of the project:\n{self.guidelines}")
        parts.append(f"The query:\n{self.query}")
        return "\n\n".join(parts)


def guidelines_for(project: Project, aspect: str | None) -> str:
    """What a project's leads say of all aspects and of this one, cut to a limit each."""
    texts = [project.guidelines.get(key, "").strip() for key in dict.fromkeys(("", aspect or ""))]
    return "\n\n".join(harmless(cut_text(text, GUIDE_TOKENS).text) for text in texts if text)


def in_words(text: str) -> str:
    """A query that is a text and names no aspect, as it stands in a question."""
    shown = fenced("query", cut_text(text.strip(), SEED_TOKENS).text)
    return (
        f"{shown}\nRelevant is a document that is what this text asks for or describes; where it "
        "neither asks nor describes, one that is like it as a whole."
    )


def grading(
    asked: Asked,
    anchors: Sequence[tuple[Document, int]],
    candidate: Document,
    tokens: int = CANDIDATE_TOKENS,
) -> Prompt[Graded]:
    """How relevant is this candidate?

    Args:
        anchors: documents known to be relevant, with their grades.
        tokens: what of the candidate is shown at most.
    """
    values = asked.scale.values
    names = {grade.value: grade.name for grade in asked.scale.grades}
    shown = [
        f"An example, graded {grade} {_one_line(names.get(grade, ''))}:\n"
        + fenced("example", cut_text(document_text(document), tokens // ANCHOR_SHARE).text)
        for document, grade in anchors
    ]
    text = fenced("candidate", cut_text(document_text(candidate), tokens).text)
    question = f"Which grade of the scale ({', '.join(map(str, values))}) is the candidate's?"
    user = "\n\n".join([asked.text, *shown, f"The candidate:\n{text}", question])
    less = tokens // 2

    def checked(said: Graded) -> Graded | None:
        if said.grade not in values:
            return None
        return said.model_copy(update={"reason": said.reason[:MOST_REASON]})

    return json_prompt(
        GRADING,
        SYSTEM,
        user,
        graded_on(asked.scale),
        most_tokens=MOST_TOKENS,
        check=checked,
        shorter=(lambda: grading(asked, anchors, candidate, less))
        if less >= FEWEST_TOKENS
        else None,
    )


def _named(name: str, meaning: str) -> str:
    return ": ".join(_one_line(part) for part in (name, meaning) if part.strip())
