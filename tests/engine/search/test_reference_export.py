"""Reading lists as bibliographies: what is exported is read back, and other programs read it."""

import json
import re
from pathlib import Path

import jsonschema
import pypandoc
import pytest

from engine.errors import UnknownNameError
from engine.explorations.exports import (
    csl_items,
    export_kept,
    to_bibtex,
    to_citations,
    to_csl_json,
    to_ris,
)
from engine.ingest.source import open_source
from engine.lenses.definitions import RESEARCH
from engine.types.documents import Document
from engine.types.searches import CITATION_STYLES, EXPORT_FORMATS, KeptDocument, Query

TEXT = "We count birds. Models see 50% of them & more."
SCHEMA = json.loads((Path(__file__).parents[2] / "data" / "csl-data.json").read_text("utf-8"))


def document(title="A title", authors=("Ada Lovelace",), year=1843, *, url=None, **metadata):
    return Document("d1", title, TEXT, (), year, authors, url, metadata)


def kept(*documents, note=""):
    return [KeptDocument("papers", one, note) for one in documents]


def read_back(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, "utf-8")
    return list(open_source(path, lens=RESEARCH))


TITLES = [
    "50% of $x_i$ & {braces} \\alpha ~ # ^ _ | <x>tags</x>",
    "One { that is never closed",
    "And } one that is never opened",
    "BERT, mRNA and the iPhone: pre-training GPT-4's heirs",
    "Étude über größere Łódź, Ελληνικά, 漢字 and 🌱; “quotes” – dashes…",
    "ER  - is no end of a record",
    "@article{is, no = {entry}}",
    "Title with a\u2028line separator and a\ttab",
]
AUTHORS = [
    ("Ada Lovelace", "Ludwig van Beethoven", "José María de la Cruz"),
    ("World Health Organization",),
    ("UNESCO", "Smith & Sons", "The R Core Team", "Johnson and Johnson Ltd"),
    ("Aristotle",),
    ("Martin Luther King Jr.", "Zoë Étienne-O'Brien", "bell hooks"),
    ("李 小龙", "Иван Петров"),
    ("Department of Physics, University of Somewhere, Elsewhere",),
    (),
]


CITED = [
    {
        **{"type": "article-journal", "title": "A paper", "container-title": "Journal of X"},
        **{"volume": "3", "issue": "2", "page": "1-9", "DOI": "10.1000/x1", "ISSN": "1234-5678"},
        **{"URL": "https://example.org/a", "publisher": "Pub", "publisher-place": "Wien"},
        **{"keyword": "a; b", "language": "en"},
    },
    {
        **{"type": "chapter", "title": "A chapter", "container-title": "The Book", "page": "1-9"},
        **{"editor": [{"family": "Ng", "given": "Bo"}, {"family": "Wu", "given": "Di"}]},
        **{"collection-title": "Series S", "edition": "2", "ISBN": "978-3-16-148410-0"},
        **{"publisher": "Pub", "publisher-place": "Wien"},
    },
    {"type": "paper-conference", "title": "A talk", "container-title": "Proceedings of SIGIR"},
    {"type": "thesis", "title": "A thesis", "publisher": "University of Y"},
    {"type": "report", "title": "A report", "publisher": "WHO"},
]


@pytest.mark.parametrize(
    ("name", "write"), [("a.json", to_csl_json), ("a.bib", to_bibtex), ("a.ris", to_ris)]
)
def test_what_citations_need_is_imported_and_exported_again(tmp_path, name, write):
    common = {"author": [{"family": "Lee", "given": "Ann"}], "issued": {"date-parts": [[2020]]}}
    given = [{"id": f"d{n}", **item, **common, "abstract": TEXT} for n, item in enumerate(CITED)]

    def imported(file, content):
        return [one for read in read_back(tmp_path, file, content) for one in again(read)]

    def cited(read):
        without = ("id", "genre")  # BibTeX has a kind of thesis
        return [{k: v for k, v in one.items() if k not in without} for one in csl_items(read)]

    once = imported("given.json", json.dumps(given))
    assert cited(once) == [{k: v for k, v in item.items() if k != "id"} for item in given]
    assert cited(imported(name, write(once))) == cited(once)


