"""Reranking: pure algorithms that take a judge."""
