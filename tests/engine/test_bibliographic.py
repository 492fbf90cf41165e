"""Values that files and services have alike."""

import pytest

from engine.bibliographic import doi_in, first_last, states_absence, verbatim, without_markup


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("https://doi.org/10.1000/ABC.7", "10.1000/abc.7"),
        ("see doi: 10.1000/abc.7, and others", "10.1000/abc.7"),
        ("10.1016/0167-2789(92)90242-f", "10.1016/0167-2789(92)90242-f"),
        ("(10.1016/s0167(92))", "10.1016/s0167(92)"),
        ("<doi>10.1000/abc</doi>", "10.1000/abc"),
        (
            "https://doi.org/10.1175/1520-0469(1963)020%3C0130:DNF%3E2.0.CO;2",
            "10.1175/1520-0469(1963)020<0130:dnf>2.0.co;2",
        ),
        (r"10.1000/a-b\_12", "10.1000/a-b_12"),
        (r"{{10.1000/a-b{\_}12}}", "10.1000/a-b_12"),
        ("https://doi.org/10.1000/a-b%5C_12", "10.1000/a-b_12"),
        (r"\url{http://dx.doi.org/10.1000/A-B\_12}", "10.1000/a-b_12"),
        ("DOI 10.1000/a-b_12 [doi]", "10.1000/a-b_12"),
        (
            r"10.1002/(SICI)1-45(1998)49:8{\textless}693::AID-A4{\textgreater}3.0.CO;2-O",
            "10.1002/(sici)1-45(1998)49:8<693::aid-a4>3.0.co;2-o",
        ),
        ("10.10/x", None),
        (7, None),
    ],
)
def test_a_doi_is_found_whole(text, doi):
    assert doi_in(text) == doi


@pytest.mark.parametrize(
    ("written", "address"),
    [
        (r"http://example.org/a{\_}b", "http://example.org/a_b"),
        (r"{http://example.org/a\%20b?x=1\&y=2\#z}", "http://example.org/a%20b?x=1&y=2#z"),
        (r"\url{http://example.org/{\textasciitilde}me}", "http://example.org/~me"),
        (r"http://example.org/\~{}me", "http://example.org/~me"),
        ("http://example.org/a?x={1}&amp;y=2", "http://example.org/a?x={1}&y=2"),
    ],
)
def test_an_address_is_read_without_what_a_format_writes_around_its_signs(written, address):
    assert verbatim(written) == address


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Liu F.", "F. Liu"),
        ("Long V", "V. Long"),
        ("van der Berg JP", "J. P. van der Berg"),
        ("Sa-Ambo J.-M.", "J.-M. Sa-Ambo"),
        ("Garcia Lopez M.", "M. Garcia Lopez"),
        ("O'Neil, Pat", "Pat O'Neil"),
        ("Ada M. Lovelace", "Ada M. Lovelace"),
        ("Martin Luther King III", "Martin Luther King III"),
        ("IBM AI", "IBM AI"),
        ("J R R Tolkien", "J R R Tolkien"),
        ("Nguye\u0302\u0303n, Tha\u0306\u0301ng", "Thắng Nguyễn"),
    ],
)
def test_a_name_is_given_before_family_with_its_accents_composed(written, name):
    assert first_last(written) == name


@pytest.mark.parametrize(
    "text",
    [
        *("[No abstract available]", "No abstract is available for this article.", "NA", "n/a"),
        *("-", "", "Not available", "Kein Abstract verfügbar", "Zusammenfassung nicht verfügbar."),
        *("Résumé non disponible", "Pas de résumé", "Resumen no disponible", "Sin resumen"),
        *("无摘要", "摘要不可用", "null"),
    ],
)
def test_a_statement_that_there_is_no_abstract_is_none(text):
    assert states_absence(text)


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("<jats:title>Abstract</jats:title> <jats:p>One.</jats:p><jats:p>Two.", "One. Two."),
        ('<AbstractText Label="AIMS">To see.</AbstractText>', "AIMS: To see."),
        ("<sec><title>Aims</title><p>To see.</p></sec>", "Aims: To see."),
        ('CO<sub class="x">2</sub> in <i>E. coli</i>', "CO2 in E. coli"),
        ("a &amp;lt; b &amp; AT&T", "a < b & AT&T"),
        ("p<0.001, vector<int>, x <y and z>", "p<0.001, vector<int>, x <y and z>"),
    ],
)
def test_markup_of_abstracts_becomes_plain_text(marked, plain):
    assert without_markup(marked, set()) == plain
