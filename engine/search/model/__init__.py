"""Searching with a language model: reranking, systems that ask it, and what they will ask."""
