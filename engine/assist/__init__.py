"""What a language model adds to searching: reranking, rewriting, explanations, wordings, facts."""
