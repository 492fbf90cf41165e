"""Collections built from a lens, after OBLIQ-Bench: label, collapse, verbalise, pool and expand."""
