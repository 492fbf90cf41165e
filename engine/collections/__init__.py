"""Test collections and TREC files: reading and writing."""
