"""Scenarios, and the small models and encoders that learn from a language model."""
