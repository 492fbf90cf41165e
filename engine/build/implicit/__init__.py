"""Collections of documents that imply what their queries ask for (ImpliRet, section 2)."""
