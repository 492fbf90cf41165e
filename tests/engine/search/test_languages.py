"""Full-text search of scripts that part no words by blanks, or that combine marks."""

import pytest

from engine.types.searches import Query
from tests.support import make_explorer

TEXTS = {
    "zh1": "池塘里的小龙虾在冬天很少移动。",
    "zh2": "我们沿着湖岸安装了四十个温度传感器。",
    "ja": "図書館で子どもの質問を観察した。",
    "th": "เราสำรวจผู้โดยสารรถไฟกลางคืน",
    "hi": "रात की रेलगाड़ियाँ कई मार्गों पर लौट आई हैं।",
    "en": "Crayfish of ponds move little in winter.",
}


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    explorer = make_explorer(tmp_path_factory.mktemp("languages") / "home")
    rows = [{"doc_id": doc_id, "text": text} for doc_id, text in TEXTS.items()]
    explorer.library.add("languages", rows)
    return explorer


@pytest.mark.parametrize(
    ("words", "doc_id"),
    [
        ("传感器", "zh2"),
        ("小龙虾", "zh1"),
        ("図書館", "ja"),
        ("รถไฟ", "th"),
        ("रेलगाड़ियाँ", "hi"),
        ("crayfishes", "en"),
    ],
)
def test_a_word_finds_its_document_in_every_script(explorer, words, doc_id):
    found = explorer.search(Query("languages", text=words, system="bm25"))
    assert [result.doc_id for result in found.results][:1] == [doc_id]
