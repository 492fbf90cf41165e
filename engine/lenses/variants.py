"""The wordings of an instruction that are compared with each other.

After Maheshwari et al. (CHIIR 2026, section 4.2): a short aspect-specific wording (base), one
without an aspect (generic), the aspect's definition, paraphrases, and the base wording with the
seed cut to the aspect's sentences (subset). After Zhou et al. (ICLR 2025), one that rules the
aspect out (reverse).
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import BadInputError, UnknownNameError
from engine.lenses.definitions import find_aspect
from engine.types.comparisons import Variant
from engine.types.lenses import Lens

SETS = ("base", "generic", "definition", "paraphrases", "subset")
"""Compared by default; ``paraphrases`` are all of them."""
REVERSE = "reverse"
ALL_SETS = (*SETS, REVERSE)
"""What ``--variants`` may name."""


def built_in_variants(
    lens: Lens, aspect: str, system: str, steer: float, sets: Sequence[str] = SETS
) -> tuple[Variant, ...]:
    """The built-in wordings for one aspect of a lens."""
    named = find_aspect(lens, aspect)
    words = {
        "base": {"base": named.instruction},
        "generic": {"generic": lens.generic},
        "definition": {"definition": named.definition},
        "paraphrases": {
            f"paraphrase-{i}": text for i, text in enumerate(named.paraphrases, start=1)
        },
        "subset": {"subset": named.instruction},
        REVERSE: {REVERSE: f"{lens.generic.rstrip('. ')} but not the same {named.name.lower()}."},
    }
    return tuple(
        Variant(name, text, system, steer, subset=name == "subset")
        for chosen in check_sets(sets)
        for name, text in words[chosen].items()
    )


def check_sets(sets: Sequence[str]) -> list[str]:
    """The sets, each once and in order; UnknownNameError for one that does not exist."""
    unknown = [name for name in sets if name not in ALL_SETS]
    if unknown or not sets:
        message = (
            f"There is no set of variants '{unknown[0]}'." if unknown else "No variant is named."
        )
        raise UnknownNameError(message, f"Use {', '.join(ALL_SETS)}.")
    return list(dict.fromkeys(sets))


def check_variants(variants: Sequence[Variant]) -> None:
    """Raise BadInputError for variants that cannot be compared."""
    if not variants:
        raise BadInputError("There is no variant to rank by.", "Add at least one wording.")
    names = [variant.name for variant in variants]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInputError(f"Two variants are called '{twice}'.", "Give each its own name.")
