"""Guidelines: Markdown by a project's leads, as a tree that a component makes nodes of.

No HTML is ever made of it: the tree names a few elements, and all words are text.
"""

from __future__ import annotations

import functools
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TABLE = ("table", "thead", "tbody", "tr", "th", "td")
_OTHERS = ("p", "ul", "ol", "li", "blockquote", "strong", "em", "code", "pre", "hr", "br", "a")
ELEMENTS = frozenset((*_HEADINGS, *_TABLE, *_OTHERS))
"""What a node may be; ``assets/components/annotate_words.js`` makes no others."""
Node = dict[str, Any]
"""``tag`` and ``children`` (nodes and texts); ``href`` of a link, ``start`` of a numbered list."""
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
_PARSER.validateLink = lambda url: url.lower().startswith(("http://", "https://"))  # type: ignore[method-assign]


@functools.lru_cache(maxsize=64)  # asked for with every key that is pressed
def nodes(markdown: str) -> list[Node | str]:
    """CommonMark with tables; links to http and https only, no images, HTML shown as text.

    >>> nodes("*Same* <b>")
    [{'tag': 'p', 'children': [{'tag': 'em', 'children': ['Same']}, ' <b>']}]
    """
    return _children(SyntaxTreeNode(_PARSER.parse(markdown)))


def _children(node: SyntaxTreeNode) -> list[Node | str]:
    made: list[Node | str] = []
    for child in node.children:
        made += _of(child)
    return made


def _of(node: SyntaxTreeNode) -> list[Node | str]:
    if node.type in ("inline", "root"):
        return _children(node)
    if node.type == "softbreak":
        return [" "]
    if node.type in ("fence", "code_block"):
        return [{"tag": "pre", "children": [node.content]}]
    if node.tag not in ELEMENTS:
        return [node.content] if node.content else _children(node)
    if node.hidden:  # the paragraph of an item in a tight list
        return _children(node)
    made: Node = {"tag": node.tag}
    made["children"] = _children(node) if node.children else [node.content] if node.content else []
    if node.tag == "a":
        made["href"] = str(node.attrs.get("href", ""))
    if node.tag == "ol":
        made["start"] = int(node.attrs.get("start", 1))
    return [made]
