"""Pages under AppTest."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _main_module() -> Iterator[None]:
    """AppTest leaves the page behind as ``__main__``.

    A process that another test spawns would import it again, and begin to index the demo.
    """
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
