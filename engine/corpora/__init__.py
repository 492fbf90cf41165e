"""The corpora of a home: importing, indexing, opening, deleting."""
