"""Text files are read in the encoding and with the delimiter that they have."""

import pytest

from engine.errors import BadInputError
from engine.ingest.source import check, open_source
from engine.lenses.definitions import RESEARCH
from engine.types.corpora import Repairs
from tests.engine.ingest.reading_files import MAX_CHARS, one

GERMAN = "id;title;text\r\n1;Größe;Müller zählt „Bienen“ mit Netzen – über Jahre.\r\n"
FRENCH = "id;title;text\r\n1;Été;L’étude des abeilles à Orléans a été menée.\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("text", [GERMAN, FRENCH])
def test_the_encoding_is_told_by_the_bytes(write, text, encoding):
    source = open_source(write("a.csv", text.encode(encoding)), lens=RESEARCH)
    (document,) = source
    assert document.title == text.split("\r\n")[1].split(";")[1]
    assert source.encoding is not None
    assert source.encoding.name == encoding.removesuffix("-sig")
    assert check(source, MAX_CHARS).warnings == ()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("id;text\n1;Мы считаем пчёл сетями каждый год\n", "cp1251"),
        ("id;text\n1;Książka o pszczołach i przykład w Łodzi, w której żyją\n", "cp1250"),
        ("id;text\n1;私たちは網で蜂を数える。結果は少ない。\n", "shift_jis"),
    ],
)
def test_other_scripts_are_told_too(write, text, encoding):
    assert one(write("a.csv", text.encode(encoding))).text == text.split(";")[2].strip()


def test_a_chosen_encoding_goes_before_the_detected_one_and_must_fit(write):
    path = write("a.csv", b"id,text\n1,caf\xe9\n")
    for name, text in (("latin-1", "café"), ("cp1251", "cafй"), ("mac-roman", "cafÈ")):
        (document,) = open_source(path, lens=RESEARCH, repairs=Repairs(encoding=name))
        assert document.text == text
    with pytest.raises(BadInputError, match=r"line 2: not UTF-8\..*--enc"):
        list(open_source(path, lens=RESEARCH, repairs=Repairs(encoding="utf8")))
    with pytest.raises(BadInputError, match="not UTF-16"):
        check(open_source(path, lens=RESEARCH, repairs=Repairs(encoding="utf-16")), MAX_CHARS)


def test_a_damaged_byte_in_utf8_does_not_turn_the_rest_into_another_encoding(write):
    text = "id,text\n" + "".join(f"{n},Müller mißt Größe\n" for n in range(9))
    path = write("a.csv", text.encode() + b"9,caf\xe9\n")
    source = open_source(path, lens=RESEARCH)
    documents = list(source)
    assert (documents[0].text, documents[9].text) == ("Müller mißt Größe", "caf\ufffd")
    assert check(source, MAX_CHARS).warnings == (
        "1 character could not be read as UTF-8; U+FFFD stands for each.",
    )


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("id,text\n1,a; b\n", ","),
        ("Name, title;id;text\nx;1;a, b, c, d\n", ";"),
        ("id\ttext\n1\ta, b; c\n", "\t"),
        ("id|text\n1|a, b\n", "|"),
        ("sep=;\nid;text\n1;a, b\n", ";"),
        ('id;text;\n1;"a ""b""";\n2;c;;\n', ";"),
        ("id,text\r1,a\r2,b\r", ","),
    ],
)
def test_the_delimiter_is_told_by_the_first_lines(write, content, delimiter):
    source = open_source(write("a.csv", content), lens=RESEARCH)
    assert source.delimiter == delimiter
    assert next(iter(source)).doc_id == "1"


def test_html_in_cells_becomes_plain_text_and_is_counted(write):
    rows = (
        "id\ttitle\ttext\tauthors\turl\n"
        "1\t<i>E. coli</i> &amp; more\ta < b &lt; c, <img src=x>\tM&uuml;ller, Ann"
        "\thttp://a.de/?b&amp;c\n"
        "2\tAT&T\t[&quot;]\tB. Lee\t\n"
    )
    source = open_source(write("a.tsv", rows), lens=RESEARCH)
    first, second = source
    assert (first.title, first.text) == ("E. coli & more", "a < b < c, <img src=x>")
    assert (first.authors, first.url) == (("Ann Müller",), "http://a.de/?b&c")
    assert (second.title, second.text) == ("AT&T", "[&quot;]")
    assert check(source, MAX_CHARS).warnings == (
        "1 document held HTML (&amp;, <i> and the like); it was turned into plain text.",
    )
