"""Wordings of an instruction side by side."""
