"""ImpliRet: a CSV in which every row is one document and the query it answers."""

from __future__ import annotations

COLUMNS = frozenset({"pos_document", "question"})
FIELDS = {"doc_id": "id", "text": "pos_document"}
# The question, the answer and the hint belong to the query: stored with the document they
# would be searched, and the evaluation would measure a leak.
METADATA = ("tuple_set_id",)
