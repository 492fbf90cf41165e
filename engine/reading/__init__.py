"""A language model that reads: answers to questions from documents, and how good they are."""