@pytest.mark.parametrize(("name", "write"), [("a.bib", to_bibtex), ("a.ris", to_ris)])
def test_what_is_exported_is_read_back_the_same(tmp_path, name, write):
    wanted = [
        *(document(title, venue="Proc. of {Odd} & Co_1") for title in TITLES),
        *(document("Names", authors) for authors in AUTHORS),
        document("No year", year=None),
        document("Nothing known", (), None),
        document("By DOI", url="https://doi.org/10.1000/ab_c(2020)1%2"),
        document("With both", url="https://example.org/a_b?x=1&y={2}", doi="10.1000/xyz"),
    ]
    found = read_back(tmp_path, name, write(kept(*wanted)))
    assert [one.title for one in found] == [" ".join(one.title.split()) for one in wanted]
    assert [one.authors for one in found] == [one.authors for one in wanted]
    assert [one.year for one in found] == [one.year for one in wanted]
    assert {one.text for one in found} == {TEXT}
    assert found[0].metadata["venue"] == "Proc. of {Odd} & Co_1"
    assert found[-2].url == wanted[-2].url
    assert found[-2].metadata["doi"] == "10.1000/ab_c(2020)1%2"
    assert found[-1].metadata["doi"] == "10.1000/xyz"
    assert found[-1].url in (wanted[-1].url, "https://example.org/a_b?x=1&y=%7B2%7D")


def again(read):
    return kept(document(read.title, read.authors, read.year, url=read.url, **read.metadata))


def test_references_of_a_database_keep_their_names_pages_and_keywords(tmp_path):
    table = (
        "Authors,Title,Year,Source title,Volume,Issue,Page start,Page end,Author Keywords,DOI,"
        "Abstract\nLiu F.; Sa-Ambo J.M.; van der Berg J.-P.; O'Neil P.,Soil and rain,2026,Digital "
        "Ponds,4,2,1,9,soil; rain,10.1000/X\\_1,We dig.\n"
    )
    (read,) = read_back(tmp_path, "a.csv", table)
    one = again(read)
    (item,) = csl_items(one)
    assert item["id"] == "liu2026soil"
    names = ("container-title", "volume", "issue", "page", "keyword", "DOI")
    values = ("Digital Ponds", "4", "2", "1-9", "soil; rain", "10.1000/x_1")
    assert tuple(item[name] for name in names) == values
    assert "AU  - Liu, F.\nAU  - Sa-Ambo, J. M.\nAU  - van der Berg, J.-P.\n" in to_ris(one)
    names = "author = {Liu, F. and Sa-Ambo, J. M. and van der Berg, J.-P. and O'Neil, P.}"
    assert names in to_bibtex(one)


def test_family_names_of_several_words_and_organisations_stay_whole(tmp_path):
    entry = """@misc{a, title = {Soil}, author = {de la Garcia Lopez, Maria and {Otter Watch}
    and Berg Olsen, Per}, abstract = {We dig.}}"""
    record = "TY  - JOUR\nTI  - Soil\nAB  - We dig.\nAU  - Garcia Lopez M.\nAU  - Lee A.\nER  - \n"
    for name, content, families in (
        ("a.bib", entry, ["Garcia Lopez", "Otter Watch", "Berg Olsen"]),
        ("a.ris", record, ["Garcia Lopez", "Lee"]),
    ):
        (read,) = read_back(tmp_path, name, content)
        one = again(read)
        (item,) = csl_items(one)
        found = [person.get("family") or person["literal"] for person in item["author"]]
        assert found == families
        (other,) = read_back(tmp_path, "b.bib", to_bibtex(one))
        assert other.authors == read.authors
        assert other.metadata["family names"] == read.metadata["family names"]
    assert "AU  - Garcia Lopez, M.\n" in to_ris(one)


