"""Names of :mod:`pages._common.state` for pages that have not moved to it."""

from pages._common.state import Pages, keep_within, leave, pages

__all__ = ["Pages", "keep_within", "leave", "pages"]
