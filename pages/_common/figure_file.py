"""Names of :mod:`pages._common.charts` for pages that have not moved to it."""

from pages._common.charts import FigureFile, to_csv

__all__ = ["FigureFile", "to_csv"]
