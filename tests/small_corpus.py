"""A corpus of forty short abstracts, small enough to know by heart.

Five problems times six methods make thirty abstracts of three sentences (background, method,
result); the other ten are the odd ones: a near-duplicate, no method sentence, signs that
are not letters, right-to-left script, twins, quotes in a field, a document long beyond one window.
"""

from __future__ import annotations

from typing import Any

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
