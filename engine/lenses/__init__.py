"""Lenses and their aspects, wordings, and roles of sentences."""
