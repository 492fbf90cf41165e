"""Every limit of what comes from outside: files, people, and answers of models.

Characters are Unicode code points. What is longer is refused with a message that names the limit,
or, at an import, is a row that a person decides about; nothing is cut in silence. Two limits are
an operator's to set: ``SEEDLENS_MAX_DOCUMENT_CHARS`` (:mod:`engine.config`), and
``server.maxUploadSize`` of Streamlit up to :data:`UPLOAD_BYTES`.
"""

from __future__ import annotations

MEGABYTE = 2**20

# -- Files that are imported -------------------------------------------------------------------

UPLOAD_BYTES = 200 * MEGABYTE
"""A file that comes in through the browser, which the app holds in memory while it is stored.
Longer files are imported by their path."""
MESSAGE_BYTES = 50 * MEGABYTE
"""A message between a page and the app (``server.maxMessageSize`` of Streamlit), which strangers
may send too where there is a login. The largest that pages send have some 5 MB."""
MOST_STRANGERS = 50
"""Connections of people who have not logged in, where there is a login; of more, the oldest end. A
message that one of them never finishes takes up to :data:`MESSAGE_BYTES` until then."""
STRANGERS_BYTES, STRANGERS_VALUES = MEGABYTE, 10_000
"""A message of one of them, and the parameters, widgets and hashes in it; others are passed over.
The login page sends some 20 kB at most: its address, and what the browser keeps of a page before
it. What is many and empty in a message takes a hundred times its size in memory."""
ROW_BYTES = 8 * MEGABYTE
"""One line, record or entry of a file. Read into Python, JSON takes up to 35 times its size; a
text of a million characters, the most by default, fits in any encoding and escaped."""
TITLE_CHARS = 2_000
"""A title, which lists and embeddings hold whole. The longest of papers have some 500."""
ID_CHARS = 1_000
"""A document's id, which stands in links and in every judgment."""
LINK_CHARS = 2_000
"""The address of a paper, which every list of results has; browsers take little more."""
AUTHORS_CHARS = 400_000
"""The names of a document's authors, with a semicolon and a blank between them. The paper with the
most has some 15,000; with a million, one export took 35 s, and a page of results 2 GB."""
DOCUMENT_FIELDS = 10_000
"""Fields of a document beside those that SeedLens knows; every result has all of them."""
COLUMNS = 1_000
"""Columns that can be chosen as fields; those beyond are metadata."""
FIELDS = 200
"""Fields of a corpus that can be filtered by, those that most documents have: each is counted over
all documents while somebody waits."""
FIELD_CHARS = 1_000
"""A field's name and value together, to be filtered by: longer ones are texts, not categories, and
the most frequent values of all fields go to the browser."""
UNPACKED_BYTES = 256 * MEGABYTE
"""One column of a row group of a Parquet file, if that is also more than :data:`UNPACKED_RATIO`
times its size in the file."""
UNPACKED_RATIO = 1_000
"""Text is compressed to a fifth, repeated values to a hundredth; only what is made to fill the
memory goes beyond."""
PDF_FILES = 20_000
"""PDFs of one folder or zip. Reading each takes 0.1 to 0.5 s."""
PDF_BYTES = 200 * MEGABYTE
"""One PDF, unpacked where it comes in a zip; papers with many figures have 50 MB."""
PDF_PAGES = 100
"""Pages of one PDF that are read; of longer ones, theses and books, the rest is left out, and the
document says so (``pages left out``)."""
PDF_CHARS = 2_000_000
"""Letters of one PDF that are read: some 700 pages."""
PDF_SECONDS = 30.0
"""For one PDF; those in which it takes longer are made for it."""
PDF_MEMORY = 1024 * MEGABYTE
"""Memory (``RLIMIT_DATA``) for one PDF."""
MOST_NUMBERS = 50_000
"""Numbers of one text that are read for amounts, at 30 microseconds each; what stands behind them
states none. A number in every twenty characters of the longest text is a table, not prose."""

HIGHEST_GRADE = 10_000
"""A grade of a file of judgments that is measured by. What measures takes memory and time for each
grade up to the highest: for 500 million, gigabytes and minutes in which nothing else runs."""

# -- The process in which a file is looked at before it is imported -----------------------------

PREVIEW_ROWS = 5
"""Rows that a preview shows: enough to see how a file is read."""
PREVIEW_VALUE_CHARS = 10_000
"""A value of a row that is shown; of longer ones the beginning is."""
PREVIEW_DEPTH = 10
"""Lists and objects within each other in a value that is shown; deeper ones are left out."""
PREVIEW_BYTES = 1024 * MEGABYTE
"""Memory (``RLIMIT_DATA``) for the first rows: one at its limit takes some 300 MB."""
PREVIEW_SECONDS = 20.0
"""For the first rows, and to tell encoding and delimiter: some 100 MB/s."""
CHECK_BYTES = 2048 * MEGABYTE
"""Memory for every row of a file: as before, and 160 bytes a document for what repeats."""
CHECK_SECONDS = 900.0
"""For every row of a file, while somebody waits for it on Library: 5 to 20 MB/s."""

