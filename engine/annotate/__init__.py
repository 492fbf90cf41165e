"""Annotation: projects and their pools, queues of items, judgments, and what comes of them."""
