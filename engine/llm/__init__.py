"""Language models behind an OpenAI-compatible endpoint: asking, reading, and what it costs."""
