"""SeedLens without a user interface: ``from engine import Explorer, Query``.

The public names are loaded when they are first used, so that importing this package loads
neither torch nor a database. ``docs/python.md`` describes them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.collections.readers import read_collection as read_collection
    from engine.collections.trec import write_run as write_run
    from engine.config import Settings as Settings
    from engine.config import __version__ as __version__
    from engine.errors import SeedLensError as SeedLensError
    from engine.explorer import Explorer as Explorer
    from engine.lenses.definitions import read_lens as read_lens
    from engine.types.comparisons import Comparison as Comparison
    from engine.types.comparisons import ComparisonRequest as ComparisonRequest
    from engine.types.comparisons import Sensitivity as Sensitivity
    from engine.types.comparisons import Variant as Variant
    from engine.types.corpora import ImportReport as ImportReport
    from engine.types.corpora import ImportRequest as ImportRequest
    from engine.types.corpora import Repairs as Repairs
    from engine.types.documents import Document as Document
    from engine.types.evaluations import Collection as Collection
    from engine.types.evaluations import Evaluation as Evaluation
    from engine.types.evaluations import Topic as Topic
    from engine.types.lenses import Aspect as Aspect
    from engine.types.lenses import Lens as Lens
    from engine.types.searches import Filter as Filter
    from engine.types.searches import Query as Query
    from engine.types.searches import Ranking as Ranking
    from engine.types.searches import Result as Result
    from engine.types.searches import SearchResults as SearchResults

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
__all__ = sorted(name for name in _MODULE_OF if name[0] != "_")


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value  # the next time it is found without this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
