"""An encoder that learns from pairs of documents which aspects are alike."""
