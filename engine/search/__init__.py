"""From a query to ranked documents with evidence."""
