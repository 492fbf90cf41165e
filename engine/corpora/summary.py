"""What is in a corpus, at a glance."""

from __future__ import annotations

from pathlib import Path

from engine.config import DEMO, DEMO_CORPUS
from engine.corpora.opened import OpenCorpus
from engine.sentences import split_sentences
from engine.types.corpora import CorpusContents, CorpusInfo
from engine.types.documents import SourceDocument

TITLES = 8
SAMPLE = 500  # Documents looked at for the shares of roles


def sentences_of(document: SourceDocument) -> list[str]:
    """The sentences that a document would be indexed by."""
    spans = document.sentences
    if spans is None:
        spans = split_sentences(document.text)
    return [document.text[start:end] for start, end in spans]


def is_synthetic(info: CorpusInfo) -> bool:
    """True for the invented documents that ship with SeedLens."""
    return info.name == DEMO_CORPUS and Path(info.source).parts[-2:] == DEMO.parts[-2:]


def contents_of(corpus: OpenCorpus) -> CorpusContents:
    """First titles, years, and how the sentences spread over the aspects."""
    years = corpus.years[corpus.years >= 0]
    # Spread evenly: the documents of one source, or of one year, often stand together.
    step = max(1, -(-len(corpus) // SAMPLE))
    sampled = corpus.documents(corpus.doc_ids[::step])
    roles = [sentence.role for document in sampled for sentence in document.sentences]
    return CorpusContents(
        titles=tuple(corpus.titles[:TITLES]),
        years=(int(years.min()), int(years.max())) if len(years) else None,
        undated=len(corpus) - len(years),
        shares=tuple(
            (aspect, roles.count(i) / len(roles) if roles else 0.0)
            for i, aspect in enumerate(corpus.lens.aspects)
        ),
        sampled=len(sampled),
    )
