"""Limits of what comes from outside that several modules share, or that docs/operating.md lists.

Characters are Unicode code points. What is longer is refused with a message that names the limit,
or, at an import, is a row that a person decides about; nothing is cut in silence. Two limits are
an operator's to set: `SEEDLENS_MAX_DOCUMENT_CHARS` (`engine.config`), and `server.maxUploadSize`
of Streamlit up to `UPLOAD_BYTES`.
"""

from __future__ import annotations

MEGABYTE = 2**20

# -- Files that are imported -------------------------------------------------------------------

UPLOAD_BYTES = 200 * MEGABYTE  # through the browser; the app holds it in memory
MESSAGE_BYTES = 50 * MEGABYTE  # between page and app (server.maxMessageSize); pages send 5 MB
MOST_STRANGERS = 50  # connections before login; each may hold a message of MESSAGE_BYTES
STRANGERS_BYTES, STRANGERS_VALUES = MEGABYTE, 10_000
"""Of one of their messages, and the parameters, widgets and hashes in it; ours has 20 kB."""
ROW_BYTES = 8 * MEGABYTE  # a line, or a record of CSV; JSON takes up to 35 times its size in memory
TITLE_CHARS = 2_000  # lists and embeddings hold it whole; the longest have some 500
ID_CHARS = 1_000  # stands in links and in every judgment
FIELDS = 200  # that can be filtered by: each is counted over all documents
FIELD_CHARS = 1_000  # a field's name and value, to be filtered by: longer ones are texts
MOST_NUMBERS = 50_000  # of one text that are read for amounts, at 30 microseconds each
HIGHEST_GRADE = 10_000  # measures take memory and time for each grade up to the highest

# -- The process in which a file is looked at before it is imported -----------------------------

PREVIEW_BYTES = 1024 * MEGABYTE  # RLIMIT_DATA for the first rows
PREVIEW_SECONDS = 20.0  # for the first rows, and to tell encoding and delimiter
CHECK_BYTES = 2048 * MEGABYTE  # for every row of a file: 160 bytes a document for what repeats
CHECK_SECONDS = 900.0  # for every row, while somebody waits on Library: 5 to 20 MB/s

# -- What people write and paste ----------------------------------------------------------------

PASTED_CHARS = 50_000  # some 8,000 words: encoded while somebody waits, 60 ms per 1,000
LONGEST_INSTRUCTION = 2_000  # a wording, which is read clause by clause
LONGEST_FILTERS = 20_000  # all filters of a search, as a link has them: some 1,000 values
MOST_LEARNED = 20  # documents that a ranking learns from, each a search of its own
MOST_FILTERS = 100  # where nothing meets them, each is looked at beside all others
LONGEST_QUESTION = 2_000  # to a corpus; stands in every prompt of an answer
LONGEST_NOTE = 10_000  # on a judgment; all of a project's are held in memory
LONGEST_EVENT = 200  # the id of a judgment, which browsers and files give; ours have 24
LONGEST_GUIDELINES = 50_000  # of a project, all grades together
LONGEST_ANNOTATOR = 64  # stands in every judgment
LONGEST_TRAIL = 100  # the id of a trail, which addresses give; ours have 12
MOST_NAME = 200  # of a trail or a search, which lists show whole
LONGEST_LABEL = 200  # of a document in a build; prompts list them by the dozen
LONGEST_QUERY = 1_000  # that a build makes
MOST_CITED = 500  # in a style of citations at once: 5 s; 2,000 take a minute and half a gigabyte
MOST_REFERENCES = 10_000  # exported at once with all that is known of them: 10 s and 200 MB
EXPORT_BYTES = 100 * MEGABYTE  # made by a page in memory: in BEIR's layout 90,000 abstracts
COLLECTION_BYTES = 64 * MEGABYTE  # a file of judgments or queries: some 2 million judgments
COLLECTION_JSON_BYTES = 8 * MEGABYTE  # one JSON value takes up to 35 times its size in memory

# -- Answers of models --------------------------------------------------------------------------

ANSWER_CHARS_PER_TOKEN = 32  # that was asked for: the longest tokens are runs of blanks

# -- Services that documents are retrieved from --------------------------------------------------

SERVICE_DOCUMENTS = 100_000  # of one query; the services offer data files for more
