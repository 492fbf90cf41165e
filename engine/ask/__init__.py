"""Answers from documents with citations, and the reader test."""
