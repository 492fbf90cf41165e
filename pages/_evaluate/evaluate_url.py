"""The name of the view of the Evaluate page for pages that have not moved."""

from pages._evaluate.evaluate_state import EvaluateView

__all__ = ["EvaluateView"]
