"""Document, sentence and token vectors from one pass of one model. Loaders are heavy."""
