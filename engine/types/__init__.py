"""The records of the domain, frozen. They import the standard library and numpy only."""
