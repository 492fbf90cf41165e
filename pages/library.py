"""Library: adding documents, imports under way, and the corpora that are here."""

from __future__ import annotations

import streamlit as st

from pages._common.kit import button, dim, empty
from pages._common.shared import ASSETS, engine, error_boundary, show_problem
from pages._library.corpus_list import corpora_list, jobs_section, show_saved, undo_list
from pages._library.imports import add_documents
from pages._library.lens import lens_page

with error_boundary():
    explorer = engine()
    st.html(ASSETS / "components" / "library_page.css")
    show_saved()
    if lens_page(explorer):
        st.stop()
    corpora = explorer.library.corpora()
    running = {job.request.name: job for job in explorer.library.jobs.list() if job.running}

    dim("Import papers and other documents, and manage the corpora they make up.")
    st.header("Add documents", anchor=False)
    add_documents(explorer)
    jobs_section(explorer)

    st.header("Your corpora", anchor=False)
    show_problem("corpora", keep=True)
    if corpora:
        corpora_list(explorer, corpora, running)
    elif not running:
        empty("No corpus yet. Upload a file above, or add the demo (480 synthetic abstracts).")
        button("Add the demo", "library_demo", explorer.library.add_demo, place="corpora")
    else:
        empty("Importing the first corpus…")
    undo_list(explorer)
