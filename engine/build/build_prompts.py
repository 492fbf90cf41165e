"""The questions to a model at each step, and checks of its answers.

After OBLIQ-Bench, section 4: annotate each document once, merge labels without the documents,
describe a cluster without the words of its documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from engine.annotate.projects import one_line
from engine.llm.judges import halved
from engine.llm.messages import Line, Prompt, Reply, Words, json_prompt, json_text
from engine.llm.texts import Quoted, cut_text, estimate_tokens, fenced, harmless, harmless_line
from engine.types.builds import BuildSpec
from engine.types.documents import Document
from engine.types.lenses import Aspect
from engine.types.limits import LONGEST_LABEL

LABELLING, NAMING = "lens-label/2", "lens-name/1"
MERGING, VERBALISING = "lens-merge/1", "lens-query/1"
"""Kind and version of each wording."""
DOCUMENT_TOKENS = 2400
"""Of a document that are shown; a document is read once."""
FEWEST_TOKENS = 80
LABEL_TOKENS, NAME_TOKENS, MERGE_TOKENS, QUERY_TOKENS = 300, 120, 900, 300
"""Of an answer, on the high side."""
MOST_LABELS = 24
"""Labels of a cluster that are shown for naming or verbalising it."""
SYSTEM = """\
You help a researcher to build a test collection for search. Its queries ask for something that \
documents show without saying so, so that whoever searches by words does not find them. You keep \
to what the researcher wants to know and to what the texts carry."""


# -- labels ------------------------------------------------------------------------------------


class Labelled(BaseModel):
    """What one document shows."""

    expression: Literal["implied", "stated", "reported", "none"] = Field(
        description="how the document has the attribute. implied: a reader can tell, but it does "
        "not say so; stated: it says so in its own words; reported: it only passes on what others "
        "say or do; none: it does not have it"
    )
    label: Line = Field(
        max_length=LONGEST_LABEL,
        description="what it shows, in two to eight words, as one would name a kind; empty when "
        "it does not show it",
    )
    quote: Line = Field(
        max_length=1000,
        description="the words of the document that this rests on, copied as they stand; empty "
        "when it does not show it",
    )


_MISQUOTED = """\
Answer with one JSON object of that schema, nothing else. The quote must be words that stand in \
the document, copied letter by letter, and a document that has the attribute has a label."""


def labelling(
    spec: BuildSpec, document: Document, aspect: tuple[Aspect, int] | None, tokens: int
) -> Prompt[Labelled]:
    """What does this document show of the attribute?

    A quote that is not in the document is asked for once more, then dropped.

    Args:
        aspect: with its place in the lens; its sentences are marked.
        tokens: of the document at most.
    """
    shown = cut_text(document.text.strip(), tokens).text
    parts = [_about(spec), fenced("document", f"{document.title.strip()}\n{shown}")]
    if aspect is not None:
        said = [s.text for s in document.sentences if s.role == aspect[1]]
        if said:
            marked = cut_text("\n".join(said), tokens // 2).text
            parts.append(
                f"These of its sentences are about {aspect[0].name.lower()}, where it is most "
                f"likely to be seen:\n{fenced('sentences', marked)}"
            )
    parts.append(
        "Does the document show the attribute? If so, say how, and what it shows in a short label "
        "that would fit other documents too: leave names, figures and the document's subject out "
        "unless they are what is asked for. Copy the words that it rests on."
    )
    prompt = json_prompt(
        LABELLING,
        SYSTEM,
        "\n\n".join(parts),
        Labelled,
        most_tokens=LABEL_TOKENS,
        shorter=halved(tokens, lambda less: labelling(spec, document, aspect, less), FEWEST_TOKENS),
    )
    text = f"{document.title}\n{document.text}"
    return replace(
        prompt, read=lambda reply, last: _read_label(reply, text, last=last), nudge=_MISQUOTED
    )


NOTHING = Labelled(expression="none", label="", quote="")
"""The answer about a document without the attribute."""


def _read_label(reply: Reply, text: str, *, last: bool) -> Labelled | None:
    try:
        labelled = Labelled.model_validate_json(json_text(reply.text))
    except ValidationError:
        return None
    if labelled.expression == "none":
        return NOTHING
    if not labelled.label:
        return None
    place = Quoted(text).find(labelled.quote)
    if place is None:
        return labelled.model_copy(update={"quote": ""}) if last else None
    return labelled.model_copy(update={"quote": one_line(text[slice(*place)])})


def _about(spec: BuildSpec) -> str:
    parts = [f"Attribute: {harmless_line(spec.attribute)}"]
    if spec.guidance:
        parts.append(f"What counts and what does not:\n{harmless(spec.guidance)}")
    if spec.examples:
        parts.append(
            "Labels look like this:\n" + "\n".join(f"- {harmless(e)}" for e in spec.examples)
        )
    return "\n\n".join(parts)


# -- clusters ----------------------------------------------------------------------------------


class Name(BaseModel):
    """What labels share."""

    name: Words = Field(max_length=LONGEST_LABEL, description="in two to eight words")


def naming(spec: BuildSpec, labels: Mapping[str, int]) -> Prompt[Name]:
    """What do these labels share? ``labels``: label -> documents with it, the commonest first."""
    user = f"""\
{_about(spec)}

