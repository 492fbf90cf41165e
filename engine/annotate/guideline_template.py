"""A skeleton for guidelines: what annotators need to be told, with the project's own words."""

from __future__ import annotations

from engine.types.annotating import Scale
from engine.types.lenses import Aspect, Lens


def guideline_template(scale: Scale, lens: Lens, aspect: Aspect | None = None) -> str:
    """Guidelines to complete, in Markdown; grades of the scale are rows of a table.

    >>> from engine.types.annotating import SCALES
    >>> print(guideline_template(SCALES["binary"], Lens("l", "L", ())).splitlines()[0])
    # What is judged
    """
    return _for_all(scale, lens) if aspect is None else _for_one(scale, lens, aspect)


def _for_all(scale: Scale, lens: Lens) -> str:
    aspects = [aspect.name for aspect in lens.aspects]
    only = f" ({', '.join(aspects)})" if aspects else ""
    rows = "\n".join(
        f"| {_cell(f'{grade.value} {grade.name}')} | {_cell(grade.meaning) or '…'} | … |"
        for grade in scale.grades
    )
    return f"""\
# What is judged

How far the candidate is like the seed in the aspect that is asked for{only}, and in nothing else.

# Grades

| Grade | Meaning | Example |
| --- | --- | --- |
{rows}

# In doubt

- Grade what the candidate says or clearly implies, not what you know of it.
- Between two grades, give the lower one.
- Likeness in another respect counts for nothing.
- Use *unsure* where a colleague should look, and *skip* where the text cannot be judged at all.
- Mark the sentences that decide it, and note what was hard.
"""


def _for_one(scale: Scale, lens: Lens, aspect: Aspect) -> str:
    others = [other.name for other in lens.aspects if other.key != aspect.key]
    best, least = scale.grades[-1], scale.grades[0]
    only = f"- Likeness in {' or '.join(others)} alone.\n" if others else ""
    return f"""\
# {aspect.name}

{aspect.definition}

## Counts

- …

## Does not count

{only}- …

## Examples

| Seed | Candidate | Grade | Why |
| --- | --- | --- | --- |
| … | … | {best.value} | … |
| … | … | {least.value} | … |
"""


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")
