"""Where things are kept: vectors in LanceDB, the ledger in SQLite or PostgreSQL."""
