"""Facts that a text states or implies, resolved without a model.

One module per kind of fact, each a pure function from a text to facts;
:mod:`engine.facts.message_stamps` says when, and by whom, each part of a text was written.
"""
