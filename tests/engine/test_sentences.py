"""Sentences end where a reader sees their ends."""

import pytest

from engine.sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["Lee et al. [3] count crayfish.", "Ponds freeze."],
        ["Wu et al. (2020) count them.", "They left."],
        ["See Tab. 2, Eq. (4) and Figs. 5 and 6.", "They agree."],
        ["It is refs. [6, 7] that say so.", "Others (cf. Sec. 3) do not."],
        ["We took approx. 5 traps, incl. bait.", "All held."],
        ["The strain Pseudomonas syringae pv. tabaci grew.", "Half of it died."],
        ["The .NET framework counts.", "It is fast."],
        ["As in Lee et al.", "We agree, as others do [3]."],
        ["It has 3 ponds.", "5 are dry.", "Fig leaves fell."],
    ],
)
def test_abbreviations_and_citations_end_no_sentence(sentences):
    text = " ".join(sentences)
    assert [text[start:end] for start, end in split_sentences(text)] == sentences
