"""Experiments that are kept: evaluations, uploaded runs and judgments."""
