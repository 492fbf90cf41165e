"""The name of the view of the Explore page for pages that have not moved."""

from pages._explore.explore_state import View

__all__ = ["View"]
