"""Names of :mod:`pages._common.charts` for pages that have not moved to it."""

from pages._common.charts import ACCENT, INK, for_file, number, styled

__all__ = ["ACCENT", "INK", "for_file", "number", "styled"]
