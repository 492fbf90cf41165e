"""The name of :func:`pages._common.page.open_page` for pages that have not moved to it."""

from pages._common.page import open_page

__all__ = ["open_page"]
