"""Scenarios: written for documents, kept beside them, and searched by."""
