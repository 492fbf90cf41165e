"""Maps of corpora, as pages and commands see them."""
