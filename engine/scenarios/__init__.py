"""Scenarios: written for documents and searched by; small models and encoders that learn from a model."""
