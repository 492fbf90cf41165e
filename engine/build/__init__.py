"""Test collections made from a corpus through an attribute lens."""
