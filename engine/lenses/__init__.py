"""Lenses and their aspects, what a wording asks for, and the roles of sentences."""