@pytest.mark.parametrize(
    ("known", "kind", "bibtex", "ris"),
    [
        ({"venue": "Journal of Birds"}, "article-journal", "article", "JOUR"),
        ({"venue": "Proceedings of the 5th Workshop"}, "paper-conference", "inproceedings", "CONF"),
        ({"venue": "EMNLP 2020"}, "paper-conference", "inproceedings", "CONF"),
        ({"venue": "Proceedings of the National Academy of Sciences"}, *("article-journal",
         "article", "JOUR")),
        ({"venue": "arXiv"}, "article", "misc", "UNPB"),
        ({"booktitle": "A book", "type": "incollection"}, "chapter", "incollection", "CHAP"),
        ({"type": "mastersthesis", "school": "MIT"}, "thesis", "mastersthesis", "THES"),
        ({"type": "techreport", "institution": "NASA"}, "report", "techreport", "RPRT"),
        ({"type_of_reference": "BOOK", "publisher": "MIT Press"}, "book", "book", "BOOK"),
        ({"type": "JournalArticle"}, "article-journal", "article", "JOUR"),
        ({"Item Type": "conferencePaper", "Publication Title": "Birds"}, "paper-conference",
         "inproceedings", "CONF"),
        ({"Publication Title": "Birds"}, "article-journal", "article", "JOUR"),
        ({}, "document", "misc", "GEN"),
    ],
)  # fmt: skip
def test_entries_have_the_type_of_what_they_are(known, kind, bibtex, ris):
    one = kept(document(**known))
    assert csl_items(one)[0]["type"] == kind
    assert to_bibtex(one).startswith(f"@{bibtex}{{")
    assert to_ris(one).lstrip().startswith(f"TY  - {ris}\n")


def test_keys_are_author_year_word_and_each_once():
    items = csl_items(kept(
        document("On the Étude of x"), document("The étude again"), document("A 2nd", (), None),
        document("漢字", ("李 小龙",), 2020), document("漢字", ("李 小龙",), 2020),
    ))  # fmt: skip
    assert [item["id"] for item in items] == [
        "lovelace1843etude", "lovelace1843etude-2", "anon2nd", "anon2020", "anon2020-2",
    ]  # fmt: skip


def test_csl_json_is_what_its_schema_asks_for():
    documents = [document(t, a) for t, a in zip(TITLES, AUTHORS, strict=False)]
    documents += [document("", (), None, url="https://example.org", pages="3", language="en")]
    items = json.loads(to_csl_json(kept(*documents, note="read\nthis")))
    jsonschema.validate(items, SCHEMA)
    assert items[0]["author"][1] == {
        "family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van",
    }  # fmt: skip
    assert items[1]["author"] == [{"literal": "World Health Organization"}]
    assert items[0]["issued"] == {"date-parts": [[1843]]}
    assert items[0]["note"] == "read\nthis"


@pytest.mark.parametrize(("kind", "write"), [("bibtex", to_bibtex), ("ris", to_ris)])
def test_another_program_reads_the_same_references(kind, write):
    wanted = kept(
        document(TITLES[3], AUTHORS[0], venue="Journal of Birds", doi="10.1000/xyz"),
        document("A report", AUTHORS[1], venue="NAACL", url="https://example.org/a_b"),
    )
    read = json.loads(pypandoc.convert_text(write(wanted), "csljson", format=kind))
    assert [one["type"] for one in read] == ["article-journal", "paper-conference"]
    titles = [re.sub(r"</?span[^>]*>|’", lambda m: "'" if m[0] == "’" else "", one["title"])
              for one in read]  # fmt: skip
    assert [title.lower() for title in titles] == [TITLES[3].lower(), "a report"]
    assert [one["issued"]["date-parts"] for one in read] == [[[1843]]] * 2
    assert [person["family"] for person in read[0]["author"]] == ["Lovelace", "Beethoven", "Cruz"]
    assert read[0]["DOI"] == "10.1000/xyz"


