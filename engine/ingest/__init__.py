"""Readers: a path becomes a stream of documents. One module per format."""
