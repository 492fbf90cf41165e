"""What was corrected and what was refused while a source was read, as counts and sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from engine.errors import BadInputError
from engine.ingest.rows import short
from engine.types.corpora import Fault, FaultKind, Repairs

READS_ENGLISH = (
    "reads English. Search by words works; for search by meaning name another model (--encoder)."
)
_SENTENCES = {
    "controls": "[document|documents] held control characters; each was replaced by a space.",
    "markup": "[document|documents] held HTML (&amp;, <i> and the like); it was turned into plain "
    "text.",
    "surrogates": "[document|documents] held broken characters (lone surrogates); each became "
    "U+FFFD.",
    "stand_in": "[document has|documents have] no text of [its|their] own; [its|their] title "
    "stands in for it.",
    "filled": "[document|documents] had no text; abstracts were found by [its DOI|their DOIs].",
    "years": "[document has|documents have] a year that could not be read; [it has|they have] none "
    "now.",
    "links": "[document has|documents have] a link that is not a web address; it was left out.",
    "nested": "[document has|documents have] objects or lists of numbers as fields; these "
    "[was|were] left out.",
    "roles": "[document has|documents have] sentence roles that name no aspect; those are not "
    "used.",
    "scripts": "[document has|documents have] most of [its|their] text in a script that the "
    f"embedded model does not read: it {READS_ENGLISH}",
    "duplicates": "[document|documents] came more than once with the same content; kept once.",
    "broken": "[row|rows] that cannot be read or [is|are] too long [was|were] left out",
    "empty": "[row|rows] without text [was|were] left out",
    "numbered": "[document|documents] had no id and [was|were] numbered",
    "ids_from_doi": "[document|documents] had no id; [its|their] DOI serves as one",
    "kept_first": "[row|rows] had the id of an earlier row, with other content, and [was|were] "
    "left out",
    "merged": "[row|rows] had the id of an earlier row and [was|were] merged into its document",
    "renamed": "[document|documents] had the id of an earlier one and [was|were] renamed",
}
_FAULTS: dict[FaultKind, str] = {
    "broken": "[row|rows] cannot be read or [is|are] too long",
    "empty": "[row has|rows have] no text",
    "id": "[row has|rows have] no id",
    "duplicate": "[row repeats|rows repeat] an id with other content",
}
_CHOICE = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")
MOST_PLACES = 200  # Rows with one fault that are named in a check
_NAMED = 5  # Rows that a sentence of a report names


def _counted(n: int, words: str) -> str:
    return f"{n:,} " + _CHOICE.sub(lambda found: found[1 if n == 1 else 2], words)


class Notes:
    """What was corrected while reading, counted in documents, and what had to be chosen."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._places: dict[str, list[str]] = {}
        self._faults: dict[FaultKind, Fault] = {}
        self._files: list[str] = []

    def add(self, kinds: Iterable[str], where: str = "") -> None:
        """Count one document for every kind in ``kinds`` (keys of the sentences above)."""
        for kind in kinds:
            self.counts[kind] += 1
            if where and self.counts[kind] <= _NAMED:
                self._places.setdefault(kind, []).append(short(where))

    def left_out(self, kind: FaultKind, where: str, error: BadInputError, *, file: bool) -> None:
        """Note a row that is left out because of a fault."""
        if not file:
            self.add({kind}, where)
            return
        self.counts["files"] += 1
        if len(self._files) < MOST_PLACES:
            reason = error.message.removeprefix(where).lstrip(": ")
            self._files.append(f"{short(where)}: {reason}")

    def found(self, kind: FaultKind, line: str, *, substitute: bool = False) -> None:
        """Note a row with a fault, repaired or not."""
        one = self._faults.get(kind, Fault(kind, 0, 0, (), 0))
        places = (*one.places, line) if one.rows < MOST_PLACES else one.places
        self._faults[kind] = Fault(
            kind, one.rows + 1, one.substitutes + substitute, places, one.refused
        )

    def refused(self, kind: FaultKind) -> None:
        """Note that nothing was chosen for a row that was found."""
        one = self._faults[kind]
        self._faults[kind] = Fault(kind, one.rows, one.substitutes, one.places, one.refused + 1)

    def faults(self) -> tuple[Fault, ...]:
        """What was found, in the order of the first rows."""
        return tuple(self._faults.values())

    def sentences(self, documents: int = 0) -> tuple[str, ...]:
        """One plain sentence with its number per kind that occurred; of another script where most
        of so many documents have it."""
        if 2 * self.counts["scripts"] <= documents:
            self.counts.pop("scripts", None)
        found = [self._sentence(kind) for kind in _SENTENCES if self.counts[kind]]
        found += [f"Left out: {line}" for line in self._files]
        more = self.counts["files"] - len(self._files)
        return (*found, *([f"{more:,} more files were left out."] if more else []))

    def _sentence(self, kind: str) -> str:
        n, places = self.counts[kind], self._places.get(kind, ())
        words = _counted(n, _SENTENCES[kind])
        if places:
            more = f" and {n - len(places):,} more" if n > len(places) else ""
            words += f": {', '.join(places)}{more}"
        return words if words.endswith(".") else f"{words}."


def refusal(
    refused: Iterable[Fault], first: Mapping[FaultKind, BadInputError], repairs: Repairs
) -> BadInputError:
    """The error for a source with faults that nothing was chosen for: the first of them, how many
    more there are, and the options that decide about them. `first`: of each kind, in order."""
    faults = sorted(refused, key=lambda fault: list(first).index(fault.kind))
    rest = [(fault.refused - (fault is faults[0]), fault.kind) for fault in faults]
    more = "; ".join(
        _counted(n, _FAULTS[kind]).replace(" ", " more " if at == 0 else " ", 1)
        for at, (n, kind) in enumerate(rest)
        if n
    )
    error = first[faults[0].kind]
    options = "; ".join(option for fault in faults for option in _options(fault, repairs))
    message = f"{error.message} {more}." if more else error.message
    return BadInputError(message, f"{error.remedy} Or: {options}.")


def _options(fault: Fault, repairs: Repairs) -> list[str]:
    """What repairs the refused rows, beyond what was chosen already."""
    skip = "leaves such rows out"
    title = fault.substitutes and not repairs.title_as_text
    doi = fault.substitutes and not repairs.ids_from_doi
    options: dict[FaultKind, list[str]] = {
        "broken": [f"--skip-broken {skip}"],
        "empty": [f"--skip-empty {skip}"] + ["--title-as-text takes their titles"] * bool(title),
        "id": ["--number-ids numbers such rows"] + ["--ids-from-doi takes their DOIs"] * bool(doi),
        "duplicate": ["--duplicates keep-first, merge or rename decides about them"],
    }
    return options[fault.kind]