Different readers gave these labels to documents that seem to show the same. The number of \
documents stands in brackets.
{fenced("labels", _listed(labels))}

Name what they share, as narrowly as fits them all."""
    return json_prompt(NAMING, SYSTEM, user, Name, most_tokens=NAME_TOKENS)


class Group(BaseModel):
    """Names that say the same."""

    members: list[int] = Field(description="their numbers, two or more")
    name: Words = Field(max_length=LONGEST_LABEL, description="the name that fits them all")


class Groups(BaseModel):
    """What is to be put together; what stands for itself is left out."""

    groups: list[Group]


def merging(spec: BuildSpec, names: Sequence[str]) -> Prompt[Groups]:
    """Which of these names say the same? Members count from 1; each is in one group at most."""
    listed = "\n".join(f"{number}. {name}" for number, name in enumerate(names, start=1))
    user = f"""\
{_about(spec)}

Each line names a kind of document. Some may be near-synonyms: two names for one kind.
{fenced("names", listed)}

Put together those, and only those, that say the same, so that whoever looks for the one would \
want all of the other. A kind and a special case of it are two kinds. When nothing says the same, \
the list of groups is empty."""

    def usable(answer: Groups) -> Groups:
        taken: set[int] = set()
        groups = []
        for group in answer.groups:
            members = [m for m in dict.fromkeys(group.members) if 1 <= m <= len(names)]
            members = [m for m in members if m not in taken]
            if len(members) > 1:
                taken.update(members)
                groups.append(group.model_copy(update={"members": members}))
        return Groups(groups=groups)

    return json_prompt(MERGING, SYSTEM, user, Groups, most_tokens=MERGE_TOKENS, check=usable)


def _listed(labels: Mapping[str, int]) -> str:
    shown = list(labels.items())[:MOST_LABELS]
    return "\n".join(f"{label} ({count})" for label, count in shown)


# -- queries -----------------------------------------------------------------------------------


class Verbalised(BaseModel):
    """A query for a kind of document."""

    query: Words = Field(
        max_length=600, description="one or two sentences that describe what is looked for"
    )


def verbalising(
    spec: BuildSpec, name: str, labels: Mapping[str, int], avoid: Sequence[str], *, again: bool
) -> Prompt[Verbalised]:
    """How would somebody ask for these documents without their words?

    Args:
        avoid: words that give the documents away.
        again: the last attempt used some of them, which come first.
    """
    heard = " An earlier attempt used the first of them; find another way." * again
    kind = f"{name}\nLabels of its documents:\n{_listed(labels)}"
    user = f"""\
{_about(spec)}

A kind of document:
{fenced("kind", kind)}

Write the query of somebody who looks for documents of this kind. Say what the documents share, \
in general words, as one describes an idea to a colleague; nothing that tells a single document, \
no names, no figures. Somebody who reads a document must be able to say whether it fits.
Do not use these words, nor others of the same stem: they stand in the documents.{heard}
{fenced("words to avoid", ", ".join(avoid))}"""
    return json_prompt(VERBALISING, SYSTEM, user, Verbalised, most_tokens=QUERY_TOKENS)


def document_tokens(context: int | None, spec: BuildSpec) -> int:
    """Room for a document in a model's context; None where nobody knows that."""
    if context is None:
        return DOCUMENT_TOKENS
    blank = labelling(spec, Document("", "", "", ()), None, DOCUMENT_TOKENS)
    fixed = sum(estimate_tokens(message.content) for message in blank.messages)
    # The sentences of an aspect may come on top: half as much again.
    room = (context - fixed - LABEL_TOKENS) * 2 // 3
    return max(FEWEST_TOKENS, min(DOCUMENT_TOKENS, room))
