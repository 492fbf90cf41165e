"""What is stored: corpora in LanceDB, the ledger in SQLite or PostgreSQL, analysis by DuckDB."""

import sys
from importlib.util import find_spec, module_from_spec

REST_CLIENT = "lance_namespace_urllib3_client"
"""Of Lance's namespaces. ``import lancedb`` needs its models alone, each a module; its clients,
which the package imports, take half of LanceDB's start."""
if REST_CLIENT not in sys.modules and (found := find_spec(REST_CLIENT)) is not None:
    sys.modules[REST_CLIENT] = module_from_spec(found)
