"""A corpus of forty short abstracts, small enough to know by heart.

Five problems times six methods make thirty abstracts of three sentences (background, method,
result); the other ten are the odd ones: a near-duplicate, no method sentence, signs that
are not letters, right-to-left script, twins, quotes in a field, a document long beyond one window.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from engine.config import DEMO
from tests.support import write_jsonl

ROLES = ["background", "method", "result"]

PROBLEMS = {
    "bees": (
        "Honey bee colonies collapse in winter when mites weaken the brood.",
        "Fewer colonies were lost in the following spring.",
    ),
    "bridges": (
        "Steel bridges crack where traffic bends the same weld every day.",
        "Cracks were found two years before an inspector saw them.",
    ),
    "bread": (
        "Sourdough bakers cannot tell in advance how far a loaf will rise.",
        "The height of the loaf was foretold to within a centimetre.",
    ),
    "tides": (
        "Harbour pilots need to know when the tide will turn in a narrow strait.",
        "The turn of the tide was predicted eleven minutes too late on average.",
    ),
    "maps": (
        "Old parish maps name fields that no modern map shows.",
        "Four in five field names were placed on the right hillside.",
    ),
}
METHODS = {
    "network": "We train a convolutional neural network on labelled photographs.",
    "interview": "We interviewed thirty practitioners and coded the transcripts by theme.",
    "simulation": "A finite element simulation solves the equations on a fine mesh.",
    "survey": "A questionnaire was mailed to eight hundred randomly drawn households.",
    "regression": "We fit a Bayesian regression with weakly informative priors.",
    "sensor": "Cheap wireless sensors record temperature and vibration every second.",
}


def _joined(number: int, problem: str, method: str) -> dict[str, Any]:
    background, result = PROBLEMS[problem]
    return {
        "doc_id": f"{problem}-{method}",
        "title": f"{problem} by {method}".capitalize(),
        "sentences": [background, METHODS[method], result],
        "roles": ROLES,
        "year": 2000 + number % 20,
        "authors": ["Ada Quill", "Bo Finch"] if number % 2 else ["Cy O'Neil"],
        "venue": "Acta Minor" if number % 3 else "Parva",
    }


LONG_OPENING = "Lighthouses were kept by families for generations."
LONG_ENDING = "In the end the lamp was sold to a museum of clocks."

ODD: list[dict[str, Any]] = [
    {
        "doc_id": "bees-network-again",
        "title": "Bees by network, again",
        "sentences": [
            PROBLEMS["bees"][0],
            METHODS["network"],
            "Fewer colonies were lost in the spring that followed.",
        ],
        "roles": ROLES,
        "year": 2021,
        "authors": ["Ada Quill"],
    },
    {
        "doc_id": "no-method",
        "title": "A complaint",
        "sentences": [
            "Nobody agrees on what a hedge is.",
            "Hedges vanish from farms, and with them the birds.",
        ],
        "roles": ["background", "background"],
        "year": 1999,
    },
    {"doc_id": "emoji", "title": "🐝🐝", "text": "🐝 🍯. 🌉!"},
    {
        "doc_id": "hebrew",
        "title": "דבורים",
        "text": "הדבורים מתות בחורף. מדדנו את הטמפרטורה בכוורת.",
    },
    {
        "doc_id": "arabic",
        "title": "جسور",
        "text": "تتشقق الجسور الفولاذية. قسنا الاهتزاز كل ثانية.",
    },
    {
        "doc_id": "quotes",
        "title": "What O'Brien said",
        "text": "A venue may be called anything at all.",
        "venue": "x' OR '1'='1",
        "year": 2010,
    },
    {
        "doc_id": "plain",
        "title": "No labels here",
        "text": "Potters fire clay in kilns that nobody can look into. "
        "We placed a camera behind quartz glass. The glaze melted ten degrees early.",
        "year": 2015,
    },
    {"doc_id": "twin-b", "title": "Twin", "text": "Two lakes have the same name."},
    {"doc_id": "twin-a", "title": "Twin", "text": "Two lakes have the same name."},
    {
        "doc_id": "long",
        "title": "The keepers",
        "text": " ".join(
            [
                LONG_OPENING,
                *(f"In year {n} the keeper wrote {n * 7} lines in the log." for n in range(60)),
                LONG_ENDING,
            ]
        ),
    },
]

DOCUMENTS: list[dict[str, Any]] = [
    *(
        _joined(number, problem, method)
        for number, (problem, method) in enumerate((p, m) for p in PROBLEMS for m in METHODS)
    ),
    *ODD,
]


SEEDS = 4
COLLECTION = 60
QUERIES = 3 * SEEDS


def write_collection(folder: Path) -> Path:
    """A native collection: documents with labels, topics, and judgments that are complete."""
    folder.mkdir(parents=True)
    with (DEMO / "corpus.jsonl").open(encoding="utf-8") as lines:
        documents = [json.loads(next(lines)) for _ in range(COLLECTION)]
    write_jsonl(folder / "corpus.jsonl", documents)
    ids = {document["doc_id"] for document in documents}
    seeds = sorted(ids)[:SEEDS]
    with (DEMO / "topics.jsonl").open(encoding="utf-8") as lines:
        topics = [json.loads(line) for line in lines]
    write_jsonl(folder / "topics.jsonl", (t for t in topics if t["seed"] in seeds))
    qrels = gzip.decompress((DEMO / "qrels.txt.gz").read_bytes()).decode().splitlines()
    kept = [q for q in qrels if q.split("_")[0] in seeds and q.split()[2] in ids]
    (folder / "qrels.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
    about = {"name": folder.name, "complete": True}
    (folder / "collection.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


MESSAGES: dict[str, str] = {
    "walk": "2024-03-05 18:20, Nora: My brother and I walked the coast path four days ago. "
    "The wind was against us all the way to the lighthouse.",
    "cake": "2024-03-03 09:12, Piet: I baked the rye cake the day before yesterday and it fell "
    "apart when I cut it. Next time I will leave it to cool.",
    "choir": "2024-03-08 21:40, Ines: Our choir sang in the old market hall a week ago. "
    "The echo covered every wrong note.",
    "boiler": "2024-03-02 07:55, Omar: The boiler broke down again yesterday. "
    "The plumber says that the valve is worn out.",
    "later": "2024-03-20 12:00, Ruth: The coast path is closed. I walked there this morning.",
    "plain": "Walking along the coast is good for the back, and the wind costs nothing.",
    "tent": "2024-05-11 10:03, Emil: The small tent is 240 euros and the family tent costs twice "
    "as much, so we bought the family tent.",
    "stove": "2024-05-12 19:30, Lea: The gas stove is 60 euros; the one for wood is 25 percent "
    "cheaper. We took the one for wood.",
    "kayak": "2024-05-14 08:45, Jo: A kayak costs 480 euros here, paddles not included.",
    "trip": "2024-06-01 16:10, Tom: We spent the weekend in Marseille and swam every evening.",
    "museum": "2024-06-02 11:25, Ada: The museum in Osaka was closed, so we sat in the park.",
    "garden": "2024-06-03 13:37, Kim: The beans are up. I watered them every evening.",
}
LETTERS: list[dict[str, Any]] = [
    {"doc_id": doc_id, "title": "", "text": text} for doc_id, text in MESSAGES.items()
]


OWN: dict[str, Any] = {
    "name": "Patient letters",
    "aspects": [
        {
            "name": "Complaint",
            "definition": "Sentences that say what hurts.",
            "examples": ["My knee is swollen.", "At night the cough gets worse."],
        },
        {
            "name": "Care & cure",
            "definition": "Sentences that say what was done about it.",
            "examples": ["She was given antibiotics.", "We put the arm in plaster."],
        },
    ],
}
