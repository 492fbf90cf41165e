"""Test collections of the ImpliRet kind, generated from constraints."""
