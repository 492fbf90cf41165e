"""Facts that a language model reads out of documents, beyond what the rules resolve."""
