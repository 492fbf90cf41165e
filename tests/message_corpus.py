"""A dozen messages that imply days, prices and places, and say other things about them too."""

from __future__ import annotations

from typing import Any

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
DOCUMENTS: list[dict[str, Any]] = [
    {"doc_id": doc_id, "title": "", "text": text} for doc_id, text in MESSAGES.items()
]
