"""A language model over a first stage: reranking, query-side help, explanations, and the gap."""
