"""Sentences and the roles they play."""