# -- What people write and paste ----------------------------------------------------------------

PASTED_CHARS = 50_000
"""A pasted text, or words to find: some 8,000 words. It is encoded and read for facts while
somebody waits, at up to 60 ms per 1,000 characters."""
LONGEST_INSTRUCTION = 2_000
"""Characters of a wording, which is read clause by clause; far beyond any wording of an aspect."""
LONGEST_FILTERS = 20_000
"""Characters of all filters of a search together, as a link has them: some 1,000 values."""
MOST_FILTERS = 100
"""Filters of a search, as a link has them; each may have many values. Where nothing meets them,
each is looked at beside all others."""
LONGEST_QUESTION = 2_000
"""Characters of a question to a corpus; it stands in every prompt of an answer."""
LONGEST_NOTE = 10_000
"""Characters of the note on a judgment; all of a project's are held in memory."""
LONGEST_EVENT = 200
"""Characters of the id of a judgment, which browsers and files give; ours have 24."""
LONGEST_GUIDELINES = 50_000
"""Characters of a project's guidelines, all grades together."""
LONGEST_ANNOTATOR = 64
"""Characters of an annotator's name, which stands in every judgment."""
LONGEST_TRAIL = 100
"""Characters of the id of a trail, which addresses give; ours have 12."""
MOST_NAME = 200
"""Characters of the name of a trail or a search, which lists show whole."""
LONGEST_LABEL = 200
"""Characters of a document's label in a build, which prompts list by the dozen."""
LONGEST_QUERY = 1_000
"""Characters of a query that a build makes."""
LONGEST_ATTRIBUTE = 1_000
"""Characters of the attribute that a build goes by; it stands in every prompt."""
LONGEST_GUIDANCE = 10_000
"""Characters of a build's guidance; it stands in every prompt."""
MOST_CITED = 500
"""Documents that are formatted in a style of citations at once. Pandoc compares their authors and
years with each other: 500 take some 5 s, 2,000 a minute and half a gigabyte."""
MOST_REFERENCES = 10_000
"""Documents of a corpus that are exported at once with all that is known of them: 10 s and 200 MB.
A table of titles and links has as many as there are."""
EXPORT_BYTES = 100 * MEGABYTE
"""Files of judgments or of a collection that a page makes, and has in memory. In BEIR's layout they
have all documents of the corpus: some 90,000 abstracts."""
LENS_FILE_BYTES = 1_000_000
"""A lens file. What each of its fields may have is in :mod:`engine.lenses.definitions`."""
COLLECTION_BYTES = 64 * MEGABYTE
"""Judgments or queries of a collection, a file of them, unpacked: some 2 million judgments. Packed,
a thousandth of it is enough."""
COLLECTION_JSON_BYTES = 8 * MEGABYTE
"""A file of a collection that is one JSON value, which takes up to 35 times its size in memory."""

# -- Answers of models --------------------------------------------------------------------------

ANSWER_CHARS_PER_TOKEN = 32
"""Characters of an answer per token that was asked for: the longest tokens are runs of blanks, and
a whole answer has some four characters a token."""
MOST_REPORTED = 10**9
"""Tokens that a request is said to have taken, its texts or its answer; beyond it, and below 0, no
report is believed, and the estimate counts."""

# -- Services that documents are retrieved from --------------------------------------------------

SERVICE_DOCUMENTS = 100_000
"""Documents of one query; whoever wants more takes the data files that the services offer."""
DATASET_DOCUMENTS = 1_000_000
"""Of a data set by name that whoever logged in may import: larger ones fill a disk."""
SERVICE_IDS = 50_000
"""Ids of one query, which are asked for in batches; its file is held in memory."""
SERVICE_PAGE_BYTES = 32 * MEGABYTE
"""One page of results, unpacked: a thousand papers with abstracts take some 3 MB, the largest
proceedings of the ACL Anthology 8 MB."""
SERVICE_PAGE_VALUES = 1_500_000
"""Objects, lists, elements or values in one page, each of which takes up to 300 bytes when it is
read, while nothing else of the app runs. Pages of papers have one in 25 bytes or more."""
RETRIEVED_BYTES = 4 * 1024 * MEGABYTE
"""All documents of one query, on the disk: 40 kB for each of the most that there may be."""
QUERY_BYTES = 200
"""Of a query where it is named, as in the list of corpora; a whole one may be 50,000 ids."""
