"""Only addresses of papers become links; nothing that a page could be attacked with does."""

import pytest

from engine.bibliographic import web_address
from engine.types.documents import Document, paper_link


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("10.18653/v1/N18-3011", "https://doi.org/10.18653/v1/N18-3011"),
        ("doi:10.1000/182", "https://doi.org/10.1000/182"),
        ("DOI: 10.1000/182", "https://doi.org/10.1000/182"),
        ("http://dx.doi.org/10.1000/182", "https://doi.org/10.1000/182"),
        ("10.1000/<x>?y#z", "https://doi.org/10.1000/%3Cx%3E%3Fy%23z"),
        ("https://aclanthology.org/N18-3011/", "https://aclanthology.org/N18-3011/"),
        (" http://example.org:8080/a?b=c#d ", "http://example.org:8080/a?b=c#d"),
        ("HTTPS://Example.ORG/Paper", "https://example.org/Paper"),
        ("https://[2001:db8::1]/a", "https://[2001:db8::1]/a"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/ä"),
        ("https://аррӏе.com/", "https://xn--80ak6aa92e.com/"),
    ],
)
def test_dois_and_web_addresses_become_links(text, link):
    assert web_address(text) == link


@pytest.mark.parametrize(
    "text",
    [
        "",
        "javascript:alert(1)",
        "java\tscript:alert(1)",
        "\x01javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "file:///etc/passwd",
        "example.org/paper",
        "//example.org/paper",
        "?corpus=demo",
        "https:///paper",
        "https://example.org/a b",
        "https://example.org\\@other.org/",
        "https://example.org@other.org/",
        "https://user:word@example.org/",
        "https://example.org:port/",
        "see 10.1000/182",
    ],
)
def test_nothing_else_becomes_a_link(text):
    assert web_address(text) is None


@pytest.mark.parametrize(
    ("url", "metadata", "link"),
    [
        (None, {}, None),
        ("https://example.org/a", {"doi": "10.1000/182"}, "https://example.org/a"),
        ("javascript:alert(1)", {"DOI": "10.1000/182"}, "https://doi.org/10.1000/182"),
        (None, {"link": "data:x", "href": "http://example.org/b"}, "http://example.org/b"),
        (None, {"doi": 10.1, "url": None, "venue": "https://example.org"}, None),
    ],
)
def test_the_first_of_a_documents_addresses_that_is_one_is_its_link(url, metadata, link):
    assert paper_link(Document("a", "T", "Text.", (), url=url, metadata=metadata)) == link
