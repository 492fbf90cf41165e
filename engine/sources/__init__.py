"""Documents from services on the internet: OpenAlex, arXiv, Semantic Scholar, the ACL Anthology
and Zotero. `client` asks for a page, `services` keeps what came."""