def test_citations_are_formatted_by_their_style():
    one = kept(
        document("Notes on the engine", venue="Journal of Engines", volume="3", pages="1-9"),
        document("World health", ("World Health Organization",), None),
    )
    apa = to_citations(one, "apa")
    assert "Lovelace, A. (1843). Notes on the engine. Journal of Engines, 3, 1–9." in apa
    assert "World Health Organization. (n.d.). World health." in apa
    page = to_citations(one, "apa", page=True)
    assert "<em>Journal of Engines</em>, <em>3</em>, 1–9." in page
    for style in CITATION_STYLES:
        assert "Notes on the" in to_citations(one, style).replace("\n", " "), style
    one = kept(document("[x](http://e.org) <script>a</script> *b* @c", url="javascript:alert(1)"))
    text, page = to_citations(one, "apa"), to_citations(one, "apa", page=True)
    assert "[x](http://e.org) <script>a</script> *b* @c" in text
    assert "[x](http://e.org) &lt;script&gt;a&lt;/script&gt; *b* @c" in page
    assert 'href="javascript' not in page


def as_html(markdown):
    return pypandoc.convert_text(markdown, "html", format="gfm", extra_args=["--wrap=none"])


def test_titles_and_notes_make_no_link_html_or_list_in_markdown():
    hostile = "1. [x](http://evil.org) ![i](a) <b>b</b> www.evil.org https://evil.org `c` &amp; *d*"
    search = Query("papers", text=hostile, instruction=hostile)
    paper = document(hostile, (hostile,), url="https://example.org/a)b")
    about = (f"- {hostile}", (hostile,), search, (hostile, f"1. {hostile}"))
    html = as_html(export_kept("markdown", [KeptDocument("papers", paper, *about)], {}, [search]))
    assert re.findall(r'href="([^"]*)"', html) == ["https://example.org/a)b"]
    for tag in ("<img", "<b>", "<code", "<em"):
        assert tag not in html
    assert html.count("<li>") == 6, "a search, a document, and four lines about it"
    assert html.count("1. [x](http://evil.org) ![i](a) &lt;b&gt;b&lt;/b&gt; www.evil.org") >= 3


@pytest.mark.parametrize(
    "address",
    ["https://e.org/a> <b>x</b>", "https://e.org/a}, note = {x", 'https://e.org/"a`b|c^d\u202eg'],
)
def test_an_address_ends_neither_its_link_nor_its_field(address, tmp_path):
    one = kept(document("A title", url=address))
    (found,) = read_back(tmp_path, "a.bib", to_bibtex(one))
    assert "note" not in found.metadata
    assert re.fullmatch(r"[!-;=?-Z\[\]_a-z~]*", found.url or "")
    html = as_html(export_kept("markdown", one, {}))
    assert "<b>" not in html
    assert all(re.fullmatch(r"[!-~]*", link) for link in re.findall(r'href="([^"]*)"', html))


def test_no_field_of_a_document_forges_a_field_of_its_record(tmp_path):
    forged = "x\nER  - \r\nTY  - JOUR\u2028UR  - javascript:alert(1)"
    command = r"\href{javascript:alert(1)}{y}}, url = {javascript:alert(1)"
    for words in (forged, command):
        fields = ("journal", "volume", "pages", "publisher", "language", "keywords", "doi")
        known = dict.fromkeys(fields, words)
        hostile = Document(words, words, words, (), 1843, (words,), words, known)
        ris = to_ris(kept(hostile, note=words))
        assert re.findall(r"(?m)^(TY|ER) ", ris) == ["TY", "ER"]
        bibtex = to_bibtex(kept(hostile, note=words))
        assert "\\href" not in bibtex
        (item,) = json.loads(to_csl_json(kept(hostile, note=words)))
        for text in (ris, bibtex):
            assert not re.search(r"(?m)^\W*(UR|url)\W+javascript", text)
        assert "URL" not in item
        for name, content in (("a.ris", ris), ("a.bib", bibtex)):
            (read,) = read_back(tmp_path, name, content)
            assert read.url is None


def test_each_line_of_a_note_is_a_note_of_ris():
    ris = to_ris(kept(Document("a", "A", "A", ()), note="first\n\nsecond"))
    assert re.findall(r"(?m)^N1  - (.*)$", ris) == ["first", "second"]


def test_every_form_can_be_made_of_nothing_and_an_unknown_one_is_refused():
    for kind in EXPORT_FORMATS:
        assert isinstance(export_kept(kind, [], {}), str)
    with pytest.raises(UnknownNameError, match="no format 'docx'"):
        export_kept("docx", [], {})
