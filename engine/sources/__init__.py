"""Documents from services on the internet: OpenAlex, arXiv, Semantic Scholar, the ACL Anthology
and Zotero. A service says what a page of it is (:mod:`engine.sources.client`), ``http`` asks
for it, ``retrieval`` keeps what came."""
