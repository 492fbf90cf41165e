"""Measures of rankings and texts: one small function each."""
