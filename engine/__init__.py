"""SeedLens without a user interface: ``from engine import Explorer, Query``.

The public names are loaded when they are first used, so that importing this package loads
neither torch nor a database. ``docs/python.md`` describes them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.collections.readers import read_collection
    from engine.collections.trec import write_run
    from engine.config import Settings
    from engine.config import __version__ as __version__
    from engine.errors import SeedLensError
    from engine.explorer import Explorer
    from engine.lenses.definitions import read_lens
    from engine.types.comparisons import Comparison, ComparisonRequest, Sensitivity, Variant
    from engine.types.corpora import ImportReport, ImportRequest, Repairs
    from engine.types.documents import Document
    from engine.types.evaluations import Collection, Evaluation, Topic
    from engine.types.lenses import Aspect, Lens
    from engine.types.searches import Filter, Query, Ranking, Result, SearchResults

__all__ = [
    "Aspect",
    "Collection",
    "Comparison",
    "ComparisonRequest",
    "Document",
    "Evaluation",
    "Explorer",
    "Filter",
    "ImportReport",
    "ImportRequest",
    "Lens",
    "Query",
    "Ranking",
    "Repairs",
    "Result",
    "SearchResults",
    "SeedLensError",
    "Sensitivity",
    "Settings",
    "Topic",
    "Variant",
    "read_collection",
    "read_lens",
    "write_run",
]

_NAMES_OF = {
    "engine.collections.readers": ("read_collection",),
    "engine.collections.trec": ("write_run",),
    "engine.config": ("Settings", "__version__"),
    "engine.errors": ("SeedLensError",),
    "engine.explorer": ("Explorer",),
    "engine.lenses.definitions": ("read_lens",),
    "engine.types.comparisons": ("Comparison", "ComparisonRequest", "Sensitivity", "Variant"),
    "engine.types.corpora": ("ImportReport", "ImportRequest", "Repairs"),
    "engine.types.documents": ("Document",),
    "engine.types.evaluations": ("Collection", "Evaluation", "Topic"),
    "engine.types.lenses": ("Aspect", "Lens"),
    "engine.types.searches": ("Filter", "Query", "Ranking", "Result", "SearchResults"),
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value  # the next time it is found without this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
