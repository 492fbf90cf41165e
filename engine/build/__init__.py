"""Test collections made from a corpus and an attribute of its documents."""
