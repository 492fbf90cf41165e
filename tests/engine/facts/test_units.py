"""Numbers with a unit: what they measure, and when they measure nothing."""

import pytest

from engine.facts.units import find_quantities


@pytest.mark.parametrize(
    "text",
    [
        "100s of people came",
        "two 737s landed",
        "born in the 1990s",
        "she is in her high 30s",
        "in 2023-W05",
        "12 mg/kg a day",
        "5 g/l of salt",
        "40 mg per litre",
        "a flat of 30 m2",
        "6 ft 2 in the picture",
        "on 3h30",
    ],
)
def test_what_only_begins_like_a_quantity_is_none(text):
    assert find_quantities(text) == ()


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("it took 380s", 380, 380, "s"),
        ("ran at 12 km/h", 3.3333, 3.3333, "m/s"),
        ("25 €/month", 25, 25, "EUR"),
        ("paid $5-10", 5, 10, "USD"),
        ("raised €5-10m", 5e6, 10e6, "EUR"),
        ("pay of £20–30k", 20_000, 30_000, "GBP"),
        ("two or three weeks", 1_209_600, 1_814_400, "s"),
        ("3 lb 4 oz of flour", 1.47417, 1.47417, "kg"),
        ("6 ft 2 in tall", 1.8796, 1.8796, "m"),
        ("2 hours and 15 minutes", 8100, 8100, "s"),
        ("order 5512 EUR 19.99", 19.99, 19.99, "EUR"),
    ],
)
def test_one_quantity_is_read_as_a_whole(text, low, high, unit):
    (found,) = find_quantities(text)
    assert (found.low, found.high, found.unit) == (
        pytest.approx(low, rel=1e-4),
        pytest.approx(high, rel=1e-4),
        unit,
    )
