"""Systems measured on test collections, and the retrieval-verification gap."""
