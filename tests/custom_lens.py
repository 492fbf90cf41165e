"""A lens that somebody wrote, as the fields of its file."""

from __future__ import annotations

from typing import Any

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
